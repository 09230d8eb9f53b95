//! A resume goes on with the run it was asked for, or says why not.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{self, assert_same, run, summary, text, tiny, train};

/// A run in a folder of its own, 20 updates long, whose rows come from a file.
struct Run {
    folder: TempDir,
    out: PathBuf,
}

impl Run {
    fn new(settings: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("rows.csv"), rows(60, 1)).unwrap();
        let source = format!(
            "data.source={{ name = \"files\", train = {:?} }}",
            folder.path().join("rows.csv")
        );
        let out = folder.path().join("out");
        train(&tiny(folder.path()), &out, &[settings, &[&source]].concat(), &["-q"]);
        Self { folder, out }
    }

    fn resume(&self, more: &[&str]) -> std::process::Output {
        let out = text(&self.out);
        run(&[&["train", "--resume", "-q", "--out", &out][..], more].concat())
    }

    /// A resume that must fail with one line that says all of `expected`, and change nothing.
    fn refused(&self, more: &[&str], expected: &[&str]) {
        let before = all_bytes(&self.out);
        let output = self.resume(more);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{more:?}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        for expected in expected {
            assert!(stderr.contains(expected), "{more:?}: {expected}: {stderr}");
        }
        assert!(before == all_bytes(&self.out), "{more:?}: something changed");
    }

    fn resumed(&self, more: &[&str]) -> Value {
        let output = self.resume(more);
        assert!(output.status.success(), "{more:?}: {}", String::from_utf8_lossy(&output.stderr));
        summary(&self.out)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.out.join(name)
    }
}

fn rows(count: usize, seed: usize) -> String {
    let bit = |i: usize, j: usize| ((i * 7 + j * (i + 3) + seed * (i * j + 5)) / 3) % 2;
    let row = |i| (0..9).map(|j| bit(i, j).to_string()).collect::<Vec<_>>().join(",") + "\n";
    (0..count).map(row).collect()
}

/// Every file with its bytes; the lock is no content.
fn all_bytes(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(all_bytes(&path));
        } else if !path.ends_with("run.lock") {
            found.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn other_rows_and_settings_are_refused_with_both_values() {
    let run = Run::new(&[]);
    let longer = ["--set", "training.updates=25"];
    let with = |setting: &'static str| [&longer[..], &["--set", setting]].concat();
    run.refused(
        &with("data.split_seed=9"),
        &["data.split_seed", "was 0", "is 9", "validation rows"],
    );
    run.refused(&with("data.validation_fraction=0.3"), &["was 0.2", "is 0.3"]);
    run.refused(&with("seed=4"), &["`seed` was 3 at the checkpoint and is 4 now"]);
    run.refused(&with("tempering.smoothing={ alpha = 0.5 }"), &["tempering.smoothing"]);
    run.refused(&with("training.learning_rate.initial=0.5"), &["was 0.05", "is 0.5"]);
    let config = fs::read_to_string(run.file("config.toml")).unwrap();
    for (from, to, expected) in [
        ("seed = 3", "seed = 5", "`seed` was 3"),
        ("batch = 16", "batch = 8", "`training.batch` was 16"),
        ("split_seed = 0", "split_seed = 1", "`data.split_seed` was 0"),
    ] {
        assert!(config.contains(from), "{config}");
        fs::write(run.file("config.toml"), config.replace(from, to)).unwrap();
        run.refused(&[], &[expected, "--force"]);
    }
    fs::write(run.file("config.toml"), &config).unwrap();
    let data = run.folder.path().join("rows.csv");
    for other in [rows(60, 2), rows(59, 1)] {
        fs::write(&data, other).unwrap();
        run.refused(&[], &["training rows are not those", "SHA-256", "--force"]);
    }
    fs::write(&data, rows(60, 1)).unwrap();
    // The same rows may lie elsewhere, and the run may be longer.
    let moved = run.folder.path().join("moved.csv");
    fs::rename(&data, &moved).unwrap();
    let source = format!("data.source={{ name = \"files\", train = {moved:?} }}");
    let summary = run.resumed(&["--set", &source, "--set", "training.updates=25"]);
    assert_eq!((&summary["updates"], summary.get("forced")), (&25.into(), None));
}

#[test]
fn what_is_forced_is_told_and_stays_in_the_summary() {
    let run = Run::new(&[]);
    let other = ["--set", "data.split_seed=9", "--set", "training.updates=25", "--force"];
    let output = run.resume(&other);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.contains("warning: forced: "), "{stderr}");
    for updates in ["training.updates=26", "training.updates=27"] {
        let summary = run.resumed(&["--set", updates]);
        let forced = summary["forced"].as_array().unwrap();
        assert!(forced[0].as_str().unwrap().contains("data.split_seed"), "{forced:?}");
    }
    // Not even by force: the state is of another filter.
    run.refused(
        &[
            "--set",
            "tempering.smoothing={ alpha = 0.5 }",
            "--set",
            "training.updates=30",
            "--force",
        ],
        &["tempering.smoothing"],
    );
}

#[test]
fn fewer_updates_than_done_are_refused() {
    let run = Run::new(&[]);
    run.refused(&["--set", "training.updates=10"], &["training.updates", "at update 20 already"]);
    run.refused(&["--set", "training.epochs=1"], &["training.epochs", "at update 20 already"]);
    run.resumed(&["--set", "training.updates=20"]);
}

