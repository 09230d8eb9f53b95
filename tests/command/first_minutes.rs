//! The first minutes with the binary alone, in an empty folder: built-in configurations, a data file, `init`, `--dry-run`,
//! explanations, completions.

use std::fs;
use std::path::Path;
use std::process::Output;

use tempfile::TempDir;

use crate::common::{self, ztrack};

fn run(folder: &Path, arguments: &[&str]) -> Output {
    ztrack().current_dir(folder).args(arguments).output().unwrap()
}

fn succeed(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// 60 rows near one of two patterns.
fn write_rows(path: &Path) {
    let cell = |row: usize, column: usize| {
        let flipped = (row * 7 + column * 5).is_multiple_of(11);
        u8::from((column < 4) == row.is_multiple_of(2) && !flipped).to_string()
    };
    let rows: Vec<_> =
        (0..60).map(|row| (0..8).map(|i| cell(row, i)).collect::<Vec<_>>().join(",")).collect();
    fs::write(path, rows.join("\n") + "\n").unwrap();
}

const SHORT: [&str; 5] =
    ["--quiet", "--set", "training.updates=120", "--set", "evaluation.every=20"];

#[test]
fn ztrack_alone_shows_three_commands() {
    let folder = TempDir::new().unwrap();
    let text = succeed(folder.path(), &[]);
    for command in ["ztrack train bars-and-stripes", "ztrack train my.csv", "ztrack config list"] {
        assert!(text.contains(command), "{text}");
    }
}

#[test]
fn built_in_configurations_train_by_name() {
    let folder = TempDir::new().unwrap();
    let arguments = [&["train", "bars-and-stripes"][..], &SHORT].concat();
    succeed(folder.path(), &arguments);
    assert!(folder.path().join("runs/bars-and-stripes/summary.json").is_file());
    // Listed, and shown as they are in the repository.
    let list = succeed(folder.path(), &["config", "list"]);
    let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs");
    for line in list.lines() {
        let name = line.split_whitespace().next().unwrap();
        let shown = succeed(folder.path(), &["config", "show", name]);
        assert_eq!(shown, fs::read_to_string(configs.join(format!("{name}.toml"))).unwrap());
    }
    assert!(list.lines().count() >= 6, "{list}");
}

#[test]
fn a_data_file_trains_at_once_as_what_init_writes_does() {
    let folder = TempDir::new().unwrap();
    write_rows(&folder.path().join("my.csv"));
    succeed(folder.path(), &[&["train", "my.csv"][..], &SHORT].concat());
    let config = |run: &str| {
        fs::read_to_string(folder.path().join("runs").join(run).join("config.toml")).unwrap()
    };
    let at_once = config("my");
    succeed(folder.path(), &["init", "my.csv"]);
    let written = fs::read_to_string(folder.path().join("my.toml")).unwrap();
    for expected in [
        "60 rows, 8 columns",
        "source = \"my.csv\"",
        "hidden = 16",
        "batch = 6",
        "preset = \"good\"",
    ] {
        assert!(written.contains(expected), "{written}");
    }
    let out = ["--out", "runs/init"];
    succeed(folder.path(), &[&["train", "my.toml"][..], &SHORT, &out].concat());
    assert_eq!(config("init"), at_once);
    // It overwrites nothing.
    assert_eq!(run(folder.path(), &["init", "my.csv"]).status.code(), Some(2));
    assert_eq!(fs::read_to_string(folder.path().join("my.toml")).unwrap(), written);
    assert_eq!(succeed(folder.path(), &["init", "my.csv", "--out", "-"]), written);
    // A run that was started by name goes on by name; where it has ended nothing is done again: summary.json has the time of its end.
    let summary =
        |run| fs::read(folder.path().join("runs").join(run).join("summary.json")).unwrap();
    let before = summary("my");
    let again = run(folder.path(), &[&["train", "my.csv", "--resume"][..], &SHORT].concat());
    let [stdout, stderr] = [again.stdout, again.stderr].map(|it| String::from_utf8(it).unwrap());
    assert!(stderr.contains("this run has ended") && !stderr.contains("audit"), "{stderr}");
    assert!(stdout.contains("best model: update") && summary("my") == before, "{stdout}");
    // More updates are done, and lost files of its end made again.
    let more = ["--set", "training.updates=140"];
    let stdout =
        succeed(folder.path(), &[&["train", "my.csv", "--resume"][..], &SHORT, &more].concat());
    assert!(stdout.contains("after update 140"), "{stdout}");
    for lost in ["runs/my/report.html", "runs/my/best.safetensors"].map(|it| folder.path().join(it))
    {
        fs::remove_file(&lost).unwrap();
        succeed(folder.path(), &["train", "--out", "runs/my", "--resume", "-q"]);
        assert!(lost.is_file());
    }
}

/// By its name alone: told by the commands that leave it out, not by those that are told to take it.
#[test]
fn a_column_taken_for_labels_is_told() {
    let folder = TempDir::new().unwrap();
    let rows = "a,b,class,c\n".to_string() + &"0,1,0,1\n1,1,1,0\n0,0,1,1\n".repeat(4);
    fs::write(folder.path().join("t.csv"), rows).unwrap();
    let told = |arguments: &[&str]| {
        let output = run(folder.path(), arguments);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{stderr}");
        stderr.contains("t.csv: column 3 (class) holds labels, by its name, and is no unit; --")
    };
    let train = |more: &[&str]| told(&[&["train", "t.csv"][..], &SHORT, more].concat());
    assert!(train(&[]) && train(&["--dry-run"]));
    assert!(told(&["evaluate", "runs/t", "--data", "t.csv", "--split", "train"]));
    assert!(!train(&["--set", "data.source.columns=1-", "--out", "whole"]));
    assert!(!train(&["--set", "data.source.label=class", "--out", "labelled"]));
    // Samples have the names of the columns that are units.
    succeed(folder.path(), &["sample", "runs/t", "--count", "3", "--out", "samples.csv"]);
    let samples = fs::read_to_string(folder.path().join("samples.csv")).unwrap();
    assert!(samples.starts_with("a,b,c\n") && samples.lines().count() == 4, "{samples}");
    let described = succeed(folder.path(), &["data", "describe", "t.csv", "--baselines"]);
    assert!(described.contains("(column 3 (class), by its name)"), "{described}");
}

/// Of several arrays those named as parts are these parts, one after a colon is taken, and what is read is named.
#[test]
fn arrays_of_an_npz_file() {
    let folder = TempDir::new().unwrap();
    let rows = |n: usize| {
        ndarray::Array2::from_shape_fn((n, 6), |(row, i)| u8::from((row + i * i) % 3 == 0))
    };
    let file = fs::File::create(folder.path().join("two.npz")).unwrap();
    let mut npz = ndarray_npy::NpzWriter::new(file);
    for (name, count) in [("train", 40), ("test", 20), ("other", 30)] {
        npz.add_array(name, &rows(count)).unwrap();
    }
    npz.finish().unwrap();
    let dry = |data: &str| {
        let output = run(folder.path(), &["train", data, "--dry-run"]);
        let text = [output.stderr, output.stdout].concat();
        String::from_utf8(text).unwrap()
    };
    let parts = dry("two.npz");
    assert!(parts.contains("training rows are its array train, test rows are its array test"));
    assert!(parts.contains("36 rows to train on, 4 validation, 20 test"), "{parts}");
    let other = dry("two.npz:other");
    assert!(other.contains("24 rows to train on, 3 validation, 3 test"), "{other}");
    assert!(dry("two.npz:none").contains("has no array `none`; it has train, test, other"));
    let described = succeed(folder.path(), &["data", "describe", "two.npz:other"]);
    assert!(described.starts_with("two.npz:other\n"), "{described}");
    // The test rows are not the array that was trained on.
    let test = ["--set", "data.source.test=two.npz", "--dry-run"];
    let named = run(folder.path(), &[&["train", "two.npz:train"][..], &test].concat());
    assert!(String::from_utf8_lossy(&named.stdout).contains("20 test"));
}

#[test]
fn a_dry_run_writes_nothing_and_tells_what_a_run_takes() {
    let folder = TempDir::new().unwrap();
    write_rows(&folder.path().join("my.csv"));
    let text = succeed(folder.path(), &["train", "my.csv", "--dry-run"]);
    for expected in [
        "8 columns; 48 rows to train on, 6 validation, 6 test",
        "16 hidden units, 152 parameters",
        "MiB",
        "20000 updates, 2500.0 epochs of 8 updates",
        "audits      exact, every 10 evaluations",
        "training ",
        "tracking ",
    ] {
        assert!(text.contains(expected), "`{expected}`: {text}");
    }
    let names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["my.csv"]);
    let epochs = ["train", "my.csv", "--dry-run", "--set", "training.epochs=3"];
    assert!(succeed(folder.path(), &epochs).contains(" 24 updates, 3.0 epochs"));
}

