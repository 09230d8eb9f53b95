//! Runs of the command in which one system call on its run folder fails, is its last, or stops it.

// Several crates of tests use this, each a part of it.
#![allow(dead_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::common::text;

/// The library that strikes, compiled once; cargo needs the same compiler to link.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/attack/shim.c");
        let library = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("attack-{}.so", std::process::id()));
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source).arg("-ldl");
        assert!(compiler.status().unwrap().success(), "{compiler:?}");
        library
    })
}

/// Lets the command count its calls on files below `folder` into a file.
pub fn count(command: &mut Command, folder: &Path, into: &Path) {
    command.env("LD_PRELOAD", library()).env("ATTACK_FOLDER", folder).env("ATTACK_COUNT", into);
}

/// The number that was counted.
pub fn counted(file: &Path) -> u64 {
    fs::read_to_string(file).unwrap().trim().parse().unwrap_or_else(|_| panic!("{}", text(file)))
}

/// Lets the call number `at` fail with `errno`, or kill the process where that is 0.
pub fn strike(command: &mut Command, folder: &Path, at: u64, errno: i32) {
    command.env("LD_PRELOAD", library()).env("ATTACK_FOLDER", folder);
    command.env("ATTACK_AT", at.to_string()).env("ATTACK_WITH", errno.to_string());
}

/// Lets the command stop before it opens `file` once `after` is there.
pub fn stop(command: &mut Command, file: &Path, after: &Path) {
    command.env("LD_PRELOAD", library()).env("ATTACK_STOP", file).env("ATTACK_AFTER", after);
}
