//! Damaged files in a run folder: every command that reads it ends, without a panic, and says which file is wrong.

use std::fs;
use std::path::{Path, PathBuf};

use rand::RngExt;
use tempfile::TempDir;
use ztrack::engine::random::{Purpose, Streams};

use super::cases::{long, stderr};
use super::common::{run, text, tiny, train};
use super::mutations::mutated;

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// Files of a run that are read again, with those in folders.
fn targets(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(targets(&path));
        } else if !["html", "svg", "lock"].iter().any(|end| path.extension().unwrap() == *end) {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn damaged_run_folders_are_read_or_refused() {
    let folder = TempDir::new().unwrap();
    let (whole, out) = (folder.path().join("whole"), folder.path().join("out"));
    train(&tiny(folder.path()), &whole, &[], &["-q"]);
    fs::write(whole.join("failure.txt"), "the disk is full\n").unwrap();
    let names: Vec<PathBuf> = targets(&whole)
        .iter()
        .map(|path| path.strip_prefix(&whole).unwrap().to_path_buf())
        .collect();
    let mut stream = Streams::new(25, Purpose::TestSystem, 0).row(0);
    let (out_text, whole_text) = (text(&out), text(&whole));
    let page = text(&folder.path().join("page.html"));
    let commands: [&[&str]; 5] = [
        &["runs", &out_text, "--json"],
        &["compare", &out_text, &whole_text],
        &["report", &out_text, "--seconds", "0", "--out", &page, "--force"],
        &["estimate", &out_text, "--method", "exact"],
        &["train", "--resume", "-q", "--out", &out_text, "--set", "training.updates=25"],
    ];
    let mut counts = [0; 2];
    for i in 0..if long() { 400 } else { 60 } {
        let name = &names[i % names.len()];
        if out.exists() {
            fs::remove_dir_all(&out).unwrap();
        }
        copy(&whole, &out);
        let bytes = mutated(&fs::read(whole.join(name)).unwrap(), &mut stream);
        fs::write(out.join(name), &bytes).unwrap();
        let command = commands[stream.random_range(0..commands.len())];
        let output = run(command);
        let words = stderr(&output);
        let what = format!("{}: {command:?}: {words}", name.display());
        let code = output.status.code().unwrap_or_else(|| panic!("ended by a signal: {what}"));
        assert!(code <= 3 && !words.contains("panicked"), "{code}: {what}");
        let control = words.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(control, None, "{what}");
        let told = [name.file_name().unwrap().to_str().unwrap(), &out_text];
        assert!(code == 0 || told.iter().any(|part| words.contains(part)), "no file: {what}");
        counts[usize::from(code == 0)] += 1;
    }
    println!("{} refused, {} read", counts[0], counts[1]);
    assert!(counts.iter().all(|&count| count > 0));
}
