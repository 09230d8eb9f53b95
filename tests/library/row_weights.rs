//! Weights of training rows that are alike: rows that are there several times count as one.

use ztrack::Device;
use ztrack::LogZTracker;
use ztrack::checkpoint::{StateReader, StateWriter};
use ztrack::config::Config;
use ztrack::data::{Dataset, Splits, Values};
use ztrack::engine::BitMatrix;
use ztrack::model::exact::{log_partition, samples};
use ztrack::model::test_systems::gaussian_parameters;
use ztrack::training::{Changes, Trainer};

const COLUMNS: usize = 12;

fn config(settings: &[&str]) -> Config {
    let text = r#"
        seed = 3
        [data]
        source = "rows.csv"
        similarity = 1.0
        [model]
        hidden = 5
        [training]
        updates = 4000
        batch = 40
        gradient = "pcd"
        learning_rate = 0.05
        [evaluation]
        every = 50
        [audit]
        every = 0
    "#;
    let given = settings.iter().any(|setting| setting.starts_with("data.weights"));
    let text = if given { text.replace("similarity = 1.0", "") } else { text.into() };
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    Config::parse(&text, &settings).unwrap()
}

fn device() -> Device {
    Device::Host
}

/// Distinct rows.
fn distinct() -> BitMatrix {
    let drawn = samples(&gaussian_parameters(COLUMNS, 4, 1.0, 1), 400, 1).unwrap();
    let mut seen = std::collections::HashSet::new();
    let first: Vec<usize> = (0..400).filter(|&row| seen.insert(drawn.row(row).to_vec())).collect();
    drawn.select(first)
}

/// The same rows, of which those with a one in the first column are there nine times.
fn repeated() -> BitMatrix {
    let rows = distinct();
    let times = |row: usize| std::iter::repeat_n(row, if rows.get(row, 0) { 9 } else { 1 });
    let order: Vec<usize> = (0..rows.rows()).flat_map(times).collect();
    rows.select(order)
}

fn splits(rows: BitMatrix) -> Splits {
    let train = Dataset::new("rows", Values::Binary(rows), None, None).unwrap();
    Splits { train, validation: None, test: None }
}

fn trainer(settings: &[&str], rows: BitMatrix) -> Trainer {
    Trainer::new(&config(settings), splits(rows), device()).unwrap()
}

#[test]
fn marginals_and_likelihoods_of_repeated_rows_are_those_of_distinct_rows() {
    let (weighted, plain) = (trainer(&[], repeated()), trainer(&[], distinct()));
    let (many, few) = (repeated().rows(), distinct().rows());
    assert!(many > 2 * few, "{many} {few}");
    let close = |a: f64, b: f64, most: f64| assert!((a - b).abs() <= most, "{a} {b}");
    for (a, b) in weighted.trained_on().means.iter().zip(&plain.trained_on().means) {
        // Counts are rounded to whole rows.
        close(f64::from(*a), f64::from(*b), 1.0 / many as f64);
    }
    let model = gaussian_parameters(COLUMNS, 5, 0.7, 2);
    let [a, b] = [&weighted, &plain].map(|it| it.final_likelihood(&model).unwrap().train);
    close(a.value, b.value, 1e-9);
    // Rows that are there nine times tell no more than once.
    close(weighted.effective_rows().unwrap(), few as f64, 1e-9);
    close(a.data_std_error, b.data_std_error, 1e-9);
}

/// Simple models beside a model are fitted to rows as often as these weigh: repeated rows that count once give those of the distinct rows.
#[test]
fn simple_models_are_those_of_the_weighted_rows() {
    let model = gaussian_parameters(COLUMNS, 5, 0.7, 2);
    let held_out = samples(&gaussian_parameters(COLUMNS, 4, 1.0, 1), 300, 2).unwrap();
    let simple = |rows| {
        let test = Dataset::new("test", Values::Binary(held_out.clone()), None, None).unwrap();
        let splits = Splits { test: Some(test), ..splits(rows) };
        let trainer = Trainer::new(&config(&[]), splits, device()).unwrap();
        trainer.comparison(&model, (0.0, 0.0)).unwrap().unwrap().mean
    };
    let (weighted, plain) = (simple(repeated()), simple(distinct()));
    assert!((weighted - plain).abs() < 0.1, "{weighted} {plain}");
}

