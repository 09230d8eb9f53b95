//! Rows with missing cells: their likelihood, means and draws against enumeration, and the commands as a user types them.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use ztrack::Parameters;
use ztrack::engine::BitMatrix;
use ztrack::estimators::Completing;
use ztrack::model::exact::{log_partition, moments, samples};
use ztrack::model::test_systems::gaussian_parameters;

use crate::common::{self, json, number, run, save, succeed, text};

/// 18 hidden units and at least 21 missing columns are beyond what is enumerated unasked, and still can be: chains by z-scores.
#[test]
fn chains_agree_with_enumeration_for_bits_and_categorical_variables() {
    let (mut all, mut wide) = (0, 0);
    for (variables, columns, size) in [("", 50, 1), ("12*3+", 36, 3), ("13*4", 52, 4)] {
        let variables: ztrack::units::Variables = variables.parse().unwrap();
        let model = gaussian_parameters(columns, 18, 0.5, 3).of(variables).unwrap();
        // Draws of a part of the model: states that all variables allow.
        let mut small = model.clone();
        small.weights = small.weights.chunks(18).flat_map(|row| row[..5].to_vec()).collect();
        (small.hidden_bias, small.n_hidden) = (small.hidden_bias[..5].to_vec(), 5);
        let rows = samples(&small, 3, 4).unwrap();
        // Of every row all but the first 2 variables, so that at least 21 columns are open, whole variables each.
        let missing = BitMatrix::from_fn(3, columns, |row, i| (i / size) % 7 != row);
        let asked = Completing { means: true, draws: 400, seed: 5, ..Completing::default() };
        let found = asked.run(&model, &rows, &missing).unwrap();
        for (row, it) in found.iter().enumerate() {
            let exact = model.conditional(rows.row(row), missing.row(row)).unwrap();
            assert!(exact.columns.len() > 20 && it.std_error > 0.0);
            let truth = exact.log_constant + log_partition(&exact.parameters).unwrap();
            let z = (it.log_f - truth) / it.std_error;
            assert!(
                it.trust.is_sound() && z.abs() < 4.0,
                "{variables}: {z}, {}",
                it.trust,
                variables = model.variables
            );
            assert!(it.std_error < 0.2, "{}", it.std_error);
            all += 1;
            wide += usize::from(z.abs() > 2.0);
            // 400 chains, and means given hidden states: errors of at most 1/40.
            let means = moments(&exact.parameters).unwrap().visible;
            for (k, &i) in exact.columns.iter().enumerate() {
                let drawn = (0..400).filter(|&n| it.draws.get(n, i)).count() as f64 / 400.0;
                assert!((it.means[i] - means[k]).abs() < 4.5 / 40.0, "{i}");
                assert!((drawn - means[k]).abs() < 4.5 / 40.0, "{i}: {drawn} {}", means[k]);
            }
            for i in (0..columns).filter(|i| !exact.columns.contains(i)) {
                let bit = rows.get(row, i);
                assert_eq!(it.means[i], f64::from(u8::from(bit)));
                assert!((0..400).all(|n| it.draws.get(n, i) == bit));
            }
        }
    }
    assert!(wide * 4 <= all, "{wide} of {all} beyond two errors");
}

/// Units that are all off or all on: given nine of ten cells that are on, the missing ones are on, which no chain from the biases sees.
#[test]
fn chains_find_both_modes_of_the_missing_cells() {
    let (visible, hidden, weight) = (30, 17, 0.5_f32);
    let model = Parameters {
        weights: vec![weight; visible * hidden],
        visible_bias: vec![-weight * hidden as f32 / 2.0; visible],
        hidden_bias: vec![-weight * visible as f32 / 2.0; hidden],
        ..Parameters::zeros(visible, hidden)
    };
    let rows = BitMatrix::from_fn(2, visible, |row, i| i < 9 - 4 * row);
    let missing = BitMatrix::from_fn(2, visible, |_, i| i >= 10);
    let asked = Completing { means: true, seed: 1, ..Completing::default() };
    for (row, found) in asked.run(&model, &rows, &missing).unwrap().iter().enumerate() {
        let exact = model.conditional(rows.row(row), missing.row(row)).unwrap();
        let truth = exact.log_constant + log_partition(&exact.parameters).unwrap();
        let z = (found.log_f - truth) / found.std_error;
        assert!(found.trust.is_sound() && z.abs() < 4.0, "{row}: {z}, {}", found.trust);
        let means = moments(&exact.parameters).unwrap().visible;
        // 100 chains.
        assert!((found.means[20] - means[10]).abs() < 0.25, "{} {}", found.means[20], means[10]);
    }
}

