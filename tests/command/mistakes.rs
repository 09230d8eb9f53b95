//! Typical mistakes at the command line and in configurations: each gets exit code 2 and one line that names place, key and
//! remedy in the user's words, none in Rust's.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::common::ztrack;

/// What serde, toml and Rust would say. (`unit` alone is a word of ours.)
const RUST: [&str; 22] = [
    "usize",
    "u8",
    "u32",
    "u64",
    "i64",
    "f64",
    "enum",
    "variant",
    "struct",
    "newtype",
    "tagged",
    "unit variant",
    "serde",
    "deserialize",
    "Option",
    "Some(",
    "None)",
    "unwrap",
    "panicked",
    "::",
    "os error",
    "invalid type",
];

/// A small configuration that trains, for mistakes to be made in. `hidden` is in line 6.
const GOOD: &str = "seed = 1
[data]
source = { name = \"bars-and-stripes\", side = 3, rows = 50 }
validation_fraction = 0.2
[model]
hidden = 4
[training]
updates = 10
batch = 5
gradient = \"pcd\"
learning_rate = 0.1
[tempering]
chains = 20
";

/// Runs in `folder`; one line, code 2, every part of `expected` in it, no word of Rust's.
fn mistake(folder: &Path, arguments: &[&str], expected: &[&str]) {
    let output = ztrack().current_dir(folder).args(arguments).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let shown = format!("ztrack {}\n{stderr}", arguments.join(" "));
    assert_eq!(output.status.code(), Some(2), "{shown}");
    assert_eq!(stderr.lines().count(), 1, "{shown}");
    assert!(stderr.starts_with("error: "), "{shown}");
    assert!(output.stdout.is_empty(), "{shown}");
    for part in expected {
        assert!(stderr.contains(part), "`{part}` is missing: {shown}");
    }
    // What the user typed comes back as it was.
    let mut own = stderr.clone();
    for argument in arguments {
        own = own.replace(argument, "");
    }
    for word in RUST {
        assert!(!own.contains(word), "`{word}`: {shown}");
    }
}

fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("good.toml"), GOOD).unwrap();
    fs::write(folder.path().join("rows.csv"), "0,1,0\n1,0,0\n").unwrap();
    folder
}

