//! What the tests of the command share: running it, a tiny configuration, and comparing run folders.

// Several crates of tests use this, each a part of it.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use protobuf::Message;
use safetensors::SafeTensors;
use serde_json::Value;
use tensorboard_proto::event::Event;
use ztrack::checkpoint::ModelFile;
use ztrack::model::Parameters;

/// The command under test, away from the user's settings.
pub fn ztrack() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ztrack"));
    command.env_remove("ZTRACK_DATA").env_remove("RUST_BACKTRACE");
    #[cfg(unix)]
    heed_signals(&mut command);
    command
}

/// Runs the command to its end.
pub fn run(arguments: &[&str]) -> Output {
    ztrack().args(arguments).output().unwrap()
}

/// Runs a command that must succeed; returns its standard output.
pub fn succeed(arguments: &[&str]) -> String {
    let output = run(arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a command that must succeed; returns the JSON it prints.
pub fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&succeed(arguments)).unwrap()
}

pub fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("not a number: {value}"))
}

/// What trains by `config` into `out`.
pub fn train_arguments(config: &str, out: &Path, settings: &[&str]) -> Vec<String> {
    let mut arguments = vec!["train".into(), config.into(), "--out".into(), text(out)];
    for setting in settings {
        arguments.extend(["--set".into(), setting.to_string()]);
    }
    arguments
}

/// A run that must succeed.
pub fn train(config: &str, out: &Path, settings: &[&str], more: &[&str]) -> Output {
    let arguments = train_arguments(config, out, settings);
    let output = ztrack().args(&arguments).args(more).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?} {more:?}: {stderr}");
    output
}

pub fn summary(out: &Path) -> Value {
    serde_json::from_slice(&fs::read(out.join("summary.json")).unwrap()).unwrap()
}

/// Lines of metrics.csv, the names of its columns among them; none before it is there.
pub fn metrics_lines(out: &Path) -> usize {
    fs::read_to_string(out.join("metrics.csv")).map_or(0, |text| text.lines().count())
}

/// The limit ends a test that hangs; none is near it.
pub fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < Duration::from_secs(300), "no {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until a process has worked for another fifth of a second of processor time, or has ended: how far it is does not depend on what
/// else the machine does.
#[cfg(target_os = "linux")]
pub fn wait_for_work(child: &mut Child) {
    let ticks = |id: u32| -> Option<u64> {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let fields: Vec<_> = stat.rsplit(')').next()?.split_whitespace().collect();
        Some(fields[11].parse::<u64>().ok()? + fields[12].parse::<u64>().ok()?)
    };
    let start = ticks(child.id()).unwrap_or(0);
    wait_for("work", || {
        let worked = ticks(child.id()).is_some_and(|now| now >= start + 20);
        worked || child.try_wait().unwrap().is_some()
    });
}

/// Waits until a process that was stopped has stopped.
#[cfg(target_os = "linux")]
pub fn wait_for_stop(child: &Child) {
    wait_for("stop", || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        stat.rsplit(')').next().unwrap().trim_start().starts_with('T')
    });
}

pub fn send(child: &Child, signal: &str) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
}

/// Data shared between checkouts, if it is here; says so if it is not.
pub fn shared(path: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared").join(path);
    if !path.exists() {
        let ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
        assert!(!ci, "{} is missing, and CI=true skips nothing", path.display());
        eprintln!("skipped: {} is missing", path.display());
    }
    path.exists().then_some(path)
}

/// 3 x 3 bars and stripes, 6 hidden units; every section is there to be overridden with `--set`.
pub const TINY: &str = r#"
seed = 3
[data]
source = { name = "bars-and-stripes", side = 3, rows = 200, noise = 0.05 }
validation_fraction = 0.2
test_fraction = 0.2
[model]
hidden = 6
[training]
updates = 20
batch = 16
gradient = { kind = "pcd" }
learning_rate = { initial = 0.05 }
[tempering]
chains = 40
temperatures = 6
sweeps = 1
[evaluation]
every = 5
images_every = 2
[audit]
every = 2
[checkpoint]
every = 7
"#;

/// Writes [`TINY`] into a folder.
pub fn tiny(folder: &Path) -> String {
    let path = folder.join("tiny.toml");
    fs::write(&path, TINY).unwrap();
    text(&path)
}

/// Writes a model into a folder.
pub fn save(folder: &Path, parameters: Parameters) -> String {
    let path = folder.join("model.safetensors");
    ModelFile::from(parameters).save(&path).unwrap();
    text(&path)
}

pub fn text(path: &Path) -> String {
    path.to_str().unwrap().to_string()
}

