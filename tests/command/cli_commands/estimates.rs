//! `ztrack estimate`: its methods against enumeration, its curves, and how it says how far it is.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use tempfile::TempDir;
use ztrack::estimators::Method;
use ztrack::model::plus_minus::{Units, to_binary};
use ztrack::model::{exact, test_systems};

use crate::common::{json, number, run, save, shared, succeed, text, ztrack};

#[test]
fn the_known_log_z_of_a_published_model() {
    let Some(model) = shared("models/mnist-h10.npz") else { return };
    let report = json(&["estimate", &text(&model), "--method", "exact", "--json"]);
    assert!((number(&report["estimates"][0]["value"]) - 226.113155).abs() < 1e-5);
    assert!(succeed(&["estimate", &text(&model)]).contains(" 226.113155 "));
}

#[test]
fn estimators_agree_with_enumeration() {
    let folder = TempDir::new().unwrap();
    let system = test_systems::gaussian(16, 5, 0.7, 1).unwrap();
    let model = save(folder.path(), system.parameters);
    let enumerated = run(&["estimate", &model, "--method", "exact", "--chains", "5"]);
    let told = String::from_utf8(enumerated.stderr).unwrap();
    assert!(told.contains("log Z is enumerated: --chains"), "{told}");
    for data in [&[][..], &["--data", "bars-and-stripes"]] {
        let arguments = [
            &["estimate", &model, "--method", "everything", "--temperatures", "30", "--json"][..],
            data,
        ];
        let report = json(&arguments.concat());
        assert_eq!((&report["visible"], &report["hidden"]), (&16.into(), &5.into()));
        let estimates = report["estimates"].as_array().unwrap();
        let methods: Vec<_> = estimates.iter().map(|e| e["method"].as_str().unwrap()).collect();
        let shared = Method::readers().map(|(method, _)| method.name());
        let own =
            ["exact", "ais", "ais-bar", "reverse-ais", "raise", "sams", "wang-landau", "tap-third"];
        for method in own.into_iter().chain(shared) {
            assert!(methods.contains(&method), "{method} is not in {methods:?}");
        }
        for estimate in estimates {
            let error = number(&estimate["value"]) - system.log_partition;
            if estimate["std_error"].is_null() {
                // Mean field has no chance in it; the naive one is a bound.
                let method = estimate["method"].as_str().unwrap();
                assert!(method.starts_with("tap") && (method != "tap-naive" || error < 1e-6));
            } else if ["none", "consistent", "low"].contains(&estimate["bias"].as_str().unwrap()) {
                // The seed is fixed: four errors are no matter of luck.
                assert!(error.abs() < 1e-6 + 4.0 * number(&estimate["std_error"]), "{estimate}");
                assert!(number(&estimate["std_error"]) < 0.1, "{estimate}");
            }
        }
    }
}

/// Every start, layer order and unit gives the same log Z.
#[test]
fn estimates_do_not_depend_on_the_start_or_the_larger_layer() {
    let folder = TempDir::new().unwrap();
    let parameters = test_systems::gaussian_parameters(6, 16, 0.5, 4);
    let truth = exact::log_partition(&parameters).unwrap();
    let spins = to_binary(&parameters, Units::PlusMinus).unwrap();
    let spin_truth = exact::log_partition(&spins.parameters).unwrap() + spins.log_constant;
    let model = save(folder.path(), parameters);
    let common = ["estimate", &model, "--method", "exact,ais", "--temperatures", "200", "--json"];
    for start in ["uniform", "visible-bias", "mean-field", "pinv", "signs"] {
        for (units, truth) in [("binary", truth), ("plus-minus", spin_truth)] {
            for transpose in [&[][..], &["--transpose"]] {
                let options = [&["--start", start, "--units", units][..], transpose].concat();
                let report = json(&[&common[..], &options].concat());
                let sizes = if transpose.is_empty() { (6, 16) } else { (16, 6) };
                assert_eq!(
                    (&report["visible"], &report["hidden"]),
                    (&sizes.0.into(), &sizes.1.into())
                );
                for estimate in report["estimates"].as_array().unwrap() {
                    let error = number(&estimate["value"]) - truth;
                    let bound = 1e-5 + 4.0 * number(&estimate["std_error"]);
                    assert!(error.abs() < bound, "{options:?}: {estimate}, truth {truth}");
                }
            }
        }
    }
    for (options, expected) in [
        (&["--start", "marginals"][..], "--data"),
        (&["--transpose", "--data", "bars-and-stripes"], "--start signs"),
    ] {
        let output = run(&[&common[..], options].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && stderr.contains(expected), "{options:?}: {stderr}");
    }
}

#[test]
fn estimators_share_chains_and_curves_are_written() {
    let folder = TempDir::new().unwrap();
    let system = test_systems::gaussian(9, 4, 0.7, 1).unwrap();
    let model = save(folder.path(), system.parameters);
    let curves = folder.path().join("new/curves");
    let arguments = ["estimate", &model, "--method", "mbar,rts", "--temperatures", "7"];
    let out = succeed(&[&arguments[..], &["--sweeps", "100", "--curves", &text(&curves)]].concat());
    let order = ["mbar ", "rts ", "mbar, rts read the same chains"].map(|part| out.find(part));
    assert!(order[0].is_some() && order.is_sorted(), "{out}");
    let table = fs::read_to_string(curves.join("curves.csv")).unwrap();
    assert!(table.starts_with("beta,log_z,log_z_std_error,energy,"), "{table}");
    assert_eq!(table.lines().count(), 8);
    for picture in ["log_z.svg", "energy.svg", "heat_capacity.svg", "entropy.svg"] {
        assert!(fs::read_to_string(curves.join(picture)).unwrap().contains("<svg"));
    }
    // Curves need chains even where no method does.
    let exact = ["estimate", &model, "--method", "exact", "--curves", &text(&curves)];
    succeed(&[&exact[..], &["--sweeps", "50", "--temperatures", "5"]].concat());
    assert_eq!(fs::read_to_string(curves.join("curves.csv")).unwrap().lines().count(), 6);
}

/// Within one long annealing pass, and within one run of shared chains.
#[test]
fn long_estimates_say_how_far_they_are() {
    let folder = TempDir::new().unwrap();
    let model = save(folder.path(), test_systems::gaussian_parameters(25, 24, 0.1, 1));
    let samples = text(&folder.path().join("samples.npy"));
    let ais =
        ["estimate", &model, "--method", "ais", "--temperatures", "9000000", "--start", "uniform"];
    let rts = ["estimate", &model, "--method", "rts", "--sweeps", "9000000", "--start", "uniform"];
    let sample = ["sample", &model, "--count", "1000", "--sweeps", "100000", "--out", &samples];
    for (arguments, expected) in
        [(&ais[..], "ais: annealing up, "), (&rts, "tempered chains: "), (&sample, "sample: ")]
    {
        let mut child =
            ztrack().args(arguments).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let told = (lines.map_while(Result::ok).take(5))
            .find(|line| line.contains(expected) && line.contains(" %)"));
        child.kill().unwrap();
        child.wait().unwrap();
        let told = told.unwrap_or_else(|| panic!("{arguments:?}: nothing on {expected}"));
        assert!(told.contains(" of "), "{told}");
    }
}
