//! `ztrack estimate` with every schedule and path, and what it says about those that make no sense.

use std::path::Path;

use ztrack::model::test_systems::{TestSystem, gaussian};

use crate::common::{json, run, save, text};

fn model(folder: &Path) -> (String, TestSystem) {
    let system = gaussian(12, 6, 0.7, 2).unwrap();
    (save(folder, system.parameters.clone()), system)
}

#[test]
fn every_schedule_and_path_finds_log_z() {
    let folder = tempfile::tempdir().unwrap();
    let (model, system) = model(folder.path());
    let list = folder.path().join("betas.txt");
    let betas: String = (0..=60).map(|k| format!("{}\n", f64::from(k) / 60.0)).collect();
    std::fs::write(&list, betas).unwrap();
    let list = text(&list);
    for options in [
        &["--schedule", "linear", "--temperatures", "60"][..],
        &["--schedule", "salakhutdinov-murray", "--temperatures", "60"],
        &["--schedule", "geometric", "--temperatures", "60", "--deceleration", "0.03"],
        &["--schedule", "varopt", "--temperatures", "60"],
        &["--schedule", "automatic", "--temperatures", "60"],
        &["--schedule", &list],
        &["--schedule", "gms13"],
    ] {
        let mut arguments = vec!["estimate", &model, "--json", "--method", "rts,ais"];
        arguments.extend(["--sweeps", "300"]);
        arguments.extend(options);
        let report = json(&arguments);
        for estimate in report["estimates"].as_array().unwrap() {
            let (value, error) = (&estimate["value"], &estimate["std_error"]);
            let z = (value.as_f64().unwrap() - system.log_partition) / error.as_f64().unwrap();
            assert!(z.abs() < 4.0, "{options:?} {}: z = {z:.1}", estimate["method"]);
        }
    }
}

#[test]
fn schedules_that_make_no_sense_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (model, _) = model(folder.path());
    let list = folder.path().join("bad.txt");
    std::fs::write(&list, "0\n0.5\nhalf\n1\n").unwrap();
    let bad = text(&list);
    let good = folder.path().join("good.txt");
    std::fs::write(&good, "0\n0.5\n1\n").unwrap();
    let good = text(&good);
    for (options, told) in [
        (&["--schedule", "lineer"][..], "`lineer` is neither linear"),
        (&["--schedule", &bad], "bad.txt: line 3: `half` is not an inverse temperature"),
        (&["--schedule", &good, "--temperatures", "7"], "lists 3 of them"),
        (&["--temperatures", "10", "--deceleration", "0.01"], "9 steps of at most 0.01"),
        (&["--temperatures", "10", "--deceleration", "0"], "9 steps of at most 0"),
    ] {
        let mut arguments = vec!["estimate", &model, "--method", "ais"];
        arguments.extend(options);
        let output = run(&arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{options:?}");
        assert!(stderr.contains(told), "{options:?}: {stderr}");
        // On a slow machine lines of progress come first.
        let errors = stderr.lines().filter(|line| line.starts_with("error")).count();
        assert_eq!(errors, 1, "{stderr}");
    }
}
