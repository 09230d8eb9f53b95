//! Memory is bounded by what the data are, whatever a compressed file makes of them.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use ndarray::Array2;
use ndarray_npy::NpzWriter;
use tempfile::TempDir;
use ztrack::checkpoint::ModelFile;
use ztrack::model::test_systems::gaussian_parameters;

use crate::common::{self, save, text, tiny};

const MIB: usize = 1 << 20;
/// What the process may take beyond twice the content.
const CONSTANT: usize = 64 * MIB;

/// Runs the command with at most so much address space; `None` for no limit. Returns the peak of its memory in bytes.
fn limited(kib: Option<usize>, arguments: &[&str]) -> (Output, usize) {
    let limit = kib.map_or(String::new(), |kib| format!("ulimit -v {kib};"));
    // The shell is replaced by the command, so its status file is the command's; it is read while the command runs.
    let script = format!("{limit} exec \"$@\"");
    let mut child = Command::new("sh")
        .args(["-c", &script, "sh", env!("CARGO_BIN_EXE_ztrack")])
        .args(arguments)
        .env_remove("RUST_BACKTRACE")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with("VmHWM:"));
        let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<usize>().ok());
        most = most.max(1024 * kib.unwrap_or(0));
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    (child.wait_with_output().unwrap(), most)
}

fn gzip(path: &Path, piece: &[u8], bytes: usize) -> String {
    let mut encoder = GzEncoder::new(fs::File::create(path).unwrap(), Compression::fast());
    let block = piece.repeat(MIB / piece.len());
    (0..bytes / block.len()).for_each(|_| encoder.write_all(&block).unwrap());
    encoder.finish().unwrap();
    text(path)
}

fn refused(output: &Output, expected: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    // 2 where a key of the configuration asks for more than there is.
    assert!(matches!(output.status.code(), Some(1 | 2)), "{stderr}");
    assert!(stderr.starts_with("error: ") && stderr.lines().count() == 1, "{stderr}");
    assert!(stderr.contains(expected), "{expected}: {stderr}");
}

/// Reproduced before: 35 times the content for commas, 9 for lines of LIBSVM.
#[test]
fn bombs_take_no_more_than_their_content_and_a_constant() {
    let folder = TempDir::new().unwrap();
    let content = 100 * MIB;
    for (name, piece, expected) in [
        ("commas.csv.gz", &b","[..], "line 1 is longer than 16 MiB"),
        ("narrow.csv.gz", b"0\n", "most of them are the same"),
        ("quoted.csv.gz", b"\"", "line 1 is longer than"),
        ("labels.libsvm.gz", b"1\n", ""),
        ("ones.libsvm.gz", b"1 1:1\n", ""),
        ("zeros-ubyte.gz", b"\0", "IDX element type 0x00"),
        ("spaces.libsvm.gz", b" ", "line 1 is longer than"),
        ("blank.csv.gz", b"\n", "no data"),
    ] {
        let path = gzip(&folder.path().join(name), piece, content);
        let (output, peak) = limited(None, &["data", "describe", &path]);
        refused(&output, expected);
        assert!(peak <= 2 * content + CONSTANT, "{name}: {} MiB", peak / MIB);
        println!("{name}: {} MiB for {} MiB", peak / MIB, content / MIB);
    }
}

