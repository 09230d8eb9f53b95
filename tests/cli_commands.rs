//! Commands from the outside: what they print, and what they write.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;

use common::{run, shared, succeed, text, tiny};
use serde_json::Value;
use tempfile::TempDir;
use ztrack::checkpoint::ModelFile;
use ztrack::data::generators::BarsAndStripes;
use ztrack::data::{Binarization, Dataset, Values};
use ztrack::estimators::Method;
use ztrack::model::plus_minus::{Units, to_binary};
use ztrack::model::{Parameters, exact, test_systems};

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&succeed(arguments)).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("not a number: {value}"))
}

fn save(folder: &Path, parameters: Parameters) -> String {
    let path = folder.join("model.safetensors");
    ModelFile::from(parameters).save(&path).unwrap();
    text(&path)
}

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
    assert_eq!((&line["split"], &line["rows"]), (&"train".into(), &30.into()));
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

#[test]
fn evaluation_with_a_runs_configuration_repeats_its_summary() {
    let folder = TempDir::new().unwrap();
    let (config, out) = (tiny(folder.path()), text(&folder.path().join("out")));
    let table = succeed(&["train", &config, "--out", &out]);
    assert!(table.contains("best model: update") && table.contains("log Z exact"), "{table}");
    let [model, config] = ["best.safetensors", "config.toml"].map(|name| format!("{out}/{name}"));
    let report = json(&["evaluate", &model, "--data", &config, "--json"]);
    let summary = fs::read(format!("{out}/summary.json")).unwrap();
    let summary: Value = serde_json::from_slice(&summary).unwrap();
    for line in report["log_likelihoods"].as_array().unwrap() {
        let name = format!("{}_log_likelihood", line["split"].as_str().unwrap());
        assert_eq!(line["value"], summary["best"][&name]["value"], "{name}");
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
}

/// Serves the files of a folder, one request a connection; anything else is not found.
fn serve(folder: std::path::PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let first = lines.next().unwrap().unwrap();
            let name = first.split(' ').nth(1).unwrap().trim_start_matches('/').to_string();
            lines.map(Result::unwrap).take_while(|line| !line.is_empty()).for_each(drop);
            let (status, body) = match fs::read(folder.join(name)) {
                Ok(body) => ("200 OK", body),
                Err(_) => ("404 Not Found", Vec::new()),
            };
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
            );
            let _ = stream.write_all(&[head.as_bytes(), &body].concat());
        }
    });
    base
}

