//! `ztrack evaluate`: mean log-likelihood of data under a model file.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::data_options::{Data, DataOptions};
use super::failure::IN_DOUBT;
use super::log_z::{Estimates, LogZOptions, Starting};
use super::output::{print, print_json};
use super::table::{remarks, table};
use crate::checkpoint::ModelFile;
use crate::data::Dataset;
use crate::estimators::{Agreement, Bound, Estimate};
use crate::ops::Fused;
use crate::tracking::{LogLikelihood, mean_log_f};

/// Mean log-likelihood of data, with the standard error of log Z and data together
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    ztrack evaluate runs/dna/best.safetensors --data dna --split test\n  \
    ztrack evaluate runs/bars-and-stripes/best.safetensors --data runs/bars-and-stripes/config.toml\n  \
    ztrack evaluate model.npz --data mnist --binarization stochastic --method rts,ais --json")]
pub struct Evaluate {
    /// Model file: safetensors or npz
    model: PathBuf,
    /// Data: dna, mnist, binarized-mnist, bars-and-stripes, dna-like, a file, or a configuration (.toml) whose data
    /// and splits are taken. Its training marginals are the base distribution
    #[arg(long, value_name = "NAME|PATH")]
    data: String,
    /// Rows
    #[arg(long, value_enum, default_value_t = Split::All)]
    split: Split,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    log_z: LogZOptions,
    #[command(flatten)]
    options: DataOptions,
}

/// Rows to evaluate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Split {
    /// Training rows
    Train,
    /// Validation rows
    Validation,
    /// Test rows
    Test,
    /// Each of them that the data has
    All,
}

#[derive(Serialize)]
struct Report {
    model: PathBuf,
    data: String,
    estimates: Vec<Estimate>,
    /// A lower bound of log Z; none where it is exact.
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
        let parameters = ModelFile::load(&self.model)?.parameters;
        let data = self.options.load(&self.data, parameters.n_visible, self.log_z.seed)?;
        let mut rows = Vec::new();
        for (name, dataset) in self.splits(&data)? {
            rows.push((name, data.binarized(dataset)?));
        }
        let training = data.binarized_or_drawn()?;
        let base = data.base()?;
        let start = Starting { base: &base, given: true, rows: Some(&training) };
        let Estimates { estimates, bound, agreement, .. } =
            self.log_z.run(&parameters, &start, false)?;
        let ops = Fused::new(&parameters);
        let mut log_likelihoods = Vec::new();
        for (split, rows) in &rows {
            let mean = mean_log_f(&ops, rows);
            for estimate in &estimates {
                log_likelihoods.push(Line {
                    split,
                    rows: mean.rows,
                    method: estimate.method,
                    log_likelihood: mean.log_likelihood(estimate.value, estimate.std_error),
                });
            }
        }
        let strict = self.log_z.strict && !agreement.sound;
        let report = Report {
            model: self.model,
            data: self.data,
            estimates,
            bound,
            agreement,
            log_likelihoods,
        };
        if self.json {
            print_json(&report)?
        } else {
            print(&report.text())?
        }
        Ok(if strict { ExitCode::from(IN_DOUBT) } else { ExitCode::SUCCESS })
    }

    fn splits<'a>(&self, data: &'a Data) -> Result<Vec<(&'static str, &'a Dataset)>> {
        let splits = &data.splits;
        let all = [
            (Split::Train, "train", Some(&splits.train)),
            (Split::Validation, "validation", splits.validation.as_ref()),
            (Split::Test, "test", splits.test.as_ref()),
        ];
        let mut chosen = Vec::new();
        for (split, name, dataset) in all {
            match dataset {
                Some(dataset) if self.split == split || self.split == Split::All => {
                    chosen.push((name, dataset));
                }
                None if self.split == split => bail!(
                    "--split {name}: `{}` has no {name} rows; split some off with --{name}-fraction",
                    self.data
                ),
                _ => {}
            }
        }
        Ok(chosen)
    }
}

impl Report {
    fn text(&self) -> String {
        let mut text = table(&self.estimates);
        text += &remarks(self.bound.as_ref(), &self.agreement);
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