/// A setting, and what is said of it.
const SETTINGS: &[(&str, &[&str])] = &[
    ("model.hidden=abc", &["\"abc\" is not a whole number of at least 1", "hidden = 64"]),
    ("model.hidden=-3", &["-3 is not a whole number"]),
    ("model.hidden=10.5", &["10.5 is not a whole number"]),
    ("model.hidden=0", &["0 is not a whole number of at least 1"]),
    ("model.hiden=3", &["no such key", "did you mean model.hidden?"]),
    ("hidden=3", &["no such key", "did you mean model.hidden?"]),
    ("training.lr=0.1", &["no such key", "did you mean training.learning_rate?"]),
    ("batch=10", &["did you mean training.batch or training.pretraining.batch?"]),
    ("trainig.batch=3", &["no such key", "did you mean training.batch?"]),
    ("foo=3", &["no such key", "`ztrack config explain` lists all keys"]),
    ("tempering.sweep=3", &["did you mean tempering.sweeps?"]),
    ("training.gradient=pdc", &["\"pdc\" is not one of \"cd\", \"pcd\"", "did you mean pcd?"]),
    ("training.gradient=persistent", &["\"cd\", \"pcd\", \"tempered\"", "gradient = \"pcd\""]),
    ("training.gradient.particles=many", &["\"many\" is not a whole number", "particles = 200"]),
    (
        "training.gradient={ kind = \"cd\", particles = 3 }",
        &["training.gradient.particles", "kind = \"cd\" has no such key"],
    ),
    ("training.learning_rate=fast", &["\"fast\" is not a number", "learning_rate = 0.05"]),
    (
        "training.learning_rate=-0.1",
        &["training.learning_rate.initial: -0.1 is not a positive number"],
    ),
    ("training.learning_rate.schedule=linear", &["\"linear-to-zero\""]),
    (
        "training.learning_rate.schedule=power",
        &["training.learning_rate.schedule.exponent: missing", "exponent = 0.5"],
    ),
    ("training.update=adamw", &["did you mean adam?"]),
    (
        "training.update={ rule = \"adam\", momentum = 0.9 }",
        &["training.update.momentum", "it has rule, beta1"],
    ),
    ("training.update.momentum=1.5", &["1.5 is not a number in [0, 1)"]),
    ("training.epochs=ten", &["\"ten\" is not a whole number", "epochs = 50"]),
    ("training.updates=0", &["0 is not a whole number of at least 1"]),
    ("training.batch=", &["training.batch", "batch = 100"]),
    ("training.centering=yes", &["\"yes\" is not true or false"]),
    (
        "training.early_stopping=none",
        &["\"none\" is not a section, true or false", "early_stopping = false"],
    ),
    ("training.early_stopping={ patience = 0 }", &["training.early_stopping.patience: 0 is not"]),
    ("tempering.prior=expo", &["\"expo\" is not one of \"uniform\", \"exponential\", \"given\""]),
    ("tempering.prior=given", &["\"given\" needs a value, as in { given = [1.0, 1.0, 2.0, 4.0] }"]),
    ("tempering.smoothing=2", &["tempering.smoothing.alpha: 2 is not a number in (0, 1]"]),
    ("tempering.smoothing=kallman", &["did you mean kalman?"]),
    ("tempering.betas=linear", &["\"linear\" is not a list of numbers", "betas = [0.0"]),
    ("tempering.betas=[0.0, 0.7, 0.6, 1.0]", &["ascend"]),
    ("tempering.chains=1", &["1 is not a whole number of at least 2"]),
    ("tempering.base=uniforn", &["did you mean uniform?"]),
    ("evaluation.exact=maybe", &["\"maybe\" is not true or false or \"auto\""]),
    ("audit.every=never", &["\"never\" is not a whole number of at least 0", "every = 5"]),
    ("data.binarization=2", &["data.binarization.threshold: 2 is not a number in [0, 1)"]),
    ("data.binarization=stochastik", &["did you mean stochastic?"]),
    ("data.validation_fraction=20", &["20 is not a number in [0, 1)"]),
    ("data.source=mnits", &["did you mean mnist?", "by its path"]),
    ("data.source={ name = \"mnits\" }", &["data.source.name", "did you mean mnist?"]),
    (
        "data.source={ name = \"dna\", rows = 100 }",
        &["data.source.rows", "name = \"dna\" has no such key"],
    ),
    (
        "data.source={ name = \"files\", train = \"rows.csv\", valdation = \"rows.csv\" }",
        &["data.source.valdation", "did you mean data.source.validation?"],
    ),
    ("data.source={ name = \"files\" }", &["data.source.train: missing", "train = \"my.csv\""]),
    ("data.source.sides=3", &["did you mean data.source.side?"]),
    (
        "data.source={ name = \"bars-and-stripes\", noise = 16 }",
        &["data.source.noise: 16 is not a number in [0, 0.5]"],
    ),
    (
        "data.source={ name = \"bars-and-stripes\", side = 40 }",
        &["data.source.side: 40 has too many patterns to list", "set a number of rows"],
    ),
    (
        "data.source={ name = \"bars-and-stripes\", side = 2000, rows = 9 }",
        &["data.source.side: 1 rows of 4000000 columns", "at most"],
    ),
    (
        "data.source={ name = \"bars-and-stripes\", rows = 99999999999 }",
        &["data.source.rows: 99999999999 rows of 16 columns", "at most"],
    ),
    ("data.source={ name = \"dna-like\", rows = 0 }", &["data.source.rows: no data"]),
    (
        "data.source={ name = \"dna-like\", rows = 4000000000 }",
        &["data.source.rows: 4000000000 rows of 180 columns would take"],
    ),
    ("seed=x", &["\"x\" is not a whole number from 0 to 2^64 - 1"]),
    ("nonsense", &["key=value", "--set training.epochs=5"]),
    ("=3", &["names no key"]),
];