#[test]
fn data_is_fetched_from_a_mirror_and_checked() {
    let folder = TempDir::new().unwrap();
    let target = text(folder.path());
    let fetch =
        |mirror: &str| run(&["data", "fetch", "dna", "--data-folder", &target, "--mirror", mirror]);
    let empty = TempDir::new().unwrap();
    let output = fetch(&serve(empty.path().into()));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && stderr.contains("404"), "{stderr}");
    assert!(stderr.lines().last().unwrap().starts_with("error: "), "{stderr}");

    let Some(dna) = shared("datasets/dna") else { return };
    let mirror = serve(dna);
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
    for command in ["train", "estimate", "evaluate", "sample"] {
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

/// A run folder stands for its best model, and for its data with its split and binarization.
#[test]
fn a_run_folder_is_a_model_and_data() {
    let folder = TempDir::new().unwrap();
    // Grey rows, so that it matters what makes them binary.
    let grey = ndarray::Array2::from_shape_fn((60, 9), |(i, j)| ((i * 37 + j * 101) % 256) as u8);
    let rows = folder.path().join("grey.npy");
    ndarray_npy::write_npy(&rows, &grey).unwrap();
    let config = common::TINY.split("[model]").nth(1).unwrap();
    let data = format!(
        "[data]\nsource = {{ name = \"files\", train = {:?} }}\nbinarization = {{ threshold = 0.25 }}\n\
         validation_fraction = 0.2\ntest_fraction = 0.2\n[model]{config}",
        text(&rows)
    );
    let path = folder.path().join("grey.toml");
    fs::write(&path, data).unwrap();
    let run_folder = text(&folder.path().join("run"));
    succeed(&["train", &text(&path), "--out", &run_folder, "-q"]);
    let best = format!("{run_folder}/best.safetensors");
    let file = ModelFile::load(&best).unwrap();
    let trained_on = file.trained_on.clone().unwrap();
    assert_eq!((trained_on.rows, &trained_on.data[..]), (36, "grey.npy"));
    assert_eq!(trained_on.binarization, Binarization::Threshold(0.25));

    let parts: Value = json(&["data", "describe", &run_folder, "--json"]);
    let rows_of = |i: usize| parts[i]["rows"].as_u64();
    assert_eq!([rows_of(0), rows_of(1), rows_of(2)], [Some(36), Some(12), Some(12)]);

    let all = json(&["evaluate", &run_folder, "--json"]);
    let whole = json(&["evaluate", &best, "--data", &text(&path), "--json"]);
    assert_eq!(all["log_likelihoods"], whole["log_likelihoods"]);
    for (i, name) in ["train", "validation", "test"].iter().enumerate() {
        for arguments in [["--data", name], ["--split", name]] {
            let one = json(&[&["evaluate", &run_folder, "--json"][..], &arguments].concat());
            assert_eq!(one["log_likelihoods"][0], all["log_likelihoods"][i], "{name}");
            assert_eq!(one["log_likelihoods"].as_array().unwrap().len(), 1);
        }
    }
    // The model file knows its marginals and its binarization, and another one is told.
    let output = run(&["estimate", &run_folder]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("best.safetensors of update"), "{stderr}");
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("marginals of grey.npy, in the model")
    );
    let warned = |arguments: &[&str]| {
        let output = run(&[&["evaluate", &best, "--data", &text(&rows)][..], arguments].concat());
        assert!(output.status.success());
        String::from_utf8_lossy(&output.stderr).contains("warning: these rows are")
    };
    assert!(!warned(&[]) && !warned(&["--binarization", "0.25"]));
    assert!(warned(&["--binarization", "stochastic"]) && warned(&["--binarization", "0.5"]));
    // A base made of the stored means is that of the rows.
    let sample = |name: &str, data: &[&str]| {
        let out = text(&folder.path().join(name));
        let arguments = ["sample", &run_folder, "--count", "20", "--sweeps", "3", "--out", &out];
        succeed(&[&arguments[..], data].concat());
        fs::read(out).unwrap()
    };
    assert_eq!(sample("stored.npy", &[]), sample("rows.npy", &["--data", &run_folder]));
    // The nearest training rows are those of the run, and change nothing of the samples.
    let out = text(&folder.path().join("nearest.npy"));
    let nearest =
        ["sample", &run_folder, "--count", "20", "--sweeps", "3", "--out", &out, "--nearest"];
    let told = String::from_utf8_lossy(&run(&nearest).stderr).into_owned();
    assert!(told.contains("from sample to nearest training row: "), "{told}");
    assert_eq!(fs::read(out).unwrap(), sample("again.npy", &[]));

    fs::remove_file(&best).unwrap();
    let stderr = run(&["estimate", &run_folder]).stderr;
    assert!(String::from_utf8_lossy(&stderr).contains("last.safetensors of update"));
    for (arguments, expected) in [
        (&["estimate", &text(folder.path())][..], "no run folder: it has no config.toml"),
        (&["evaluate", &run_folder, "--data", "test", "--split", "train"], "name different rows"),
    ] {
        let output = run(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && stderr.contains(expected), "{arguments:?}: {stderr}");
    }
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
    let square = common::text(&folder.path().join("square.npz"));
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
        let mut child = common::ztrack()
            .args(arguments)
            .stderr(std::process::Stdio::piped())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let told = (lines.map_while(Result::ok).take(5))
            .find(|line| line.contains(expected) && line.contains(" %)"));
        child.kill().unwrap();
        child.wait().unwrap();
        let told = told.unwrap_or_else(|| panic!("{arguments:?}: nothing on {expected}"));
        assert!(told.contains(" of "), "{told}");
    }
}
