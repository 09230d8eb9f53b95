//! `ztrack sweep`: a grid of runs, one table, interrupted and continued; `runs --sort`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{self, metrics_lines, send, tiny, wait_for, ztrack};

fn run(folder: &Path, arguments: &[&str]) -> Output {
    ztrack().current_dir(folder).args(arguments).output().unwrap()
}

fn said(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn validation(run: &Path) -> f64 {
    common::number(&common::summary(run)["best"]["validation_log_likelihood"]["value"])
}

#[test]
fn a_grid_is_trained_once_and_sorted() {
    let folder = TempDir::new().unwrap();
    tiny(folder.path());
    let sweep = ["sweep", "tiny.toml", "--over", "seed=1..2", "--over", "model.hidden=1,6"];
    let output = run(folder.path(), &[&sweep[..], &["--jobs", "2"]].concat());
    let (table, told) = said(&output);
    assert!(output.status.success() && told.contains("4 of 4: "), "{told}");
    let out = folder.path().join("runs/tiny-sweep");
    let names = ["seed=1,hidden=1", "seed=1,hidden=6", "seed=2,hidden=1", "seed=2,hidden=6"];
    let mut best: Vec<f64> = names.iter().map(|name| validation(&out.join(name))).collect();
    best.sort_by(|a, b| b.total_cmp(a));
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("seed  hidden  validation"), "{table}");
    let third = |line: &str| line.split_whitespace().nth(2).unwrap().parse::<f64>().unwrap();
    for (line, best) in lines[1..5].iter().zip(&best) {
        assert!((third(line) - best).abs() < 0.01, "{line}: {best}");
    }
    assert!(lines[1].contains(" best ") && lines[2].contains(" from log Z"), "{table}");
    let mean = (validation(&out.join(names[1])) + validation(&out.join(names[3]))) / 2.0;
    let line = lines.iter().find(|line| line.starts_with("6 ")).unwrap();
    let found: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!((found - mean).abs() < 0.01 && line.contains("2 seeds"), "{table}");
    assert!(fs::read_to_string(out.join("report.html")).unwrap().contains("seed=2,hidden=6"));
    // What ended is not repeated, and a larger grid takes it over.
    let written =
        fs::metadata(out.join(names[0]).join("summary.json")).unwrap().modified().unwrap();
    let (again, told) = said(&run(folder.path(), &sweep));
    assert!(
        again == table && told.contains("4 runs in") && told.contains(" 4 of them done"),
        "{told}"
    );
    let larger = ["sweep", "tiny.toml", "--over", "seed=1..2", "--over", "model.hidden=1,6,8"];
    let (_, told) = said(&run(folder.path(), &larger));
    assert!(told.contains("6 runs in") && told.contains(" 4 of them done"), "{told}");
    let now = fs::metadata(out.join(names[0]).join("summary.json")).unwrap().modified().unwrap();
    assert_eq!(written, now);
    // The runs are runs like others.
    let (listed, _) =
        said(&run(folder.path(), &["runs", "runs/tiny-sweep", "--sort", "validation", "--json"]));
    let listed: Vec<Value> = serde_json::from_str(&listed).unwrap();
    let values: Vec<f64> =
        listed.iter().map(|line| common::number(&line["best_validation_log_likelihood"])).collect();
    assert!(values.len() == 6 && values.is_sorted_by(|a, b| a >= b), "{values:?}");
    // Other settings are not mixed in.
    let output = run(folder.path(), &[&sweep[..], &["--set", "training.batch=8"]].concat());
    let (_, told) = said(&output);
    assert!(!output.status.success() && told.contains("was made with other settings"), "{told}");
}

