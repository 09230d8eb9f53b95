//! Every kind of bad input: one clear line on standard error that begins with `error:`, and a non-zero exit code.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use ndarray::{Array1, Array2, array};
use ndarray_npy::NpzWriter;
use tempfile::TempDir;
use ztrack::checkpoint::ModelFile;
use ztrack::model::test_systems::gaussian_parameters;

use crate::common::{self, succeed, text, tiny, ztrack};
use crate::files::{gzip, npy};

/// One line that begins with `error:`, says `expected`, and no success. A run may have warned before.
fn assert_refused(output: &Output, expected: &str, what: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<_> = stderr.lines().filter(|line| !line.starts_with("warning: ")).collect();
    assert!(!output.status.success(), "{what}: succeeded\n{stderr}");
    assert!(output.status.code().is_some(), "{what}: killed by a signal\n{stderr}");
    assert_eq!(lines.len(), 1, "{what}: not one line\n{stderr}");
    assert!(lines[0].starts_with("error: ") && lines[0].contains(expected), "{what}: {stderr}");
    assert!(!stderr.contains("panicked"), "{what}: {stderr}");
    assert!(output.stdout.is_empty(), "{what}: {}", String::from_utf8_lossy(&output.stdout));
}

fn refused(arguments: &[&str], expected: &str) {
    // What should be refused may run for ever instead; nothing is near the limit, whatever else the machine does.
    let mut command = assert_cmd::Command::from_std(ztrack());
    let output = command.args(arguments).timeout(Duration::from_secs(300)).output().unwrap();
    assert_refused(&output, expected, &arguments.join(" "));
}

fn file(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> String {
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    text(&path)
}

fn model(folder: &Path, n_visible: usize) -> String {
    let path = folder.join(format!("model-{n_visible}.safetensors"));
    let parameters = gaussian_parameters(n_visible, 4, 0.1, 1);
    ModelFile::from(parameters).save(&path).unwrap();
    text(&path)
}

#[test]
fn bad_data_files() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str, bytes: &[u8]| file(folder.path(), name, bytes);
    let idx = [&[0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2][..], &[1; 8]].concat();
    let zipped = gzip(&idx);
    let nan = npy(array![[0.0, f64::NAN], [1.0, 0.0]]);
    let mut wrong_magic = idx.clone();
    wrong_magic[2] = 99;
    for (path, expected) in [
        (file("a.gz", &zipped[..zipped.len() - 9]), "truncated"),
        (file("b-ubyte", &wrong_magic), "b-ubyte"),
        (file("c-ubyte", &idx[..20]), "c-ubyte"),
        (file("d.libsvm", b"1 0:1 3:1\n"), "line 1"),
        (file("e.libsvm", b"1 3:1\n2 181:1\n"), "line 2"),
        (file("f.libsvm", b"1 3:0.5\n"), "line 1"),
        (file("g.libsvm", b"one 3:1\n"), "line 1"),
        (file("h.csv", b"0,1\n0,2\n"), "line 2"),
        (file("i.csv", b"0,1\n0,1,1\n"), "line 2"),
        (file("j.npy", &nan), "NaN"),
        (file("k.csv", b""), "empty"),
        (file("l.bin", b"hello"), "no known format"),
        (text(folder.path()), "neither a data file nor"),
        (text(&folder.path().join("missing.csv")), "neither a data file nor"),
    ] {
        refused(&["data", "describe", &path, "--columns", "180"], expected);
        refused(&["evaluate", &model(folder.path(), 180), "--data", &path], expected);
    }
    let missing = text(&folder.path().join("nothing"));
    refused(&["data", "describe", "mnist", "--data-folder", &missing], "ztrack data fetch mnist");
    // A label out of range: dna has classes 1 to 3.
    fs::create_dir(folder.path().join("dna")).unwrap();
    for name in ["dna.scale.tr", "dna.scale.val", "dna.scale.t"] {
        file(&format!("dna/{name}"), b"1 3:1 180:1\n4 5:1\n");
    }
    refused(&["data", "describe", "dna", "--data-folder", &text(folder.path())], "line 2");
    // Grey levels need a decision.
    let grey = file("grey.npy", &npy(array![[0u8, 7], [255, 0]]));
    refused(&["evaluate", &model(folder.path(), 2), "--data", &grey], "--binarization");
    let path = folder.path().join("one-hot.safetensors");
    let parameters = gaussian_parameters(3, 4, 0.1, 1).of("3".parse().unwrap()).unwrap();
    ModelFile::from(parameters).save(&path).unwrap();
    let two = file("two.csv", b"1,0,1\n");
    refused(&["evaluate", &text(&path), "--data", &two], "error: two.csv, row 1: 2 of the columns");
}

