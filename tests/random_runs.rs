//! Random configurations, killed at random moments or out of disk, end in the same bytes as when they are left alone.
//!
//! A few of each by default; `ZTRACK_LONG=1` makes it 100 kills and 30 full disks.

#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use common::{assert_same, text, tiny, ztrack};
use ndarray::Array2;
use ndarray_npy::WriteNpyExt;
use rand::{Rng, RngExt};
use tempfile::TempDir;
use ztrack::ops::random::{Purpose, Streams};

fn long() -> bool {
    std::env::var_os("ZTRACK_LONG").is_some()
}

/// Settings that a random configuration draws from, beside those of its kind.
fn settings(kind: usize, grey: &Path, stream: &mut impl Rng) -> Vec<String> {
    let mut pick = |choices: &[&str]| choices[stream.random_range(0..choices.len())].to_string();
    let kinds: [&[&str]; 4] = [
        &[
            "training.gradient={ kind = \"tempered\" }",
            "training.learning_rate={ initial = 0.01 }",
            "tempering.prior={ exponential = 2.0 }",
        ],
        &[
            "data.binarization=stochastic",
            "tempering.every=4",
            "training.gradient={ kind = \"pcd\" }",
        ],
        &[
            "training.update={ rule = \"rmsspectral\" }",
            "training.learning_rate={ initial = 0.0001 }",
            "tempering.smoothing={ alpha = 0.3 }",
        ],
        &[
            "training.pretraining={ updates = 43, learning_rate = 0.05, batch = 10 }",
            "training.update={ rule = \"adam\" }",
            "training.gradient={ kind = \"cd\", sweeps = 2 }",
        ],
    ];
    let mut settings: Vec<String> = kinds[kind].iter().map(ToString::to_string).collect();
    if kind == 1 {
        settings.push(format!("data.source={{ name = \"files\", train = {grey:?} }}"));
    }
    let updates = if long() { "training.updates=2500" } else { "training.updates=250" };
    settings.extend([
        updates.into(),
        pick(&["seed=1", "seed=2", "seed=9223372036854775808"]),
        pick(&["checkpoint.every=7", "checkpoint.every=20", "checkpoint.every=50"]),
        pick(&["checkpoint.keep=2", "checkpoint.keep=0"]),
        pick(&["evaluation.every=3", "evaluation.every=5", "evaluation.every=11"]),
        pick(&["evaluation.images_every=0", "evaluation.images_every=4"]),
        pick(&["training.centering=true", "training.centering=false"]),
        pick(&["training.weight_decay=0.0", "training.weight_decay=0.001"]),
        pick(&["tempering.chains=30", "tempering.chains=61"]),
        pick(&["tempering.temperatures=5", "tempering.temperatures=9"]),
        pick(&["tempering.beta_update=collapsed", "tempering.beta_update={ joint = 2 }"]),
        pick(&["training.early_stopping={ patience = 1000 }", "data.split_seed=5"]),
    ]);
    settings
}

/// What a random run needs.
struct Case {
    folder: TempDir,
    config: String,
    settings: Vec<String>,
}

impl Case {
    fn new(kind: usize, stream: &mut impl Rng) -> Self {
        let folder = TempDir::new().unwrap();
        let grey = folder.path().join("grey.npy");
        let levels = Array2::from_shape_fn((150, 9), |_| stream.random_range(0..=255u8));
        let mut bytes = Vec::new();
        levels.write_npy(&mut bytes).unwrap();
        fs::write(&grey, bytes).unwrap();
        let (config, settings) = (tiny(folder.path()), settings(kind, &grey, stream));
        Self { folder, config, settings }
    }

