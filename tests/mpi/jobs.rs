//! Jobs of several ranks for tests: starting them, breaking them, waiting for their end.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::common::{heed_signals, text, train_arguments, wait_for, ztrack};

/// More chains, particles and rows than one task has, so that there is work for every rank.
pub const SHARED: &[&str] = &[
    "data.source={ name = \"bars-and-stripes\", side = 4, rows = 900, noise = 0.05 }",
    "model.hidden=22",
    "training.gradient={ kind = \"pcd\", particles = 130 }",
    "training.centering=true",
    "tempering.chains=230",
    "evaluation.exact=false",
    "audit={ every = 2, chains = 120, temperatures = 200 }",
];

/// Jobs of several ranks one after the other: each takes all processors.
pub fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The launcher, if there is one; says so if there is none.
pub fn mpirun(ranks: usize) -> Option<Command> {
    let version = Command::new("mpirun").arg("--version").output();
    let Ok(version) = version else {
        let needed = std::env::var("ZTRACK_NEED_MPI").is_ok();
        assert!(!needed, "mpirun is not installed, and ZTRACK_NEED_MPI is set");
        eprintln!("skipped: mpirun is not installed");
        return None;
    };
    let mut command = Command::new("mpirun");
    command.args(["-n", &ranks.to_string()]);
    if String::from_utf8_lossy(&version.stdout).contains("Open MPI") {
        command.args(["--oversubscribe", "--bind-to", "none"]);
        // In containers everybody is root.
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    }
    heed_signals(&mut command);
    Some(command)
}

pub fn on_ranks(ranks: usize, arguments: &[String]) -> Option<Command> {
    let mut command = mpirun(ranks)?;
    command.arg(env!("CARGO_BIN_EXE_ztrack")).args(arguments);
    command.env_remove("ZTRACK_DATA").env("RUST_BACKTRACE", "0");
    Some(command)
}

/// What trains by `config` into `out`, quietly.
pub fn train(config: &str, out: &Path, settings: &[&str]) -> Vec<String> {
    let mut arguments = train_arguments(config, out, settings);
    arguments.push("-q".into());
    arguments
}

pub fn resume(out: &Path) -> Vec<String> {
    ["train", "--resume", "-q", "--out", &text(out)].map(String::from).to_vec()
}

pub fn must(output: &Output) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}: {stderr}", output.status);
}

pub fn alone(arguments: &[String]) {
    must(&ztrack().args(arguments).output().unwrap());
}

/// The end of a job that is broken; a rank that waits for another for ever fails the test.
pub fn end_of(mut child: Child) -> Output {
    wait_for("end of the job", || child.try_wait().unwrap().is_some());
    child.wait_with_output().unwrap()
}

pub fn start(mut command: Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Processes that a process started.
pub fn children(of: u32) -> Vec<u32> {
    let path = format!("/proc/{of}/task/{of}/children");
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().filter_map(|id| id.parse().ok()).collect()
}

pub fn send(signal: &str, process: u32) {
    // It may have ended by itself meanwhile.
    let _ = Command::new("kill").args([signal, &process.to_string()]).status();
}
