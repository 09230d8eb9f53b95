//! Evaluations and samples of a run, by its files and by its folder.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use ztrack::checkpoint::ModelFile;
use ztrack::data::Binarization;

use crate::common::{TINY, json, run, succeed, summary, text, tiny};

#[test]
fn evaluation_with_a_runs_configuration_repeats_its_summary() {
    let folder = TempDir::new().unwrap();
    let (config, out) = (tiny(folder.path()), folder.path().join("out"));
    let table = succeed(&["train", &config, "--out", &text(&out)]);
    assert!(table.contains("best model: update") && table.contains("log Z exact"), "{table}");
    let [model, config] = ["best.safetensors", "config.toml"].map(|name| text(&out.join(name)));
    let report = json(&["evaluate", &model, "--data", &config, "--json"]);
    let summary = summary(&out);
    for line in report["log_likelihoods"].as_array().unwrap() {
        let name = format!("{}_log_likelihood", line["split"].as_str().unwrap());
        assert_eq!(line["value"], summary["best"][&name]["value"], "{name}");
    }
}

/// In the terminal, in summary.json and in the report, if the updates alone end the run.
#[test]
fn a_run_that_ends_while_it_learns_says_so() {
    let folder = TempDir::new().unwrap();
    let train = |name: &str, rate: &str| {
        let out = folder.path().join(name);
        let rate = format!("training.learning_rate.initial={rate}");
        let settings = ["training.updates=200", "data.validation_fraction=0.2", &rate];
        let at = text(&out);
        let mut arguments = vec!["train", "bars-and-stripes", "--out", &at];
        settings.iter().for_each(|setting| arguments.extend(["--set", setting]));
        let printed = succeed(&arguments);
        let report = fs::read_to_string(out.join("report.html")).unwrap();
        (printed, report, summary(&out)["improved_late"].as_u64())
    };
    let longer = "--resume --set training.updates=400";
    let at = text(&folder.path().join("learns"));
    let words =
        &format!("still improved at update 200: a longer run (ztrack train --out {at} {longer})");
    let (printed, report, late) = train("learns", "0.05");
    assert!(printed.contains(words) && report.contains(words), "{printed}");
    assert_eq!(late, Some(200));
    let mut command = vec!["train", "--out", &at];
    command.extend(longer.split(' '));
    assert!(succeed(&command).contains("after update 400"));
    let ended =
        String::from_utf8_lossy(&run(&["train", "--out", &at, "--resume"]).stderr).into_owned();
    assert!(
        ended.contains("nothing is trained: a larger training.updates lets it go on"),
        "{ended}"
    );
    let (printed, report, late) = train("rests", "1e-9");
    assert!(![printed, report].iter().any(|it| it.contains("still improved")));
    assert_eq!(late, None);
}

/// A run on grey rows, so that it matters what makes them binary.
struct GreyRun {
    folder: TempDir,
    rows: String,
    config: String,
    out: String,
    best: String,
}