/// Steps that are too short for anything but the marginals: a mixture of products is better than all trials, the exact start is better than
/// them, and the run has it. Not where the start is given.
#[test]
fn the_best_preset_takes_the_exact_start_where_a_mixture_is_better() {
    let folder = TempDir::new().unwrap();
    let cell = |row: usize, column: usize| {
        if column.is_multiple_of(4) { row % 2 } else { (row + column) % 2 }
    };
    let line = |row| (0..16).map(|column| cell(row, column).to_string()).collect::<Vec<_>>();
    let rows: Vec<String> = (0..200).map(|row| line(row * 7 % 61).join(",")).collect();
    fs::write(folder.path().join("rows.csv"), rows.join("\n")).unwrap();
    let rate = "training.learning_rate.initial=1e-6";
    let best = ["train", "rows.csv", "--set", "training.preset=best", "--minutes", "0.2"];
    let with = |more: &[&str]| {
        let (_, told) = said(&run(folder.path(), &[&best[..], &["--set", rate], more].concat()));
        let chosen = told.lines().find(|line| line.contains("chosen after "));
        chosen.unwrap_or_else(|| panic!("{told}")).to_string()
    };
    let chosen = with(&["--out", "free"]);
    assert!(chosen.contains("model.start=\"exact\""), "{chosen}");
    let config = fs::read_to_string(folder.path().join("free/config.toml")).unwrap();
    assert!(config.contains("start = \"exact\""), "{config}");
    let chosen = with(&["--out", "given", "--set", "model.start=random"]);
    assert!(!chosen.contains("exact"), "{chosen}");
}

/// Steps that are far too large are warned of, with the run that they are of.
#[test]
fn warnings_of_a_run_are_shown_with_its_name() {
    let folder = TempDir::new().unwrap();
    let rates = "training.learning_rate.initial=0.1,20";
    let sweep = ["sweep", "bars-and-stripes", "--over", rates, "--set", "training.updates=300"];
    let (_, lines) = said(&run(folder.path(), &[&sweep[..], &["--keep-all"]].concat()));
    let warnings: Vec<&str> = lines.lines().filter(|it| it.starts_with("warning:")).collect();
    assert!(
        !warnings.is_empty() && warnings.iter().all(|it| it.ends_with("(initial=20)")),
        "{lines}"
    );
    assert!(warnings[0].contains("were shortened"), "{lines}");
}

