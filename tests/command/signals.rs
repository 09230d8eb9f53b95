//! Signals: the ones the parent ignored stay ignored, and nothing makes a signal wait.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;
use ztrack::checkpoint::ModelFile;
use ztrack::model::test_systems::gaussian_parameters;

use crate::common::{
    self, assert_same, heed_signals, metrics_lines, send, succeed, text, tiny, train,
    train_arguments, wait_for, wait_for_stop, wait_for_work,
};

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
    for (ignored, not_ignored) in [("HUP", "-INT"), ("INT", "-HUP"), ("TERM", "-INT")] {
        let out = folder.path().join(ignored);
        let out_text = text(&out);
        let arguments = ["train", &config, "-q", "--out", &out_text, "--set"];
        // As good as endless.
        let arguments = [&arguments[..], &["training.updates=1000000"]].concat();
        let mut child = shell(&format!("trap '' {ignored}"), &arguments);
        wait_for("rows", || metrics_lines(&out) > 5);
        send(&child, &format!("-{ignored}"));
        let rows = metrics_lines(&out);
        wait_for("rows after the signal", || {
            assert!(child.try_wait().unwrap().is_none(), "{ignored} ended the run");
            metrics_lines(&out) > rows + 20
        });
        // What is not ignored still ends it.
        send(&child, not_ignored);
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{not_ignored}: {stderr}");
    }
}

/// A terminal that closes sends SIGHUP twice, and supervisors repeat SIGTERM: only Ctrl-C asks for an end at once.
#[test]
fn a_second_signal_does_not_lose_the_state() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out");
    let long = ["training.updates=1000000", "checkpoint.every=1000000"];
    let mut arguments = train_arguments(&tiny(folder.path()), &out, &long);
    arguments.push("-q".into());
    let child = shell("true", &arguments.iter().map(String::as_str).collect::<Vec<_>>());
    wait_for("rows", || metrics_lines(&out) > 5);
    // While it is stopped signals wait, so that both are there at once.
    send(&child, "-STOP");
    wait_for_stop(&child);
    let rows = metrics_lines(&out);
    ["-HUP", "-TERM", "-CONT"].into_iter().for_each(|signal| send(&child, signal));
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(stderr.contains("interrupted after update"), "the state was lost: {stderr}");
    let states = fs::read_dir(out.join("checkpoints/state")).unwrap();
    let newest = states.map(|entry| entry.unwrap().file_name().into_string().unwrap()).max();
    let update: usize =
        newest.unwrap().trim_start_matches("update-").trim_end_matches(".state").parse().unwrap();
    assert!(update + 5 >= 5 * (rows - 1), "update {update} beside {rows} rows");
}

/// A search has heard signals too, in the same process.
#[test]
fn one_signal_after_a_search_does_not_lose_the_state() {
    let folder = TempDir::new().unwrap();
    let (table, out) = (text(&folder.path().join("rows.csv")), folder.path().join("out"));
    let run = text(&out);
    let row = |i: usize| (0..30).map(|j| (i * (j + 3) % 7 % 2).to_string()).collect::<Vec<_>>();
    let rows: Vec<String> = (0..300).map(|i| row(i).join(",")).collect();
    fs::write(&table, rows.join("\n")).unwrap();
    let best = ["--set", "training.preset=best", "--set", "audit.share=1e9", "--minutes", "0.02"];
    let arguments = [&["train", &table, "--out", &run], &best[..]].concat();
    let child = shell("true", &arguments);
    wait_for("the run after the search", || out.join("train").is_dir());
    send(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(stderr.contains("continue with"), "{stderr}");
}

/// `ulimit -S -t`: the system says once a second that the processor time is used up, and would end the process by that.
#[test]
fn the_end_of_processor_time_keeps_the_state() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out");
    let long = ["training.updates=1000000", "checkpoint.every=1000000"];
    let mut arguments = train_arguments(&tiny(folder.path()), &out, &long);
    arguments.push("-q".into());
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = shell("ulimit -S -t 1", &arguments).wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert_eq!(fs::read_dir(out.join("checkpoints/state")).unwrap().count(), 1, "{stderr}");
}