#[test]
fn bad_configurations() {
    let folder = TempDir::new().unwrap();
    let config = tiny(folder.path());
    let out = text(&folder.path().join("out"));
    let missing = text(&folder.path().join("missing.toml"));
    refused(&["train", &missing, "--out", &out], "missing.toml");
    refused(&["train"], "configuration");
    let broken = file(folder.path(), "broken.toml", "seed = [[1");
    refused(&["train", &broken, "--out", &out], "broken.toml:1: ");
    let binary = file(folder.path(), "binary.toml", [0xff, 0xfe, 0]);
    refused(&["train", &binary, "--out", &out], "binary.toml");
    let unknown = file(folder.path(), "unknown.toml", common::TINY.replace("hidden", "hiden"));
    refused(&["train", &unknown, "--out", &out], "hiden");
    for (setting, expected) in [
        ("nonsense", "key=value"),
        ("=1", "names no key"),
        ("model.hiden=3", "hiden"),
        ("model.hidden=-3", "-3"),
        ("model.hidden=0", "model.hidden"),
        ("model.hidden=10000001", "model.hidden"),
        ("training.batch=-1", "-1"),
        ("training.updates=0", "at least 1"),
        ("training.learning_rate.initial=nan", "training.learning_rate.initial"),
        ("training.gradient={ kind = \"pcd\", particles = 1000000000000 }", "GiB"),
        ("tempering.chains=1", "tempering.chains"),
        ("tempering.every=0", "tempering.every"),
        ("tempering={ chains = 9000000, temperatures = 10000 }", "GiB"),
        ("tempering.chains=999999999999", "tempering.chains"),
        ("tempering.temperatures=9000000", "GiB"),
        ("tempering.betas=[0.0, 0.7, 0.6, 1.0]", "ascend"),
        ("tempering.base={ given = [0.0, 1.0] }", "2 logits for 9 visible units"),
        ("evaluation.every=0", "evaluation.every"),
        ("data.validation_fraction=1.5", "data.validation_fraction"),
        ("data.source={ name = \"bars-and-stripes\", side = -2 }", "-2"),
        (
            "data.source={ name = \"bars-and-stripes\", side = 100000, rows = 9 }",
            "data.source.side: ",
        ),
        ("data.source={ name = \"files\", train = \"gone.csv\" }", "gone.csv"),
        ("data.source={ name = \"mnits\" }", "mnits"),
    ] {
        refused(&["train", &config, "--out", &out, "--set", setting], expected);
        assert!(!Path::new(&out).exists(), "{setting} left a run folder");
    }
    let tempered = "training.gradient={ kind = \"tempered\" }";
    refused(
        &["train", &config, "--out", &out, "--set", tempered, "--set", "tempering.every=2"],
        "tempering.every",
    );
    let large = ["--set", "model.hidden=5000", "--set", "audit.chains=10000000"];
    refused(&[&["train", &config, "--out", &out][..], &large].concat(), "GiB");
    let stopping = "training.early_stopping={ patience = 3 }";
    let none = "data.validation_fraction=0";
    refused(
        &["train", &config, "--out", &out, "--set", stopping, "--set", none],
        "needs validation rows",
    );
}

#[test]
fn bad_arguments() {
    let folder = TempDir::new().unwrap();
    let (config, model) = (tiny(folder.path()), model(folder.path(), 9));
    refused(&["train", &config, "--threads", "0"], "--threads");
    refused(&["train", &config, "--threads", "99999999"], "--threads");
    refused(&["train", &config, "--device", "gpu"], "gpu");
    refused(&["train", &config, "--sed", "x"], "--sed");
    refused(&["fly"], "fly");
    refused(&["estimate", &model, "--method", "magic"], "magic");
    refused(&["estimate", &model, "--method", "rts", "--chains", "1"], "--chains");
    refused(&["estimate", &model, "--method", "rts", "--chains", "-5"], "-5");
    refused(&["estimate", &model, "--method", "rts", "--sweeps", "0"], "--sweeps");
    refused(&["estimate", &model, "--method", "ais", "--temperatures", "1"], "--temperatures");
    refused(&["estimate", &model, "--method", "ais", "--chains", "9000000000000"], "GiB");
    refused(&["estimate", &model, "--data", "bars-and-stripes"], "16 columns");
    refused(&["evaluate", &model, "--data", "bars-and-stripes"], "9 visible units");
    refused(&["evaluate", &model, "--data", &config, "--binarization", "2"], "threshold");
    let csv = file(folder.path(), "rows.csv", "0,1,0,0,1,0,0,1,0\n");
    refused(&["evaluate", &model, "--data", &csv, "--split", "test"], "--test-fraction");
    let out = |name: &str| text(&folder.path().join(name));
    let sample = |out: &str, more: &[&str], expected: &str| {
        let arguments = [&["sample", &model, "--count", "3", "--out", out][..], more].concat();
        refused(&arguments, expected);
    };
    sample(&out("a.jpg"), &[], ".npy or .png");
    sample(&out("a.png"), &["--shape", "2x3"], "9 visible units");
    sample(&out("a.png"), &["--shape", "3"], "28x28");
    sample(&out("a.png"), &["--shape", "0x9"], "28x28");
    sample(&csv, &[], "--force");
    sample(&out("rows.csv/a.npy"), &[], "rows.csv");
    refused(&["sample", &model, "--count", "0", "--out", &out("a.npy")], "--count");
    refused(&["sample", &model, "--count", "99999999999999", "--out", &out("a.npy")], "GiB");
    let narrow = common::text(&PathBuf::from(self::model(folder.path(), 7)));
    refused(&["sample", &narrow, "--count", "3", "--out", &out("a.png")], "--shape");
    refused(&["data", "fetch", "imagenet"], "only mnist, dna, adult, connect-4, mushrooms, web");
    refused(
        &["data", "fetch", "dna", "--data-folder", &csv, "--mirror", "http://127.0.0.1:9/"],
        "rows.csv",
    );
}

