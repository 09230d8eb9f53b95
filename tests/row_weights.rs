//! Weights of training rows that are alike: rows that are there several times count as one.

use ztrack::Device;
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
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    Config::parse(text, &settings).unwrap()
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
    Trainer::new(&config(settings), splits(rows), &device()).unwrap()
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
        Trainer::resume(&config(settings), splits(repeated()), &device(), &state, Changes::Refused)
    };
    let mut resumed = resume(&[]).unwrap();
    (0..60).for_each(|_| drop(resumed.step().unwrap()));
    assert_eq!(resumed.parameters(), whole.parameters());
    let message = resume(&["data.similarity=0.9"]).err().unwrap().to_string();
    assert!(message.contains("data.similarity"), "{message}");
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