/// The gradient is that of the distinct rows: trained on weighted rows, the model's first marginal is theirs, and not the larger one of all
/// rows.
#[test]
fn training_is_on_the_weighted_rows() {
    let first = |rows: &BitMatrix| rows.column_counts()[0] as f64 / rows.rows() as f64;
    let (few, many) = (first(&distinct()), first(&repeated()));
    assert!(many > few + 0.2, "{few} {many}");
    let mut trainer = trainer(
        &["training.learning_rate={ initial = 0.05, schedule = \"linear-to-zero\" }"],
        repeated(),
    );
    while trainer.over().is_none() {
        trainer.step().unwrap();
    }
    let parameters = trainer.parameters();
    let with = |sign: f32| {
        // log Z of the states with the first unit set, by a bias that makes it certain.
        let mut certain = parameters.clone();
        certain.visible_bias[0] += sign * 60.0;
        log_partition(&certain).unwrap() - if sign > 0.0 { 60.0 } else { 0.0 }
    };
    let marginal = 1.0 / (1.0 + (with(-1.0) - with(1.0)).exp());
    assert!((marginal - few).abs() < 0.05, "{marginal}: {few} of distinct rows, {many} of all");
}

#[test]
fn a_resumed_run_is_the_same_run() {
    let mut whole = trainer(&[], repeated());
    (0..90).for_each(|_| drop(whole.step().unwrap()));
    let mut state = StateWriter::new();
    whole.save(&mut state);
    (0..60).for_each(|_| drop(whole.step().unwrap()));
    let state = StateReader::from_bytes("state", state.to_bytes().unwrap()).unwrap();
    let resume = |settings: &[&str]| {
        Trainer::resume(&config(settings), splits(repeated()), device(), &state, Changes::Refused)
    };
    let mut resumed = resume(&[]).unwrap();
    (0..60).for_each(|_| drop(resumed.step().unwrap()));
    assert_eq!(resumed.parameters(), whole.parameters());
    let message = resume(&["data.similarity=0.9"]).err().unwrap().to_string();
    assert!(message.contains("data.similarity"), "{message}");
}

/// A table of the distinct rows with a column of weights, 9 where the first unit is set; the lines of the weights alone.
fn weighted_table() -> (String, String) {
    let rows = distinct();
    let names: Vec<String> = (0..COLUMNS).map(|i| format!("x{i}")).collect();
    let mut table = format!("{},w\n", names.join(","));
    let mut weights = "# of the rows\n".to_string();
    for row in 0..rows.rows() {
        let weight = if rows.get(row, 0) { "9" } else { "1.0" };
        let cells: Vec<&str> =
            (0..COLUMNS).map(|i| if rows.get(row, i) { "1" } else { "0" }).collect();
        table += &format!("{},{weight}\n", cells.join(","));
        weights += &format!("{weight}\n");
    }
    (table, weights)
}

/// `data.weights` in a folder with a table, its weights as text and as npy, and a table without them.
fn from_files(folder: &std::path::Path, weights: &str, source: &str) -> ztrack::Result<Trainer> {
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let (table, lines) = weighted_table();
    let numbers: Vec<f64> = lines.lines().skip(1).map(|line| line.parse().unwrap()).collect();
    ndarray_npy::write_npy(path("w.npy"), &ndarray::Array1::from(numbers)).unwrap();
    let bare: String =
        table.lines().map(|line| line.rsplit_once(',').unwrap().0.to_owned() + "\n").collect();
    for (name, text) in [("all.csv", &table), ("bare.csv", &bare), ("w.txt", &lines)] {
        std::fs::write(path(name), text).unwrap();
    }
    let config =
        config(&[&format!("data.weights=\"{weights}\""), &format!("data.source={source}")]);
    Trainer::new(&config, config.data.load(Some(folder))?, device())
}

/// A row of weight nine is nine rows, wherever its weight stands.
#[test]
fn weights_of_a_column_or_a_file_are_those_of_repeated_rows() {
    let folder = tempfile::tempdir().unwrap();
    let model = gaussian_parameters(COLUMNS, 5, 0.7, 2);
    let mut plain = config(&[]);
    plain.data.similarity = None;
    let plain = Trainer::new(&plain, splits(repeated()), device()).unwrap();
    let all = plain.final_likelihood(&model).unwrap().train;
    let rows = distinct().rows() as f64;
    for (weights, source) in
        [("w", "all.csv"), ("13", "all.csv"), ("w.txt", "bare.csv"), ("w.npy", "bare.csv")]
    {
        let trainer = from_files(folder.path(), weights, source).unwrap();
        let found = trainer.final_likelihood(&model).unwrap().train;
        assert!((found.value - all.value).abs() < 1e-9, "{weights}: {} {}", found.value, all.value);
        for (a, b) in trainer.trained_on().means.iter().zip(&plain.trained_on().means) {
            assert!((f64::from(*a) - f64::from(*b)).abs() <= 1.0 / rows, "{weights}: {a} {b}");
        }
        // Nine equal rows in one are known as well as one: Kish's number of rows.
        let effective = trainer.effective_rows().unwrap();
        assert!(effective < rows && effective > rows / 3.0, "{effective} of {rows}");
        let expected =
            all.data_std_error * ((repeated().rows() as f64 - 1.0) / (effective - 1.0)).sqrt();
        assert!((found.data_std_error / expected - 1.0).abs() < 1e-9, "{weights}");
    }
}

