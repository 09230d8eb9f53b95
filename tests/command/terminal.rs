//! What a terminal, a shell and a pipe get from the command, whatever the arguments are.

use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::common::{run, text, tiny, ztrack};

/// One line on standard error that says `expected`, nothing a terminal obeys, and no success.
fn refused(arguments: &[&str], expected: &str) {
    let output = run(arguments);
    let stderr = String::from_utf8(output.stderr).unwrap();
    let shown: String = arguments.concat().chars().take(100).collect();
    assert!(output.status.code().is_some_and(|code| code > 0), "{shown:?}: {stderr}");
    assert!(stderr.contains(expected) && stderr.lines().count() == 1, "{shown:?}: {stderr}");
    assert!(!stderr.trim_end().contains(char::is_control), "{shown:?}: {stderr:?}");
    assert!(stderr.len() < 10_000, "{} bytes", stderr.len());
}

#[test]
fn overrides_of_any_shape_are_refused_in_a_line() {
    let folder = TempDir::new().unwrap();
    let (config, out) = (tiny(folder.path()), text(&folder.path().join("out")));
    let dots = format!("{}a=1", "a.".repeat(20_000));
    let deep = format!("{}a=1", "a.".repeat(30));
    let nested = format!("seed={}", "[".repeat(20_000));
    let long = format!("seed={}", "9".repeat(50_000));
    for (setting, expected) in [
        (dots.as_str(), "no such key"),
        (&deep, "no such key"),
        (&nested, "seed"),
        (&long, "seed"),
        ("seed=1\n[x]\ny=3", "one line"),
        ("model.\u{1b}[31mhidden=3", "u{1b}"),
        ("data.source={ name = \"dna\", rows = 3 }", "rows"),
        ("data.source={ name = \"files\", train = \"a.csv\", tset = \"b.csv\" }", "tset"),
        ("data.source={ name = \"dna\", nonsense = true }", "nonsense"),
    ] {
        refused(&["train", &config, "--out", &out, "--set", setting], expected);
    }
}

#[test]
fn names_and_content_are_escaped_and_cut() {
    let folder = TempDir::new().unwrap();
    let evil = "\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}";
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        text(&path)
    };
    refused(&["data", "describe", &format!("no{evil}")], "u{1b}");
    // A table of categories: its states may be any text.
    let described =
        run(&["data", "describe", &write("a.csv", format!("0,{evil}\n1,1\n0,x").as_bytes())]);
    let shown = String::from_utf8([described.stdout, described.stderr].concat()).unwrap();
    assert!(described.status.success(), "{shown:?}");
    assert!(shown.lines().all(|line| !line.contains(char::is_control)), "{shown:?}");
    refused(
        &[
            "data",
            "describe",
            &write("e.csv", format!("0,{}\n1,1\n0,x", evil.repeat(90)).as_bytes()),
        ],
        "u{1b}",
    );
    refused(&["data", "describe", &write("b.libsvm", format!("{evil} 1:1\n").as_bytes())], "u{1b}");
    refused(&["train", &write("c.toml", format!("[\"{evil}\"]\nx = 1").as_bytes())], "c.toml");
    refused(&["estimate", &write(&format!("d{evil}.npz"), b"PK")], "u{1b}");
    // clap takes some of it out itself.
    refused(&[&format!("fly{evil}")], "u{9b}");
    refused(&["data", "describe", &write("long.libsvm", &[b'x'; 5_000_000])], "is not an integer");
    refused(&["data", "describe", &write("long.csv", &[b'x'; 5_000_000])], "no data");
    // A sound file with such a name is described, as text and as JSON.
    let path = write(&format!("good{evil}.csv"), b"0,1\n1,1\n");
    for more in [&[][..], &["--json"]] {
        let output = run(&[&["data", "describe", &path][..], more].concat());
        let out = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && !out.contains(|c: char| c != '\n' && c.is_control()));
        if !more.is_empty() {
            let parsed: serde_json::Value = serde_json::from_str(&out).unwrap();
            assert_eq!(parsed[0]["name"], format!("good{evil}.csv"));
        }
    }
}

#[test]
fn an_unknown_instruction_set_is_an_error() {
    let describe = ["data", "describe", "bars-and-stripes"];
    for (wish, good) in [
        ("", true),
        ("best", true),
        ("avx2", true),
        ("portable", true),
        ("nonsense", false),
        ("AVX2", false),
    ] {
        let output = ztrack().args(describe).env("ZTRACK_INSTRUCTION_SET", wish).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), good, "{wish}: {stderr}");
        assert!(good || stderr.contains("ZTRACK_INSTRUCTION_SET"), "{stderr}");
    }
}

/// Which kernels were chosen is told, and an unknown shape is an error.
#[test]
fn kernels_are_told_and_asked_for_by_shape() {
    let with = |shape: &str, arguments: &[&str]| {
        ztrack().args(arguments).env("ZTRACK_SHAPE", shape).output().unwrap()
    };
    let told = with("64x8x2", &["--version", "--verbose"]);
    let told = String::from_utf8(told.stdout).unwrap();
    assert!(told.starts_with("ztrack ") && told.contains("kernels 784x500"), "{told}");
    assert!(told.contains("64x8x2 with"), "{told}");
    for wrong in ["64x8", "48x16x1", "nonsense"] {
        let output = with(wrong, &["data", "describe", "bars-and-stripes"]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains("ZTRACK_SHAPE") && stderr.contains(wrong), "{stderr}");
    }
}

/// Without a number on the command line too.
#[cfg(target_os = "linux")]
#[test]
fn threads_that_do_not_fit_are_an_error_with_a_message() {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 1000000; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_ztrack")]);
    command.args(["data", "describe", "bars-and-stripes"]).env("RAYON_NUM_THREADS", "500");
    // Large stacks: what is left when one does not fit is enough for the threads that did start.
    command.env("RUST_MIN_STACK", "100000000").env("MALLOC_ARENA_MAX", "1");
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.starts_with("error: cannot start threads"), "{stderr}");
}

#[cfg(target_os = "linux")]
#[test]
fn closed_pipes_end_quietly_and_full_ones_are_errors() {
    for arguments in [&["--help"][..], &["data", "describe", "bars-and-stripes"]] {
        // The reader is gone before a word is written.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output =
            ztrack().args(arguments).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{arguments:?}");
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = ztrack().args(arguments).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    }
}

/// `ulimit -f`: the system's signal would end the process without a word.
#[cfg(unix)]
#[test]
fn a_file_size_limit_is_an_error_with_a_message() {
    let folder = TempDir::new().unwrap();
    let (config, out) = (tiny(folder.path()), text(&folder.path().join("out")));
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -f 8; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_ztrack")]);
    let output = command.args(["train", &config, "-q", "--out", &out]).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("error: ") && stderr.contains("too large"), "{stderr}");
}
