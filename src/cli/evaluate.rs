//! `ztrack evaluate`: mean log-likelihood of data under a model file.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use super::failure::IN_DOUBT;
use super::log_z::LogZOptions;
use super::model_options::ModelOptions;
use super::output::{print, print_json};
use super::row_file::{self, RowFile};
use super::row_options::RowOptions;
use super::table::{remarks, table};
use crate::engine::{BitMatrix, Engine, Host};
use crate::estimators::{Agreement, Bound, Estimate, Estimates, Starting};
use crate::tracking::{LogLikelihood, mean_log_f, weighted_log_f};

/// Mean log-likelihood of data, with the standard error of log Z and data together
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    ztrack evaluate runs/dna\n  \
    ztrack evaluate runs/mnist --data test\n  \
    ztrack evaluate runs/dna/last.safetensors --data dna --split test\n  \
    ztrack evaluate runs/dna --data test --per-row scores.csv\n  \
    ztrack evaluate model.npz --data mnist --binarization stochastic --method rts,ais --json")]
pub struct Evaluate {
    #[command(flatten)]
    model: ModelOptions,
    #[command(flatten)]
    rows: RowOptions,
    /// Also write the log-likelihood and the free energy of every row to this file: .csv, or .npy with the columns of the table
    #[arg(long, value_name = "FILE")]
    per_row: Option<PathBuf>,
    /// Overwrite the file of --per-row
    #[arg(long, requires = "per_row")]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    log_z: LogZOptions,
}

#[derive(Serialize)]
struct Report {
    model: PathBuf,
    data: String,
    estimates: Vec<Estimate>,
    /// A lower bound of log Z; none if it is exact.
    bound: Option<Bound>,
    agreement: Agreement,
    /// One for each split and estimate.
    log_likelihoods: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    split: &'static str,
    rows: usize,
    method: &'static str,
    #[serde(flatten)]
    log_likelihood: LogLikelihood,
}

impl Evaluate {
    /// Prints one line for each split and method.
    pub fn run(self) -> Result<ExitCode> {
        let model = self.model.load()?;
        if let Some(path) = &self.per_row {
            row_file::check(path, self.force)?;
        }
        let (data, name, rows) = self.rows.load(&model, self.log_z.seed)?;
        let parameters = &model.file.parameters;
        let training = data.binarized_or_drawn()?;
        let base = data.base()?;
        let held_out = data.all_held_out()?;
        let start = Starting {
            base: &base,
            given: true,
            informed: true,
            rows: Some(&training),
            held_out: held_out.as_ref(),
            states: model.file.states.as_ref(),
        };
        let Estimates { estimates, bound, agreement, .. } =
            self.log_z.run(parameters, &start, false)?;
        let engine = Host::new(parameters);
        let mut log_likelihoods = Vec::new();
        for (split, rows) in &rows {
            let weights = if *split == "train" { data.weights(rows)? } else { None };
            let mean = match weights {
                Some(weights) => weighted_log_f(&engine, rows, &weights),
                None => mean_log_f(&engine, rows),
            };
            for estimate in &estimates {
                log_likelihoods.push(Line {
                    split,
                    rows: mean.rows,
                    method: estimate.method.name(),
                    log_likelihood: mean.log_likelihood(estimate.value, estimate.std_error),
                });
            }
        }
        if let Some(path) = &self.per_row {
            let chosen = estimates.iter().find(|e| Some(e.method) == agreement.use_method);
            per_row(path, &engine, &rows, chosen.or(estimates.first()))?;
        }
        let strict = self.log_z.strict && !agreement.sound;
        let report =
            Report { model: model.path, data: name, estimates, bound, agreement, log_likelihoods };
        if self.json {
            print_json(&report)?
        } else {
            print(&report.text())?
        }
        Ok(if strict { ExitCode::from(IN_DOUBT) } else { ExitCode::SUCCESS })
    }
}

/// Writes log-likelihood and free energy of every row, with the recommended value of log Z, whose error is the same for all rows.
fn per_row(
    path: &Path,
    engine: &Host,
    rows: &[(&'static str, BitMatrix)],
    log_z: Option<&Estimate>,
) -> Result<()> {
    let mut table = RowFile::new(&["row", "log_likelihood", "free_energy", "log_z_std_error"]);
    let (value, error) = log_z.map_or((f64::NAN, f64::NAN), |e| (e.value, e.std_error));
    for (split, rows) in rows {
        let values = engine.log_f(rows).into_iter().enumerate();
        table.extend(
            split,
            values.map(|(row, log_f)| vec![row as f64, log_f - value, -log_f, error]),
        );
    }
    table.write(path)
}

impl Report {
    fn text(&self) -> String {
        let mut text = table(&self.estimates);
        text += &remarks(&self.estimates, self.bound.as_ref(), &self.agreement);
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "\n{:<12} {:>8}  {:<10} {:>15} {:>10} {:>12} {:>12}",
            "split", "rows", "method", "nats per row", "std error", "from data", "from log Z"
        );
        for Line { split, rows, method, log_likelihood: value } in &self.log_likelihoods {
            let _ = writeln!(
                text,
                "{split:<12} {rows:>8}  {method:<10} {:>15.4} {:>10.4} {:>12.4} {:>12.4}",
                value.value, value.std_error, value.data_std_error, value.log_z_std_error
            );
        }
        text
    }
}
