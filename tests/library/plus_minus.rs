//! Models with units -1 and +1: every number against the definition, and against the image with units 0 and 1.

use std::path::Path;

use serde_json::Value;
use ztrack::checkpoint::ModelFile;
use ztrack::estimators::{EstimateSettings, Starting};
use ztrack::model::exact;
use ztrack::model::plus_minus::Couplings;
use ztrack::model::test_systems::gaussian_parameters;
use ztrack::numerics::log_sum_exp;
use ztrack::tempering::{BaseDistribution, GeometricPath, Ladder, Prior, TemperedPath};
use ztrack::units::Variables;
use ztrack::{BitMatrix, Dataset, Engine, Host, LogZ, LogZTracker, Options, Parameters, fit};

fn couplings(m: usize, j: usize, seed: u64) -> Couplings {
    gaussian_parameters(m, j, 0.4, seed).couplings()
}

fn sign(state: usize, i: usize) -> f64 {
    if state >> i & 1 == 1 { 1.0 } else { -1.0 }
}

/// log f_beta(s) by the definition: beta (C.s + B.t + s'Jt) + (1 - beta) a.s with t summed out, every state of t one by one.
fn log_f(model: &Couplings, field: &[f64], beta: f64, s: usize) -> f64 {
    let Couplings { n_visible: m, n_hidden: j, weights, visible_bias, hidden_bias } = model;
    let linear: f64 =
        (0..*m).map(|i| sign(s, i) * (beta * visible_bias[i] + (1.0 - beta) * field[i])).sum();
    let of_hidden = |t: usize| -> f64 {
        let of = |k: usize| {
            let x: f64 = (0..*m).map(|i| sign(s, i) * weights[i * j + k]).sum();
            sign(t, k) * beta * (x + hidden_bias[k])
        };
        (0..*j).map(of).sum()
    };
    let values: Vec<f64> = (0..1 << j).map(of_hidden).collect();
    linear + log_sum_exp(values.into_iter())
}

fn log_z(model: &Couplings, field: &[f64], beta: f64) -> f64 {
    let states = 0..1 << model.n_visible;
    let values: Vec<f64> = states.map(|s| log_f(model, field, beta, s)).collect();
    log_sum_exp(values.into_iter())
}

fn all_states(m: usize) -> BitMatrix {
    BitMatrix::from_fn(1 << m, m, |row, i| row >> i & 1 == 1)
}

/// The same W, c and b of units 0 and 1.
fn image(model: &Parameters) -> Parameters {
    model.clone().of(Variables::BITS).unwrap()
}

#[test]
fn log_f_and_log_z_are_those_of_the_definition_along_the_path() {
    for (m, j) in [(7, 4), (4, 7)] {
        let own = couplings(m, j, 3);
        let model = own.model().unwrap();
        let (rows, field) =
            (all_states(m), (0..m).map(|i| 0.2 * i as f64 - 0.5).collect::<Vec<_>>());
        let logits: Vec<f32> = field.iter().map(|a| (2.0 * a) as f32).collect();
        let base = BaseDistribution::from_logits(&logits).unwrap().of(&Variables::PLUS_MINUS);
        let ladder = Ladder::linear(5, &Prior::Uniform).unwrap();
        let mut engines: Vec<Box<dyn Engine>> = vec![Box::new(Host::new(&model))];
        #[cfg(feature = "burn")]
        #[allow(deprecated)]
        engines.push(Box::new(ztrack::engine::OnBurn::new(&model, &burn_device())));
        for engine in &engines {
            let path = GeometricPath { engine: engine.as_ref(), ladder: &ladder, base: &base };
            let found = path.evaluate(&rows).log_f;
            for s in 0..1 << m {
                for (k, beta) in ladder.betas().iter().enumerate() {
                    let error = found.as_slice()[s * 5 + k] - log_f(&own, &field, *beta, s);
                    assert!(error.abs() < 1e-4, "{m}x{j}, beta {beta}: {error}");
                }
                let alone = engine.log_f(&rows.select([s]))[0];
                assert!((alone - log_f(&own, &field, 1.0, s)).abs() < 1e-4);
            }
            assert!((path.log_z_base() - log_z(&own, &field, 0.0)).abs() < 1e-5);
        }
        let logits: Vec<f64> = logits.iter().map(|a| f64::from(*a)).collect();
        for beta in [0.0, 0.3, 1.0] {
            let found = exact::log_partition_at(&model, &logits, beta).unwrap();
            let truth = log_z(&own, &field, beta);
            assert!((found - truth).abs() < 1e-5, "{m}x{j}, beta {beta}: {found} {truth}");
        }
        let truth = log_z(&own, &field, 1.0);
        for model in [&model, &model.transposed()] {
            assert!((exact::log_partition(model).unwrap() - truth).abs() < 1e-5);
        }
        let of_image = exact::log_partition(&image(&model)).unwrap();
        assert!((truth - of_image).abs() > 0.1, "the constant counts");
    }
}

