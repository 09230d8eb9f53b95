//! `ztrack report`: a run, or several, as one HTML page.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;

use super::device::DeviceName;
use super::failure::with_causes;
use super::output::{may_write, tell};
use super::own_rows;
use super::run_folder::{REPORT, RunFolder};
use super::run_lock::RunLock;
use super::runs::folders;
use crate::checkpoint::write_bytes;
use crate::error;
use crate::report::{self, Diagnosis, RunFiles};
use crate::training::{Changes, Trainer};

/// Write a run, or several beside each other, as one HTML page
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    ztrack report runs/dna\n  \
    ztrack report runs/dna --seconds 60 --data-folder /data\n  \
    ztrack report runs/first runs/second --out both.html\n  \
    ztrack report --all runs\n\n\
    The page needs no network. Chains, estimators and samples are computed again from the best model; that needs the data.")]
pub struct Report {
    /// Run folders; one gives a full report, several a comparison
    #[arg(required_unless_present = "all", value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// All runs of a folder on one page: a table to sort, curves over each other, links to the reports of the runs
    #[arg(long, value_name = "DIR", conflicts_with = "runs")]
    all: Option<PathBuf>,
    /// File to write [default: report.html in the run folder or the folder of all runs; with several runs, here]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Overwrite the file of --out, and a full page by one without what cannot be computed
    #[arg(long)]
    force: bool,
    /// Work for chains and estimators, in seconds of one usual core
    #[arg(long, default_value_t = 10.0, value_name = "SECONDS")]
    seconds: f64,
    /// Data folder [default: that of the run's configuration, else ZTRACK_DATA, else `datasets`]
    #[arg(long, value_name = "DIR")]
    data_folder: Option<PathBuf>,
}

/// A run folder in its present state; unreadable parts are reported.
pub fn read(folder: &Path) -> error::Result<RunFiles> {
    let run = RunFiles::read(folder, RunLock::refuse_if_taken(folder).is_err())?;
    run.problems.iter().for_each(|problem| tell(&format!("warning: {problem}")));
    Ok(run)
}

impl Report {
    /// Writes the page and prints its path.
    pub fn run(self) -> Result<()> {
        ensure!(
            self.seconds >= 0.0 && self.seconds.is_finite(),
            "--seconds: a number of at least 0 is needed, got {}",
            self.seconds
        );
        let out = self.out()?;
        let html = match (&self.all, &self.runs[..]) {
            (None, [folder]) => self.one(&read(folder)?, &out)?,
            (None, folders) => several(folders, &out)?,
            (Some(folder), _) => {
                let folders = folders(folder)?;
                ensure!(!folders.is_empty(), "no runs in {}", folder.display());
                several(&folders, &out)?
            }
        };
        write_bytes(&out, html.as_bytes())?;
        tell(&format!("{}: open it in a browser", out.display()));
        Ok(())
    }

    fn out(&self) -> Result<PathBuf> {
        let own = match (&self.out, &self.all, &self.runs[..]) {
            (Some(out), ..) => out.clone(),
            (None, Some(folder), _) | (None, None, [folder]) => return Ok(folder.join(REPORT)),
            (None, None, _) => PathBuf::from(REPORT),
        };
        may_write(&own, self.force)?;
        Ok(own)
    }

    fn one(&self, run: &RunFiles, out: &Path) -> Result<String> {
        let trainer = match self.trainer(run) {
            Ok(trainer) => trainer,
            Err(error) => {
                let reason = with_causes(&error);
                ensure!(
                    self.force || !out.exists(),
                    "{} is kept: a new page would be without chains, estimators and samples ({reason}); put back what is missing, or write a page without them by --out FILE, or over this one by --force",
                    out.display()
                );
                tell(&format!("warning: without chains, estimators and samples: {reason}"));
                return Ok(report::page(run, &Err(reason)));
            }
        };
        let found = Diagnosis::of_run(run, &trainer, self.seconds)?;
        Ok(report::page(run, &Ok((&trainer, found.as_ref()))))
    }

    /// The run with its data, at its last state if it has one.
    fn trainer(&self, run: &RunFiles) -> Result<Trainer> {
        let config = run.config.as_ref().context("its configuration cannot be read")?;
        let splits = config.data.load(self.data_folder.as_deref())?;
        own_rows::check(&run.folder, &splits)?;
        let device = DeviceName::default().device()?;
        match RunFolder::state_at(&run.folder)? {
            Some(state) => Ok(Trainer::resume(config, splits, &device, &state, Changes::Refused)?),
            None => Ok(Trainer::new(config, splits, &device)?),
        }
    }
}

/// Runs beside each other, the best first.
fn several(folders: &[PathBuf], out: &Path) -> Result<String> {
    let mut runs: Vec<RunFiles> =
        folders.iter().map(|folder| read(folder)).collect::<error::Result<_>>()?;
    runs.sort_by(|a, b| b.score().total_cmp(&a.score()));
    Ok(report::several::page(&runs, out))
}
