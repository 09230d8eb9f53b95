//! `ztrack runs`: the runs of a folder, one a line.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::output::{print, print_json, tell};
use super::report::read;
use super::run_folder::RunFolder;
use crate::report::RunFiles;

/// List runs: state, updates, best model, age, doubt
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ztrack runs\n  ztrack runs runs/my-sweep --sort validation\n  ztrack runs experiments --json"
)]
pub struct Runs {
    /// Folder of run folders, or a run folder
    #[arg(default_value = "runs", value_name = "DIR")]
    folder: PathBuf,
    /// The order: the newest first, or the best by the log-likelihood of validation or test rows, or by name
    #[arg(long, value_enum, default_value_t = Sort::Age)]
    sort: Sort,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// Newest first
    Age,
    /// Best validation log-likelihood first
    Validation,
    /// Best test log-likelihood first
    Test,
    /// By name
    Name,
}

/// Columns of the table.
const COLUMNS: [&str; 8] =
    ["run", "state", "updates", "best at", "validation", "time", "age", "doubts"];

#[derive(Serialize)]
struct Line {
    #[serde(skip)]
    cells: [String; 8],
    name: String,
    folder: PathBuf,
    state: &'static str,
    updates: f64,
    planned: Option<u64>,
    /// Update of the best model.
    best: Option<u64>,
    /// Its validation log-likelihood.
    best_validation_log_likelihood: Option<f64>,
    best_std_error: Option<f64>,
    test_log_likelihood: Option<f64>,
    /// Of the run so far; at its end with the last audits.
    seconds: Option<f64>,
    /// Seconds since the last evaluation.
    age: Option<f64>,
    /// Evaluations whose tracked log Z was in doubt, and all.
    doubted: usize,
    evaluations: usize,
    most_frequent_doubt: Option<String>,
    /// What could not be read, and why.
    problems: Vec<String>,
}

impl Runs {
    /// Prints a table, newest first.
    pub fn run(self) -> Result<()> {
        let mut lines = Vec::new();
        for folder in folders(&self.folder)? {
            match read(&folder) {
                Ok(run) => lines.push(Line::of(&run)),
                Err(error) => tell(&format!("warning: {error}")),
            }
        }
        let largest = |value: Option<f64>| -value.unwrap_or(f64::NEG_INFINITY);
        let rank = |line: &Line| match self.sort {
            Sort::Age => line.age.unwrap_or(f64::INFINITY),
            Sort::Validation => largest(line.best_validation_log_likelihood),
            Sort::Test => largest(line.test_log_likelihood),
            Sort::Name => 0.0,
        };
        lines.sort_by(|a, b| rank(a).total_cmp(&rank(b)).then(a.name.cmp(&b.name)));
        if self.json {
            return print_json(&lines);
        }
        if lines.is_empty() {
            tell(&format!("no runs in {}: ztrack train makes one", self.folder.display()));
            return Ok(());
        }
        print(&table(&lines))
    }
}

/// The run folders in a folder, by name, or itself where it is one.
pub fn folders(folder: &Path) -> Result<Vec<PathBuf>> {
    if RunFolder::is_at(folder) {
        return Ok(vec![folder.to_path_buf()]);
    }
    let entries = std::fs::read_dir(folder).with_context(|| {
        format!("cannot list runs in {}: give the folder they are in", folder.display())
    })?;
    let mut folders: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| RunFolder::is_at(path))
        .collect();
    folders.sort();
    Ok(folders)
}

impl Line {
    fn of(run: &RunFiles) -> Self {
        let metrics = &run.metrics;
        let (doubted, evaluations) = run.doubted();
        Self {
            cells: COLUMNS.map(|column| match column {
                "run" => run.name.clone(),
                column => run.result(column),
            }),
            name: run.name.clone(),
            folder: run.folder.clone(),
            state: run.state.name(),
            updates: metrics.rows().checked_sub(1).map_or(0.0, |last| metrics.update(last)),
            planned: run.planned(),
            best: run.best().map(|(update, _)| update),
            best_validation_log_likelihood: run.best().and_then(|(_, value)| value),
            best_std_error: run.likelihood("validation").map(|it| it.std_error),
            test_log_likelihood: run.likelihood("test").map(|it| it.value),
            seconds: run.seconds(),
            age: run.age.map(|age| age.as_secs_f64()),
            doubted,
            evaluations,
            most_frequent_doubt: metrics.doubts().into_iter().next().map(|(name, _)| name),
            problems: run.problems.clone(),
        }
    }
}

fn table(lines: &[Line]) -> String {
    let head = COLUMNS.map(String::from);
    aligned(&std::iter::once(&head).chain(lines.iter().map(|line| &line.cells)).collect::<Vec<_>>())
}

/// Rows of cells in columns, two spaces between them.
pub fn aligned(rows: &[impl AsRef<[String]>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.as_ref().get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let columns = rows.first().map_or(0, |row| row.as_ref().len());
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &_| {
        let cells = AsRef::<[String]>::as_ref(row)
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_string() + "\n"
    };
    rows.iter().map(line).collect()
}
