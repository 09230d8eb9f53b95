//! Files of a run folder that are damaged, no files, or without end: each is told, and nothing waits for them.

#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::common::{run, succeed, text, tiny, train, wait_for, ztrack};

fn finished() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out");
    train(&tiny(folder.path()), &out, &[], &["-q"]);
    (folder, out)
}

fn resume(out: &Path) -> [String; 7] {
    let set = ["--set", "training.updates=25"].map(String::from);
    let [a, b] = set;
    ["train".into(), "--resume".into(), "-q".into(), "--out".into(), text(out), a, b]
}

/// The command, which must end by itself.
fn ended(arguments: &[String]) -> Output {
    let mut command = ztrack();
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    wait_for("end", || child.try_wait().unwrap().is_some());
    child.wait_with_output().unwrap()
}

/// What only asks whether a run is at work does not wait for a writer; what goes on with it is refused.
#[test]
fn a_pipe_in_the_place_of_the_lock_is_not_waited_for() {
    let (_folder, out) = finished();
    fs::remove_file(out.join("run.lock")).unwrap();
    assert!(Command::new("mkfifo").arg(out.join("run.lock")).status().unwrap().success());
    let page = text(&out.join("page.html"));
    for arguments in [
        vec!["runs".to_string(), text(&out)],
        vec!["compare".into(), text(&out), text(&out)],
        ["report", &text(&out), "--seconds", "0", "--out", &page].map(String::from).to_vec(),
    ] {
        let output = ended(&arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {stderr}");
    }
    let output = ended(&resume(&out));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && stderr.contains("run.lock"), "{stderr}");
}

/// A state of 60 GiB that takes no room on the disk: refused before it is read.
#[test]
fn a_state_larger_than_the_memory_is_refused() {
    let (_folder, out) = finished();
    let state = fs::File::create(out.join("checkpoints/state/update-00000021.state")).unwrap();
    state.set_len(60 << 30).unwrap();
    let script = "ulimit -v 1000000; exec \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_ztrack")]).args(resume(&out));
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("update-00000021.state: is too large: its bytes need"), "{stderr}");
}

/// A pipe that nobody writes to would be waited for, and a device has no end.
#[test]
fn pipes_and_devices_in_a_run_folder_are_refused() {
    for name in ["failure.txt", "metrics.csv", "notices.jsonl", "summary.json"] {
        for device in [false, true] {
            let (_folder, out) = finished();
            let path = out.join(name);
            let _ = fs::remove_file(&path);
            if device {
                std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
            } else {
                assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
            }
            let runs = ["runs".to_string(), text(&out)];
            let output = ended(&runs);
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{name}: {stderr}");
            // `runs` shows no notices.
            let told = stderr.contains(name) && stderr.contains("not a regular file");
            assert!(told || name == "notices.jsonl", "{name}: {stderr}");
            let output = ended(&resume(&out));
            let stderr = String::from_utf8_lossy(&output.stderr);
            // What says how the run ended is removed before it goes on.
            let read = ["metrics.csv", "notices.jsonl"].contains(&name);
            assert_eq!(output.status.success(), !read, "{name}: {stderr}");
            assert!(!read || stderr.contains("not a regular file"), "{name}: {stderr}");
        }
    }
}

#[test]
fn damage_is_told_by_runs_and_compare() {
    let (_folder, out) = finished();
    let out_text = text(&out);
    let good = succeed(&["runs", &out_text]);
    assert!(good.contains("finished"), "{good}");
    for (name, bytes) in [
        ("summary.json", &b"\xff{broken"[..]),
        ("summary.json", b"{}"),
        ("metrics.csv", b"\xff\n"),
        ("config.toml", b"seed = ["),
    ] {
        let kept = fs::read(out.join(name)).unwrap();
        fs::write(out.join(name), bytes).unwrap();
        for arguments in [
            &["runs", &out_text][..],
            &["runs", &out_text, "--json"],
            &["compare", &out_text, &out_text],
        ] {
            let output = run(arguments);
            let (stderr, stdout) =
                (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
            assert!(output.status.success() && stderr.contains(name), "{arguments:?}: {stderr}");
            assert!(!stdout.contains("interrupted"), "{name}: {stdout}");
            let state = if name == "summary.json" { "unknown" } else { "finished" };
            assert!(arguments[0] == "compare" || stdout.contains(state), "{name}: {stdout}");
        }
        fs::write(out.join(name), kept).unwrap();
    }
    // One cell, in the midst.
    let rows = fs::read_to_string(out.join("metrics.csv")).unwrap();
    let mut lines: Vec<_> = rows.lines().collect();
    let broken = lines[2].replacen(',', ",x", 1);
    lines[2] = &broken;
    fs::write(out.join("metrics.csv"), lines.join("\n") + "\n").unwrap();
    let stderr = run(&["runs", &out_text]).stderr;
    let stderr = String::from_utf8_lossy(&stderr);
    assert!(stderr.contains("1 of its lines cannot be read, the first is line 3"), "{stderr}");
}

/// From update 10^8 on names have nine digits, and sort below those of eight as text.
#[test]
fn the_newest_checkpoint_is_the_one_with_the_largest_number() {
    let (_folder, out) = finished();
    let states = out.join("checkpoints/state");
    for file in fs::read_dir(&states).unwrap() {
        let file = file.unwrap().path();
        if !file.ends_with("update-00000020.state") {
            fs::remove_file(&file).unwrap();
        }
    }
    fs::rename(states.join("update-00000020.state"), states.join("update-100000000.state"))
        .unwrap();
    fs::write(states.join("update-99999999.state"), "damaged").unwrap();
    for name in ["best.safetensors", "last.safetensors"] {
        fs::remove_file(out.join(name)).unwrap();
    }
    let models = out.join("checkpoints");
    let model = models.join("update-00000020.safetensors");
    fs::rename(&model, models.join("update-100000000.safetensors")).unwrap();
    fs::write(models.join("update-99999999.safetensors"), "damaged").unwrap();
    let output = run(&["report", &text(&out), "--seconds", "0", "--force"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !stderr.contains("warning"), "{stderr}");
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(!page.contains("99999999"), "the damaged model was taken");
    succeed(&["estimate", &text(&out), "--method", "exact"]);
}