#[test]
fn sound_data_take_no_more_than_twice_their_size() {
    let folder = TempDir::new().unwrap();
    let row = |separator: &str, count| ["1"; 784][..count].join(separator);
    let features: Vec<String> = (1..=180).map(|i| format!("{i}:1")).collect();
    for (name, piece) in [
        ("wide.csv.gz", row(",", 784) + "\n"),
        ("four.csv.gz", row(",", 4) + "\n"),
        ("dna.libsvm.gz", format!("1 {}\n", features.join(" "))),
    ] {
        let path = gzip(&folder.path().join(name), piece.as_bytes(), 60 * MIB);
        let (output, peak) = limited(None, &["data", "describe", &path]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(peak <= 2 * 60 * MIB + CONSTANT, "{name}: {} MiB", peak / MIB);
        println!("{name}: {} MiB for 60 MiB", peak / MIB);
    }
}

/// A table of 160 MiB: scores and features in less than a third of that, and the same as those of the table cut into rows that are few.
#[test]
fn rows_of_a_large_table_are_scored_in_blocks() {
    let folder = TempDir::new().unwrap();
    let [large, small, out] =
        ["large.csv", "small.csv", "out"].map(|name| folder.path().join(name));
    let (columns, rows) = (400, 200);
    let model = save(folder.path(), gaussian_parameters(columns, 3, 0.5, 1));
    let cell = |row: usize, i: usize| if (row * 7 + i * i).is_multiple_of(3) { "1" } else { "0" };
    let line = |row| (0..columns).map(|i| cell(row, i)).collect::<Vec<_>>().join(",") + "\n";
    let text_of: String = (0..rows).map(line).collect();
    fs::write(&small, &text_of).unwrap();
    let times = 160 * MIB / text_of.len();
    fs::write(&large, text_of.repeat(times)).unwrap();
    for command in [&["transform", "--out"][..], &["evaluate", "--per-row"]] {
        let written = [(&large, "large"), (&small, "small")].map(|(data, name)| {
            let out = text(&out.join(format!("{}-{name}.csv", command[0])));
            let data = text(data);
            let (output, most) =
                limited(None, &[command[0], &model, "--data", &data, command[1], &out]);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            assert!(most < 50 * MIB, "{command:?} of {name}: {} MiB", most / MIB);
            fs::read_to_string(out).unwrap()
        });
        // The number of the row is the only difference.
        let of = |text: &str, from: usize| -> Vec<String> {
            let lines = text.lines().skip(1 + from).take(rows);
            let skip = if command[0] == "evaluate" { 2 } else { 1 };
            lines.map(|it| it.splitn(skip + 1, ',').last().unwrap().to_string()).collect()
        };
        let [large, small] = &written;
        assert_eq!(large.lines().count(), 1 + times * rows);
        for from in [0, rows * (times / 2), rows * (times - 1)] {
            assert_eq!(of(large, from), of(small, 0), "{command:?} from row {from}");
        }
    }
}

/// Rows at the end of a large table count for the lower bound of log Z, as those of a small one do. The run's log Z is made too low.
#[test]
fn all_rows_of_a_large_table_are_held_against_log_z() {
    let folder = TempDir::new().unwrap();
    let [run, large, small] = ["run", "large.csv", "small.csv"].map(|it| folder.path().join(it));
    // Of 25 and 24 units, so that log Z is not enumerated.
    let train = ["train", &tiny(folder.path()), "--out", &text(&run)];
    let sizes = ["--set", "model.hidden=24", "--set", "data.source.side=5"];
    assert!(limited(None, &[&train[..], &sizes].concat()).0.status.success());
    let mut summary = common::summary(&run);
    summary["best"]["log_z"] = (-100.0).into();
    fs::write(run.join("summary.json"), summary.to_string()).unwrap();
    let mut best = ModelFile::load(run.join("best.safetensors")).unwrap();
    best.states = None;
    best.save(run.join("best.safetensors")).unwrap();
    let row = |cell: &str| vec![cell; 25].join(",") + "\n";
    fs::write(&small, row("0") + &row("1")).unwrap();
    let zeros = row("0").repeat(65 * MIB / row("0").len());
    fs::write(&large, zeros + &row("1")).unwrap();
    let [few, many] = [&small, &large].map(|data| {
        let data = text(data);
        let (output, _) = limited(None, &["evaluate", &text(&run), "--data", &data, "--json"]);
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(found["agreement"]["sound"], false, "{found}");
        common::number(&found["estimates"][0]["value"])
    });
    assert!(few > -100.0 && (few - many).abs() < 1e-9, "{few} {many}");
}

#[test]
fn the_end_of_memory_is_called_by_its_name() {
    let folder = TempDir::new().unwrap();
    // 200 MB of IDX in 330 MB of address space, of which the program itself takes half.
    let path = folder.path().join("large-ubyte.gz");
    let mut encoder = GzEncoder::new(fs::File::create(&path).unwrap(), Compression::fast());
    let (rows, columns) = (200_000u32, 1000u32);
    encoder.write_all(&[0, 0, 8, 2]).unwrap();
    encoder.write_all(&[rows.to_be_bytes(), columns.to_be_bytes()].concat()).unwrap();
    let block = vec![7; 1_000_000];
    (0..200).for_each(|_| encoder.write_all(&block).unwrap());
    encoder.finish().unwrap();
    let arguments = ["data", "describe", &text(&path), "--threads", "1"];
    let (output, _) = limited(Some(330 * 1024), &arguments);
    refused(&output, "memory");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!stderr.contains("damaged"), "{stderr}");
    assert!(limited(None, &arguments).0.status.success());
}

#[test]
fn endless_models_configurations_and_lists_are_refused() {
    let folder = TempDir::new().unwrap();
    let limit = Some(700 * 1024);
    refused(&limited(limit, &["estimate", "/dev/zero"]).0, "neither a safetensors nor an npz");
    refused(&limited(limit, &["estimate", "/dev/urandom"]).0, "/dev/urandom");
    let endless = folder.path().join("endless.toml");
    std::os::unix::fs::symlink("/dev/zero", &endless).unwrap();
    refused(&limited(limit, &["train", &text(&endless)]).0, "too long for a configuration");
    refused(&limited(limit, &["train", "/dev/zero"]).0, "is neither a file nor built in");
    refused(&limited(limit, &["data", "describe", "/dev/zero"]).0, "neither a data file nor");
    let long = text(&folder.path().join("long.toml"));
    fs::write(&long, "#".repeat(2 << 20)).unwrap();
    refused(&limited(limit, &["train", &long]).0, "1048576 bytes are allowed");
}

