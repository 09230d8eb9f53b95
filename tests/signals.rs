//! Signals: the ones the parent ignored stay ignored, and nothing makes a signal wait.

#![cfg(unix)]

mod common;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{
    assert_same, heed_signals, metrics_lines, send, text, tiny, train, train_arguments, wait_for,
};
use tempfile::TempDir;
use ztrack::checkpoint::ModelFile;
use ztrack::model::test_systems::gaussian_parameters;

/// Starts the command under a shell that prepares signals.
fn shell(prepare: &str, arguments: &[&str]) -> Child {
    let mut command = Command::new("sh");
    let script = format!("{prepare}; exec \"$@\"");
    command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_ztrack")]).args(arguments);
    heed_signals(&mut command);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn signals_the_parent_ignored_do_not_end_a_run() {
    let folder = TempDir::new().unwrap();
    let config = tiny(folder.path());
    for (ignored, sent, code) in [
        ("HUP", "-HUP", 0),
        ("INT", "-INT", 0),
        ("TERM", "-TERM", 0),
        // What is not ignored still ends it.
        ("HUP", "-INT", 130),
        ("INT", "-HUP", 130),
    ] {
        let out = folder.path().join(format!("{ignored}{sent}"));
        let out_text = text(&out);
        let arguments = ["train", &config, "-q", "--out", &out_text, "--set"];
        // Long enough to be met by the signal on any machine; one that is to end by it, as good as endless.
        let updates = if code == 0 { "training.updates=1500" } else { "training.updates=1000000" };
        let arguments = [&arguments[..], &[updates]].concat();
        let child = shell(&format!("trap '' {ignored}"), &arguments);
        wait_for("rows", || metrics_lines(&out) > 5);
        send(&child, sent);
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{ignored} ignored, {sent}: {stderr}");
        assert_eq!(out.join("summary.json").exists(), code == 0);
    }
}

/// Most a signal may wait; a second, and what a busy machine adds.
const PATIENCE: Duration = Duration::from_secs(3);

/// Each is at work for minutes if it is left alone, and on more than one thing.
#[test]
fn initial_rounds_and_audits_end_at_a_signal_and_are_done_again() {
    let folder = TempDir::new().unwrap();
    let config = tiny(folder.path());
    let rounds = ["tempering.initial_rounds={ sweeps = 5000000, most = 2 }"];
    let lost = ["training.updates=15", "checkpoint.every=1000", "evaluation.every=5"];
    let audits = [
        &lost[..],
        &[
            "audit={ every = 1, chains = 100, temperatures = 9000000 }",
            "model.hidden=30",
            "data.source.side=5",
        ],
    ]
    .concat();
    let last = [
        &lost[..],
        &[
            "audit={ every = 0, chains = 100, temperatures = 9000000 }",
            "model.hidden=30",
            "data.source.side=5",
        ],
    ]
    .concat();
    for (what, settings, reached) in
        [("initial rounds", &rounds[..], 1), ("an audit", &audits, 1), ("the last audit", &last, 5)]
    {
        let out = folder.path().join(what);
        let out_text = text(&out);
        let mut arguments = vec!["train", &config, "-q", "--out", &out_text];
        settings.iter().for_each(|setting| arguments.extend(["--set", setting]));
        let child = shell("true", &arguments);
        wait_for("metrics.csv", || metrics_lines(&out) >= reached);
        std::thread::sleep(Duration::from_millis(300));
        let started = Instant::now();
        send(&child, "-INT");
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{what}: {stderr}");
        assert!(started.elapsed() < PATIENCE, "{what} went on for {:?}", started.elapsed());
        assert!(stderr.contains("continue with"), "{stderr}");
        assert_eq!(fs::read_dir(out.join("checkpoints/state")).unwrap().count(), 1, "{what}");
    }
}

/// The evaluation a signal ended is made after the resume: the same bytes as without the signal.
#[test]
fn an_interrupted_audit_changes_nothing() {
    let folder = TempDir::new().unwrap();
    let config = tiny(folder.path());
    let settings = [
        "training.updates=6",
        "evaluation.every=2",
        "checkpoint.every=3",
        "audit={ every = 1, chains = 50, temperatures = 30000 }",
        "model.hidden=24",
        "data.source.side=5",
    ];
    let (whole, broken) = (folder.path().join("whole"), folder.path().join("broken"));
    train(&config, &whole, &settings, &["-q"]);
    let mut arguments = train_arguments(&config, &broken, &settings);
    arguments.push("-q".into());
    let mut child = shell("true", &arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let mut interruptions = 0;
    for wanted in 1..=4 {
        wait_for("rows", || {
            metrics_lines(&broken) >= wanted || child.try_wait().unwrap().is_some()
        });
        std::thread::sleep(Duration::from_millis(20));
        if child.try_wait().unwrap().is_none() {
            send(&child, "-INT");
        }
        let code = child.wait().unwrap().code();
        interruptions += usize::from(code == Some(130));
        child = shell("true", &["train", "--resume", "-q", "--out", &text(&broken)]);
    }
    assert!(child.wait().unwrap().success());
    assert!(interruptions >= 2, "{interruptions} interruptions");
    for out in [&whole, &broken] {
        // An interruption leaves a checkpoint of its own.
        fs::remove_dir_all(out.join("checkpoints")).unwrap();
    }
    assert_same(&whole, &broken);
}

#[test]
fn estimates_evaluations_and_samples_end_at_a_signal() {
    let folder = TempDir::new().unwrap();
    let model = text(&folder.path().join("model.safetensors"));
    let parameters = gaussian_parameters(25, 24, 0.1, 1);
    ModelFile::from(parameters).save(&model).unwrap();
    let samples = text(&folder.path().join("samples.npy"));
    let data = text(&folder.path().join("rows.csv"));
    fs::write(&data, ["0"; 25].join(",") + "\n").unwrap();
    let ais = ["--method", "ais", "--temperatures", "9000000"];
    let rts = ["--method", "rts", "--sweeps", "9000000"];
    let sample = ["sample", &model, "--count", "1000", "--sweeps", "9000000", "--out", &samples];
    for arguments in [
        [&["estimate", &model][..], &ais].concat(),
        [&["estimate", &model][..], &rts].concat(),
        [&["evaluate", &model, "--data", &data][..], &ais].concat(),
        sample.to_vec(),
    ] {
        for signal in ["-INT", "-TERM"] {
            let child = shell("true", &arguments);
            std::thread::sleep(Duration::from_millis(500));
            let started = Instant::now();
            send(&child, signal);
            let output = child.wait_with_output().unwrap();
            assert!(started.elapsed() < PATIENCE, "{arguments:?}: {:?}", started.elapsed());
            assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}");
        }
    }
    assert!(!Path::new(&samples).exists());
}
