//! The live display in a real terminal: tmux panes of several widths. Without tmux the test says that it is skipped; with
//! CI=true that is a failure.

#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::common::{heed_signals, metrics_lines, send, text, tiny, wait_for};

/// A terminal of its own, on a tmux server of its own.
struct Pane {
    socket: String,
}

impl Pane {
    /// Runs the command in a pane; `None` without tmux.
    fn start(folder: &Path, width: usize, command: &str) -> Option<Self> {
        let pane = Self { socket: text(&folder.join("tmux")) };
        let size = ["-x", &width.to_string(), "-y", "30"].map(String::from);
        // The signal is for the command: a shell without a trap would end with it, and the screen would be gone.
        let shell = format!("trap : INT; {command}; exec cat");
        let mut tmux = pane.tmux();
        tmux.args(["new-session", "-d"]).args(size).args(["sh", "-c", &shell]);
        match tmux.current_dir(folder).status() {
            Ok(status) => {
                assert!(status.success(), "tmux: {status}");
                Some(pane)
            }
            Err(error) => {
                assert!(
                    !std::env::var("CI").is_ok_and(|ci| ci == "true"),
                    "no tmux ({error}), and CI=true skips nothing"
                );
                eprintln!("skipped: no tmux ({error})");
                None
            }
        }
    }

    fn tmux(&self) -> Command {
        let mut tmux = Command::new("tmux");
        tmux.env_remove("TMUX").args(["-S", &self.socket, "-f", "/dev/null"]);
        tmux
    }

    fn screen(&self) -> Vec<String> {
        let output = self.tmux().args(["capture-pane", "-p"]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(String::from).filter(|line| !line.is_empty()).collect()
    }

    fn keys(&self, keys: &str) {
        assert!(self.tmux().args(["send-keys", keys]).status().unwrap().success());
    }

    /// The screen once it shows all of these.
    fn wait_for(&self, words: &[&str]) -> Vec<String> {
        let started = Instant::now();
        loop {
            let screen = self.screen();
            let shown = screen.join("\n");
            if words.iter().all(|word| shown.contains(word)) {
                return screen;
            }
            assert!(started.elapsed() < Duration::from_secs(300), "no {words:?} in\n{shown}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Pane {
    fn drop(&mut self) {
        let _ = self.tmux().arg("kill-server").status();
    }
}

fn train(folder: &Path, more: &str) -> String {
    let binary = env!("CARGO_BIN_EXE_ztrack");
    format!("'{binary}' train '{}' --out run {more}", tiny(folder))
}

/// Lines of the display: those from the last bar on.
fn display(screen: &[String]) -> &[String] {
    let bar = screen.iter().rposition(|line| line.starts_with('[')).unwrap();
    &screen[bar..]
}

#[test]
fn nothing_is_cut_off_at_any_width_and_an_interruption_is_answered() {
    // Warnings above the display, values of older evaluations, patience.
    let settings = "--set training.updates=1000000 --set evaluation.every=200 --set evaluation.exact=false \
        --set training.learning_rate.initial=2 --set 'training.early_stopping={ patience = 9000 }'";
    for width in [60, 80, 200] {
        let folder = TempDir::new().unwrap();
        let Some(pane) = Pane::start(folder.path(), width, &train(folder.path(), settings)) else {
            return;
        };
        // Some evaluation, each of which is at whole hundreds.
        let words = ["/1000000", "epoch", "left", "00: train", "log Z", "without improvement"];
        let screen = pane.wait_for(&words);
        assert!(screen.iter().all(|line| line.chars().count() < width), "{screen:#?}");
        let lines = display(&screen).join(" ");
        assert!(lines.contains("± ") && lines.contains("validation -"), "{screen:#?}");
        let bars = screen.iter().filter(|line| line.starts_with('[')).count();
        assert_eq!(bars, 1, "an old line was left behind: {screen:#?}");
        // What is written over the display by the terminal itself does not tear it.
        pane.keys("C-c");
        let screen = pane.wait_for(&["continue with: "]);
        let bars = screen.iter().filter(|line| line.starts_with('[')).count();
        assert_eq!(bars, 1, "an old line was left behind: {screen:#?}");
        assert!(!display(&screen).join(" ").contains(" left"), "{screen:#?}");
    }
}

#[test]
fn long_tasks_show_how_far_they_are_and_answer_a_signal_at_once() {
    let rounds = "--set 'tempering.initial_rounds={ sweeps = 5000000, most = 2 }'";
    let audit = "--set evaluation.every=5 --set model.hidden=30 --set data.source.side=5 \
        --set 'audit={ every = 1, chains = 100, temperatures = 9000000, share = 1e9 }'";
    for (settings, shown) in
        [(rounds, "initial rounds, 2 at most: "), (audit, "9000000 temperatures: ")]
    {
        let folder = TempDir::new().unwrap();
        let Some(pane) = Pane::start(folder.path(), 80, &train(folder.path(), settings)) else {
            return;
        };
        let screen = pane.wait_for(&[shown, " %"]);
        assert!(screen.iter().all(|line| line.chars().count() < 80), "{screen:#?}");
        // Either would be at work for minutes.
        pane.keys("C-c");
        pane.wait_for(&["continue with: "]);
    }
}

/// What the run says is what the shell takes.
#[test]
fn the_printed_resume_command_works_as_printed() {
    use std::os::unix::process::CommandExt;
    use std::process::Stdio;
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("my data");
    fs::create_dir(&data).unwrap();
    let rows: String =
        (0..60).map(|i| format!("{},{},{}\n", i % 2, i / 2 % 2, i % 3 / 2)).collect();
    fs::write(data.join("rows.csv"), rows).unwrap();
    let config = tiny(folder.path());
    let mut command = Command::new(env!("CARGO_BIN_EXE_ztrack"));
    command.current_dir(folder.path()).arg0("ztrack").stderr(Stdio::piped());
    command.args(["train", &config, "--out", "it's here", "--data-folder", "my data", "-q"]);
    command.args(["--set", "data.source={ name = \"files\", train = \"rows.csv\" }"]);
    command.args(["--set", "training.updates=1000000"]);
    heed_signals(&mut command);
    let child = command.spawn().unwrap();
    let out = folder.path().join("it's here");
    wait_for("rows", || metrics_lines(&out) >= 4);
    send(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let printed = stderr.split("continue with: ").nth(1).unwrap().trim();
    assert!(
        printed.starts_with("ztrack ") && printed.contains("--data-folder 'my data'"),
        "{printed}"
    );
    // As one would have it: on the path. To end at some time, a length beyond what was reached.
    let done: u64 =
        stderr.split("after update ").nth(1).unwrap().split(';').next().unwrap().parse().unwrap();
    let binaries = Path::new(env!("CARGO_BIN_EXE_ztrack")).parent().unwrap();
    let path = format!("{}:{}", text(binaries), std::env::var("PATH").unwrap());
    let script = format!("{printed} --set training.updates={}", done + 10);
    let output = Command::new("sh")
        .args(["-c", &script])
        .current_dir(folder.path())
        .env("PATH", path)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {stderr}");
    assert!(out.join("summary.json").exists());
}