#[test]
fn weights_that_are_none_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("few.txt", "1\n2\n");
    write("words.txt", "1\n\nmany\n");
    let cells = "a,b,w,class\n0,1,2,x\n1,0,-1,y\n1,1,1,x\n";
    write("bad.csv", cells);
    write("tiny.csv", &cells.replace("-1", "0.1").replace(",2", ",0.1").replace(",1,x", ",0.1,x"));
    for (weights, source, expected) in [
        ("few.txt", "all.csv", "few.txt: row weights: 2 weights for"),
        ("words.txt", "all.csv", "words.txt: line 3: `many` is no weight"),
        ("x", "all.csv", "no column `x`; did you mean"),
        ("0", "all.csv", "no column 0"),
        ("w", "bad.csv", "line 3, column 3 (w): `-1` is no weight"),
        ("class", "bad.csv", "column 4 (class) holds labels, not weights"),
        ("w", "tiny.csv", "a weight is the number of rows that a row stands for"),
        ("w", "w.npy", "a column of weights is for text tables"),
        ("w", "dna", "data.weights: there is no file"),
    ] {
        let error = from_files(folder.path(), weights, source).err().map(|error| error.to_string());
        let message = error.unwrap_or_else(|| panic!("{weights}, {source}: accepted"));
        assert!(message.contains(expected), "{weights}, {source}: {message}");
    }
    let text = "[data]\nsource = \"x.csv\"\nsimilarity = 0.8\n[model]\nhidden = 4\n";
    let message = Config::parse(text, &["data.weights=w".into()]).unwrap_err().to_string();
    assert!(message.contains("leave out one of the two"), "{message}");
}

#[test]
fn a_run_goes_on_with_the_weights_it_started_with() {
    let folder = tempfile::tempdir().unwrap();
    let mut trainer = from_files(folder.path(), "w.txt", "bare.csv").unwrap();
    (0..5).for_each(|_| drop(trainer.step().unwrap()));
    let mut state = StateWriter::new();
    trainer.save(&mut state);
    let state = StateReader::from_bytes("state", state.to_bytes().unwrap()).unwrap();
    let resume = |text: &str| {
        std::fs::write(folder.path().join("w.txt"), text).unwrap();
        let config = config(&["data.weights=\"w.txt\"", "data.source=bare.csv"]);
        let splits = config.data.load(Some(folder.path())).unwrap();
        Trainer::resume(&config, splits, device(), &state, Changes::Refused)
    };
    let (_, weights) = weighted_table();
    assert!(resume(&weights).is_ok());
    let message = resume(&weights.replace('9', "8")).err().unwrap().to_string();
    assert!(message.contains("the weighted training rows are not those"), "{message}");
}

/// A tracker of weighted rows has the base of their weighted marginals, and weights the likelihood.
#[test]
fn trackers_take_weights() {
    let (rows, model) = (distinct(), gaussian_parameters(COLUMNS, 12, 0.7, 2));
    let weights: Vec<f64> =
        (0..rows.rows()).map(|row| if rows.get(row, 0) { 9.0 } else { 1.0 }).collect();
    let builder = || LogZTracker::builder(&rows).hidden(12).chains(50).averaging(0.0).seed(1);
    let mut tracker = builder().weights(&weights).build().unwrap();
    let data = splits(rows.clone()).train.weighted(weights.clone()).unwrap();
    let same = LogZTracker::builder(&data).hidden(12).chains(50).averaging(0.0).seed(1);
    let mut same = same.build().unwrap();
    let mut plain = builder().build().unwrap();
    for tracker in [&mut tracker, &mut same, &mut plain] {
        tracker.update(&model).unwrap();
    }
    // The chains start at other states; an evaluation may be exact here for both.
    assert_eq!(tracker.running().unwrap(), same.running().unwrap());
    assert_ne!(tracker.running().unwrap(), plain.running().unwrap());
    let value = |tracker: &mut LogZTracker| tracker.evaluate().unwrap().value;
    assert_eq!(value(&mut tracker), value(&mut same));
    let found = tracker.weighted_log_likelihood(&rows, Some(&weights)).unwrap();
    let all = tracker.log_likelihood(&repeated()).unwrap();
    assert!((found.value - all.value).abs() < 1e-9, "{} {}", found.value, all.value);
    assert!(found.data_std_error > all.data_std_error);
    let message = builder().weights(&weights[1..]).build().err().unwrap().to_string();
    assert!(message.contains("weights for"), "{message}");
}

#[test]
fn fractions_that_are_none_are_refused() {
    for value in ["0", "1.5", "-0.2", "nan", "\"identity\""] {
        let text = "[data]\nsource = \"dna\"\n[model]\nhidden = 4\n";
        let error = Config::parse(text, &[format!("data.similarity={value}")]).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("data.similarity"), "{value}: {message}");
    }
}
