//! A run that is killed and resumed, or run with another number of threads, leaves the same bytes.

#[cfg(target_os = "linux")]
use std::path::Path;
use std::process::{Command, Stdio};

#[cfg(target_os = "linux")]
use rand::RngExt;
use tempfile::TempDir;
use ztrack::checkpoint::{StateReader, StateWriter};
use ztrack::config::Config;
use ztrack::data::{SplitOptions, load};
#[cfg(target_os = "linux")]
use ztrack::engine::random::{Purpose, Streams};
use ztrack::training::{Changes, StepRecord, Trainer};

use crate::common::{
    self, assert_same, metrics_lines, succeed, text, tiny, train, train_arguments, ztrack,
};
use crate::shim;

/// Pre-training, persistent chains with exchange, Adam, centering, Kalman: all that has a state.
const PERSISTENT: &[&str] = &[
    "training.updates=300",
    "training.exchange=true",
    "tempering.every=3",
    "training.centering=true",
    "training.weight_decay=0.0001",
    "training.update={ rule = \"adam\" }",
    "training.pretraining={ updates = 21, learning_rate = 0.05, batch = 10 }",
    "training.early_stopping={ patience = 1000, patience_factor = 2.0 }",
    "training.learning_rate.schedule={ kind = \"linear-to-zero\" }",
];

/// CD, alpha smoothing, joint update of beta; the tempered gradient and RMSspectral are in `TEMPERED`.
const SMOOTHED: &[&str] = &[
    "training.updates=200",
    "training.gradient={ kind = \"cd\", sweeps = 2 }",
    "training.update={ rule = \"sgd\", momentum = 0.9 }",
    "tempering.smoothing={ alpha = 0.2 }",
    "tempering.beta_update={ joint = 3 }",
    // Stops long before its last update: a resumed run must stop there too.
    "training.early_stopping={ patience = 20, patience_factor = 1.0, minimum_improvement = 10.0 }",
];

const TEMPERED: &[&str] = &[
    "training.updates=100",
    "training.gradient={ kind = \"tempered\" }",
    "training.update={ rule = \"rmsspectral\" }",
    "training.learning_rate={ initial = 0.0001 }",
    "tempering.prior={ exponential = 2.0 }",
    "audit.every=5",
];

/// No chains before the last update, after which the tracker starts.
const UNTRACKED: &[&str] = &[
    "training.updates=49",
    "tempering=false",
    "training.centering=true",
    "training.update={ rule = \"adam\" }",
];

/// A step and an evaluation after a resume, at every single update, pre-training included.
#[test]
fn a_state_holds_all_at_every_update() {
    let device = ztrack::Device::Host;
    for settings in [PERSISTENT, SMOOTHED, TEMPERED, UNTRACKED] {
        let settings: Vec<_> = settings.iter().map(|setting| setting.to_string()).collect();
        let config = Config::parse(common::TINY, &settings).unwrap();
        let options = SplitOptions { validation_fraction: 0.2, ..Default::default() };
        let splits = load(&config.data.source, &options, Path::new("")).unwrap();
        let mut trainer = Trainer::new(&config, splits.clone(), &device).unwrap();
        for step in 0..50 {
            let mut state = StateWriter::new();
            trainer.save(&mut state);
            let state = StateReader::from_bytes("state", state.to_bytes().unwrap()).unwrap();
            let mut resumed =
                Trainer::resume(&config, splits.clone(), &device, &state, Changes::Refused)
                    .unwrap();
            let [one, other] = [&mut trainer, &mut resumed].map(|trainer| {
                let record = match trainer.step().unwrap() {
                    StepRecord::Updated(record) => record,
                    _ => None,
                };
                let evaluation = trainer.evaluate(record.as_ref()).unwrap();
                // Debug tells NaN from NaN no more than from itself, and prints numbers to the last bit.
                evaluation.map(|evaluation| format!("{:?}", evaluation.record.entries))
            });
            assert_eq!(one, other, "step {step}");
            assert_eq!(trainer.parameters(), resumed.parameters(), "step {step}");
        }
    }
}

