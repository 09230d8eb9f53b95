//! Commands from the outside: what they print, and what they write.

mod estimates;
mod run_folders;

use std::fs;

use tempfile::TempDir;
use ztrack::data::generators::BarsAndStripes;
use ztrack::data::{Dataset, Values};
use ztrack::model::{exact, test_systems};

use crate::common::{json, number, run, save, shared, succeed, text, tiny};
use crate::server::Server;

#[test]
fn evaluation_equals_the_exact_log_likelihood() {
    let folder = TempDir::new().unwrap();
    let parameters = test_systems::gaussian_parameters(16, 5, 0.5, 2);
    let Dataset { values: Values::Binary(rows), .. } =
        BarsAndStripes::default().generate().unwrap()
    else {
        panic!("bars and stripes are binary")
    };
    let expected = exact::mean_log_likelihood(&parameters, &rows).unwrap();
    let model = save(folder.path(), parameters);
    let report = json(&["evaluate", &model, "--data", "bars-and-stripes", "--json"]);
    let [line] = &report["log_likelihoods"].as_array().unwrap()[..] else { panic!("{report}") };
    assert_eq!((&line["split"], &line["rows"]), (&"rows".into(), &30.into()));
    assert!((number(&line["value"]) - expected).abs() < 1e-4, "{line} {expected}");
    assert_eq!(number(&line["log_z_std_error"]), 0.0);

    // Splits by fraction, errors of data and log Z together.
    let arguments = ["evaluate", &model, "--data", "bars-and-stripes", "--validation-fraction"];
    let arguments = [&arguments[..], &["0.2", "--method", "exact,rts", "--json"]].concat();
    let report = json(&arguments);
    let lines = report["log_likelihoods"].as_array().unwrap();
    assert_eq!(lines.len(), 4);
    assert_eq!((&lines[2]["split"], &lines[2]["rows"]), (&"validation".into(), &6.into()));
    for line in lines {
        let parts = number(&line["data_std_error"]).hypot(number(&line["log_z_std_error"]));
        assert!((number(&line["std_error"]) - parts).abs() < 1e-12);
    }
}

/// One line a row; their mean is what is printed, and the features are those of the formula.
#[test]
fn rows_have_scores_and_features() {
    let folder = TempDir::new().unwrap();
    let parameters = test_systems::gaussian_parameters(16, 5, 0.5, 2);
    let model = save(folder.path(), parameters.clone());
    let [scores, features] =
        ["scores.csv", "features.npy"].map(|name| text(&folder.path().join(name)));
    let evaluate = ["evaluate", &model, "--data", "bars-and-stripes", "--json", "--per-row"];
    let report = json(&[&evaluate[..], &[&scores]].concat());
    let written = fs::read_to_string(&scores).unwrap();
    let mut lines = written.lines();
    assert_eq!(lines.next(), Some("split,row,log_likelihood,free_energy,log_z_std_error"));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert!(rows.len() == 30 && rows[7][..2] == ["rows", "7"], "{written}");
    let column = |j: usize| rows.iter().map(move |row| row[j].parse::<f64>().unwrap());
    let mean = number(&report["log_likelihoods"][0]["value"]);
    assert!((column(2).sum::<f64>() / 30.0 - mean).abs() < 1e-9);
    let log_z = exact::log_partition(&parameters).unwrap();
    assert!(column(2).zip(column(3)).all(|(x, energy)| (x + energy + log_z).abs() < 1e-4));

    let transform = ["transform", &model, "--data", "bars-and-stripes", "--out", &features];
    succeed(&transform);
    let found: ndarray::Array2<f64> = ndarray_npy::read_npy(&features).unwrap();
    let Dataset { values: Values::Binary(data), .. } =
        BarsAndStripes::default().generate().unwrap()
    else {
        panic!("bars and stripes are binary")
    };
    for row in [0, 29] {
        for j in 0..5 {
            let on = (0..16).filter(|&i| data.get(row, i));
            let weights: f32 = on.map(|i| parameters.weights[i * 5 + j]).sum();
            let input = f64::from(parameters.hidden_bias[j] + weights);
            let expected = 1.0 / (1.0 + (-input).exp());
            assert!(
                (found[[row, j]] - expected).abs() < 1e-5,
                "{row} {j}: {} {expected}",
                found[[row, j]]
            );
        }
    }
    // Neither is overwritten unasked, and other endings are refused before the work.
    for (arguments, expected) in [
        (&transform[..], "--force"),
        (&[&evaluate[..], &[&scores]].concat()[..], "--force"),
        (&["transform", &model, "--data", "bars-and-stripes", "--out", "x.txt"][..], ".npy"),
    ] {
        let output = run(arguments);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && message.contains(expected), "{message}");
    }
}