#[test]
fn keys_are_explained() {
    let folder = TempDir::new().unwrap();
    let text = succeed(folder.path(), &["config", "explain", "training.gradient.particles"]);
    for expected in
        ["takes      a whole number", "default    0", "unit       chains", "only with  pcd"]
    {
        assert!(text.contains(expected), "{text}");
    }
    let all = succeed(folder.path(), &["config", "explain"]);
    assert!(all.contains("tempering.chains") && all.contains("checkpoint.keep"), "{all}");
    let section = succeed(folder.path(), &["config", "explain", "audit"]);
    assert!(section.contains("audit.temperatures") && !section.contains("tempering.chains"));
}

#[test]
fn completions_and_man_pages_are_made() {
    let folder = TempDir::new().unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = succeed(folder.path(), &["completions", shell]);
        assert!(script.contains("dry-run") && script.contains("estimate"), "{shell}");
    }
    assert!(succeed(folder.path(), &["completions", "man"]).contains(".TH ztrack"));
    succeed(folder.path(), &["completions", "man", "--out", "man"]);
    let page = fs::read_to_string(folder.path().join("man/ztrack-train.1")).unwrap();
    assert!(page.contains("dry\\-run"), "{page}");
}

/// Who waits waits for the audits at the end too: the last lines, `runs`, summary.json, a sweep and the report count them.
#[test]
fn the_time_of_a_run_counts_the_audits_at_its_end() {
    let folder = TempDir::new().unwrap();
    // Too many columns for enumeration.
    let cell = |row: usize, column: usize| (row * 7 + column * column * 5) % 11 % 2;
    let rows: Vec<_> = (0..60)
        .map(|row| (0..22).map(|i| cell(row, i).to_string()).collect::<Vec<_>>().join(","))
        .collect();
    fs::write(folder.path().join("wide.csv"), rows.join("\n")).unwrap();
    let settings = [&SHORT[..], &["--set", "model.hidden=21", "--set", "audit.models=2"]].concat();
    let said = succeed(folder.path(), &[&["train", "wide.csv"][..], &settings].concat());
    let share = |text: &str| {
        let (before, _) = text.split_once(" % in audits").unwrap_or_else(|| panic!("{text}"));
        before.rsplit(' ').next().unwrap().parse::<u32>().unwrap()
    };
    let shown = share(said.lines().find(|line| line.starts_with("all updates done")).unwrap());
    let run = folder.path().join("runs/wide");
    let summary = common::summary(&run);
    let times = &summary["times"];
    let [total, last, audits] =
        [&summary["seconds"], &times["final_audits"], &times["audits"]].map(common::number);
    assert!(last > 0.0 && (100.0 * (last + audits) / total - f64::from(shown)).abs() < 0.51);
    let metrics = fs::read_to_string(run.join("metrics.csv")).unwrap();
    let trained: f64 = metrics.lines().last().unwrap().split(',').nth(2).unwrap().parse().unwrap();
    assert!(total >= trained + last, "{total} {trained} {last}");
    assert_eq!(share(&succeed(folder.path(), &["runs"])), shown);
    let report = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(report.contains("audits at the end"));
    let sweep = [&["sweep", "wide.csv", "--over", "seed=1"][..], &settings[1..]].concat();
    let table = succeed(folder.path(), &sweep);
    assert!(share(&table) > 0, "{table}");
}