/// The model of a run that tracks nothing is that of a run that does; log Z is estimated once, after the last update.
#[test]
fn without_tracking_nothing_is_spent_on_chains() {
    let folder = TempDir::new().unwrap();
    let config = tiny(folder.path());
    let [tracked, untracked] = ["tracked", "untracked"].map(|name| folder.path().join(name));
    train(&config, &tracked, &[], &["-q"]);
    train(&config, &untracked, &["tempering=false"], &["-q"]);
    let [one, other] = [&tracked, &untracked].map(|run| {
        ztrack::checkpoint::ModelFile::load(run.join("last.safetensors")).unwrap().parameters
    });
    assert_eq!(one, other);
    let [one, other] = [&tracked, &untracked].map(|run| common::summary(run));
    assert_eq!((metrics_lines(&tracked), metrics_lines(&untracked)), (6, 2));
    assert_eq!(other["evaluations"]["all"], 1);
    assert_eq!(other["times"]["tracking"], 0.0);
    assert!(common::number(&one["times"]["tracking"]) > 0.0);
    assert_eq!(other["best"]["update"], 20);
    let last = common::json(&["estimate", &text(&untracked.join("last.safetensors")), "--json"]);
    let told = common::run(&["train", "--resume", "-q", "--out", &text(&untracked)]);
    let told = String::from_utf8(told.stdout).unwrap();
    assert!(told.contains("log Z was not tracked") && !told.contains("sound at"), "{told}");
    let page = std::fs::read_to_string(untracked.join("report.html")).unwrap();
    assert!(page.contains("not tracked during the run") && !page.contains("Tracked log Z was"));
    let found = common::number(&other["best"]["log_z"]);
    assert!((found - common::number(&last["estimates"][0]["value"])).abs() < 1e-6, "{last}");
    for (more, expected) in [
        ("training.gradient=tempered", "take another training.gradient"),
        ("training.early_stopping={}", "early stopping needs log-likelihoods"),
    ] {
        let mut command = ztrack();
        let settings = ["tempering=false", more];
        command.args(train_arguments(&config, &folder.path().join("none"), &settings));
        let output = command.output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && told.contains(expected), "{told}");
    }
}

/// Runs the run, or continues it where there is something to continue.
fn command(config: &str, out: &Path, settings: &[&str]) -> Command {
    let mut command = ztrack();
    if out.join("config.toml").exists() {
        command.args(["train", "--resume", "--out"]).arg(out);
    } else {
        command.args(train_arguments(config, out, settings));
    }
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Each kill comes in a call on the run folder, of which there is the same number in every run.
#[cfg(target_os = "linux")]
fn killed_runs_equal_one_left_alone(settings: &[&str], kills: u32, seed: u64) {
    let folder = TempDir::new().unwrap();
    let config = tiny(folder.path());
    let (whole, broken) = (folder.path().join("whole"), folder.path().join("broken"));
    let counts = folder.path().join("count");
    let mut left_alone = command(&config, &whole, settings);
    shim::count(&mut left_alone, &whole, &counts);
    assert!(left_alone.output().unwrap().status.success());
    // Mean life 2 x the whole run / kills: what a life does after its last checkpoint is done again by the next.
    let longest = 4 * shim::counted(&counts) / u64::from(kills);
    let mut moments = Streams::new(seed, Purpose::TestSystem, 0).row(0);
    let mut in_the_middle = 0;
    for _ in 0..kills {
        let mut killed = command(&config, &broken, settings);
        shim::strike(&mut killed, &broken, moments.random_range(1..=longest), 0);
        let output = killed.output().unwrap();
        in_the_middle += u32::from(!output.status.success());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!stderr.contains("error:"), "{stderr}");
    }
    assert!(
        in_the_middle * 2 >= kills,
        "only {in_the_middle} of {kills} kills hit a running process"
    );
    let output = command(&config, &broken, settings).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_same(&whole, &broken);
}

