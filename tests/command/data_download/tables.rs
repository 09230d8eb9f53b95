//! Text that is checked by its rows.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tempfile::TempDir;
use ztrack::context::progress::Progress;
use ztrack::data::download::{Check, Mirrors, RemoteFile, RemoteSet, fetch_files};

use super::{folder, sha256};
use crate::common;
use crate::server::{Server, whole};

const TWO_ROWS: Check = Check::Table { rows: 2, columns: 3 };

/// Fetches a table of at most `bytes` bytes.
fn fetch_table(
    server: &Server,
    folder: &TempDir,
    bytes: u64,
    check: Check,
    stated: &[(&str, &str)],
) -> ztrack::Result<PathBuf> {
    let file = RemoteFile { name: "t", bytes, check };
    let set = RemoteSet { name: "set", mirrors: &[], files: &[file] };
    let mirrors = Mirrors::Custom(vec![server.base.clone()]);
    let stated: Vec<_> =
        stated.iter().map(|(name, sum)| (name.to_string(), sum.to_string())).collect();
    let paths =
        fetch_files(&set, folder.path(), &mirrors, &stated, &Progress::default(), &mut |_| {})?;
    Ok(paths[0].clone())
}

#[test]
fn rows_in_another_order_are_the_same_lines() {
    let sum = sha256(b"a\nb\nc\n");
    let fetch_text = |body: &'static [u8]| {
        let folder = folder();
        let server = Server::new(move |_| whole(body));
        fetch_table(&server, &folder, 6, Check::SortedLines(&sum), &[]).map(|_| ())
    };
    assert!(fetch_text(b"c\na\nb\n").is_ok());
    assert!(fetch_text(b"b\nc\na").is_ok());
    assert!(fetch_text(b"b\nc\n").is_err());
}

#[test]
fn a_table_without_a_checksum_has_its_rows_and_columns() {
    let fetch_text = |body: &'static [u8]| {
        let folder = folder();
        let server = Server::new(move |_| whole(body));
        let fetched = fetch_table(&server, &folder, 60, TWO_ROWS, &[]);
        fetched.map(|path| std::fs::read(path).unwrap()).map_err(|error| error.to_string())
    };
    assert_eq!(fetch_text(b"+1 1:1 3:1 \n-1 2:1 \n").unwrap(), b"+1 1:1 3:1 \n-1 2:1 \n");
    assert!(fetch_text(b"1 1:1\n2\n").is_ok());
    for (body, problem) in [
        (&b"1 1:1\n"[..], "content has 1 rows, expected 2"),
        (b"1 1:1\n1 1:1\n2 2:1\n", "content has 3 rows, expected 2"),
        (b"1 1:1\n1 4:1\n", "line 2: feature index 4 is outside 1..3"),
        (b"1 1:1\n1 2:0.5\n", "line 2: value `0.5` of feature 2"),
        (b"<!DOCTYPE html><title>moved</title>\n", "is in no known format"),
    ] {
        let error = fetch_text(body).unwrap_err();
        assert!(error.contains(problem), "{error}");
    }
}

/// Any 8124 rows of 112 columns pass for mushrooms: a person is told what was not checked.
#[test]
fn a_set_without_a_checksum_is_fetched_with_a_warning() {
    let folder = folder();
    let server = Server::new(|_| whole("1 1:1 112:1\n".repeat(8124).as_bytes()));
    let arguments = ["data", "fetch", "mushrooms", "--data-folder"];
    let mut command = common::ztrack();
    command.args(arguments).arg(folder.path()).args(["--mirror", &server.base]);
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let file = folder.path().join("mushrooms/mushrooms");
    let warning = format!("warning: {}: no checksum is known", file.display());
    assert!(stderr.contains(&warning) && stderr.contains("--sha256 mushrooms=HEX"), "{stderr}");
    // Whoever states one is not warned, and is refused another file.
    let with = |sum: &str| {
        let mut command = common::ztrack();
        command.args(arguments).arg(folder.path()).args(["--mirror", &server.base]);
        let output = command.args(["--sha256", &format!("mushrooms={sum}")]).output().unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    let sum = sha256(&std::fs::read(&file).unwrap());
    let (good, stderr) = with(&sum.to_uppercase());
    assert!(good && !stderr.contains("warning"), "{stderr}");
    let (good, stderr) = with(&"0".repeat(64));
    assert!(!good && stderr.contains(&sum) && stderr.contains("as stated"), "{stderr}");
}

/// Where the table has no checksum, the first download is what later ones are compared with, and a stated sum goes before it.
#[test]
fn later_downloads_are_compared_with_the_first() {
    let (one, other): (&[u8], &[u8]) = (b"1 1:1\n1 2:1\n", b"1 1:1\n1 3:1\n");
    let folder = folder();
    let body = Arc::new(Mutex::new(one));
    let served = body.clone();
    let server = Server::new(move |_| whole(*served.lock().unwrap()));
    let fetched = |stated: &[(&str, &str)]| {
        let fetched = fetch_table(&server, &folder, 60, TWO_ROWS, stated);
        fetched.map(|path| std::fs::read(path).unwrap()).map_err(|error| error.to_string())
    };
    let path = folder.path().join("set/t");
    assert_eq!(fetched(&[]).unwrap(), one);
    let kept = folder.path().join("set/t.sha256");
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), format!("{}  t\n", sha256(one)));
    // A file that was changed on this machine is fetched again.
    std::fs::write(&path, other).unwrap();
    assert_eq!(fetched(&[]).unwrap(), one);
    // One that was changed on the server is not taken.
    std::fs::remove_file(&path).unwrap();
    *body.lock().unwrap() = other;
    let error = fetched(&[]).unwrap_err();
    for part in [&sha256(one), &sha256(other), "that of its first download", "t.sha256"] {
        assert!(error.contains(part), "{error}");
    }
    assert!(!path.exists());
    assert_eq!(fetched(&[("t", &sha256(other))]).unwrap(), other);
    assert_eq!(fetched(&[]).unwrap(), other);
    assert!(fetched(&[("t", &sha256(one))]).unwrap_err().contains("as stated"));
    for (stated, problem) in [
        (("u", &*sha256(one)), "stated of `u`, but set is t"),
        (("t", "abc"), "`abc`, stated of t, is not a SHA-256"),
    ] {
        let error = fetched(&[stated]).unwrap_err();
        assert!(error.contains(problem), "{error}");
    }
    std::fs::write(&kept, "unknown\n").unwrap();
    let error = fetched(&[]).unwrap_err();
    assert!(error.contains("t.sha256: does not begin with a SHA-256"), "{error}");
}
