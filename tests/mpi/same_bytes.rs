//! The bytes of one process on any number of ranks.

use std::fs;
use std::path::Path;
use std::process::Output;

use tempfile::TempDir;

use crate::common::{assert_same, run, shared, text, tiny, ztrack};
use crate::jobs::{SHARED, alone, must, on_ranks, resume, train, turn};

/// Chains of the gradient's own beside those of the tracker, which follow the average; their moments are shared too.
const TEMPERED: &[&str] = &[
    "data.source={ name = \"bars-and-stripes\", side = 4, rows = 900, noise = 0.05 }",
    "model.hidden=22",
    "training.gradient={ kind = \"tempered\" }",
    "tempering.chains=700",
    "tempering.beta_update={ joint = 2 }",
    "evaluation.every=10",
];
/// The filter of the paper, one set of chains, rows that are binarized anew in every epoch.
const SMOOTHED: &[&str] = &[
    "training.gradient={ kind = \"tempered\" }",
    "averaging.window=0",
    "tempering.chains=120",
    "tempering.smoothing={ alpha = 0.2 }",
    "training.pretraining={ updates = 21, learning_rate = 0.05, batch = 10 }",
];

/// One rank of a job, two, three of unequal parts, four.
#[test]
fn runs_have_the_bytes_of_one_process_on_any_number_of_ranks() {
    let (folder, _turn) = (TempDir::new().unwrap(), turn());
    let config = tiny(folder.path());
    for (name, settings) in [("shared", SHARED), ("tempered", TEMPERED), ("smoothed", SMOOTHED)] {
        let one = folder.path().join(name);
        alone(&train(&config, &one, settings));
        for ranks in 1..=4 {
            let out = folder.path().join(format!("{name}-{ranks}"));
            let Some(mut command) = on_ranks(ranks, &train(&config, &out, settings)) else {
                return;
            };
            must(&command.output().unwrap());
            assert_same(&one, &out);
        }
    }
}

/// Runs on real data, shortened: PCD and the tempered gradient, both filters, with averages and weights and without.
const REAL: &[(&str, &str, &[&str])] = &[
    (
        "dna",
        "averaged",
        &[
            "training.gradient={ kind = \"pcd\" }",
            "training.updates=60",
            "evaluation.every=30",
            "audit={ every = 2, temperatures = 300 }",
            "tempering.beta_update={ joint = 2 }",
        ],
    ),
    (
        "dna",
        "tempered",
        &[
            "training.updates=24",
            "evaluation.every=12",
            "tempering.settling.most=60",
            "audit={ every = 2, temperatures = 300 }",
        ],
    ),
    (
        "dna",
        "smoothed",
        &[
            "training.gradient={ kind = \"pcd\" }",
            "training.updates=60",
            "evaluation.every=30",
            "averaging.window=0",
            "tempering.weighted=false",
            "tempering.smoothing={ alpha = 0.2 }",
        ],
    ),
    (
        "mnist",
        "averaged",
        &[
            "training.updates=12",
            "evaluation.every=6",
            "evaluation.train_rows=1000",
            "tempering.settling.most=60",
            "tempering.initial_rounds.most=2",
            "audit={ every = 2, chains = 100, temperatures = 200 }",
        ],
    ),
    (
        "mnist",
        "tempered",
        &[
            "training.gradient={ kind = \"tempered\" }",
            "training.updates=6",
            "evaluation.every=6",
            "evaluation.train_rows=1000",
            "tempering.settling.most=30",
            "tempering.initial_rounds={ most = 2, sweeps = 10 }",
            "audit={ every = 2, chains = 100, temperatures = 200 }",
        ],
    ),
];