#[test]
fn samples_are_arrays_or_pictures() {
    let folder = TempDir::new().unwrap();
    // Independent units that are almost surely 0, 1, 0, 1, ...
    let bias = (0..16).map(|i| if i % 2 == 0 { -20.0 } else { 20.0 }).collect();
    let system = test_systems::independent_units(bias, vec![0.0; 3]).unwrap();
    let model = save(folder.path(), system.parameters);
    let [npy, png] = ["a/samples.npy", "samples.png"].map(|name| text(&folder.path().join(name)));
    let base = ["sample", &model, "--count", "10", "--out"];
    assert_eq!(succeed(&[&base[..], &[&npy]].concat()), "");
    let array: ndarray::Array2<u8> = ndarray_npy::read_npy(&npy).unwrap();
    assert_eq!(array, ndarray::Array2::from_shape_fn((10, 16), |(_, i)| (i % 2) as u8));

    succeed(&[&base[..], &[&png]].concat());
    // 4 x 3 pictures of 4 x 4 pixels with gaps of 1, each pixel scaled alike.
    let image = fs::read(&png).unwrap();
    let size = |at: usize| u32::from_be_bytes(image[at..at + 4].try_into().unwrap());
    assert!(image.starts_with(b"\x89PNG") && size(16) % 19 == 0);
    assert_eq!(size(16) / 19 * 14, size(20));

    // Never overwritten silently; the same seed gives the same bytes.
    assert!(!run(&[&base[..], &[&png]].concat()).status.success());
    succeed(&[&base[..], &[&png, "--force"]].concat());
    assert_eq!(fs::read(&png).unwrap(), image);
    succeed(&[&base[..], &[&png, "--force", "--shape", "2x8"]].concat());
    assert_ne!(fs::read(&png).unwrap(), image);
}

#[test]
fn data_is_described() {
    let report = json(&["data", "describe", "bars-and-stripes", "--json"]);
    let part = &report[0];
    assert_eq!((&part["rows"], &part["columns"]), (&30.into(), &16.into()));
    assert_eq!((number(&part["density"]), &part["duplicate_rows"]), (0.5, &0.into()));
    let lines = succeed(&["data", "describe", "dna-like"]);
    assert!(lines.ends_with('\n') && lines.contains("sha256") && lines.contains("180"), "{lines}");

    let folder = TempDir::new().unwrap();
    let file = text(&folder.path().join("few.libsvm"));
    fs::write(&file, "1 2:1\n2 3:1\n").unwrap();
    let columns = |more: &[&str]| {
        let arguments = [&["data", "describe", &file, "--json"][..], more].concat();
        json(&arguments)[0]["columns"].clone()
    };
    assert_eq!((columns(&[]), columns(&["--columns", "7"])), (3.into(), 7.into()));

    // Names of rows are left out, and said.
    let table = text(&folder.path().join("names.csv"));
    let row = |i: usize| format!("{},p{i},{}\n", i % 2, i / 2 % 2);
    fs::write(&table, "a,id,b\n".to_string() + &(0..30).map(row).collect::<String>()).unwrap();
    let part = &json(&["data", "describe", &table, "--json"])[0];
    assert_eq!((&part["rows"], &part["columns"]), (&30.into(), &2.into()));
    let said = succeed(&["data", "describe", &table]);
    let expected = "left out          column 2 (id): another value in every row";
    assert!(said.contains(expected) && said.contains("--columns 1,3)"), "{said}");
}