#[cfg(target_os = "linux")]
#[test]
fn twenty_kills_change_nothing() {
    killed_runs_equal_one_left_alone(PERSISTENT, 20, 1);
}

#[cfg(target_os = "linux")]
#[test]
fn kills_change_nothing_with_smoothing_and_early_stopping() {
    killed_runs_equal_one_left_alone(SMOOTHED, 8, 2);
}

#[cfg(target_os = "linux")]
#[test]
fn kills_change_nothing_with_the_tempered_gradient() {
    killed_runs_equal_one_left_alone(TEMPERED, 8, 3);
}

#[test]
fn resuming_a_finished_run_changes_nothing() {
    for settings in [PERSISTENT, SMOOTHED] {
        let folder = TempDir::new().unwrap();
        let config = tiny(folder.path());
        let (whole, again) = (folder.path().join("whole"), folder.path().join("again"));
        train(&config, &whole, settings, &[]);
        train(&config, &again, settings, &[]);
        succeed(&["train", "--resume", "--out", &text(&again)]);
        assert_same(&whole, &again);
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    for settings in [PERSISTENT, SMOOTHED, TEMPERED] {
        let folder = TempDir::new().unwrap();
        let config = tiny(folder.path());
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        train(&config, &one, settings, &["--threads", "1"]);
        train(&config, &two, settings, &["--threads", "2"]);
        assert_same(&one, &two);
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_says_how_to_go_on_and_does() {
    let folder = TempDir::new().unwrap();
    let config = tiny(folder.path());
    let (whole, broken) = (folder.path().join("whole"), folder.path().join("broken"));
    train(&config, &whole, PERSISTENT, &[]);
    let child = command(&config, &broken, PERSISTENT).spawn().unwrap();
    common::wait_for("metrics", || common::metrics_lines(&broken) >= 4);
    common::send(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    let advice = format!("ztrack train --resume --out {}", broken.display());
    assert!(stderr.contains("interrupted after update") && stderr.contains(&advice), "{stderr}");
    assert!(!broken.join("summary.json").exists());
    succeed(&["train", "--resume", "--out", &text(&broken)]);
    assert_same(&whole, &broken);
}

/// Two devices draw the same numbers, others than the host. Rounding differs, so after some updates a draw falls the other way and the runs
/// part; until then they agree.
#[cfg(feature = "flex")]
#[test]
fn devices_agree_to_rounding() {
    let log_z = |csv: String| -> Vec<f64> {
        let column =
            csv.lines().next().unwrap().split(',').position(|name| name == "log_z").unwrap();
        let cell = |line: &str| line.split(',').nth(column).unwrap().parse().unwrap();
        csv.lines().skip(1).map(cell).collect()
    };
    for settings in [PERSISTENT, TEMPERED] {
        let folder = TempDir::new().unwrap();
        let config = tiny(folder.path());
        let curves = ["ndarray", "flex", "host"].map(|device| {
            let out = folder.path().join(device);
            let short = ["--set", "evaluation.every=1", "--set", "training.updates=12"];
            let more = [&["--device", device], &short[..]].concat();
            train(&config, &out, settings, &more);
            log_z(std::fs::read_to_string(out.join("metrics.csv")).unwrap())
        });
        for (update, (one, other)) in curves[0].iter().zip(&curves[1]).enumerate().take(10) {
            assert!((one - other).abs() < 1e-4, "update {update}: {one} and {other}");
        }
        let apart = curves[0].iter().zip(&curves[2]).filter(|(a, b)| (*a - *b).abs() > 1e-4);
        assert!(apart.count() > 5, "the device was not used");
        let on_host =
            common::run(&["train", "--resume", "--out", &text(&folder.path().join("flex"))]);
        let stderr = String::from_utf8_lossy(&on_host.stderr);
        assert!(!on_host.status.success() && stderr.contains("the device was"), "{stderr}");
    }
}