/// Arrays of images are rows of pixels; numbers without a digit beside the point are numbers.
#[test]
fn images_and_numbers_are_read_as_they_are_written() {
    let folder = TempDir::new().unwrap();
    let images = ndarray::Array3::from_shape_fn((40, 3, 4), |(n, y, x)| ((n + y * x) % 2) as u8);
    ndarray_npy::write_npy(folder.path().join("images.npy"), &images).unwrap();
    let flat = images.into_shape_with_order((40, 12)).unwrap();
    ndarray_npy::write_npy(folder.path().join("flat.npy"), &flat).unwrap();
    let described = |name: &str| succeed(folder.path(), &["data", "describe", name, "--json"]);
    let sum = |text: &str| text.split_once("sha256").unwrap().1[..70].to_string();
    assert_eq!(sum(&described("images.npy")), sum(&described("flat.npy")));
    for (typed, rate) in [(".4", "0.4"), ("4.", "4.0"), ("4.e-1", "0.4")] {
        let set = format!("training.learning_rate.initial={typed}");
        let out = format!("runs/{typed}");
        let arguments = ["train", "images.npy", "--set", &set, "--out", &out];
        succeed(folder.path(), &[&arguments[..], &SHORT].concat());
        let config = fs::read_to_string(folder.path().join(out).join("config.toml")).unwrap();
        assert!(config.contains(&format!("initial = {rate}\n")), "{config}");
    }
}