impl GreyRun {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let grey =
            ndarray::Array2::from_shape_fn((60, 9), |(i, j)| ((i * 37 + j * 101) % 256) as u8);
        let rows = text(&folder.path().join("grey.npy"));
        ndarray_npy::write_npy(&rows, &grey).unwrap();
        let sections = TINY.split("[model]").nth(1).unwrap();
        let content = format!(
            "[data]\nsource = {{ name = \"files\", train = {rows:?} }}\nbinarization = {{ threshold = 0.25 }}\n\
             validation_fraction = 0.2\ntest_fraction = 0.2\n[model]{sections}"
        );
        let config = text(&folder.path().join("grey.toml"));
        fs::write(&config, content).unwrap();
        let out = text(&folder.path().join("run"));
        succeed(&["train", &config, "--out", &out, "-q"]);
        let best = format!("{out}/best.safetensors");
        Self { folder, rows, config, out, best }
    }

    /// Its parts are those it was trained on, whichever way they are named.
    fn is_its_data(&self) {
        let parts = json(&["data", "describe", &self.out, "--json"]);
        let rows_of = |i: usize| parts[i]["rows"].as_u64();
        assert_eq!([rows_of(0), rows_of(1), rows_of(2)], [Some(36), Some(12), Some(12)]);

        let all = json(&["evaluate", &self.out, "--json"]);
        let whole = json(&["evaluate", &self.best, "--data", &self.config, "--json"]);
        assert_eq!(all["log_likelihoods"], whole["log_likelihoods"]);
        for (i, name) in ["train", "validation", "test"].iter().enumerate() {
            for arguments in [["--data", name], ["--split", name]] {
                let one = json(&[&["evaluate", &self.out, "--json"][..], &arguments].concat());
                assert_eq!(one["log_likelihoods"][0], all["log_likelihoods"][i], "{name}");
                assert_eq!(one["log_likelihoods"].as_array().unwrap().len(), 1);
            }
        }
    }

    /// The model file knows its marginals and its binarization, and another one is told.
    fn is_its_best_model(&self) {
        let output = run(&["estimate", &self.out, "--verbose"]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("best.safetensors of update"), "{stderr}");
        let base = |output: &std::process::Output| {
            let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
            stdout.split_once("base distribution: ").unwrap().1.lines().next().unwrap().to_string()
        };
        assert_eq!(base(&output), "marginals of grey.npy");
        let checkpoint = newest_checkpoint(&self.out);
        assert_eq!(
            base(&run(&["estimate", &text(&checkpoint), "--verbose"])),
            "marginals of grey.npy"
        );
        // Without the rows their marginals in the model file do, and one line says so.
        let away = format!("{}.away", self.rows);
        fs::rename(&self.rows, &away).unwrap();
        let output = run(&["estimate", &self.best, "--verbose"]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let warning = "warning: the rows of the run cannot be read: their marginals in the model";
        assert_eq!(stderr.matches(warning).count(), 1, "{stderr}");
        assert_eq!(base(&output), "marginals of grey.npy, in the model file");
        fs::rename(&away, &self.rows).unwrap();
        let warned = |arguments: &[&str]| {
            let evaluate = ["evaluate", &self.best, "--data", &self.rows];
            let output = run(&[&evaluate[..], arguments].concat());
            assert!(output.status.success());
            String::from_utf8_lossy(&output.stderr).contains("warning: these rows are")
        };
        assert!(!warned(&[]) && !warned(&["--binarization", "0.25"]));
        assert!(warned(&["--binarization", "stochastic"]) && warned(&["--binarization", "0.5"]));
    }

    fn gives_the_same_samples_with_and_without_its_rows(&self) {
        // A base made of the stored means is that of the rows.
        let sample = |name: &str, data: &[&str]| {
            let out = text(&self.folder.path().join(name));
            let arguments = ["sample", &self.out, "--count", "20", "--sweeps", "3", "--out", &out];
            succeed(&[&arguments[..], data].concat());
            fs::read(out).unwrap()
        };
        assert_eq!(sample("stored.npy", &[]), sample("rows.npy", &["--data", &self.out]));
        // The nearest training rows are those of the run, and change nothing of the samples.
        let out = text(&self.folder.path().join("nearest.npy"));
        let nearest =
            ["sample", &self.out, "--count", "20", "--sweeps", "3", "--out", &out, "--nearest"];
        let told = String::from_utf8_lossy(&run(&nearest).stderr).into_owned();
        assert!(told.contains("from sample to nearest training row: "), "{told}");
        assert_eq!(fs::read(out).unwrap(), sample("again.npy", &[]));
    }
}

/// The last of the model checkpoints of a run.
fn newest_checkpoint(run: &str) -> PathBuf {
    let entries = fs::read_dir(format!("{run}/checkpoints")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|end| end == "safetensors")).max().unwrap()
}

/// Models of a run carry states that its chains reached, the best one those of its own time.
#[test]
fn model_files_carry_states_of_the_chains() {
    let folder = TempDir::new().unwrap();
    let (config, out) = (tiny(folder.path()), folder.path().join("out"));
    succeed(&["train", &config, "--out", &text(&out), "-q"]);
    let newest = newest_checkpoint(&text(&out));
    for path in [out.join("best.safetensors"), out.join("last.safetensors"), newest] {
        let file = ModelFile::load(&path).unwrap();
        let states = file.states.expect("states");
        assert_eq!(states.columns(), file.parameters.n_visible);
        assert!((2..=192).contains(&states.rows()), "{}", states.rows());
        let distinct: HashSet<&[u64]> = (0..states.rows()).map(|row| states.row(row)).collect();
        assert_eq!(distinct.len(), states.rows(), "each once");
    }
}

/// Samples of a run begin at the states in its model file, without a search: a file without them gives others, after one.
#[test]
fn samples_begin_at_the_states_of_the_runs_chains() {
    let folder = TempDir::new().unwrap();
    let [out, samples] = ["out", "samples.npy"].map(|name| text(&folder.path().join(name)));
    // Chains of a model of nearly independent units forget their beginnings at once.
    let settings = [
        "data.source.side=5",
        "model.hidden=22",
        "training.updates=600",
        "training.learning_rate.initial=0.1",
        "audit.models=1",
    ];
    let settings = settings.iter().flat_map(|setting| ["--set", setting]);
    let train = ["train", "bars-and-stripes", "-q", "--out", &out];
    succeed(&train.into_iter().chain(settings).collect::<Vec<_>>());
    let sample = || {
        let arguments = ["sample", &out, "--count", "50", "--out", &samples, "--force", "-v"];
        let output = run(&arguments);
        assert!(output.status.success());
        (String::from_utf8(output.stderr).unwrap(), fs::read(&samples).unwrap())
    };
    let [began, searched] = ["began at states of the run's chains and particles", "best start"];
    let (said, with) = sample();
    assert!(said.contains(began) && !said.contains(searched), "{said}");
    let best = Path::new(&out).join("best.safetensors");
    let file = ModelFile::load(&best).unwrap();
    ModelFile { states: None, ..file }.save(&best).unwrap();
    let (said, without) = sample();
    assert!(!said.contains(began) && said.contains(searched), "{said}");
    assert_ne!(with, without);
}