#[cfg(feature = "burn")]
#[allow(deprecated)]
fn burn_device() -> burn::tensor::Device {
    burn::tensor::Device::ndarray()
}

#[test]
fn the_image_with_bits_is_the_same_distribution() {
    let model = couplings(6, 5, 9).model().unwrap();
    let (bits, rows) = (image(&model), all_states(6));
    let likelihood = |model: &Parameters| exact::mean_log_likelihood(model, &rows).unwrap();
    assert!((likelihood(&model) - likelihood(&bits)).abs() < 1e-9);
    assert_eq!(exact::samples(&model, 50, 1).unwrap(), exact::samples(&bits, 50, 1).unwrap());
    let moments = [&model, &bits].map(|model| exact::moments(model).unwrap().products);
    assert!(moments[0].iter().zip(&moments[1]).all(|(x, y)| (x - y).abs() < 1e-12));
    let given = |model: &Parameters| {
        let found = model.conditional(&[0b10_1001], &[0b01_0110]).unwrap();
        found.log_constant + exact::log_partition(&found.parameters).unwrap()
            - exact::log_partition(model).unwrap()
    };
    assert!((given(&model) - given(&bits)).abs() < 1e-9);
    let back = model.couplings().model().unwrap();
    for (x, y) in back.arrays().concat().iter().zip(model.arrays().concat()) {
        assert!((x - y).abs() < 1e-6);
    }
}

/// Every estimator, with the rows and without; mean-field values differ from those of the image by the constant.
#[test]
fn estimates_are_those_of_the_units_own_log_z() {
    let own = couplings(8, 6, 5);
    let model = own.model().unwrap();
    let truth = log_z(&own, &[0.0; 8], 1.0);
    let run = |model: &Parameters, rows: Option<&BitMatrix>| {
        let methods = vec!["all".parse().unwrap()];
        let settings = EstimateSettings { methods, seed: 3, ..EstimateSettings::default() };
        settings.run(model, Starting { rows, ..Starting::default() }, &mut |_| {}).unwrap()
    };
    let (found, of_image) = (run(&model, None), run(&image(&model), None));
    assert!(found.estimates.len() > 8, "{}", found.estimates.len());
    for (estimate, of_image) in found.estimates.iter().zip(&of_image.estimates) {
        let name = estimate.method.name();
        if estimate.std_error.is_nan() {
            let constant = model.log_offset();
            assert!((estimate.value - of_image.value - constant).abs() < 1e-6, "{name}");
        } else {
            let error = (estimate.value - truth) / (estimate.std_error + 1e-5);
            assert!(error.abs() < 4.5, "{name}: {} {truth}: {error} errors", estimate.value);
        }
    }
    let rows = exact::samples(&model, 500, 2).unwrap();
    for estimate in run(&model, Some(&rows)).estimates {
        let error = (estimate.value - truth) / (estimate.std_error + 1e-5);
        assert!(error.is_nan() || error.abs() < 4.5, "{}: {error} errors", estimate.method.name());
    }
}

#[test]
fn model_files_hold_couplings_and_name_the_units() {
    let folder = tempfile::tempdir().unwrap();
    let own = couplings(5, 3, 1);
    let model = own.model().unwrap();
    let path = folder.path().join("spins.safetensors");
    ModelFile::from(model.clone()).save(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    for (name, expected) in [
        ("weights", &own.weights),
        ("visible_bias", &own.visible_bias),
        ("hidden_bias", &own.hidden_bias),
    ] {
        let data = file.tensor(name).unwrap().data().to_vec();
        let values = data.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap()));
        for (value, expected) in values.zip(expected) {
            assert!((f64::from(value) - expected).abs() < 1e-6, "{name}: {value} {expected}");
        }
    }
    let back = ModelFile::load(&path).unwrap().parameters;
    assert!(back.variables.is_plus_minus());
    let truth = exact::log_partition(&model).unwrap();
    assert!((exact::log_partition(&back).unwrap() - truth).abs() < 1e-5);
    let npz = ModelFile::from(model).save(folder.path().join("spins.npz")).unwrap_err();
    assert!(npz.to_string().contains(".safetensors"), "{npz}");
}

