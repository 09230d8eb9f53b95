//! `ztrack evaluate`: mean log-likelihood of data under a model file.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail, ensure};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::data_options::{Data, DataOptions};
use super::failure::IN_DOUBT;
use super::log_z::LogZOptions;
use super::model_options::{Model, ModelOptions};
use super::output::{print, print_json};
use super::table::{remarks, table};
use crate::data::Dataset;
use crate::estimators::{Agreement, Bound, Estimate, Estimates, Starting};
use crate::ops::Fused;
use crate::tracking::{LogLikelihood, mean_log_f};

/// Mean log-likelihood of data, with the standard error of log Z and data together
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    ztrack evaluate runs/dna\n  \
    ztrack evaluate runs/mnist --data test\n  \
    ztrack evaluate runs/dna/last.safetensors --data dna --split test\n  \
    ztrack evaluate model.npz --data mnist --binarization stochastic --method rts,ais --json")]
pub struct Evaluate {
    #[command(flatten)]
    model: ModelOptions,
    /// Data: dna, mnist, binarized-mnist, bars-and-stripes, dna-like, a file, or a run folder or configuration (.toml)
    /// whose data and splits are taken; train, validation or test for such rows of the model's run. Its training marginals
    /// are the base distribution [default: the data of the run that the model is from]
    #[arg(long, value_name = "NAME|PATH")]
    data: Option<String>,
    /// Rows [default: all]
    #[arg(long, value_enum)]
    split: Option<Split>,
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
        let model = self.model.load()?;
        let (name, split) = self.data(&model)?;
        let data = self.options.load(&name, &model, self.log_z.seed)?;
        data.compare(model.file.trained_on.as_ref())?;
        let parameters = &model.file.parameters;
        let mut rows = Vec::new();
        for (name, dataset) in splits(&data, &name, split)? {
            rows.push((name, data.binarized(dataset)?));
        }
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
        let ops = Fused::new(parameters);
        let mut log_likelihoods = Vec::new();
        for (split, rows) in &rows {
            let mean = mean_log_f(&ops, rows);
            for estimate in &estimates {
                log_likelihoods.push(Line {
                    split,
                    rows: mean.rows,
                    method: estimate.method.name(),
                    log_likelihood: mean.log_likelihood(estimate.value, estimate.std_error),
                });
            }
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

    /// Name of the data and which rows of it.
    fn data(&self, model: &Model) -> Result<(String, Split)> {
        let run = model.run.as_ref().map(|run| run.to_string_lossy().to_string());
        let asked = self.split.unwrap_or(Split::All);
        match (&self.data, run) {
            (None, Some(run)) => Ok((run, asked)),
            (None, None) => {
                bail!("--data: name the data to evaluate; only models in a run folder tell theirs")
            }
            (Some(name), run) if !Path::new(name).exists() => {
                let split = match Split::from_str(name, false) {
                    Ok(split) => split,
                    Err(_) => return Ok((name.clone(), asked)),
                };
                let Some(run) = run else {
                    bail!(
                        "--data {name}: the model is in no run folder: name the data, and the rows with --split {name}"
                    );
                };
                ensure!(
                    self.split.is_none_or(|asked| asked == split),
                    "--data {name} and --split name different rows"
                );
                Ok((run, split))
            }
            (Some(name), _) => Ok((name.clone(), asked)),
        }
    }
}

/// The rows that were asked for.
fn splits<'a>(
    data: &'a Data,
    data_name: &str,
    split: Split,
) -> Result<Vec<(&'static str, &'a Dataset)>> {
    let splits = &data.splits;
    let all = [
        (Split::Train, "train", Some(&splits.train)),
        (Split::Validation, "validation", splits.validation.as_ref()),
        (Split::Test, "test", splits.test.as_ref()),
    ];
    let mut chosen = Vec::new();
    for (which, name, dataset) in all {
        match dataset {
            Some(dataset) if split == which || split == Split::All => chosen.push((name, dataset)),
            None if split == which => bail!(
                "--split {name}: `{data_name}` has no {name} rows; split some off with --{name}-fraction"
            ),
            _ => {}
        }
    }
    Ok(chosen)
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