/// Sums over the states of the missing cells, one by one.
fn log_f(model: &Parameters, row: u64, missing: u64, columns: usize) -> f64 {
    let states: Vec<u64> = (0..1 << columns).filter(|s| (s ^ row) & !missing == 0).collect();
    let states = BitMatrix::from_words(states.len(), columns, states).unwrap();
    let values = ztrack::model::exact::log_weights(model, &states).unwrap();
    values.iter().map(|x| x.exp()).sum::<f64>().ln()
}

fn model(folder: &Path) -> (Parameters, String) {
    let parameters = gaussian_parameters(6, 4, 1.5, 2);
    let path = save(folder, parameters.clone());
    (parameters, path)
}

const TABLE: &str = "# answers\na,b,c,d,e,f,class\n1,0,1,1,0,0,7\n,0,NA,1,?,0,8\r\n0,,1,0,1,-,9\n";

#[test]
fn evaluate_sums_missing_cells_out() {
    let folder = TempDir::new().unwrap();
    let (parameters, path) = model(folder.path());
    let table = folder.path().join("answers.csv");
    fs::write(&table, TABLE).unwrap();
    let (table, scores) = (text(&table), text(&folder.path().join("scores.csv")));
    let evaluate = ["evaluate", &path, "--data", &table];
    let report = json(&[&evaluate[..], &["--json", "--per-row", &scores]].concat());
    let log_z = log_partition(&parameters).unwrap();
    let expected = [(0b001101, 0), (0b001000, 0b010101), (0b010100, 0b100010)]
        .map(|(row, missing)| log_f(&parameters, row, missing, 6) - log_z);
    let line = &report["log_likelihoods"][0];
    assert_eq!((&line["rows"], &line["with_missing_cells"]), (&3.into(), &2.into()));
    assert!((number(&line["value"]) - expected.iter().sum::<f64>() / 3.0).abs() < 1e-4);
    let written = fs::read_to_string(&scores).unwrap();
    let mut lines = written.lines();
    assert!(lines.next().unwrap().ends_with("log_z_std_error,missing_units,row_std_error"));
    for ((line, expected), missing) in lines.zip(expected).zip(["0", "3", "2"]) {
        let cells: Vec<&str> = line.split(',').collect();
        assert!((cells[2].parse::<f64>().unwrap() - expected).abs() < 1e-4, "{line} {expected}");
        assert_eq!(cells[5], missing);
    }
    let said = succeed(&evaluate);
    assert!(said.starts_with("rows ") && said.contains("2 of them with missing cells"), "{said}");
}