/// dna and MNIST 784 x 500 on three ranks, whose parts differ, or on those `ZTRACK_RANKS` lists (`1,2,3,4`).
#[test]
fn real_data_have_the_bytes_of_one_process() {
    let (folder, _turn) = (TempDir::new().unwrap(), turn());
    let Some(data) = shared("datasets") else { return };
    let listed = std::env::var("ZTRACK_RANKS").unwrap_or("3".into());
    for (config, name, settings) in REAL {
        let arguments = |out: &Path| {
            let mut arguments = train(config, out, settings);
            arguments.extend(["--data-folder".into(), text(&data)]);
            arguments
        };
        let one = folder.path().join(format!("{config}-{name}"));
        alone(&arguments(&one));
        for ranks in listed.split(',').map(|ranks| ranks.parse().unwrap()) {
            let out = folder.path().join(format!("{config}-{name}-{ranks}"));
            let Some(mut command) = on_ranks(ranks, &arguments(&out)) else { return };
            must(&command.output().unwrap());
            assert_same(&one, &out);
            eprintln!("{config}, {name}: {ranks} ranks have the bytes of one process");
        }
    }
}

/// Every rank reads the data by itself; a run that is longer than it was, on other numbers of ranks each time.
#[test]
fn runs_go_on_with_other_numbers_of_ranks() {
    let (folder, _turn) = (TempDir::new().unwrap(), turn());
    let config = tiny(folder.path());
    let (one, out) = (folder.path().join("one"), folder.path().join("out"));
    let length = |updates: usize| vec!["--set".to_string(), format!("training.updates={updates}")];
    alone(&[train(&config, &one, SHARED), length(9)].concat());
    let first = [train(&config, &out, SHARED), length(9), vec!["--read-data".into(), "all".into()]];
    let Some(mut command) = on_ranks(3, &first.concat()) else { return };
    must(&command.output().unwrap());
    for (updates, ranks) in [(13, 2), (17, 0), (20, 4)] {
        alone(&[resume(&one), length(updates)].concat());
        let arguments = [resume(&out), length(updates)].concat();
        match on_ranks(ranks, &arguments) {
            Some(mut command) if ranks > 0 => must(&command.output().unwrap()),
            _ => alone(&arguments),
        }
        assert_same(&one, &out);
    }
}

/// A run that has ended is not done again by any number of ranks: its summary has the time of its end.
#[test]
fn an_ended_run_is_left_as_it_is() {
    let (folder, _turn) = (TempDir::new().unwrap(), turn());
    let (config, out) = (tiny(folder.path()), folder.path().join("out"));
    let Some(mut command) = on_ranks(2, &train(&config, &out, SHARED)) else { return };
    must(&command.output().unwrap());
    let whole = || ["summary.json", "report.html"].map(|it| fs::read(out.join(it)).unwrap());
    let before = whole();
    for ranks in [2, 3] {
        let Some(mut command) = on_ranks(ranks, &resume(&out)) else { return };
        let output = command.output().unwrap();
        must(&output);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(stderr.matches("this run has ended").count(), 1, "{stderr}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("best model: update"));
        assert_eq!(whole(), before);
    }
}

#[test]
fn estimates_have_the_bytes_of_one_process() {
    let (folder, _turn) = (TempDir::new().unwrap(), turn());
    let (config, out) = (tiny(folder.path()), folder.path().join("out"));
    alone(&train(&config, &out, &SHARED[..3]));
    let model = text(&out.join("best.safetensors"));
    let arguments: Vec<String> =
        ["estimate", &model, "--no-exact", "--json", "--chains", "120", "--sweeps", "100"]
            .into_iter()
            .chain(["--method", "auto,rts,ais,bar", "--temperatures", "20", "--budget", "1"])
            .map(String::from)
            .collect();
    let numbers = |output: &Output| {
        must(output);
        let stdout = String::from_utf8_lossy(&output.stdout);
        stdout.lines().filter(|line| !line.contains("seconds\"")).collect::<Vec<_>>().join("\n")
    };
    let one = numbers(&ztrack().args(&arguments).output().unwrap());
    for ranks in [2, 3] {
        let Some(mut command) = on_ranks(ranks, &arguments) else { return };
        assert_eq!(numbers(&command.output().unwrap()), one);
    }
}

#[test]
fn what_one_process_does_is_refused_on_several() {
    let _turn = turn();
    assert!(run(&["config", "list"]).status.success());
    let arguments = ["config", "list"].map(String::from);
    let Some(mut command) = on_ranks(2, &arguments) else { return };
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && output.stdout.is_empty());
    assert!(stderr.contains("this command is the work of one process"), "{stderr}");
    assert_eq!(stderr.matches("error:").count(), 1, "{stderr}");
}
