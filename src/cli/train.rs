//! `ztrack train`: a config file in; a trained model, curves with error bars and a stopping decision out.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;

use super::device::DeviceName;
use super::output::{print, tell};
use super::run_folder::RunFolder;
use crate::checkpoint::{ModelFile, write_bytes};
use crate::config::Config;
use crate::data::{SplitOptions, Splits, find_folder, load};
use crate::record::{Csv, ProgressBar, Recorder, Tee, TensorBoard};
use crate::tracking::LogLikelihood;
use crate::training::{FinalLikelihood, StopReason, Trainer, run};

/// Exit code of a run that was interrupted and can be resumed (128 + SIGINT).
const INTERRUPTED: u8 = 130;

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
        let config = self.config(&out)?;
        let splits = load_splits(&config, self.data_folder.as_deref())?;
        let keep = config.checkpoint.keep;
        let interrupted = interruption_flag()?;
        let (mut trainer, mut folder, tensorboard, csv) = if self.resume {
            let folder = RunFolder::open(&out, keep)?;
            let trainer = match folder.newest_state()? {
                Some(state) => Trainer::resume(&config, splits, &device, &state)
                    .with_context(|| format!("cannot resume {}", out.display()))?,
                None => Trainer::new(&config, splits, &device)?,
            };
            write_bytes(RunFolder::config_path(&out), config.to_toml()?.as_bytes())?;
            // A checkpoint is taken after the records of its update; before tracking there are none.
            let (tensorboard, csv) = if trainer.tracker().is_some() {
                let update = trainer.updates();
                (
                    TensorBoard::resume(folder.tensorboard(), update)?,
                    Csv::resume(folder.metrics(), update)?,
                )
            } else {
                remove_records(&folder)?;
                (TensorBoard::create(folder.tensorboard())?, Csv::create(folder.metrics())?)
            };
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
        let outcome = run(&mut trainer, &mut recorder, &mut folder, &interrupted);
        let outcome = outcome.with_context(|| match folder.newest_state() {
            Ok(None) => format!("run {} failed before its first checkpoint", out.display()),
            _ => format!("run {} failed, its last checkpoint is kept", out.display()),
        })?;
        drop(recorder);
        if outcome.reason == StopReason::Interrupted {
            tell(&format!(
                "interrupted after update {}; continue with: ztrack train --out {} --resume",
                trainer.updates(),
                out.display()
            ));
            return Ok(ExitCode::from(INTERRUPTED));
        }
        folder.write_last(&trainer)?;
        let summary = Summary::new(&trainer, &folder, outcome.reason)?;
        let json = serde_json::to_string_pretty(&summary)?;
        write_bytes(folder.summary(), format!("{json}\n").as_bytes())?;
        if !self.quiet {
            print(&summary.text(&out))?;
        }
        Ok(ExitCode::SUCCESS)
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
        if !saved.is_file() {
            bail!(
                "cannot resume: {} is not there; start the run without --resume",
                saved.display()
            );
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

/// Records of a run that was killed before tracking started, so that they can be made anew.
fn remove_records(folder: &RunFolder) -> Result<()> {
    for path in [folder.metrics(), folder.tensorboard()] {
        let result = if path.is_dir() {
            std::fs::remove_dir_all(&path)
        } else {
            std::fs::remove_file(&path)
        };
        match result {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove {}", path.display()));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Set by the first Ctrl-C or SIGTERM; the second one ends the process at once.
fn interruption_flag() -> Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&flag);
    ctrlc::set_handler(move || {
        if seen.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(INTERRUPTED));
        }
        tell("\nfinishing the update and writing a checkpoint; once more to quit at once");
    })
    .context("cannot listen for Ctrl-C")?;
    Ok(flag)
}

/// summary.json
#[derive(Serialize)]
struct Summary {
    stop_reason: StopReason,
    updates: u64,
    epochs: f64,
    seconds: f64,
    /// Tracked log Z of the last model.
    log_z: f64,
    log_z_std_error: f64,
    mixed: bool,
    train_log_likelihood: Option<LogLikelihood>,
    validation_log_likelihood: Option<LogLikelihood>,
    /// The model in best.safetensors (last.safetensors without validation rows), log Z audited.
    best: Best,
}

#[derive(Serialize)]
struct Best {
    update: u64,
    audit_method: &'static str,
    log_z: f64,
    log_z_std_error: f64,
    /// Tracked log Z when the model was saved.
    tracked_log_z: Option<f64>,
    tracked_log_z_std_error: Option<f64>,
    train_log_likelihood: LogLikelihood,
    validation_log_likelihood: Option<LogLikelihood>,
    test_log_likelihood: Option<LogLikelihood>,
    /// Why the audited log Z should not be believed, if so.
    doubt: Option<String>,
}

impl Summary {
    fn new(trainer: &Trainer, folder: &RunFolder, reason: StopReason) -> Result<Self> {
        let best_path = folder.best_model();
        let (parameters, metadata) = if best_path.is_file() {
            let file = ModelFile::load(&best_path)?;
            (file.parameters, file.metadata)
        } else {
            (trainer.parameters(), std::collections::BTreeMap::new())
        };
        let FinalLikelihood { log_z, train, validation, test } =
            trainer.final_likelihood(&parameters)?;
        let number = |key: &str| metadata.get(key).and_then(|value| value.parse::<f64>().ok());
        let update = metadata.get("update").and_then(|value| value.parse().ok());
        let tracker = trainer.tracker();
        let last = trainer.log_likelihoods();
        Ok(Self {
            stop_reason: reason,
            updates: trainer.updates(),
            epochs: trainer.epoch(),
            seconds: trainer.seconds(),
            log_z: tracker.map_or(f64::NAN, crate::tracking::LogZTracker::log_z),
            log_z_std_error: tracker.map_or(f64::NAN, crate::tracking::LogZTracker::std_error),
            mixed: tracker.is_some_and(crate::tracking::LogZTracker::mixed),
            train_log_likelihood: last.map(|(train, _)| train),
            validation_log_likelihood: last.and_then(|(_, validation)| validation),
            best: Best {
                update: update.unwrap_or(trainer.updates()),
                audit_method: log_z.method,
                log_z: log_z.value,
                log_z_std_error: log_z.std_error,
                tracked_log_z: number("log_z"),
                tracked_log_z_std_error: number("log_z_std_error"),
                train_log_likelihood: train,
                validation_log_likelihood: validation,
                test_log_likelihood: test,
                doubt: (!log_z.trust.is_sound()).then(|| log_z.trust.to_string()),
            },
        })
    }

    fn text(&self, out: &Path) -> String {
        use std::fmt::Write as _;
        let mut text = String::new();
        let reason = match self.stop_reason {
            StopReason::EarlyStopping => "early stopping",
            StopReason::Finished => "all updates done",
            StopReason::Interrupted => "interrupted",
        };
        let best = &self.best;
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "\n{reason} after update {} ({:.1} epochs, {:.1} s)",
            self.updates, self.epochs, self.seconds
        );
        let _ = writeln!(text, "best model: update {}", best.update);
        if let (Some(log_z), Some(error)) = (best.tracked_log_z, best.tracked_log_z_std_error) {
            let _ = writeln!(text, "  log Z tracked       {log_z:>10.3} +- {error:.3}");
        }
        let audit = format!("log Z {}", best.audit_method);
        let _ = writeln!(text, "  {audit:<19} {:>10.3} +- {:.3}", best.log_z, best.log_z_std_error);
        if let Some(doubt) = &best.doubt {
            let _ = writeln!(text, "  (doubtful: {doubt})");
        }
        let rows = [
            ("train", Some(best.train_log_likelihood)),
            ("validation", best.validation_log_likelihood),
            ("test", best.test_log_likelihood),
        ];
        for (name, value) in rows {
            if let Some(value) = value {
                let label = format!("{name} log-lik.");
                let _ = writeln!(
                    text,
                    "  {label:<19} {:>10.3} +- {:.3} nats per row",
                    value.value, value.std_error
                );
            }
        }
        let _ = writeln!(text, "curves: tensorboard --logdir {}/tensorboard", out.display());
        text
    }
}