#[test]
fn impute_fills_the_table_and_leaves_the_rest() {
    let folder = TempDir::new().unwrap();
    let (parameters, path) = model(folder.path());
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name).to_str().unwrap().to_string()
    };
    let (table, out) = (write("answers.csv", TABLE), text(&folder.path().join("filled.csv")));
    let cells = text(&folder.path().join("cells.csv"));
    succeed(&["impute", &path, &table, "--out", &out, "--probabilities", &cells]);
    // Each cell by itself: the larger of two sums.
    let likelier = |row: u64, missing: u64, i: usize| {
        let rest = missing & !(1 << i);
        let on = log_f(&parameters, row | 1 << i, rest, 6);
        let off = log_f(&parameters, row & !(1 << i), rest, 6);
        (u8::from(on > off), 1.0 / (1.0 + (off - on).exp()))
    };
    let second = |i| likelier(0b001000, 0b010101, i).0;
    let third = |i| likelier(0b010100, 0b100010, i).0;
    let expected = format!(
        "# answers\na,b,c,d,e,f,class\n1,0,1,1,0,0,7\n{},0,{},1,{},0,8\r\n0,{},1,0,1,{},9\n",
        second(0),
        second(2),
        second(4),
        third(1),
        third(5)
    );
    assert_eq!(fs::read_to_string(&out).unwrap(), expected);
    let written = fs::read_to_string(&cells).unwrap();
    let p: f64 = written.lines().nth(2).unwrap().split(',').nth(1).unwrap().parse().unwrap();
    assert!((p - likelier(0b001000, 0b010101, 0).1).abs() < 1e-4, "{written}");
    // Other words for bits, which are written as they stand there.
    let words = TABLE.replace('1', "True").replace(",0", ",False").replace("\n0", "\nFalse");
    let named = write("words.csv", &words);
    succeed(&["impute", &path, "--data", &named, "--out", &out, "--force"]);
    let filled = fs::read_to_string(&out).unwrap();
    assert_eq!(filled.replace("False", "0").replace("True", "1"), expected);
    // Draws differ by seed, and only in the missing cells.
    let draw = |seed: &str| {
        succeed(&[
            "impute", &path, &table, "--out", &out, "--force", "--fill", "draw", "--seed", seed,
        ]);
        fs::read_to_string(&out).unwrap()
    };
    let draws: Vec<String> = (0..8).map(|seed| draw(&seed.to_string())).collect();
    assert!(draws.iter().any(|it| *it != draws[0]) && draws[0] == draw("0"), "{draws:?}");
    assert!(draws.iter().all(|it| it.contains("1,0,1,1,0,0,7") && !it.contains('?')));
}

#[test]
fn sample_given_draws_missing_cells() {
    let folder = TempDir::new().unwrap();
    let (parameters, path) = model(folder.path());
    let table = folder.path().join("answers.csv");
    fs::write(&table, TABLE).unwrap();
    let out = folder.path().join("draws.csv");
    succeed(&["sample", &path, "--given", &text(&table), "--count", "2000", "--out", &text(&out)]);
    let drawn = fs::read_to_string(out).unwrap();
    let lines: Vec<Vec<&str>> = drawn.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), 6000);
    assert!(lines[..2000].iter().all(|row| row[..] == ["1", "0", "1", "1", "0", "0"]));
    let on = log_f(&parameters, 0b001001, 0b010100, 6) - log_f(&parameters, 0b001000, 0b010101, 6);
    let share = lines[2000..4000].iter().filter(|row| row[0] == "1").count() as f64 / 2000.0;
    assert!((share - on.exp()).abs() < 4.5 * 0.5 / 2000f64.sqrt(), "{share} {}", on.exp());
    assert!(
        lines[4000..].iter().all(|row| (row[0], row[2], row[3], row[4]) == ("0", "1", "0", "1"))
    );
}

#[test]
fn what_cannot_be_filled_in_is_said() {
    let folder = TempDir::new().unwrap();
    let (_, path) = model(folder.path());
    let file = |name: &str, content: &str| {
        fs::write(folder.path().join(name), content).unwrap();
        text(&folder.path().join(name))
    };
    let out = text(&folder.path().join("out.csv"));
    let (whole, narrow) = (file("whole.csv", "1,0,1,1,0,0\n"), file("narrow.csv", "1,?,0\n"));
    let holes = file("holes.csv", TABLE);
    for (arguments, expected) in [
        (vec!["impute", &path, &whole, "--out", &out], "no cell is missing"),
        (vec!["impute", &path, &narrow, "--out", &out], "has 3 columns, 6 expected"),
        (vec!["impute", &path, &holes, "--out", "x.txt"], "end in .csv or .npy"),
        (vec!["train", &holes, "--out", &out], "ztrack impute"),
        (vec!["transform", &path, "--data", &holes, "--out", &out], "empty or missing"),
    ] {
        let output = run(&arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && stderr.contains(expected), "{arguments:?}: {stderr}");
    }
}

