//! `ztrack train`: a config file in; a trained model, curves with error bars and a stopping decision out.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;

use super::device::DeviceName;
use super::output::{print, tell};
use super::resume::{Resumed, resume};
use super::run_folder::RunFolder;
use super::run_lock::RunLock;
use super::signals::{self, INTERRUPTED};
use super::summary::Summary;
use crate::Error;
use crate::config::Config;
use crate::data::{SplitOptions, Splits, find_folder, load};
use crate::interrupt;
use crate::record::{Csv, ProgressBar, Recorder, Tee, TensorBoard};
use crate::training::{Changes, StopReason, Trainer, run};

/// Train a model, log Z and log-likelihoods tracked on the fly
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    ztrack train configs/bars-and-stripes.toml\n  \
    ztrack train configs/dna.toml --data-folder ../shared/datasets --set tempering.chains=1000\n  \
    ztrack train --out runs/dna --resume\n\n\
    Watch a run with: tensorboard --logdir runs")]
pub struct Train {
    /// Configuration file; may be left out with --resume
    config: Option<PathBuf>,
    /// Run folder [default: runs/NAME-OF-THE-CONFIGURATION]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Continue the run in the run folder from its last checkpoint
    #[arg(long)]
    resume: bool,
    /// With --resume: go on with other settings or rows, or without lost files; summary.json keeps a notice
    #[arg(long, requires = "resume")]
    force: bool,
    /// Override a field, as in --set training.epochs=5
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Data folder [default: the environment variable ZTRACK_DATA, else `datasets`]
    #[arg(long, value_name = "DIR")]
    data_folder: Option<PathBuf>,
    /// Where tensors live
    #[arg(long, value_enum, default_value_t)]
    device: DeviceName,
    /// No progress, only warnings and errors
    #[arg(long, short)]
    quiet: bool,
}

impl Train {
    /// Trains until the end, a stop or Ctrl-C.
    pub fn run(self) -> Result<ExitCode> {
        let out = self.out_folder()?;
        let device = self.device.device()?;
        let lock = if self.resume { Some(self.lock(&out)?) } else { None };
        let config = self.config(&out)?;
        let splits = load_splits(&config, self.data_folder.as_deref())?;
        let keep = config.checkpoint.keep;
        let interrupted = signals::listen()?;
        let (mut trainer, mut folder, tensorboard, csv) = if let Some(lock) = lock {
            let folder = RunFolder::open(&out, lock, keep)?;
            let changes = if self.force { Changes::Forced } else { Changes::Refused };
            let Resumed { trainer, tensorboard, csv } =
                resume(&config, splits, &device, (&folder, &out), changes)?;
            (trainer, folder, tensorboard, csv)
        } else {
            let trainer = Trainer::new(&config, splits, &device)?;
            let folder = RunFolder::create(&out, &config.to_toml()?, keep)?;
            let tensorboard = TensorBoard::create(folder.tensorboard())?;
            let csv = Csv::create(folder.metrics())?;
            (trainer, folder, tensorboard, csv)
        };
        let progress = if self.quiet { ProgressBar::quiet() } else { ProgressBar::new() };
        let recorders: Vec<Box<dyn Recorder>> =
            vec![Box::new(tensorboard), Box::new(csv), Box::new(progress)];
        let mut recorder = Tee(recorders);
        if !self.quiet {
            tell(&format!("run folder {}", out.display()));
        }
        let outcome = run(&mut trainer, &mut recorder, &mut folder, interrupted);
        let outcome = outcome.with_context(|| match folder.newest_state() {
            Ok(None) => format!("run {} failed before its first checkpoint", out.display()),
            Err(_) => format!("run {} failed, and its last checkpoint is gone", out.display()),
            _ => format!("run {} failed, its last checkpoint is kept", out.display()),
        })?;
        drop(recorder);
        if outcome.reason == StopReason::Interrupted {
            return Ok(tell_interrupted(&trainer, &out));
        }
        folder.write_last(&trainer)?;
        let conclude = || Summary::conclude(&trainer, &folder, outcome.reason, self.quiet);
        match interrupt::catch(conclude) {
            Ok(summary) => {
                folder.write_summary(&summary)?;
                if !self.quiet {
                    print(&summary.text(&out))?;
                }
                Ok(ExitCode::SUCCESS)
            }
            Err(Error::Interrupted) => Ok(tell_interrupted(&trainer, &out)),
            Err(error) => Err(error.into()),
        }
    }

    /// The lock of a run that is to be continued, before anything of it is read.
    fn lock(&self, out: &Path) -> Result<RunLock> {
        let saved = RunFolder::config_path(out);
        if !saved.is_file() {
            bail!(
                "cannot resume: {} is not there; start the run without --resume",
                saved.display()
            );
        }
        RunLock::take(out)
    }

    fn out_folder(&self) -> Result<PathBuf> {
        match (&self.out, &self.config) {
            (Some(out), _) => Ok(out.clone()),
            (None, Some(config)) => {
                let name = config.file_stem().context("the configuration has no file name")?;
                Ok(Path::new("runs").join(name))
            }
            (None, None) => {
                bail!("give a configuration file, or --out DIR --resume to continue a run")
            }
        }
    }

    fn config(&self, out: &Path) -> Result<Config> {
        let saved = RunFolder::config_path(out);
        if !self.resume {
            let Some(path) = &self.config else {
                bail!("give a configuration file, or --resume to continue {}", out.display());
            };
            return Ok(Config::load(path, &self.overrides)?);
        }
        let config = Config::load(&saved, &self.overrides)?;
        if let Some(path) = &self.config {
            let given = Config::load(path, &self.overrides)?;
            if given != config {
                bail!(
                    "{} differs from the configuration the run was started with, {}; leave it out, or change single fields with --set",
                    path.display(),
                    saved.display()
                );
            }
        }
        Ok(config)
    }
}

fn load_splits(config: &Config, data_folder: Option<&Path>) -> Result<Splits> {
    let data = &config.data;
    let folder = find_folder(data_folder.or(data.folder.as_deref()));
    let options = SplitOptions {
        validation_fraction: data.validation_fraction,
        test_fraction: data.test_fraction,
        seed: data.split_seed,
    };
    Ok(load(&data.source, &options, &folder)?)
}

fn tell_interrupted(trainer: &Trainer, out: &Path) -> ExitCode {
    tell(&format!(
        "interrupted after update {}; continue with: ztrack train --out {} --resume",
        trainer.updates(),
        out.display()
    ));
    ExitCode::from(INTERRUPTED)
}