/// Rows of -1 and +1 from a model with spins.
fn spin_rows(m: usize, rows: usize) -> Vec<Vec<i8>> {
    let model = couplings(m, 4, 11).model().unwrap();
    let bits = exact::samples(&model, rows, 7).unwrap();
    let cell = |row, i| if bits.get(row, i) { 1 } else { -1 };
    (0..rows).map(|row| (0..m).map(|i| cell(row, i)).collect()).collect()
}

#[test]
fn training_follows_log_z_of_the_spins() {
    let rows = spin_rows(9, 600);
    let options = |settings: &[&str]| Options {
        hidden: 5,
        epochs: 60,
        settings: settings.iter().map(|it| it.to_string()).collect(),
        ..Options::default()
    };
    for settings in [&[][..], &["training.centering=false", "training.weight_decay=0.01"]] {
        let found = fit(&rows, options(settings)).unwrap();
        assert!(found.parameters.variables.is_plus_minus());
        let own = found.parameters.couplings();
        let truth = log_z(&own, &[0.0; 9], 1.0);
        assert!((found.log_z.value - truth).abs() < 1e-4 + 4.0 * found.log_z.std_error);
    }
    // As bits: the same likelihood, another start.
    let bits = fit(&rows, options(&["data.variables=bits"])).unwrap();
    assert!(bits.parameters.variables == Variables::BITS);
    let spins = fit(&rows, options(&[])).unwrap();
    let values = [bits.train.value, spins.train.value];
    assert!((values[0] - values[1]).abs() < 0.1, "{values:?}");
    let zeros = [[0u8, 1, 1], [1, 0, 1], [0, 0, 1]];
    let zeros: Vec<_> = zeros.into_iter().cycle().take(60).collect();
    assert!(fit(&zeros, options(&[])).unwrap().parameters.variables == Variables::BITS);
}

#[test]
fn a_tracker_follows_couplings() {
    let rows = spin_rows(8, 300);
    let Dataset { values: ztrack::data::Values::Binary(bits), plus_minus, .. } =
        Dataset::from_rows::<i8, _>(&rows).unwrap()
    else {
        panic!()
    };
    assert!(plus_minus);
    let builder = || LogZTracker::builder(&bits).hidden(6).averaging(0.0).chains(300);
    let mut tracker = builder().variables(Variables::PLUS_MINUS).build().unwrap();
    let mut own = couplings(8, 6, 4);
    own.weights.iter_mut().for_each(|w| *w *= 0.2);
    tracker.update(&own.model().unwrap()).unwrap();
    for _ in 0..200 {
        own.weights.iter_mut().for_each(|w| *w *= 1.008);
        own.hidden_bias.iter_mut().for_each(|b| *b += 0.002);
        tracker.update(&own.model().unwrap()).unwrap();
    }
    let LogZ { value, std_error: error, .. } = tracker.evaluate().unwrap();
    let truth = log_z(&own, &[0.0; 8], 1.0);
    assert!((value - truth).abs() < 4.0 * error && error < 0.1, "{value} +- {error}, {truth}");
    let refused = builder().build().unwrap().update(&own.model().unwrap()).unwrap_err();
    assert!(refused.to_string().contains("plus-minus"), "{refused}");
}

fn ztrack(arguments: &[&str], folder: &Path) -> (bool, String) {
    let output = assert_cmd::Command::cargo_bin("ztrack")
        .unwrap()
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into())
}

