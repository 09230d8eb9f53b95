//! Fetching data, against a small server on 127.0.0.1.

mod tables;

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tempfile::TempDir;
use ztrack::context::progress::Progress;
use ztrack::data::download::{Check, Mirrors, RemoteFile, RemoteSet, fetch, fetch_files};

use crate::common;
use crate::files::gzip;
use crate::server::{Server, closed, not_found, response, whole};

/// Content that does not compress to nothing.
fn content() -> Vec<u8> {
    (0..50_000u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect()
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Fetches `file.gz` with the content above into `folder`; also gives the last events as words.
fn fetch_one(folder: &Path, bases: &[&str]) -> (ztrack::Result<Vec<PathBuf>>, Vec<&'static str>) {
    let content = content();
    let sum = sha256(&content);
    let file =
        RemoteFile { name: "file.gz", bytes: content.len() as u64, check: Check::Sha256(&sum) };
    let set = RemoteSet { name: "set", mirrors: &[], files: &[file] };
    let mirrors = Mirrors::Custom(bases.iter().map(|base| base.to_string()).collect());
    let mut events = Vec::new();
    let result = fetch_files(&set, folder, &mirrors, &[], &Progress::default(), &mut |line| {
        let known = [("there already", "kept"), ("fetched", "done")];
        let word = known.iter().find(|(words, _)| line.contains(words));
        events.push(word.map_or("failed", |(_, word)| word));
    });
    (result, events)
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn names(folder: &TempDir) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder.path().join("set")) else { return vec![] };
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_file_is_fetched_once_and_then_kept() {
    let (folder, body) = (folder(), gzip(&content()));
    let expected = body.clone();
    let server = Server::new(move |_| whole(&body));
    let (result, events) = fetch_one(folder.path(), &[&server.base]);
    let path = folder.path().join("set/file.gz");
    assert_eq!((result.unwrap(), events), (vec![path.clone()], vec!["done"]));
    assert_eq!(std::fs::read(&path).unwrap(), expected);
    assert_eq!(server.requests.lock().unwrap()[..], ["/data/file.gz"]);

    let (result, events) = fetch_one(folder.path(), &[&server.base]);
    assert_eq!((result.unwrap(), events), (vec![path], vec!["kept"]));
    assert_eq!(server.count(), 1, "no second request");
    assert_eq!(names(&folder), ["file.gz"]);
}

#[test]
fn an_unzipped_copy_counts_and_a_wrong_file_is_replaced() {
    let (folder, body) = (folder(), gzip(&content()));
    std::fs::create_dir(folder.path().join("set")).unwrap();
    let unzipped = folder.path().join("set/file");
    std::fs::write(&unzipped, content()).unwrap();
    let (result, events) = fetch_one(folder.path(), &[]);
    assert_eq!((result.unwrap(), events), (vec![unzipped.clone()], vec!["kept"]));

    std::fs::remove_file(&unzipped).unwrap();
    let path = folder.path().join("set/file.gz");
    std::fs::write(&path, "wrong").unwrap();
    let server = Server::new(|_| not_found());
    assert!(fetch_one(folder.path(), &[&server.base]).0.is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"wrong", "kept until there is a right one");
    let server = Server::new(move |_| whole(&body));
    assert_eq!(fetch_one(folder.path(), &[&server.base]).0.unwrap(), vec![path.clone()]);
    assert_eq!(std::fs::read(&path).unwrap(), gzip(&content()));
}

#[test]
fn wrong_content_leaves_an_error_and_no_file() {
    let mut other = content();
    other[77] ^= 1;
    let bodies = [
        gzip(&other),
        content()[..40_000].to_vec(),
        b"<html>log in</html>".to_vec(),
        vec![],
        gzip(&vec![0; 1 << 20]),
    ];
    for body in bodies {
        let folder = folder();
        let server = Server::new(move |_| whole(&body));
        let (result, events) = fetch_one(folder.path(), &[&server.base]);
        let error = result.unwrap_err().to_string();
        assert!(error.contains("cannot be fetched (http://127.0.0.1"), "{error}");
        assert!(!error.contains('\n'), "{error}");
        assert_eq!(events.last(), Some(&"failed"));
        assert_eq!(names(&folder), [""; 0]);
    }
}

#[test]
fn endless_answers_are_cut_off() {
    let folder = folder();
    // No length given: the body ends with the connection.
    let body = vec![1; 1 << 20];
    let server = Server::new(move |_| {
        [&b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"[..], &body].concat()
    });
    let error = fetch_one(folder.path(), &[&server.base]).0.unwrap_err().to_string();
    assert!(error.contains("server sends more than"), "{error}");
    let server = Server::new(|_| response("200 OK", "", 1 << 40, b"x"));
    let error = fetch_one(folder.path(), &[&server.base]).0.unwrap_err().to_string();
    assert!(error.contains("file is larger than"), "{error}");
}

#[test]
fn mirrors_are_tried_in_turn() {
    let (folder, body) = (folder(), gzip(&content()));
    let missing = Server::new(|_| not_found());
    let mut wrong = body.clone();
    wrong[100] ^= 1;
    let wrong = Server::new(move |_| whole(&wrong));
    let good = Server::new(move |_| whole(&body));
    let refusing = closed();
    let bases = [&missing.base, &refusing, &wrong.base, &good.base].map(String::as_str);
    let (result, _) = fetch_one(folder.path(), &bases);
    assert!(result.is_ok(), "{result:?}");
    assert_eq!([&missing, &wrong, &good].map(|server| server.count()), [1, 1, 1]);
    assert_eq!(names(&folder), ["file.gz"]);
}

#[test]
fn every_mirror_has_its_say_when_none_works() {
    let folder = folder();
    let missing = Server::new(|_| not_found());
    let closed = closed();
    let error = fetch_one(folder.path(), &[&missing.base, &closed]).0.unwrap_err().to_string();
    for expected in ["404", closed.as_str(), "efused", "file.gz: cannot be fetched"] {
        assert!(error.contains(expected), "{expected}: {error}");
    }
    assert_eq!(names(&folder), [""; 0], "nothing is left");
    let error = fetch_one(folder.path(), &[]).0.unwrap_err().to_string();
    assert!(error.contains("no mirrors"), "{error}");
}

#[test]
fn a_broken_connection_leaves_an_error_and_no_file() {
    let folder = folder();
    let server = Server::new(|_| response("200 OK", "", 1000, b"x"));
    let error = fetch_one(folder.path(), &[&server.base]).0.unwrap_err().to_string();
    assert!(error.contains("cannot be fetched"), "{error}");
    assert!(error.contains("1 of 1000 bytes") || error.contains("broke"), "{error}");
    assert_eq!(names(&folder), [""; 0], "nothing is left");
}

#[test]
fn unknown_names_and_unwritable_folders_are_told() {
    let folder = folder();
    let fetch_name = |name, folder: &Path| {
        fetch(
            name,
            folder,
            &Mirrors::Custom(vec![closed()]),
            &[],
            &Progress::default(),
            &mut |_| {},
        )
        .unwrap_err()
        .to_string()
    };
    let error = fetch_name("binarized-mnist", folder.path());
    assert!(
        error.contains("`binarized-mnist`")
            && error.contains("mnist, dna, adult, connect-4, mushrooms, web"),
        "{error}"
    );
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = fetch_name("dna", &file);
    assert!(error.starts_with("cannot create folder"), "{error}");
}

#[test]
fn the_table_agrees_with_the_real_files() {
    for name in ["mnist", "dna"] {
        let Some(real) = common::shared(&format!("datasets/{name}")) else { continue };
        let folder = folder();
        let server = Server::of_files(real);
        let mirrors = Mirrors::Custom(vec![server.base.clone()]);
        let paths =
            fetch(name, folder.path(), &mirrors, &[], &Progress::default(), &mut |_| {}).unwrap();
        assert_eq!(paths.len(), 4);
        let sum = |path: &PathBuf| std::fs::metadata(path).unwrap().len();
        assert!(paths.iter().all(|path| path.starts_with(folder.path()) && sum(path) > 0));
    }
}