/// A table of categories, from training to filled cells: a copy of the first column is filled in from it.
#[test]
fn categories_are_filled_in_by_name() {
    let folder = TempDir::new().unwrap();
    let states = ["red", "green", "blue, dark"];
    let row = |n: usize| format!("\"{0}\",\"{0}\",{1}\n", states[n % 3], n % 2);
    let train = "colour,again,flag\n".to_string() + &(0..300).map(row).collect::<String>();
    fs::write(folder.path().join("t.csv"), train).unwrap();
    let ztrack = |arguments: &[&str]| {
        let output = common::ztrack().current_dir(folder.path()).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    ztrack(&["train", "t.csv", "--quiet", "--set", "training.updates=1500"]);
    let holes = "colour,again,flag\nred,,1\n?,\"blue, dark\",0\nNA,green,\n";
    fs::write(folder.path().join("h.csv"), holes).unwrap();
    ztrack(&["impute", "runs/t", "h.csv", "--out", "f.csv", "--probabilities", "p.csv"]);
    let cells = fs::read_to_string(folder.path().join("p.csv")).unwrap();
    let units = "split,\"colour=blue, dark\",colour=green,colour=red,\"again=blue, dark\",again=green,again=red,flag";
    assert_eq!(cells.lines().next(), Some(units));
    let filled = fs::read_to_string(folder.path().join("f.csv")).unwrap();
    let lines: Vec<&str> = filled.lines().collect();
    assert_eq!(lines[..3], ["colour,again,flag", "red,red,1", "\"blue, dark\",\"blue, dark\",0"]);
    assert!(lines[3].starts_with("green,green,"), "{filled}");
    // A filled table reads like any other.
    let said = ztrack(&["evaluate", "runs/t", "--data", "f.csv"]);
    assert!(said.contains("the run's audit of update") && !said.contains("missing"), "{said}");
    // An exact value needs no bound beside it.
    assert!(said.contains("exact") && !said.contains("log Z >="), "{said}");
    let holes = ztrack(&["evaluate", "runs/t", "--data", "h.csv", "--json"]);
    let holes: serde_json::Value = serde_json::from_str(&holes).unwrap();
    assert_eq!(holes["log_likelihoods"][0]["with_missing_cells"], 3);
}

/// In a column of words `none` is an answer, which is learned and filled in; beside 0 and 1 it is a mistake. Empty rows at the end are none.
#[test]
fn none_is_an_answer() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: String| fs::write(folder.path().join(name), text).unwrap();
    let row = |n: usize| format!("{0};{0};{1}\n", ["none", "some", "all"][n % 3], n % 2);
    let table = "a;b;flag\n".to_string() + &(0..300).map(row).collect::<String>();
    write("t.csv", table + ";;\n\"\";;\n");
    write("h.csv", "a;b;flag\nnone;;1\n;some;0\n;;\n".into());
    let bits = |n: usize| format!("{},{}\n", n % 2, ["0", "1", "None"][n % 3]);
    write("r.txt", "\"a\" \"b\"\n\"one\" 1 0\n\"two\" 0 1\n".into());
    write("bits.csv", "a,b\n".to_string() + &(0..60).map(bits).collect::<String>());
    let ztrack = |arguments: &[&str]| {
        let output = common::ztrack().current_dir(folder.path()).args(arguments).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert!(ztrack(&["train", "t.csv", "-q", "--set", "training.updates=1500"]).0);
    assert!(ztrack(&["impute", "runs/t", "h.csv", "--out", "f.csv"]).0);
    let filled = fs::read_to_string(folder.path().join("f.csv")).unwrap();
    assert_eq!(filled, "a;b;flag\nnone;none;1\nsome;some;0\n;;\n");
    let (_, said) = ztrack(&["train", "bits.csv"]);
    let expected = "line 4, column 2 (b): `None` is neither 0 nor 1";
    assert!(said.contains(expected) && said.contains("empty cell"), "{said}");
    let (_, said) = ztrack(&["train", "r.txt"]);
    assert!(said.contains("line 2 has one cell more than the line of names"), "{said}");
}

/// The columns that a run was trained on need not be named again; other files of its units are read as they are.
#[test]
fn a_run_knows_its_columns() {
    let folder = TempDir::new().unwrap();
    let row = |n: usize| format!("id{n},{},{},ill\n", n % 2, n / 2 % 2);
    let header = "id,a,b,group\n".to_string();
    let write = |name: &str, text: String| fs::write(folder.path().join(name), text).unwrap();
    write("t.csv", header.clone() + &(0..300).map(row).collect::<String>());
    write("h.csv", header + "x,1,NA,well\ny,,0,\n");
    write("units.csv", "1,0\n0,1\n1,1\n".into());
    let ztrack = |arguments: &[&str]| {
        let output = common::ztrack().current_dir(folder.path()).args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        String::from_utf8(output.stdout).unwrap() + &said
    };
    let columns = "data.source.columns=[\"a\", \"b\"]";
    ztrack(&["train", "t.csv", "-q", "--set", columns, "--set", "training.updates=100"]);
    ztrack(&["impute", "runs/t", "h.csv", "--out", "f.csv"]);
    let filled = fs::read_to_string(folder.path().join("f.csv")).unwrap();
    let lines: Vec<&str> = filled.lines().collect();
    assert!(lines[1].starts_with("x,1,") && lines[1].ends_with(",well"), "{filled}");
    assert!(lines[2].starts_with("y,") && lines[2].ends_with(",0,"), "{filled}");
    assert!(ztrack(&["evaluate", "runs/t", "--data", "h.csv"]).contains("2 of them with missing"));
    assert!(ztrack(&["evaluate", "runs/t", "--data", "units.csv"]).contains("(3 rows;"));
    // Nor in a table where they are others, in another order, and an array has none.
    let reordered = |n: usize| format!("{},z{n},{}\n", n / 2 % 2, n % 2);
    let text = "b,more,a\n".to_string() + &(0..300).map(reordered).collect::<String>();
    write("other.csv", text);
    ndarray_npy::write_npy(folder.path().join("u.npy"), &ndarray::array![[1u8, 0], [0, 1]])
        .unwrap();
    let value = |file: &str| {
        let said = ztrack(&["evaluate", "runs/t", "--data", file]);
        said.lines().find(|line| line.starts_with("rows")).unwrap().to_string()
    };
    assert_eq!(value("other.csv"), value("t.csv"));
    // Names of no column that the model knows are not taken for these.
    write("names.csv", "p,q\n0,1\n".into());
    let evaluate = ["evaluate", "runs/t", "--data", "names.csv"];
    let output = common::ztrack().current_dir(folder.path()).args(evaluate).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("names.csv: column `p` stands where the training rows have `a`"),
        "{said}"
    );
    assert!(ztrack(&[&evaluate[..], &["--columns", "p,q"]].concat()).contains("(1 rows;"));
    assert!(value("u.npy").contains("(2 rows;"));
    assert!(ztrack(&["transform", "runs/t", "--data", "t.csv", "--out", "h.npy"]).contains("300"));
}

/// A first row whose cells are all missing is a row.
#[test]
fn a_first_row_of_missing_cells_is_no_header() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("m.safetensors");
    let model = ztrack::model::test_systems::gaussian_parameters(6, 4, 0.5, 1);
    ztrack::checkpoint::ModelFile::from(model).save(&path).unwrap();
    for first in [",,,,,", "NA,NA,NA,NA,NA,NA", "?,?,?,?,?,?"] {
        let rows = folder.path().join("rows.csv");
        fs::write(&rows, format!("{first}\n1,0,1,1,,1\n")).unwrap();
        let said = succeed(&["evaluate", &text(&path), "--data", &text(&rows)]);
        assert!(said.contains("(2 rows, 2 of them with missing cells"), "{said}");
    }
}