#[test]
fn of_settings_on_the_command_line() {
    let folder = folder();
    for (setting, expected) in SETTINGS {
        let arguments = ["train", "good.toml", "--out", "out", "--set", setting];
        let place = format!("--set {setting}: ");
        mistake(folder.path(), &arguments, &[&[place.as_str()][..], expected].concat());
        assert!(!folder.path().join("out").exists(), "{setting} left a run folder");
    }
}

#[test]
fn of_configuration_files() {
    let folder = folder();
    let (dots, arrays) =
        (vec!["a"; 100_000].join(".") + " = 1", "x = ".to_string() + &"[".repeat(100_000));
    for (good, bad, expected) in [
        (
            "hidden = 4",
            "hiden = 4",
            &["my.toml:6: model.hiden: ", "did you mean model.hidden?"][..],
        ),
        ("hidden = 4", "hidden = \"4\"", &["my.toml:6: model.hidden: \"4\" is not a whole number"]),
        ("hidden = 4", "hidden = four", &["my.toml:6: `hidden = four` is no TOML", "quotes"]),
        ("hidden = 4", "hidden = [4", &["my.toml:", "is no TOML"]),
        ("updates = 10", &dots, &["my.toml:8: `a.a.a", "is no TOML: it is nested too deep"]),
        ("updates = 10", &arrays, &["my.toml:8: `x = [[", "is no TOML: it is nested too deep"]),
        ("hidden = 4", "hidden 4", &["my.toml:6: `hidden 4` is no TOML", "="]),
        ("hidden = 4", "hidden = 4\nhidden = 5", &["my.toml:7: ", "duplicate key"]),
        ("hidden = 4", "", &["my.toml:5: model.hidden: missing", "hidden = 64, in [model]"]),
        ("[model]\nhidden = 4", "", &["my.toml: model.hidden: missing", "hidden = 64, in [model]"]),
        ("[model]", "[modell]", &["my.toml:5: modell: ", "did you mean model?"]),
        ("[training]", "[train]", &["my.toml:7: train", "no such key"]),
        (
            "gradient = \"pcd\"",
            "gradient = pcd",
            &["my.toml:10: `gradient = pcd`", "text stands in quotes, as in \"pcd\""],
        ),
        (
            "learning_rate = 0.1",
            "learning_rate = { inital = 0.1 }",
            &[
                "my.toml:11: training.learning_rate.inital",
                "did you mean training.learning_rate.initial?",
            ],
        ),
        (
            "validation_fraction = 0.2",
            "early_stopping = true",
            &["my.toml:4: data.early_stopping", "did you mean training.early_stopping?"],
        ),
        ("updates = 10", "updates = 10\nepochs = 2", &["my.toml:8: training.updates: ", "either"]),
        (
            "updates = 10",
            "updates = 10\nearly_stopping = true",
            &["my.toml:9: training.early_stopping", "data.validation_fraction"],
        ),
    ] {
        // Rows that could decide when to stop are there only where nothing else is the mistake.
        let text = match bad.contains("early_stopping = true") && good.starts_with("updates") {
            true => GOOD.replace("validation_fraction = 0.2", "test_fraction = 0.2"),
            false => GOOD.into(),
        };
        fs::write(folder.path().join("my.toml"), text.replace(good, bad)).unwrap();
        let arguments = ["train", "my.toml", "--out", "out"];
        mistake(folder.path(), &arguments, expected);
    }
}

