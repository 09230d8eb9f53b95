//! `ztrack estimate`: log Z of a model file.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use super::curves;
use super::data_options::DataOptions;
use super::failure::strict_code;
use super::log_z::LogZOptions;
use super::model_options::ModelOptions;
use super::output::print_report;
use super::start_options::StartOptions;
use super::table::{answer, remarks, started, table};
use crate::context::Context;
use crate::estimators::tempered::free_curves;
use crate::estimators::{self, Agreement, Bound, Estimates, Started, Starting};

/// Estimate log Z of a model, with its standard error
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    ztrack estimate runs/dna\n  \
    ztrack estimate model.npz --method rts,ais --data mnist --json\n  \
    ztrack estimate model.npz --method all --data mnist --curves curves\n  \
    ztrack estimate spins.safetensors --units plus-minus --start signs --transpose\n  \
    ztrack estimate model.npz --method exact")]
pub struct Estimate {
    #[command(flatten)]
    model: ModelOptions,
    /// Training data of the model, which help to find its modes: a name, a file, a run folder or a configuration;
    /// by default those of the run that the model is from, where they can be read, else the marginals in the model file
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
    /// Methods of `all` that this model does not allow, with the reason.
    skipped: Vec<String>,
    /// A rigorous lower bound of log Z; none if log Z is exact.
    bound: Option<Bound>,
    agreement: Agreement,
    /// How starts were found.
    starts: Vec<Started>,
}

impl Estimate {
    /// Prints one line per method.
    pub fn run(self, context: &Context) -> Result<ExitCode> {
        let loaded = self.model.load()?;
        let model =
            self.start.prepare(&loaded, self.data.as_deref(), &self.options, self.log_z.seed)?;
        let parameters = &model.parameters;
        let start = Starting {
            base: Some(&model.base),
            given: model.given,
            informed: model.informed,
            rows: model.rows.as_ref(),
            held_out: model.held_out.as_ref(),
            states: model.states.as_ref(),
        };
        let Estimates { estimates, skipped, kept, bound, agreement, how } =
            self.log_z.run(parameters, start, self.curves.is_some(), context)?;
        if let (Some(folder), Some(run)) = (&self.curves, kept)
            && context.ranks().rank() == 0
        {
            curves::write(folder, &free_curves(&run))?;
        }
        let report = Report {
            visible: parameters.n_visible,
            hidden: parameters.n_hidden,
            estimates,
            skipped,
            bound,
            agreement,
            starts: how,
            base: model.base_name,
            model: loaded.path,
        };
        print_report(&report, self.json, |it| it.text(self.log_z.verbose))?;
        Ok(strict_code(self.log_z.strict, report.agreement.sound))
    }
}

impl Report {
    fn text(&self, verbose: bool) -> String {
        let Self { visible, hidden, base, estimates, .. } = self;
        let mut text = answer(estimates, &self.agreement, None);
        if verbose {
            let base = if self.starts.is_empty() { base.as_str() } else { "found" };
            text +=
                &format!("\n{visible} visible, {hidden} hidden units; base distribution: {base}\n");
            self.starts.iter().for_each(|how| text += &started(how));
        }
        if verbose || estimates.len() > 1 {
            text += "\n";
            text += &table(estimates);
        }
        text += &remarks(estimates, self.bound.as_ref(), &self.agreement);
        for reason in &self.skipped {
            text += &format!("\nnot run: {reason}\n");
        }
        text
    }
}