/// The preset "best" without a size tries several, continues after an interruption, and the best becomes the run.
#[cfg(unix)]
#[test]
fn the_best_preset_chooses_a_size() {
    let folder = TempDir::new().unwrap();
    let cell = |row: usize, column: usize| (row * (column / 3 + 1) / 2 + column / 5) % 2;
    let line = |row| (0..16).map(|column| cell(row, column).to_string()).collect::<Vec<_>>();
    let rows: Vec<String> = (0..200).map(|row| line(row * 7 % 61).join(",")).collect();
    fs::write(folder.path().join("rows.csv"), rows.join("\n")).unwrap();
    let best = ["train", "rows.csv", "--set", "training.preset=best", "--minutes", "0.1"];
    let (out, mut first) = (folder.path().join("runs/rows"), ztrack());
    let trials = |out: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(out.join("search")).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|it| it.join("config.toml").is_file()).collect()
    };
    let mut first = first.current_dir(folder.path()).args(best).spawn().unwrap();
    wait_for("a trial", || !trials(&out).is_empty());
    send(&first, "-TERM");
    assert_eq!(first.wait().unwrap().code(), Some(130));
    assert!(!out.join("config.toml").exists());
    let (_, told) = said(&run(folder.path(), &best));
    let chosen = told
        .lines()
        .find(|line| line.contains("chosen after "))
        .unwrap_or_else(|| panic!("{told}"));
    assert!(told.contains("trial 1, ") && !told.contains(" of them done"), "{told}");
    let of =
        |key: &str| chosen.split(&format!("{key}=")).nth(1).unwrap().split(' ').next().unwrap();
    let tried = trials(&out);
    let start = if chosen.contains("model.start") { ",start=_exact_" } else { "" };
    let name = format!(
        "updates={},hidden={},weight_decay={},initial={}{start}",
        of("training.updates"),
        of("model.hidden"),
        of("training.weight_decay"),
        of("training.learning_rate.initial")
    );
    let winner =
        tried.iter().find(|it| it.ends_with(&name)).unwrap_or_else(|| panic!("{name}: {tried:?}"));
    let config = fs::read_to_string(out.join("config.toml")).unwrap();
    assert!(config.contains(&format!("hidden = {}\n", of("model.hidden"))), "{chosen}: {config}");
    // From short trials to longer ones.
    let plan = fs::read_to_string(out.join("search/plan.json")).unwrap();
    let plan: Value = serde_json::from_str(&plan).unwrap();
    let updates = |it: &PathBuf| {
        let name = it.file_name().unwrap().to_string_lossy().into_owned();
        let number = name.strip_prefix("updates=").unwrap().split(',').next().unwrap();
        number.parse::<f64>().unwrap()
    };
    let longest = tried.iter().map(updates).fold(0.0, f64::max);
    assert!(longest > common::number(&plan["first"][0]), "{tried:?}");
    // The trial goes on as the run, with the audits of a run.
    let metrics = |folder: &Path| fs::read_to_string(folder.join("metrics.csv")).unwrap();
    assert_eq!(metrics(&out), metrics(winner));
    // Also where the command was killed before it had copied the records and the state.
    fs::remove_dir_all(out.join("checkpoints")).unwrap();
    for file in ["metrics.csv", "summary.json"] {
        fs::remove_file(out.join(file)).unwrap();
    }
    let (_, told) = said(&run(folder.path(), &["train", "--resume", "--out", "runs/rows"]));
    assert!(out.join("summary.json").is_file(), "{told}");
    assert_eq!(metrics(&out), metrics(winner));
    assert!(config.contains("models = 8\n"), "{config}");
    // No other trial is better by more than the scatter of the rows; log Z is exact for 16 columns.
    let summary = common::summary(winner);
    let error = common::number(&summary["best"]["validation_log_likelihood"]["std_error"]);
    let ended = |it: &&PathBuf| it.join("summary.json").is_file();
    let (most, score) = (tried.iter().filter(ended).map(|it| validation(it)), validation(winner));
    let most = most.fold(f64::NEG_INFINITY, f64::max);
    assert!(tried.len() > 2 && score > most - error, "{score} of {most}, {tried:?}");
    let report = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(report.contains("Settings tried") && report.contains("weight_decay=0.01"));
    // Nothing is overwritten, and the minutes need a search.
    let (_, told) = said(&run(folder.path(), &best));
    assert!(told.contains("exists: continue it with --resume"), "{told}");
    let (_, told) =
        said(&run(folder.path(), &["train", "rows.csv", "--out", "x", "--minutes", "1"]));
    assert!(told.contains("--minutes goes with"), "{told}");
    let long = [&best[..], &["--out", "y", "--set", "training.epochs=3"]].concat();
    let (_, told) = said(&run(folder.path(), &long));
    assert!(told.contains("training.epochs: preset \"best\" chooses the length"), "{told}");
    // What is given is not tried: neither weight decays nor rates.
    let given = ["--set", "training.weight_decay=1e-5", "--set", "training.learning_rate=0.2"];
    let (_, told) = said(&run(folder.path(), &[&best[..], &["--out", "z"], &given].concat()));
    assert!(told.contains("chosen after ") && !told.contains("decay="), "{told}");
    let names = |it: &PathBuf| it.file_name().unwrap().to_string_lossy().into_owned();
    let tried: Vec<String> = trials(&folder.path().join("z")).iter().map(names).collect();
    assert!(tried.len() > 1 && tried.iter().all(|it| !it.contains("initial=")), "{tried:?}");
    let config = fs::read_to_string(folder.path().join("z/config.toml")).unwrap();
    assert!(config.contains("[training.early_stopping]") && config.contains("initial = 0.2"));
}