#[test]
fn seeds_beyond_the_integers_of_toml_can_be_resumed() {
    for seed in [(1u64 << 63) - 1, 1 << 63, u64::MAX] {
        let run = Run::new(&[&format!("seed={seed}"), &format!("data.split_seed={seed}")]);
        run.resumed(&["--set", "training.updates=22"]);
        let config = text(&run.file("config.toml"));
        let config = ztrack::Config::load(Path::new(&config), &["model.hidden=7".into()]).unwrap();
        assert_eq!((config.seed, config.data.split_seed, config.model.hidden), (seed, seed, 7));
    }
    // As a number in a file too, with an override beside it.
    let text = common::TINY.replace("seed = 3", "seed = 18446744073709551615");
    let config = ztrack::Config::parse(&text, &["model.hidden=7".into()]).unwrap();
    assert_eq!((config.seed, config.model.hidden), (u64::MAX, 7));
    for bad in ["seed = -1", "seed = \"x\"", "seed = 1.5"] {
        let error = ztrack::Config::parse(&common::TINY.replace("seed = 3", bad), &[]).unwrap_err();
        assert!(error.to_string().contains("2^64 - 1"), "{error}");
    }
}

#[test]
fn gaps_in_the_records_are_refused_or_noted() {
    type Damage = (&'static str, fn(&Run), &'static str);
    let damage: [Damage; 8] = [
        (
            "metrics missing",
            |run| fs::remove_file(run.file("metrics.csv")).unwrap(),
            "holds 0 of 5",
        ),
        ("metrics empty", |run| fs::write(run.file("metrics.csv"), "").unwrap(), "holds 0 of 5"),
        ("a row gone", |run| edit_rows(run, |rows| _ = rows.remove(3)), "holds 4 of 5"),
        ("the last row gone", |run| edit_rows(run, |rows| _ = rows.pop()), "the last at update 15"),
        (
            "a number changed",
            |run| {
                let text = fs::read_to_string(run.file("metrics.csv")).unwrap();
                fs::write(run.file("metrics.csv"), text.replacen(",-", ",-1", 1)).unwrap();
            },
            "a row was changed",
        ),
        ("rows in another order", |run| edit_rows(run, |rows| rows.swap(2, 3)), "line 4"),
        (
            "events missing",
            |run| fs::remove_dir_all(run.file("train")).unwrap(),
            "train holds 0 of 5",
        ),
        (
            "events of one run missing",
            |run| fs::remove_dir_all(run.file("validation")).unwrap(),
            "validation holds 0 of 5",
        ),
    ];
    for (what, damage, expected) in damage {
        let run = Run::new(&[]);
        damage(&run);
        run.refused(&["--set", "training.updates=25"], &[expected]);
        if expected.starts_with("line") {
            continue;
        }
        let summary = run.resumed(&["--set", "training.updates=25", "--force"]);
        assert!(summary["forced"][0].as_str().unwrap().contains(expected), "{what}: {summary}");
        // Once is enough.
        run.resumed(&["--set", "training.updates=30"]);
    }
}

fn edit_rows(run: &Run, edit: impl Fn(&mut Vec<&str>)) {
    let text = fs::read_to_string(run.file("metrics.csv")).unwrap();
    let mut rows: Vec<_> = text.lines().collect();
    edit(&mut rows);
    fs::write(run.file("metrics.csv"), rows.join("\n") + "\n").unwrap();
}

#[test]
fn a_run_whose_states_are_gone_does_not_start_over_by_itself() {
    let run = Run::new(&[]);
    let whole = Run::new(&[]);
    // A folder without its configuration is no run, with and without --resume.
    fs::rename(run.file("config.toml"), run.file("x.toml")).unwrap();
    for more in [&["--resume"][..], &[]] {
        let (data, out) = (text(&run.folder.path().join("rows.csv")), text(&run.out));
        let arguments = [&["train", &data, "--out", &out][..], more].concat();
        let told = String::from_utf8(common::run(&arguments).stderr).unwrap();
        assert!(
            told.contains("has no config.toml") && told.contains("another with --out"),
            "{told}"
        );
    }
    fs::rename(run.file("x.toml"), run.file("config.toml")).unwrap();
    fs::remove_dir_all(run.file("checkpoints")).unwrap();
    let output = run.resume(&[]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && stderr.contains("no state is left"), "{stderr}");
    let summary = run.resumed(&["--force"]);
    assert!(summary["forced"][0].as_str().unwrap().contains("no state is left"), "{summary}");
    assert_eq!(
        fs::read(run.file("last.safetensors")).unwrap(),
        fs::read(whole.file("last.safetensors")).unwrap()
    );
}

#[test]
fn a_resume_that_is_allowed_changes_nothing() {
    let (whole, again) = (Run::new(&[]), Run::new(&[]));
    let summary = again.resumed(&[]);
    assert_eq!(summary.get("forced"), None);
    // Their data lie in folders of different names.
    let (a, b) = (whole.file("config.toml"), again.file("config.toml"));
    fs::copy(&a, &b).unwrap();
    let states = |run: &Run| fs::remove_dir_all(run.file("checkpoints/state")).unwrap();
    states(&whole);
    states(&again);
    for run in [&whole, &again] {
        let mut summary = self::summary(&run.out);
        summary["configuration"]["data"]["source"].take();
        fs::write(run.file("summary.json"), summary.to_string()).unwrap();
    }
    assert_same(&whole.out, &again.out);
}