/// A run folder stands for its best model, and for its data with its split and binarization.
#[test]
fn a_run_folder_is_a_model_and_data() {
    let grey = GreyRun::new();
    let file = ModelFile::load(&grey.best).unwrap();
    let trained_on = file.trained_on.clone().unwrap();
    assert_eq!((trained_on.rows, &trained_on.data[..]), (36, "grey.npy"));
    assert_eq!(trained_on.binarization, Binarization::Threshold(0.25));
    grey.is_its_data();
    grey.is_its_best_model();
    grey.gives_the_same_samples_with_and_without_its_rows();

    fs::remove_file(&grey.best).unwrap();
    let stderr = run(&["estimate", &grey.out]).stderr;
    assert!(String::from_utf8_lossy(&stderr).contains("last.safetensors of update"));
    for (arguments, expected) in [
        (&["estimate", &text(grey.folder.path())][..], "no run folder: it has no config.toml"),
        (&["evaluate", &grey.out, "--data", "test", "--split", "train"], "name different rows"),
    ] {
        let output = run(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && stderr.contains(expected), "{arguments:?}: {stderr}");
    }
}

/// `evaluate RUN` takes log Z from the run's summary, and never one that is below what the rows of the run add up to.
#[test]
fn an_audit_below_the_rows_of_the_run_is_in_doubt() {
    let folder = TempDir::new().unwrap();
    let (config, out) = (tiny(folder.path()), folder.path().join("out"));
    // More than 20 units in both layers: the audit is no enumeration.
    let larger = fs::read_to_string(&config).unwrap().replace("side = 3", "side = 5");
    fs::write(&config, larger.replace("hidden = 6", "hidden = 22")).unwrap();
    succeed(&["train", &config, "--out", &text(&out), "-q"]);
    let evaluated = || json(&["evaluate", &text(&out), "--json"]);
    let (before, mut changed) = (evaluated(), summary(&out));
    assert!(before["audited_at"].is_u64() && before["bound"]["value"].is_f64(), "{before}");
    let value = |report: &serde_json::Value| report["estimates"][0]["value"].as_f64().unwrap();
    changed["best"]["log_z"] = (value(&before) - 30.0).into();
    fs::write(out.join("summary.json"), changed.to_string()).unwrap();
    let after = evaluated();
    assert_eq!(value(&after), after["bound"]["value"].as_f64().unwrap());
    assert!(after["estimates"][0].to_string().contains("below-bound"), "{after}");
}

/// Before its end, a run's best value is that of its evaluation, as the live display shows it, and samples start from the log Z that its
/// tracker found, without a search for modes.
#[test]
fn a_run_that_has_not_ended_has_its_best_value_and_log_z() {
    let folder = TempDir::new().unwrap();
    let out = text(&folder.path().join("run"));
    let settings = ["model.hidden=22", "training.updates=300", "evaluation.every=50"];
    let settings = settings.iter().flat_map(|setting| ["--set", setting]);
    let train = ["train", "bars-and-stripes", "--out", &out, "-q"].into_iter().chain(settings);
    succeed(&train.collect::<Vec<_>>());
    fs::remove_file(format!("{out}/summary.json")).unwrap();

    let mut metrics = csv::Reader::from_path(format!("{out}/metrics.csv")).unwrap();
    let names = metrics.headers().unwrap().clone();
    let column = |name: &str| names.iter().position(|it| it == name).unwrap();
    let number = |row: &csv::StringRecord, name| row[column(name)].parse::<f64>().unwrap();
    let best = metrics.records().map(Result::unwrap).filter(|row| number(row, "decides") == 1.0);
    let best = best.filter(|row| number(row, "update") > 0.0).max_by(|a, b| {
        let of = |row| number(row, "validation_log_likelihood");
        of(a).total_cmp(&of(b))
    });
    let best = best.expect("evaluations that decide");
    let listed = &json(&["runs", &out, "--json"])[0];
    assert_eq!(listed["best"].as_f64(), Some(number(&best, "update")));
    let value = number(&best, "validation_log_likelihood");
    assert_eq!(listed["best_validation_log_likelihood"].as_f64(), Some(value));
    let table = succeed(&["runs", &out]);
    assert!(table.contains(&format!("{value:.3} ± ")), "{table}");

    let samples = text(&folder.path().join("samples.csv"));
    let output = run(&["sample", &out, "--count", "20", "--verbose", "--out", &samples]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains("chains x"), "{told}");
    assert!(!told.contains("best start so far"), "{told}");
}