#[cfg(not(feature = "flex"))]
#[test]
fn a_device_that_is_not_built_in() {
    let folder = TempDir::new().unwrap();
    refused(&["train", &tiny(folder.path()), "--device", "flex"], "--features flex");
}

#[test]
fn bad_model_files() {
    let folder = TempDir::new().unwrap();
    let good = fs::read(model(folder.path(), 9)).unwrap();
    let npz = |name: &str, arrays: &[(&str, Array2<f64>)]| {
        let path = folder.path().join(name);
        let mut writer = NpzWriter::new(fs::File::create(&path).unwrap());
        arrays.iter().for_each(|(name, array)| writer.add_array(*name, array).unwrap());
        writer.finish().unwrap();
        text(&path)
    };
    let (weights, visible) = (Array2::zeros((3, 2)), Array2::zeros((1, 3)));
    let hidden = Array2::zeros((1, 2));
    let whole = npz(
        "whole.npz",
        &[("weights", weights.clone()), ("visible_bias", visible.clone()), ("hidden_bias", hidden)],
    );
    succeed(&["estimate", &whole]);
    let whole = fs::read(whole).unwrap();
    let nan = Array2::from_elem((1, 2), f64::NAN);
    let three = Array2::zeros((1, 3));
    let arrays = |hidden: Array2<f64>| {
        [("weights", weights.clone()), ("visible_bias", visible.clone()), ("hidden_bias", hidden)]
    };
    for (path, expected) in [
        (text(&folder.path().join("missing.npz")), "missing.npz"),
        (text(folder.path()), "no run folder"),
        (file(folder.path(), "empty.npz", ""), "empty.npz"),
        (file(folder.path(), "half.safetensors", &good[..good.len() / 2]), "half.safetensors"),
        (file(folder.path(), "half.npz", &whole[..whole.len() / 2]), "half.npz"),
        (file(folder.path(), "text.npz", "weights"), "neither a safetensors nor an npz"),
        (npz("nothing.npz", &[("visible_bias", visible.clone())]), "no array `weights`"),
        (npz("nan.npz", &arrays(nan)), "NaN"),
        (npz("three.npz", &arrays(three)), "2 values expected"),
    ] {
        refused(&["estimate", &path], expected);
    }
    let big = folder.path().join("big.safetensors");
    let parameters = gaussian_parameters(30, 30, 0.1, 1);
    ModelFile::from(parameters).save(&big).unwrap();
    refused(&["estimate", &text(&big), "--method", "exact"], "2^30");
}