/// Everything a run leaves that does not depend on the clock, under a name each.
pub fn content(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut content = BTreeMap::new();
    for file in files(folder) {
        let name = text(file.strip_prefix(folder).unwrap());
        let bytes = fs::read(&file).unwrap();
        match file.extension().and_then(|extension| extension.to_str()).unwrap() {
            "toml" | "safetensors" | "jsonl" => content.insert(name, bytes),
            "csv" => content.insert(name, without_seconds(&String::from_utf8(bytes).unwrap())),
            "json" => {
                let mut summary: Value = serde_json::from_slice(&bytes).unwrap();
                for name in ["seconds", "processor_seconds", "times", "date", "command", "threads"]
                {
                    summary.as_object_mut().unwrap().remove(name).unwrap();
                }
                content.insert(name, summary.to_string().into_bytes())
            }
            "state" => content.insert(name, timeless_state(&bytes)),
            // Of the report, the times of parts depend on the clock.
            "ztrack" | "lock" | "html" => None,
            "svg" => content.insert(name, bytes),
            other => panic!("a file of unknown kind in a run folder: {name} ({other})"),
        };
    }
    for run in ["train", "validation"] {
        for (step, tag, value) in events(&folder.join(run)) {
            // Told once, at the start: the command, and settings that a resume may change.
            if tag.starts_with("about/") {
                continue;
            }
            let twice = content.insert(format!("{run} {step:06} {tag}"), value);
            assert!(twice.is_none(), "{run}: {tag} twice at step {step}");
        }
    }
    content
}

/// Fails with the names that differ, not with pages of bytes.
pub fn assert_same(one: &Path, other: &Path) {
    let (one, other) = (content(one), content(other));
    let names = |content: &BTreeMap<String, Vec<u8>>| content.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&one), names(&other));
    let different: Vec<_> = one.iter().filter(|(name, bytes)| other[*name] != **bytes).collect();
    let different: Vec<_> = different.iter().map(|(name, _)| name).collect();
    assert!(different.is_empty(), "different: {different:?}");
    assert!(one.contains_key("summary.json") && one.contains_key("best.safetensors"));
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { all.extend(files(&path)) } else { all.push(path) }
    }
    all
}

fn without_seconds(csv: &str) -> Vec<u8> {
    let column = csv.lines().next().unwrap().split(',').position(|name| name == "seconds").unwrap();
    let row = |line: &str| {
        let cells = line.split(',').enumerate().filter(|(i, _)| *i != column);
        cells.map(|(_, cell)| cell).collect::<Vec<_>>().join(",") + "\n"
    };
    csv.lines().map(row).collect::<String>().into_bytes()
}

/// A state without its seconds and, since it covers them, its checksum.
fn timeless_state(bytes: &[u8]) -> Vec<u8> {
    let (_, header) = SafeTensors::read_metadata(bytes).unwrap();
    let mut metadata: BTreeMap<_, _> = header.metadata().clone().unwrap().into_iter().collect();
    metadata.remove("sha256").unwrap();
    metadata.remove("json.times").unwrap();
    let position = metadata.get_mut("json.position").unwrap();
    let mut numbers: Value = serde_json::from_str(position).unwrap();
    numbers.as_object_mut().unwrap().remove("seconds").unwrap();
    *position = numbers.to_string();
    // Of the rows of metrics.csv, whose seconds depend on the clock.
    let recorded = metadata.get_mut("json.recorded").unwrap();
    let mut numbers: Value = serde_json::from_str(recorded).unwrap();
    numbers.as_object_mut().unwrap().remove("sum").unwrap();
    *recorded = numbers.to_string();
    let tensors = SafeTensors::deserialize(bytes).unwrap();
    let mut arrays: Vec<_> = tensors.tensors();
    arrays.sort_by(|one, other| one.0.cmp(&other.0));
    let mut out = format!("{metadata:?}").into_bytes();
    for (name, view) in arrays {
        out.extend(format!("\n{name} {:?} {:?}\n", view.dtype(), view.shape()).bytes());
        out.extend(view.data());
    }
    out
}

/// Step, tag and value of every event of a TensorBoard run, in order of files.
pub fn events(folder: &Path) -> Vec<(i64, String, Vec<u8>)> {
    let mut out = Vec::new();
    let mut paths = files(folder);
    paths.sort();
    for path in paths {
        let bytes = fs::read(path).unwrap();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let length = u64::from_le_bytes(rest[..8].try_into().unwrap()) as usize;
            let event = Event::parse_from_bytes(&rest[12..12 + length]).unwrap();
            for value in event.get_summary().get_value() {
                let bytes = value.write_to_bytes().unwrap();
                out.push((event.get_step(), value.get_tag().to_string(), bytes));
            }
            rest = &rest[12 + length + 4..];
        }
    }
    out
}

/// Lets the command heed signals whatever these tests' own parent ignores (under nohup, or in the background of a shell): what is
/// ignored stays so in every process that follows, and no shell can undo it.
#[cfg(unix)]
pub fn heed_signals(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    let heed = || {
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM] {
            // SAFETY: `signal` may be called between fork and exec, and no handler of ours is involved.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: `heed` allocates nothing and takes no locks.
    unsafe { command.pre_exec(heed) };
}