/// A header is believed only where the file and the memory bear it out.
#[test]
fn models_are_checked_before_they_are_read() {
    let folder = TempDir::new().unwrap();
    let header = |shape: &str, end: u64| {
        let text = format!(
            "{{\"weights\":{{\"dtype\":\"F32\",\"shape\":{shape},\"data_offsets\":[0,{end}]}}}}"
        );
        [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
    };
    let write = |name: &str, bytes: Vec<u8>| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        text(&path)
    };
    let short = write("short.safetensors", header("[1000,1000]", 4_000_000));
    refused(&limited(None, &["estimate", &short]).0, "its header speaks of");
    let huge = write("huge.safetensors", header("[1000000,1000000]", 4_000_000_000_000));
    refused(&limited(None, &["estimate", &huge]).0, "GiB of memory");
    // An archive of 2 MB that holds 800 MB of weights.
    let bomb = folder.path().join("bomb.npz");
    let mut archive = NpzWriter::new_compressed(fs::File::create(&bomb).unwrap());
    archive.add_array("weights", &Array2::<f64>::zeros((1000, 100_000))).unwrap();
    archive.finish().unwrap();
    let (output, _) = limited(Some(700 * 1024), &["estimate", &text(&bomb), "--threads", "1"]);
    refused(&output, "memory");
}

/// 784 x 100000: refused where memory is short, and started where it is not.
#[test]
fn a_very_large_model_is_refused_or_runs() {
    let folder = TempDir::new().unwrap();
    let rows = folder.path().join("rows.csv");
    fs::write(&rows, (["1"; 784].join(",") + "\n").repeat(4)).unwrap();
    let source = format!("data.source={{ name = \"files\", train = {rows:?} }}");
    let (config, out) = (tiny(folder.path()), text(&folder.path().join("out")));
    let mut arguments = vec!["train", &config, "-q", "--threads", "1", "--out", &out];
    for setting in [
        &source,
        "model.hidden=100000",
        "data.validation_fraction=0",
        "data.test_fraction=0",
        "training.updates=1",
        "tempering.chains=2",
        "tempering.temperatures=2",
        "tempering.initial_rounds={ sweeps = 1, most = 1 }",
        "evaluation.images_every=0",
        "audit={ every = 0, chains = 2, temperatures = 2 }",
    ] {
        arguments.extend(["--set", setting]);
    }
    for gib in [2, 4] {
        refused(&limited(Some(gib << 20), &arguments).0, "GiB of memory");
    }
    assert!(!Path::new(&out).exists());
    if std::env::var_os("ZTRACK_LONG").is_some() {
        let (output, peak) = limited(None, &arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        println!("784 x 100000: {} MiB", peak / MIB);
    }
}

/// Rows of a generator are as often in memory as a run needs them: what does not fit is refused before it is made.
#[test]
fn rows_of_a_generator_that_do_not_fit_are_refused() {
    let folder = TempDir::new().unwrap();
    let config = tiny(folder.path());
    let source = "data.source={name=\"bars-and-stripes\",side=30,rows=1000000,noise=0.02}";
    for mib in [200, 300, 400] {
        let out = text(&folder.path().join(mib.to_string()));
        let arguments = ["train", &config, "-q", "--out", &out, "--set", source];
        let (output, _) = limited(Some(mib * 1024), &arguments);
        refused(&output, "1000000 rows need about");
        refused(&output, "data.source");
    }
}

/// Below what the program itself takes small requests are refused too: an error all the same, not the end by a signal.
#[test]
fn where_memory_is_used_up_is_an_error() {
    let folder = TempDir::new().unwrap();
    let (config, out) = (tiny(folder.path()), folder.path().join("out"));
    let mut used_up = 0;
    for mib in (40..=90).step_by(5) {
        let _ = fs::remove_dir_all(&out);
        let arguments = ["train", &config, "-q", "--out", &text(&out)];
        let (output, _) = limited(Some(mib * 1024), &arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let code = output.status.code();
        assert!(matches!(code, Some(0..=2)), "{mib} MiB: {:?}: {stderr}", output.status);
        assert!(code == Some(0) || stderr.contains("error: "), "{mib} MiB: {stderr}");
        used_up += usize::from(stderr.contains("memory is used up"));
    }
    assert!(used_up > 0, "all limits were too high or too low");
}