/// Without a rate a model does not learn: its run is stopped once its curve cannot reach the other, unless all are kept.
#[cfg(unix)]
#[test]
fn what_cannot_win_is_stopped() {
    let folder = TempDir::new().unwrap();
    tiny(folder.path());
    let rates = "training.learning_rate.initial=0.05,1e-12";
    // 400 validation rows: the curves differ by nine errors.
    let rows = "data.source.rows=2000";
    let sweep = ["sweep", "tiny.toml", "--over", rates, "--set", rows];
    let sweep = [&sweep[..], &["--set", "training.updates=4000"]].concat();
    let output = run(folder.path(), &sweep);
    let (table, told) = said(&output);
    let stopped = "2 of 2: initial=1e-12 stopped: ";
    assert!(output.status.success() && told.contains(stopped), "{told}");
    assert!(told.contains("nats below initial=0.05 after the same seconds"), "{told}");
    assert!(table.contains("interrupted") && table.contains("finished"), "{table}");
    let (_, told) = said(&run(folder.path(), &sweep));
    assert!(told.contains("initial=1e-12 stays stopped"), "{told}");
    let output = run(folder.path(), &[&sweep[..], &["--keep-all"]].concat());
    assert!(output.status.success());
    assert!(folder.path().join("runs/tiny-sweep/initial=1e-12/summary.json").is_file());
}

#[test]
fn mistakes_are_told_before_the_first_run() {
    let folder = TempDir::new().unwrap();
    tiny(folder.path());
    for (over, expected) in [
        ("modl.hidden=1,2", "did you mean model"),
        ("model.hidden=1,0", "model.hidden"),
        ("seed=5..1", "is no range"),
        ("seed=1..20000", "`1..20000` has more than 10000 values"),
        ("seed", "a key and its values"),
        ("seed=1,1", "every value once"),
    ] {
        let output = run(folder.path(), &["sweep", "tiny.toml", "--over", over]);
        let (_, told) = said(&output);
        assert!(!output.status.success() && told.contains(expected), "{over}: {told}");
    }
    let (_, told) =
        said(&run(folder.path(), &["sweep", "tiny.toml", "--over", "seed=1", "--over", "seed=2"]));
    assert!(told.contains("--over seed is given twice: give all its values"), "{told}");
    assert!(!folder.path().join("runs").exists());
}

/// What a run prints is shown where it fails, and the others are trained.
#[test]
fn a_run_that_fails_says_why() {
    let folder = TempDir::new().unwrap();
    tiny(folder.path());
    let runs = folder.path().join("runs/tiny-sweep");
    fs::create_dir_all(&runs).unwrap();
    fs::write(runs.join("seed=1"), "not a folder").unwrap();
    let output = run(folder.path(), &["sweep", "tiny.toml", "--over", "seed=1,2"]);
    let (table, told) = said(&output);
    let failed = told.split_once("1 of 2: seed=1 failed (exit status: 1)\n");
    assert!(failed.is_some_and(|(_, why)| why.starts_with("error: ")), "{told}");
    assert!(
        told.contains("2 of 2: seed=2: validation ") && told.contains("1 runs failed"),
        "{told}"
    );
    assert!(!output.status.success() && table.lines().count() == 2, "{table}");
}

#[cfg(unix)]
#[test]
fn an_interrupted_sweep_goes_on() {
    let folder = TempDir::new().unwrap();
    tiny(folder.path());
    let long = ["sweep", "tiny.toml", "--over", "seed=1,2", "--set", "training.updates=4000"];
    let mut child = ztrack().current_dir(folder.path()).args(long).spawn().unwrap();
    let first = folder.path().join("runs/tiny-sweep/seed=1");
    wait_for("evaluations", || metrics_lines(&first) > 3);
    send(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!first.join("summary.json").exists() && first.join("checkpoints/state").is_dir());
    let before = metrics_lines(&first);
    let output = run(folder.path(), &long);
    assert!(output.status.success(), "{:?}", said(&output));
    let update = common::number(&common::summary(&first)["updates"]);
    assert!(metrics_lines(&first) > before && update == 4000.0);
    assert!(folder.path().join("runs/tiny-sweep/seed=2/summary.json").is_file());
}