/// A file that needs to be told how it is read is described and gets a configuration too.
#[test]
fn settings_of_the_data_are_written_by_init() {
    let folder = TempDir::new().unwrap();
    let row = |n: usize| {
        let x = |i: usize| ((n * 7919 * i) % 1009) as f64 / 100.0;
        format!("{},{:.3},{:.3},{:.3}\n", n, x(3), x(5), x(7))
    };
    let rows: String = (0..300).map(row).collect();
    fs::write(folder.path().join("sensor.csv"), format!("id,a,b,c\n{rows}")).unwrap();
    let real = ["--set", "data.variables=real", "--set", "data.source.columns=2-"];
    let described =
        succeed(folder.path(), &[&["data", "describe", "sensor.csv"], &real[..]].concat());
    for line in ["  rows              300\n", "  columns           3, 3 of them real numbers\n"] {
        assert!(described.contains(line), "{described}");
    }
    succeed(folder.path(), &[&["init", "sensor.csv"], &real[..]].concat());
    let written = fs::read_to_string(folder.path().join("sensor.toml")).unwrap();
    for line in [
        "source = { name = \"files\", train = \"sensor.csv\", columns = \"2-\" }\n",
        "variables = \"real\"\n",
        "# 300 rows, 3 columns, 3 of them real numbers, 300 different rows.\n",
    ] {
        assert!(written.contains(line), "{written}");
    }
    let by_file = ["train", "sensor.toml", "--out", "runs/file"];
    succeed(folder.path(), &[&by_file[..], &SHORT].concat());
    let at_once = ["train", "sensor.csv", "--out", "runs/at-once"];
    succeed(folder.path(), &[&at_once[..], &real, &SHORT].concat());
    let config = |run: &str| {
        fs::read_to_string(folder.path().join("runs").join(run).join("config.toml")).unwrap()
    };
    assert_eq!(config("file"), config("at-once"));
    let output =
        run(folder.path(), &["init", "sensor.csv", "--out", "-", "--set", "model.hidden=3"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && stderr.contains("add it to the configuration"), "{stderr}");
}

/// Grey levels that do not end at 255 need one setting, which the rows of other commands follow.
#[test]
fn grey_levels_of_any_scale_train_with_one_setting() {
    let folder = TempDir::new().unwrap();
    let path = folder.path();
    let cell = |row: usize, i: usize| {
        if (i < 4) == row.is_multiple_of(2) { 9 + (row + i) % 8 } else { (row * 3 + i) % 7 }
    };
    let line = |row: usize| (0..8).map(|i| cell(row, i).to_string()).collect::<Vec<_>>().join(",");
    let rows: Vec<_> = (0..60).map(line).collect();
    fs::write(path.join("grey.csv"), rows.join("\n") + "\n").unwrap();
    let refused = run(path, &["train", "grey.csv", "--set", "data.binarization=0.5"]);
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(message.contains("data.source.white = 16 (--white 16)"), "{message}");
    succeed(path, &[&["train", "grey.csv", "--set", "data.source.white=16"][..], &SHORT].concat());
    let free_energies = |model: &str, out: &str, more: &[&str]| {
        let given = ["evaluate", model, "--data", "grey.csv", "--per-row", out];
        succeed(path, &[&given[..], more].concat());
        let scores = fs::read_to_string(path.join(out)).unwrap();
        let column = scores.lines().next().unwrap().split(',').position(|it| it == "free_energy");
        let cells = scores.lines().map(|line| line.split(',').nth(column.unwrap()).unwrap().into());
        cells.collect::<Vec<String>>()
    };
    let of_run = free_energies("runs/grey", "run.csv", &[]);
    fs::copy(path.join("runs/grey/best.safetensors"), path.join("model.safetensors")).unwrap();
    let of_model = free_energies("model.safetensors", "model.csv", &["--white", "16"]);
    assert_eq!((of_run.len(), of_run), (61, of_model));
}
