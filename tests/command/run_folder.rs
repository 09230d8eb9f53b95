//! One process to a run folder, and a folder that is where it was.

#![cfg(unix)]

#[cfg(target_os = "linux")]
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};

use tempfile::TempDir;

use crate::common::{
    self, assert_same, content, metrics_lines, run, send, succeed, text, tiny, wait_for, ztrack,
};
use crate::shim;

/// Long enough to be met in the middle: some seconds.
// Steps of the tracker that are chosen by themselves depend on the length planned, which changes here.
const LONG: &[&str] = &[
    "--set",
    "training.updates=30000",
    "--set",
    "checkpoint.every=50",
    "--set",
    "evaluation.images_every=0",
    "--set",
    "audit.every=0",
    "--set",
    "tempering.every=1",
];

/// Goes on with a run for some more updates than its last state has.
fn go_on(out: &Path, more: &[&str]) {
    let states = fs::read_dir(out.join("checkpoints/state")).unwrap();
    // A process that was killed can leave a file that it was writing.
    let paths = states.map(|entry| entry.unwrap().path());
    let names = paths.filter(|path| path.extension().is_some_and(|it| it == "state"));
    let number = |path: PathBuf| {
        path.file_stem().unwrap().to_str().unwrap().trim_start_matches("update-").parse().unwrap()
    };
    let update: u64 = names.map(number).max().unwrap();
    let updates = format!("training.updates={}", update + 20);
    let resume = ["train", "--resume", "-q", "--out", &text(out), "--set", &updates];
    succeed(&[&resume[..], more].concat());
}

/// A run that is in the middle of its work.
fn running(folder: &Path, out: &Path) -> Child {
    let mut command = ztrack();
    command.args(["train", &tiny(folder), "--quiet", "--out"]).arg(out).args(LONG);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("rows in metrics.csv", || metrics_lines(out) > 30);
    child
}

fn interrupt(child: Child) -> Output {
    send(&child, "-INT");
    child.wait_with_output().unwrap()
}

#[test]
fn a_second_process_is_refused_and_changes_nothing() {
    let folder = TempDir::new().unwrap();
    let config = tiny(folder.path());
    let (out, alone) = (folder.path().join("out"), folder.path().join("alone"));
    let child = running(folder.path(), &out);
    // What a live run is just writing.
    let temporary = out.join(".live.ztrack-tmp");
    fs::write(&temporary, "half").unwrap();
    let expected = format!("in use by process {}", child.id());
    let out_text = text(&out);
    for arguments in [
        &["train", &config, "--out", &out_text][..],
        &["train", "--resume", "--out", &out_text],
        &["train", "--resume", "--force", "--out", &out_text],
    ] {
        let output = run(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && stderr.contains(&expected), "{stderr}");
        assert!(temporary.exists(), "{arguments:?} deleted a file of the live run");
    }
    fs::remove_file(&temporary).unwrap();
    assert_eq!(interrupt(child).status.code(), Some(130));
    // Shortened to where it is, and run again by itself, it has the same rows.
    let rows = fs::read_to_string(out.join("metrics.csv")).unwrap();
    let last: u64 = rows.lines().last().unwrap().split(',').next().unwrap().parse().unwrap();
    let updates = format!("training.updates={}", last + 10);
    succeed(&["train", "--resume", "-q", "--out", &out_text, "--set", &updates]);
    let mut arguments = vec!["train", &config, "-q", "--out"];
    let alone_text = text(&alone);
    arguments.push(&alone_text);
    arguments.extend(LONG);
    arguments.extend(["--set", &updates]);
    succeed(&arguments);
    // The interruption left a checkpoint of its own behind.
    for folder in [&out, &alone] {
        fs::remove_dir_all(folder.join("checkpoints")).unwrap();
    }
    assert_same(&alone, &out);
}

#[test]
fn a_lock_of_a_dead_process_is_taken_over() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out");
    let mut child = running(folder.path(), &out);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(out.join("run.lock").exists());
    go_on(&out, &[]);
}

#[test]
fn a_refused_train_leaves_a_strangers_folder_as_it_is() {
    let folder = TempDir::new().unwrap();
    let config = tiny(folder.path());
    let out = folder.path().join("mine");
    fs::create_dir(&out).unwrap();
    for name in ["thesis.tex", ".old.ztrack-tmp"] {
        fs::write(out.join(name), "mine").unwrap();
    }
    let output = run(&["train", &config, "--out", &text(&out)]);
    assert!(!output.status.success());
    let mut names: Vec<_> =
        fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, [".old.ztrack-tmp", "thesis.tex"]);
}

