//! Several runs on one page: a table, and their curves in one chart.

use super::curves::picture;
use super::page::{Section, UPDATES, cell, document, number_cell, table};
use super::run_files::RunFiles;
use crate::record::markup::Element;
use crate::record::{Chart, Look, Series};
use crate::training::fields;

/// Columns of metrics.csv that are drawn, with their names.
const OVERLAID: [(&str, &str, &str); 3] = [
    ("validation_log_likelihood", "Validation log-likelihood", "mean log-likelihood, nats per row"),
    ("train_log_likelihood", "Training log-likelihood", "mean log-likelihood, nats per row"),
    ("log_z_std_error", "Standard error of tracked log Z", "nats"),
];

/// The page as HTML.
pub fn page(runs: &[RunFiles]) -> String {
    let names: Vec<&str> = runs.iter().map(|run| run.name.as_str()).collect();
    let mut curves = Section::new("Curves");
    for (column, title, label) in OVERLAID {
        for (x, x_label) in [("update", UPDATES), ("seconds", "seconds")] {
            let chart = overlaid(runs, column, (x, x_label), label);
            let title = format!("{title} against {x_label}");
            let words = words(runs, column);
            let healthy = if column.contains("error") {
                "small against differences between runs"
            } else {
                "a rise that flattens"
            };
            curves = curves.figure(&title, picture(&chart), (healthy, words));
        }
    }
    let sections = vec![
        Section::new("Runs").with(overview(runs)),
        curves,
        Section::new("Settings that differ").with(settings(runs)),
    ];
    document(&names.join(", "), "several runs compared by ztrack", sections)
}

fn overlaid(runs: &[RunFiles], column: &str, (x, x_label): (&str, &str), label: &str) -> Chart {
    let curve = |(i, run): (usize, &RunFiles)| {
        let rows = run.metrics.rows_with(column);
        let points = rows.map(|row| (run.metrics.number(x, row), run.metrics.number(column, row)));
        Series::line(run.name.clone(), points.collect()).look(Look::Band).colour(i)
    };
    let series: Vec<Series> = runs.iter().enumerate().map(curve).collect();
    let log_y = column.contains("error");
    Chart { log_y, ..Chart::of(x_label, label, series) }
}

fn words(runs: &[RunFiles], column: &str) -> String {
    let end =
        |run: &RunFiles| Some(format!("{} ends at {:.3}", run.name, run.metrics.last(column)?));
    let ends: Vec<String> = runs.iter().filter_map(end).collect();
    if ends.is_empty() { "no run has it".into() } else { ends.join(", ") }
}

/// Settings that differ, by key, with the value of each run; every run if one cannot be read.
pub fn differing(runs: &[RunFiles]) -> Vec<(String, Vec<String>)> {
    let all: Vec<_> = runs.iter().map(|run| fields(&run.config_text).unwrap_or_default()).collect();
    let mut keys: Vec<&String> = all.iter().flat_map(|fields| fields.keys()).collect();
    keys.sort();
    keys.dedup();
    let row = |key: &String| {
        let values = all.iter().map(|fields| fields.get(key).cloned().unwrap_or_default());
        (key.clone(), values.collect::<Vec<String>>())
    };
    keys.into_iter()
        .map(row)
        .filter(|(_, values)| values.iter().any(|value| *value != values[0]))
        .collect()
}

fn settings(runs: &[RunFiles]) -> Element {
    let differing = differing(runs);
    let columns: Vec<&str> =
        std::iter::once("setting").chain(runs.iter().map(|run| run.name.as_str())).collect();
    let row = |(key, values): (String, Vec<String>)| {
        std::iter::once(cell(key)).chain(values.into_iter().map(cell)).collect()
    };
    table(&columns, differing.into_iter().map(row).collect())
}

fn overview(runs: &[RunFiles]) -> Element {
    let columns = [
        "run",
        "state",
        "updates",
        "best at",
        "train",
        "validation",
        "test",
        "log Z",
        "sound",
        "time",
    ];
    let row = |run: &RunFiles| {
        let cell = |column| match column {
            "run" => cell(run.name.clone()),
            column => number_cell(run.result(column)),
        };
        columns.map(cell).into()
    };
    table(&columns, runs.iter().map(row).collect())
}