#[test]
fn of_names_and_arguments() {
    let folder = folder();
    fs::create_dir_all(folder.path().join("runs/old")).unwrap();
    fs::write(folder.path().join("runs/old/config.toml"), GOOD).unwrap();
    for (arguments, expected) in [
        (&["train"][..], &["ztrack train bars-and-stripes"][..]),
        (&["train", "mnits"], &["built in are bars-and-stripes", "did you mean mnist?"]),
        (&["train", "bars_and_stripes"], &["did you mean bars-and-stripes?"]),
        (&["train", "row.csv"], &["neither a file nor built in", "did you mean rows.csv?"]),
        (&["train", "."], &["neither a file nor built in"]),
        (&["train", "goood.toml"], &["goood.toml: is not there", "did you mean good.toml?"]),
        (&["train", "configs/dna.toml"], &["ztrack train dna"]),
        (&["train", "runs/old"], &["is a run folder", "--out runs/old --resume"]),
        (
            &["train", "good.toml", "--out", "runs/old", "--force"],
            &["a run is never overwritten", "delete runs/old first", "another --out"],
        ),
        (
            &["config", "show", "dna-papr"],
            &["did you mean `dna-paper`?", "Known are bars-and-stripes"],
        ),
        (&["train", "good.toml", "-v"], &["-q shows less", "ztrack --version"]),
        (&["train", "good.toml", "--white", "16"], &["--set data.source.white=16"]),
        (&["config", "explain", "gradient"], &["did you mean training.gradient?"]),
        (&["config", "explain", "pcd-10"], &["did you mean training.gradient?"]),
        (&["config", "explain", "log"], &["did you mean evaluation.every?"]),
        (&["config", "explain", "threads"], &["--threads"]),
        (
            &["train", "good.toml", "--set", "training.gradient=PCD-10"],
            &["PCD-10 is { kind = \"pcd\", sweeps = 10 }"],
        ),
        (&["config", "explain", "training.gradiant"], &["did you mean training.gradient?"]),
        (&["init", "good.toml"], &["is a configuration already"]),
        (&["init", "rows.csv", "--out", "good.toml"], &["exists", "--out"]),
        (&["trian", "dna"], &["trian", "train"]),
        (&["train", "dna", "--sed", "x"], &["--sed", "--set"]),
        (&["train", "dna", "--epochs", "5"], &["--epochs", "--set training.epochs=5"]),
        (&["train", "dna", "--batch=5"], &["--batch", "--set training.batch=5"]),
        (&["train", "dna", "--learning-rate", "1"], &["--set training.learning_rate=1"]),
        (&["train", "dna", "--dry-run", "--resume"], &["--dry-run", "--resume"]),
        (&["completions", "tcsh"], &["bash", "fish", "zsh"]),
    ] {
        mistake(folder.path(), arguments, expected);
    }
}

/// Files that are no mistake of typing: one line that says what they are and what to do.
#[test]
fn of_files_of_other_programs() {
    let folder = folder();
    fs::write(folder.path().join("model.pt"), "PK\u{3}\u{4}").unwrap();
    let line = |i: usize| format!("{i},{},{}\n", i % 2, i / 2 % 2);
    let index = format!(",a,b\n{}", (0..30).map(line).collect::<String>());
    fs::write(folder.path().join("index.csv"), index).unwrap();
    // More rows than a column may have states, and numbers that are no sequence.
    let shuffled = |i: usize| line(i * 7919 % 10_000);
    let long = format!(",a,b\n{}", (0..400).map(shuffled).collect::<String>());
    fs::write(folder.path().join("long.csv"), long).unwrap();
    let named = |i: usize| format!("patient{}", line(i));
    let names = format!("id,a,b\n{}", (0..30).map(named).collect::<String>());
    fs::write(folder.path().join("names.csv"), names).unwrap();
    let same = ["train", "rows.csv", "--set", "data.source.test=rows.csv"];
    for (arguments, expected) in [
        (&["estimate", "model.pt"][..], ["is a file of PyTorch", "np.savez"]),
        (&["train", "index.csv"], ["another value in every row", "index=False"]),
        (&["train", "long.csv"], ["another value in every row", "data.source.columns=2-"]),
        (&["train", "names.csv"], ["names of rows", "data.source.columns=2-"]),
        (&same, ["rows.csv: holds the training rows", "leave it out"]),
    ] {
        let output = ztrack().current_dir(folder.path()).args(arguments).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && told.lines().count() == 1, "{told}");
        assert!(expected.iter().all(|part| told.contains(part)), "{told}");
    }
}