/// Deleted or moved in mid run: an error that says what, soon, and no half folder in the old place.
#[test]
fn what_is_taken_away_in_mid_run_is_told() {
    type Away = (&'static str, &'static str, fn(&Path, &Path));
    let away: [Away; 6] = [
        // A file written meanwhile leaves a folder that is not empty, with what had not been deleted yet.
        ("run.lock", "the folder deleted", |out, _| {
            wait_for("deletion", || fs::remove_dir_all(out).is_ok() || !out.exists());
        }),
        ("", "the folder moved", |out, other| fs::rename(out, other).unwrap()),
        ("train", "events deleted", |out, _| {
            fs::remove_dir_all(out.join("train")).unwrap();
        }),
        ("metrics.csv", "metrics deleted", |out, _| {
            fs::remove_file(out.join("metrics.csv")).unwrap();
        }),
        ("config.toml", "the configuration moved", |out, other| {
            fs::rename(out.join("config.toml"), other).unwrap();
        }),
        ("checkpoints", "checkpoints deleted", |out, other| {
            fs::rename(out.join("checkpoints"), other).unwrap();
        }),
    ];
    for (named, what, take_away) in away {
        let folder = TempDir::new().unwrap();
        let (out, other) = (folder.path().join("out"), folder.path().join("other"));
        let mut child = running(folder.path(), &out);
        take_away(&out, &other);
        wait_for("end", || child.try_wait().unwrap().is_some());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{what}: {stderr}");
        assert!(stderr.contains("deleted or moved"), "{what}: {stderr}");
        // Deleting a folder goes file by file, so any of them may be missed first.
        assert!(what.ends_with("folder deleted") || stderr.contains(named), "{what}: {stderr}");
        if what.starts_with("the folder") {
            assert!(!out.join("summary.json").exists(), "{what}");
        } else {
            // The state is there, and goes on when told that something is lost.
            if named == "config.toml" {
                fs::rename(&other, out.join(named)).unwrap();
            }
            go_on(&out, &["--force"]);
        }
        if what == "the folder moved" {
            // It goes on from where it was.
            go_on(&other, &[]);
            assert!(content(&other).contains_key("summary.json"));
        }
    }
}

/// The state before the evaluation that could not be recorded is kept: nothing but one update is lost.
#[test]
fn the_state_before_a_failed_record_is_kept() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out");
    let mut command = ztrack();
    command.args(["train", &tiny(folder.path()), "--quiet", "--out"]).arg(&out).args(LONG);
    command.args(["--set", "checkpoint.every=1000000"]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let metrics = out.join("metrics.csv");
    wait_for("rows in metrics.csv", || metrics_lines(&out) > 30);
    fs::rename(&metrics, folder.path().join("metrics.csv")).unwrap();
    wait_for("end", || child.try_wait().unwrap().is_some());
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let states: Vec<PathBuf> = fs::read_dir(out.join("checkpoints/state"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(states.len(), 1);
    fs::rename(folder.path().join("metrics.csv"), &metrics).unwrap();
    go_on(&out, &[]);
}

/// Deleted while the report is made: an error, and the folder does not come again with a report alone.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_deleted_during_the_report_stays_deleted() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out");
    let mut command = ztrack();
    command.args(["train", &tiny(folder.path()), "--quiet", "--out"]).arg(&out);
    // What is read after the summary is written is read for the report.
    shim::stop(&mut command, &out.join("metrics.csv"), &out.join("summary.json"));
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    common::wait_for_stop(&child);
    assert!(!out.join("report.html").exists(), "the report is made after the summary");
    fs::remove_dir_all(&out).unwrap();
    send(&child, "-CONT");
    wait_for("end", || child.try_wait().unwrap().is_some());
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("deleted or moved"), "{stderr}");
    assert!(!out.exists(), "it came again: {:?}", fs::read_dir(&out).unwrap().count());
}

#[test]
fn a_run_folder_that_is_a_link_to_nothing_is_told() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out");
    std::os::unix::fs::symlink(folder.path().join("nothing"), &out).unwrap();
    let output = run(&["train", &tiny(folder.path()), "-q", "--out", &text(&out)]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && stderr.contains("is a link to nothing"), "{stderr}");
}

/// `ulimit -n`: whatever a run has no descriptor for, its error says so and nothing else, and what it left is resumed.
#[cfg(target_os = "linux")]
#[test]
fn a_limit_of_open_files_is_told_as_that() {
    let folder = TempDir::new().unwrap();
    let (config, whole) = (tiny(folder.path()), folder.path().join("whole"));
    let often = ["--set", "checkpoint.every=3"];
    let train = |out: &Path| {
        [&["train", &config, "-q", "--out", &text(out)], &often[..]]
            .concat()
            .into_iter()
            .map(String::from)
            .collect::<Vec<_>>()
    };
    assert!(ztrack().args(train(&whole)).output().unwrap().status.success());
    let (mut begun, mut limit) = (0, 5);
    loop {
        let out = folder.path().join(limit.to_string());
        let mut command = std::process::Command::new("sh");
        let script = format!("ulimit -n {limit}; exec \"$@\"");
        command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_ztrack")]).args(train(&out));
        let output = command.output().unwrap();
        if output.status.success() {
            break;
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(stderr.matches("Too many open files").count(), 1, "{limit}: {stderr}");
        if out.join("notices.jsonl").exists() {
            let states = fs::read_dir(out.join("checkpoints/state")).unwrap().count();
            let kept = if states > 0 {
                "its last checkpoint is kept"
            } else {
                "before its first checkpoint"
            };
            assert!(stderr.contains(kept), "{limit}: {stderr}");
            assert!(out.join("failure.txt").exists(), "{limit}: {stderr}");
            succeed(&["train", "--resume", "-q", "--out", &text(&out)]);
            assert_same(&whole, &out);
            begun += 1;
        }
        limit += 1;
    }
    assert!(begun >= 2, "{begun} runs were short of descriptors after their start");
}