    fn out(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts the run, or continues it where there is something to continue.
    fn arguments(&self, out: &Path) -> Vec<String> {
        let mut arguments = vec!["train".to_string(), "--quiet".into(), "--out".into(), text(out)];
        if out.join("config.toml").exists() {
            arguments.push("--resume".into());
        } else {
            arguments.push(self.config.clone());
            for setting in &self.settings {
                arguments.extend(["--set".into(), setting.clone()]);
            }
        }
        arguments
    }

    fn finish(&self, out: &Path) {
        let output = ztrack().args(self.arguments(out)).output().unwrap();
        assert!(output.status.success(), "{:?}: {}", self.settings, stderr(&output));
    }
}

fn has_state(out: &Path) -> bool {
    fs::read_dir(out.join("checkpoints/state")).is_ok_and(|mut states| states.next().is_some())
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn kills_at_random_moments_change_nothing() {
    let mut stream = Streams::new(21, Purpose::TestSystem, 0).row(0);
    let (wanted, rounds) = if long() { (100, 5) } else { (8, 2) };
    let (mut hits, mut resumed, mut runs) = (0, 0, 0);
    while hits < wanted {
        let case = Case::new(runs % 4, &mut stream);
        let (whole, broken) = (case.out("whole"), case.out("broken"));
        let started = Instant::now();
        case.finish(&whole);
        let duration = started.elapsed();
        for _ in 0..rounds {
            let mut child = ztrack();
            child.args(case.arguments(&broken)).stderr(Stdio::piped());
            let mut child = child.spawn().unwrap();
            std::thread::sleep(duration.mul_f64(stream.random_range(0.1..1.6) / f64::from(rounds)));
            let running = child.try_wait().unwrap().is_none();
            child.kill().unwrap();
            hits += u32::from(running);
            resumed += u32::from(running && has_state(&broken));
            let output = child.wait_with_output().unwrap();
            assert!(
                !stderr(&output).contains("error:"),
                "{:?}: {}",
                case.settings,
                stderr(&output)
            );
        }
        case.finish(&broken);
        assert_same(&whole, &broken);
        runs += 1;
    }
    println!(
        "{hits} kills of running processes in {runs} runs of 4 kinds; {resumed} left a state behind"
    );
    assert!(resumed * 2 > hits, "most were killed before their first checkpoint");
    assert!(runs >= 4);
}

/// A disk of some size, in a name space of its own that ends with the process; what was on it is copied back.
#[test]
fn full_disks_change_nothing_once_there_is_room() {
    let allowed = Command::new("unshare").args(["-m", "true"]).output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: a file system of one's own is not allowed here");
        return;
    }
    let mut stream = Streams::new(22, Purpose::TestSystem, 0).row(0);
    let wanted = if long() { 30 } else { 4 };
    let (mut faults, mut runs) = (0, 0);
    while faults < wanted {
        let case = Case::new(runs % 4, &mut stream);
        let (whole, broken) = (case.out("whole"), case.out("broken"));
        case.finish(&whole);
        let disk = case.out("disk");
        fs::create_dir(&disk).unwrap();
        let full = size(&whole) / 1024;
        for _ in 0..2 {
            // Room for what is there, and for some of what comes.
            let there = if broken.is_dir() { size(&broken) / 1024 + 8 } else { 8 };
            let kib = stream.random_range(there..full.max(there) + 16);
            let script = format!(
                "mount -t tmpfs -o size={kib}k none \"$1\" || exit 77; \
                 if [ -d \"$2\" ]; then cp -a \"$2\" \"$1/run\" || exit 76; fi; \
                 shift 2; \"$@\"; code=$?; rm -rf \"$BACK\"; cp -a \"$DISK/run\" \"$BACK\"; exit $code"
            );
            let on_disk = disk.join("run");
            let mut arguments = case.arguments(&broken);
            arguments[3] = text(&on_disk);
            let mut command = Command::new("unshare");
            command.args(["-m", "sh", "-c", &script, "sh"]).arg(&disk).arg(&broken);
            command.env("BACK", &broken).env("DISK", &disk);
            let output =
                command.arg(env!("CARGO_BIN_EXE_ztrack")).args(arguments).output().unwrap();
            if output.status.code() == Some(77) {
                eprintln!("skipped: {}", stderr(&output));
                return;
            }
            if output.status.code() == Some(76) {
                continue;
            }
            if !output.status.success() {
                let words = stderr(&output);
                assert!(words.contains("No space left"), "{words}");
                assert!(!words.contains("panicked"), "{words}");
                faults += 1;
            }
        }
        case.finish(&broken);
        assert_same(&whole, &broken);
        runs += 1;
    }
    println!("{faults} full disks in {runs} runs of 4 kinds");
}

fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| {
            if path.is_dir() {
                size(&path)
            } else {
                path.metadata().unwrap().len().next_multiple_of(4096)
            }
        })
        .sum()
}