/// Nobody reads standard error and the pipe is full: a signal ends the run all the same, with its state.
#[test]
fn a_reader_that_does_not_read_holds_up_no_signal() {
    let folder = TempDir::new().unwrap();
    let config = tiny(folder.path());
    for (what, quiet, signal) in
        [("quiet", true, "-TERM"), ("telling", false, "-TERM"), ("closing", true, "-HUP")]
    {
        let out = folder.path().join(what);
        let (reader, mut writer) = std::io::pipe().unwrap();
        let descriptor = writer.as_raw_fd();
        // SAFETY: both are flags of a descriptor that is open.
        let flags = |flags: libc::c_int| unsafe { libc::fcntl(descriptor, libc::F_SETFL, flags) };
        flags(libc::O_NONBLOCK);
        while writer.write(&[b'x'; 4096]).is_ok() {}
        flags(0);
        let mut arguments = train_arguments(&config, &out, &["training.updates=1000000"]);
        arguments.extend(quiet.then(|| "-q".into()));
        let mut child = common::ztrack().args(&arguments).stderr(writer).spawn().unwrap();
        // It waits before its first update where it has something to tell.
        wait_for("start", || metrics_lines(&out) > 5 || !quiet && out.join("train").exists());
        send(&child, signal);
        wait_for("end", || child.try_wait().unwrap().is_some());
        assert_eq!(child.wait().unwrap().code(), Some(130), "{what}");
        assert!(fs::read_dir(out.join("checkpoints/state")).unwrap().next().is_some(), "{what}");
        drop(reader);
    }
}

/// Each is at work for minutes if it is left alone. What a signal ended is made after the resume: the same bytes as without the signal.
/// The audits are shorter then, which a resume may change.
#[test]
fn initial_rounds_and_audits_end_at_a_signal_and_are_done_again() {
    let folder = TempDir::new().unwrap();
    let config = tiny(folder.path());
    let audit = |every, temperatures| {
        format!(
            "audit={{ every = {every}, chains = 100, temperatures = {temperatures}, share = 1e9 }}"
        )
    };
    let run = |audit: &str| {
        // Of 25 and 30 units, so that log Z is not enumerated.
        let sizes = ["model.hidden=30", "data.source.side=5"];
        let short = ["training.updates=15", "checkpoint.every=1000", "evaluation.every=5", audit];
        [&sizes[..], &short].concat().into_iter().map(String::from).collect::<Vec<_>>()
    };
    let rounds = "tempering.initial_rounds={ sweeps = 5000000, most = 2 }".to_string();
    for (what, settings, reached, short) in [
        ("initial rounds", vec![rounds], 1, None),
        ("an audit", run(&audit(1, 9_000_000)), 2, Some(audit(1, 300))),
        ("the last audit", run(&audit(0, 9_000_000)), 5, Some(audit(0, 300))),
    ] {
        let out = folder.path().join(what);
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let mut arguments = train_arguments(&config, &out, &settings);
        arguments.push("-q".into());
        let mut child = shell("true", &arguments.iter().map(String::as_str).collect::<Vec<_>>());
        wait_for("metrics.csv", || metrics_lines(&out) >= reached);
        wait_for_work(&mut child);
        send(&child, "-INT");
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{what}: {stderr}");
        assert!(stderr.contains("continue with"), "{stderr}");
        assert_eq!(fs::read_dir(out.join("checkpoints/state")).unwrap().count(), 1, "{what}");
        assert_eq!(metrics_lines(&out), reached, "{what} was done to its end");
        let Some(short) = short else { continue };
        let whole = folder.path().join(format!("{what}, left alone"));
        train(
            &config,
            &whole,
            &run(&short).iter().map(String::as_str).collect::<Vec<_>>(),
            &["-q"],
        );
        succeed(&["train", "--resume", "-q", "--out", &text(&out), "--set", &short]);
        for run in [&whole, &out] {
            // An interruption leaves a checkpoint of its own.
            fs::remove_dir_all(run.join("checkpoints")).unwrap();
        }
        assert_same(&whole, &out);
    }
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
            let mut child = shell("true", &arguments);
            wait_for_work(&mut child);
            send(&child, signal);
            wait_for("end", || child.try_wait().unwrap().is_some());
            let output = child.wait_with_output().unwrap();
            assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}");
        }
    }
    assert!(!Path::new(&samples).exists());
}