#[test]
fn data_is_fetched_from_a_mirror_and_checked() {
    let folder = TempDir::new().unwrap();
    let target = text(folder.path());
    let fetch =
        |mirror: &str| run(&["data", "fetch", "dna", "--data-folder", &target, "--mirror", mirror]);
    let empty = TempDir::new().unwrap();
    let output = fetch(&Server::of_files(empty.path().into()).base);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && stderr.contains("404"), "{stderr}");
    assert!(stderr.lines().last().unwrap().starts_with("error: "), "{stderr}");

    let Some(dna) = shared("datasets/dna") else { return };
    let mirror = Server::of_files(dna).base;
    for told in ["fetched, checked", "there already"] {
        let output = fetch(&mirror);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && stderr.contains(told), "{stderr}");
        assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 4);
    }
    let report = json(&["data", "describe", "dna", "--data-folder", &target, "--json"]);
    assert_eq!(report.as_array().unwrap().len(), 3);
}

#[test]
fn help_has_examples_and_goes_to_standard_output() {
    for command in ["train", "estimate", "evaluate", "sample", "transform"] {
        let help = succeed(&[command, "--help"]);
        assert!(help.contains("Examples:\n  ztrack") && help.contains("--threads"), "{help}");
    }
    for command in ["describe", "fetch"] {
        assert!(succeed(&["data", command, "--help"]).contains("Examples:\n  ztrack"));
    }
    assert!(succeed(&["--version"]).starts_with("ztrack "));
    for command in ["train", "estimate", "evaluate", "sample", "data"] {
        assert!(succeed(&["--help"]).contains(&format!("\n  {command} ")), "{command}");
    }
}

#[test]
fn progress_shows_tracked_and_exact_log_z() {
    let folder = TempDir::new().unwrap();
    let config = tiny(folder.path());
    let out = text(&folder.path().join("out"));
    let output = run(&["train", &config, "--out", &out]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains(" (exact ") && stderr.contains("update 20/20"), "{stderr}");
    let quiet = run(&["train", &config, "--out", &format!("{out}-quiet"), "--quiet"]);
    let result = String::from_utf8(quiet.stdout).unwrap();
    assert!(quiet.status.success() && result.contains("best model") && quiet.stderr.is_empty());
}

#[test]
fn tables_and_layouts_are_told_on_the_command_line() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str, content: &str| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        text(&path)
    };
    let table = file("t.csv", "id;kind;a;b;c\n1;cat;0;1;0\n2;dog;1;1;0\n3;cat;1;0;0\n");
    let chosen = ["--label", "kind", "--columns", "c,a,b", "--separator", "semicolon"];
    let found = json(&[&["data", "describe", &table, "--json"][..], &chosen].concat());
    assert_eq!((&found[0]["columns"], &found[0]["labels"]["0"]), (&3.into(), &2.into()));
    let square = text(&folder.path().join("square.npz"));
    let mut writer = ndarray_npy::NpzWriter::new(fs::File::create(&square).unwrap());
    writer
        .add_array("W", &ndarray::array![[0.5f32, 1.0, 0.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]])
        .unwrap();
    writer.add_array("vbias", &ndarray::array![0.0f32, 1.0, 2.0]).unwrap();
    writer.add_array("hbias", &ndarray::array![0.0f32, 0.0, 0.0]).unwrap();
    writer.finish().unwrap();
    let stderr = run(&["estimate", &square]).stderr;
    assert!(String::from_utf8_lossy(&stderr).contains("give --layout visible-hidden or"));
    let log_z = |layout| {
        let report = json(&["estimate", &square, "--json", "--layout", layout]);
        number(&report["estimates"][0]["value"])
    };
    assert!((log_z("visible-hidden") - log_z("hidden-visible")).abs() > 0.01);
    let arguments =
        ["evaluate", &square, "--layout", "visible-hidden", "--data", &table, "--split"];
    let report = json(&[&arguments[..], &["train", "--json"], &chosen].concat());
    assert_eq!(report["log_likelihoods"][0]["rows"], 3);
}