#[test]
fn bad_run_folders() {
    let folder = TempDir::new().unwrap();
    let config = tiny(folder.path());
    let out = text(&folder.path().join("out"));
    refused(&["train", "--resume", "--out", &out], "start the run without --resume");
    // A file in the way of the folder (permissions do not stop a test that runs as root).
    let file_there = file(folder.path(), "file", "");
    refused(&["train", &config, "--out", &file_there], "file");
    refused(&["train", &config, "--out", &format!("{file_there}/below")], "file");
    succeed(&["train", &config, "--out", &out, "--quiet"]);
    refused(&["train", &config, "--out", &out], "--resume");
    let run_config = fs::read_to_string(format!("{out}/config.toml")).unwrap();

    let other = file(folder.path(), "other.toml", common::TINY.replace("seed = 3", "seed = 4"));
    refused(
        &["train", &other, "--resume", "--out", &out],
        "with which the run was started, to seed",
    );
    let resume = ["train", "--quiet", "--resume", "--out", &out];
    // The checkpoint is of another model than the configuration, or of other data.
    fs::write(format!("{out}/config.toml"), run_config.replace("hidden = 6", "hidden = 7"))
        .unwrap();
    refused(&resume, "`model.hidden` was 6");
    refused(&[&resume[..], &["--force"]].concat(), "checkpoint is of a model with");
    fs::write(format!("{out}/config.toml"), run_config.replace("side = 3", "side = 4")).unwrap();
    refused(&resume, "`data.source.side` was 3");
    fs::write(format!("{out}/config.toml"), run_config.replace("chains = 40", "chains = 41"))
        .unwrap();
    refused(&resume, "`tempering.chains` was 40");
    refused(&[&resume[..], &["--force"]].concat(), "chains.");
    fs::write(format!("{out}/config.toml"), &run_config).unwrap();
    assert!(succeed(&resume).contains("all updates done"));

    let metrics = format!("{out}/metrics.csv");
    let rows = fs::read_to_string(&metrics).unwrap();
    fs::write(&metrics, format!("a,b\n{rows}")).unwrap();
    refused(&resume, "metrics.csv: line 1");
    fs::write(&metrics, rows).unwrap();

    let states = format!("{out}/checkpoints/state");
    let mut newest: Vec<_> = fs::read_dir(&states).unwrap().map(|e| e.unwrap().path()).collect();
    newest.sort();
    let newest = newest.pop().unwrap();
    let bytes = fs::read(&newest).unwrap();
    let mut damaged = bytes.clone();
    *damaged.last_mut().unwrap() ^= 1;
    let flipped = "does not match its checksum";
    for (content, expected) in
        [(&damaged[..], flipped), (&bytes[..bytes.len() / 2], "damaged"), (b"", "damaged")]
    {
        fs::write(&newest, content).unwrap();
        refused(&resume, expected);
    }
    // The advice in the message works.
    fs::remove_file(&newest).unwrap();
    succeed(&resume);
}

/// The message says why, and what is left.
#[test]
fn a_run_that_diverges_stops() {
    let folder = TempDir::new().unwrap();
    let config = tiny(folder.path());
    for (rate, left) in [("1e6", "before its first checkpoint"), ("2e3", "checkpoint is kept")] {
        let out = folder.path().join(rate);
        let (path, rate) = (text(&out), format!("training.learning_rate.initial={rate}"));
        let sets =
            ["--set", &rate, "--set", "training.updates=2000", "--set", "checkpoint.every=1"];
        let unlimited =
            ["--set", "training.largest_step=1e9", "--set", "training.preconditioning=false"];
        let arguments =
            [&["train", &config, "--out", &path, "--quiet"][..], &sets, &unlimited].concat();
        refused(&arguments, "training diverged at update");
        fs::remove_dir_all(&out).unwrap();
        refused(&arguments, left);
        let kept = fs::read_dir(out.join("checkpoints/state")).unwrap().count();
        assert_eq!(kept > 0, left.ends_with("kept"), "{rate}");
        assert!(!out.join("summary.json").exists());
    }
}

#[test]
fn an_array_of_one_dimension_is_told() {
    let folder = TempDir::new().unwrap();
    let path = file(folder.path(), "flat.npy", npy(Array1::<u8>::zeros(4)));
    refused(&["data", "describe", &path], "2 expected");
}

/// The data of a run are those it was trained on: not another file of that name, and not the same file with other rows.
#[test]
fn the_data_of_a_run_are_not_other_rows() {
    let folder = TempDir::new().unwrap();
    let row = |n: usize| {
        format!("{},{},{},{}\n", n % 2, n / 2 % 2, n / 4 % 2, usize::from(n.is_multiple_of(3)))
    };
    let rows =
        |order: &dyn Fn(usize) -> usize| -> String { (0..60).map(|n| row(order(n))).collect() };
    let data = file(folder.path(), "rows.csv", rows(&|n| n));
    let out = text(&folder.path().join("out"));
    let settings = ["--set", "training.updates=20", "--set", "model.hidden=3", "-q", "--out", &out];
    succeed(&[&["train", &data][..], &settings].concat());
    let evaluate = ["evaluate", &out, "--data", "test"];
    let expected = succeed(&evaluate);
    file(folder.path(), "rows.csv", rows(&|n| 59 - n));
    for arguments in
        [&evaluate[..], &["transform", &out, "--out", &text(&folder.path().join("f.csv"))]]
    {
        let output = common::run(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && said.contains("are not those it was trained on"),
            "{said}"
        );
    }
    // The file itself can be named, and another split of the run's data.
    succeed(&["evaluate", &out, "--data", &data]);
    succeed(&["evaluate", &out, "--data", "test", "--split-seed", "3"]);
    file(folder.path(), "rows.csv", rows(&|n| n));
    assert_eq!(succeed(&evaluate), expected);
}
