//! `ztrack estimate`: log Z of a model file.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Args;
use serde::Serialize;

use super::curves;
use super::data_options::DataOptions;
use super::log_z::{Estimates, LogZOptions, table};
use super::output::{print, print_json};
use super::start_options::StartOptions;
use crate::checkpoint::ModelFile;
use crate::estimators;
use crate::estimators::tempered::free_curves;

/// Estimate log Z of a model, with its standard error
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    ztrack estimate runs/dna/best.safetensors\n  \
    ztrack estimate model.npz --method rts,ais --data mnist --json\n  \
    ztrack estimate model.npz --method all --data mnist --curves curves\n  \
    ztrack estimate spins.safetensors --units plus-minus --start signs --transpose\n  \
    ztrack estimate model.npz --method exact")]
pub struct Estimate {
    /// Model file: safetensors or npz
    model: PathBuf,
    /// Data whose marginals are the base distribution: a name, a file, or a configuration; else the visible bias is
    #[arg(long, value_name = "NAME|PATH")]
    data: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Also write log Z, mean energy, heat capacity and entropy at every inverse temperature, as CSV and pictures
    #[arg(long, value_name = "FOLDER")]
    curves: Option<PathBuf>,
    #[command(flatten)]
    log_z: LogZOptions,
    #[command(flatten)]
    start: StartOptions,
    #[command(flatten)]
    options: DataOptions,
}

#[derive(Serialize)]
struct Report {
    model: PathBuf,
    visible: usize,
    hidden: usize,
    base: String,
    estimates: Vec<estimators::Estimate>,
    /// Methods of `all` this model does not allow, with the reason.
    skipped: Vec<String>,
}

impl Estimate {
    /// Prints one line a method.
    pub fn run(self) -> Result<ExitCode> {
        let file = ModelFile::load(&self.model)?;
        let model =
            self.start.prepare(file, self.data.as_deref(), &self.options, self.log_z.seed)?;
        let parameters = model.parameters();
        let Estimates { estimates, skipped, kept } =
            self.log_z.run(parameters, &model.base, self.curves.is_some())?;
        if let (Some(folder), Some(run)) = (&self.curves, kept) {
            ensure!(
                model.log_constant() == 0.0,
                "--curves: the path of units -1 and +1 is not that of the converted model: leave out --units"
            );
            curves::write(folder, &free_curves(&run))?;
        }
        let report = Report {
            visible: parameters.n_visible,
            hidden: parameters.n_hidden,
            estimates: model.restore(estimates),
            skipped,
            base: model.base_name,
            model: self.model,
        };
        if self.json {
            print_json(&report)?;
        } else {
            let Report { model, visible, hidden, base, estimates, skipped } = &report;
            let model = model.display();
            print(&format!(
                "{model}: {visible} visible, {hidden} hidden units; base distribution: {base}\n\n{}",
                table(estimates)
            ))?;
            for reason in skipped {
                print(&format!("\nnot run: {reason}\n"))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