#[test]
fn commands_take_and_give_minus_one_and_one() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let rows = spin_rows(6, 400);
    let line = |row: &Vec<i8>| row.iter().map(i8::to_string).collect::<Vec<_>>().join(",") + "\n";
    std::fs::write(here.join("spins.csv"), rows.iter().map(line).collect::<String>()).unwrap();
    let done = |arguments: &[&str]| {
        let (success, text) = ztrack(arguments, here);
        assert!(success, "{arguments:?}: {text}");
        text
    };
    assert!(done(&["data", "describe", "spins.csv"]).contains("plus-minus"));
    // Rows of 0 and 1 beside rows of -1 and +1 are a mistake; ones alone go with both.
    std::fs::write(here.join("bits.csv"), "0,1,1,0,1,0\n1,1,0,0,1,0\n").unwrap();
    std::fs::write(here.join("ones.csv"), "1,1,1,1,1,1\n1,1,1,1,1,1\n").unwrap();
    for (train, beside, fits) in [
        ("spins.csv", "bits.csv", false),
        ("bits.csv", "spins.csv", false),
        ("spins.csv", "ones.csv", true),
    ] {
        let beside = format!("data.source.validation={beside}");
        let (success, text) = ztrack(
            &["train", train, "--set", &beside, "--set", "model.hidden=2", "--dry-run"],
            here,
        );
        assert_eq!(success, fits, "{text}");
        assert!(fits || text.contains("write both in one way"), "{text}");
    }
    assert!(done(&["init", "spins.csv", "--out", "-"]).contains("-1 and +1"));
    let short =
        ["--set", "model.hidden=4", "--set", "training.updates=300", "--set", "audit.every=0"];
    let dry = done(&[&["train", "spins.csv", "--dry-run"][..], &short].concat());
    assert!(dry.contains("-1 and +1, in both layers"), "{dry}");
    done(&[&["train", "spins.csv", "--out", "run", "--quiet"][..], &short].concat());
    let model = ModelFile::load(here.join("run/last.safetensors")).unwrap();
    assert!(model.parameters.variables.is_plus_minus());

    // Lines on standard error follow.
    let json = |arguments: &[&str]| {
        let text = done(arguments);
        let mut values = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
        values.next().unwrap().unwrap()
    };
    let last = "run/last.safetensors";
    let truth = log_z(&model.parameters.couplings(), &[0.0; 6], 1.0);
    let found = json(&["estimate", last, "--method", "exact,ais", "--json"]);
    for estimate in found["estimates"].as_array().unwrap() {
        let error = estimate["value"].as_f64().unwrap() - truth;
        assert!(error.abs() < 1e-4 + 4.5 * estimate["std_error"].as_f64().unwrap(), "{error}");
    }
    let of = |device: &str| {
        let ais = ["estimate", last, "--method", "ais", "--temperatures", "100", "--json"];
        let found = json(&[&ais[..], &["--device", device]].concat());
        let of = |field: &str| found["estimates"][0][field].as_f64().unwrap();
        (of("value"), of("std_error"))
    };
    // Values may be the bound of the rows, which have all states; error bars differ where other numbers were drawn.
    let (host, burn) = (of("host"), of("ndarray"));
    assert!(host.1 != burn.1 && (burn.0 - truth).abs() < 0.1, "{host:?} {burn:?} {truth}");
    done(&["sample", last, "--count", "5", "--device", "ndarray", "--out", "device.csv"]);
    done(&["estimate", last, "--method", "rts", "--curves", "curves"]);
    let (success, text) = ztrack(&["estimate", last, "--units", "binary"], here);
    assert!(!success && text.contains("its units are -1 and +1"), "{text}");

    let evaluated = json(&["evaluate", last, "--data", "spins.csv", "--json"]);
    let bits = BitMatrix::from_fn(400, 6, |row, i| rows[row][i] == 1);
    let expected = exact::mean_log_likelihood(&model.parameters, &bits).unwrap();
    let value = evaluated["log_likelihoods"][0]["value"].as_f64().unwrap();
    assert!((value - expected).abs() < 1e-3, "{value} {expected}");
    // Cells of 0 and 1 are converted, and that is said.
    let told = |data| done(&["evaluate", last, "--data", data]).contains("0 is read as -1");
    assert!(told("bits.csv") && !told("spins.csv") && !told("ones.csv"));

    done(&["sample", last, "--count", "50", "--out", "samples.csv"]);
    let samples = std::fs::read_to_string(here.join("samples.csv")).unwrap();
    assert!(samples.split([',', '\n']).all(|cell| matches!(cell, "-1" | "1" | "")), "{samples}");
    done(&["sample", last, "--count", "50", "--out", "samples.npy"]);
    assert!(done(&["data", "describe", "samples.npy"]).contains("plus-minus"));

    done(&["transform", last, "--data", "spins.csv", "--out", "means.csv"]);
    let means = std::fs::read_to_string(here.join("means.csv")).unwrap();
    let line =
        means.lines().nth(1).unwrap().split(',').rev().take(4).map(|x| x.parse::<f64>().unwrap());
    let own = model.parameters.couplings();
    for (found, j) in line.zip((0..4).rev()) {
        let x: f64 = (0..6).map(|i| f64::from(rows[0][i]) * own.weights[i * 4 + j]).sum();
        let expected = (x + own.hidden_bias[j]).tanh();
        assert!((found - expected).abs() < 1e-4, "{j}: {found} {expected}");
    }

    std::fs::write(here.join("holes.csv"), "1,,-1,1,1,\n1,1,-1,1,?,-1\n").unwrap();
    done(&["impute", last, "holes.csv", "--out", "filled.csv"]);
    let filled = std::fs::read_to_string(here.join("filled.csv")).unwrap();
    let cells: Vec<&str> = filled.trim().split([',', '\n']).collect();
    assert!(cells.len() == 12 && cells.iter().all(|cell| matches!(*cell, "-1" | "1")), "{filled}");

    let (success, text) =
        ztrack(&["train", "--out", "run", "--resume", "--set", "data.variables=bits"], here);
    assert!(!success && text.contains("data.variables"), "{text}");
}
