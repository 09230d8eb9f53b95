//! Content of a run folder, which may be incomplete.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::metrics::Metrics;
use super::summary::Summary;
use crate::checkpoint::sorted_files;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::limited::read_text_of_run;
use crate::training::{EarlyStopping, EarlyStoppingConfig, Evaluation, StopReason};

/// Name of the file with the error that ended a run.
pub const FAILURE: &str = "failure.txt";
/// Longest text file read, in bytes.
const LONGEST: u64 = 16 << 20;

/// State of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// A process is working on it.
    Running,
    /// All updates were done.
    Finished,
    /// Early stopping ended it.
    StoppedEarly,
    /// It can be resumed.
    Interrupted,
    /// It ended with an error.
    Failed,
    /// It ended, and the file that says how cannot be read.
    Unknown,
}

impl State {
    /// Text for display.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Finished => "finished",
            Self::StoppedEarly => "stopped early",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }
}

/// A run folder.
#[derive(Clone, Debug)]
pub struct RunFiles {
    /// The folder.
    pub folder: PathBuf,
    /// Its last component.
    pub name: String,
    /// The state of the run.
    pub state: State,
    /// The resolved configuration.
    pub config: Option<Config>,
    /// The same as text.
    pub config_text: String,
    /// metrics.csv
    pub metrics: Metrics,
    /// summary.json of a run that ended.
    pub summary: Option<Summary>,
    /// The error that ended the run.
    pub failure: Option<String>,
    /// Files that could not be read, and why.
    pub problems: Vec<String>,
    /// Time since the last evaluation was written.
    pub age: Option<Duration>,
}

impl RunFiles {
    /// Reads a folder; `running`: whether a process is at work on it.
    ///
    /// # Errors
    /// The folder is not one of a run.
    pub fn read(folder: &Path, running: bool) -> Result<Self> {
        let config_path = folder.join("config.toml");
        if !config_path.is_file() {
            let problem = if folder.is_dir() {
                "is no run folder: it has no config.toml"
            } else {
                "is no folder: give the folder of a run, such as runs/dna"
            };
            return Err(Error::file(folder, problem));
        }
        let mut problems = Vec::new();
        let mut noted = |result: Result<Option<String>>| {
            result.map_err(|error| problems.push(error.to_string())).unwrap_or_default()
        };
        let config_text = noted(read_text_of_run(&config_path, LONGEST, "a configuration"));
        let config_text = config_text.unwrap_or_default();
        let failure = noted(read_text_of_run(&folder.join(FAILURE), LONGEST, "the error of a run"));
        let failure = failure.map(|text| text.trim().to_string());
        let config = Config::parse(&config_text, &[]);
        let config = config
            .map_err(|error| problems.push(format!("{}: {error}", config_path.display())))
            .ok();
        let summary = summary(folder);
        problems.extend(summary.as_ref().err().cloned());
        let metrics_path = folder.join("metrics.csv");
        let metrics = Metrics::read(&metrics_path)
            .map_err(|error| problems.push(error.to_string()))
            .unwrap_or_default();
        let damage = metrics.problem();
        problems.extend(damage.map(|damage| format!("{}: {damage}", metrics_path.display())));
        let changed = fs::metadata(&metrics_path).and_then(|file| file.modified()).ok();
        let age = changed.and_then(|time| SystemTime::now().duration_since(time).ok());
        let state = match (running, &summary, &failure) {
            (true, ..) => State::Running,
            (_, Err(_), _) => State::Unknown,
            (_, Ok(Some(summary)), _) => match summary.stop_reason {
                StopReason::Finished => State::Finished,
                StopReason::EarlyStopping => State::StoppedEarly,
                StopReason::Interrupted => State::Interrupted,
            },
            (_, Ok(None), Some(_)) => State::Failed,
            (_, Ok(None), None) => State::Interrupted,
        };
        let name = fs::canonicalize(folder).ok();
        let name = name.as_deref().unwrap_or(folder).file_name();
        let name = name.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Ok(Self {
            folder: folder.to_path_buf(),
            name,
            state,
            config,
            config_text,
            metrics,
            summary: summary.unwrap_or_default(),
            failure,
            problems,
            age,
        })
    }

    /// The model to show: the best one, else the last; `None` if there is none yet.
    pub fn model(&self) -> Option<PathBuf> {
        Self::model_of(&self.folder)
    }

    /// The same of a folder: best.safetensors, else last.safetensors, else the newest checkpoint.
    pub fn model_of(folder: &Path) -> Option<PathBuf> {
        let of = |name: &str| Some(folder.join(name)).filter(|path| path.is_file());
        of("best.safetensors")
            .or_else(|| of("last.safetensors"))
            .or_else(|| sorted_files(&folder.join("checkpoints")).ok()?.pop())
    }

    /// Updates planned, if the configuration has them.
    pub fn planned(&self) -> Option<u64> {
        let config = self.config.as_ref()?;
        config.training.updates.or_else(|| {
            let epochs = config.training.epochs?;
            let last = self.metrics.rows().checked_sub(1)?;
            let (update, epoch) = (self.metrics.update(last), self.metrics.value("epoch", last)?);
            (epoch > 0.0).then(|| (epochs as f64 * update / epoch).round() as u64)
        })
    }

    /// Early stopping on the evaluations so far, from metrics.csv; `None` without validation rows.
    pub fn stopping(&self) -> Option<Stopping> {
        let settings = self.config.as_ref()?.training.early_stopping;
        let metrics = &self.metrics;
        let (mut stopping, mut waits) = (EarlyStopping::new(), Vec::new());
        for row in metrics.rows_with("validation_log_likelihood") {
            let number = |name: &str| metrics.number(name, row);
            let update = metrics.update(row) as u64;
            let total = number("validation_log_likelihood_std_error");
            let of_rows = number("validation_log_likelihood_data_std_error");
            if update > 0 {
                let observed = Evaluation {
                    update,
                    value: number("validation_log_likelihood"),
                    log_z_std_error: (total * total - of_rows * of_rows).max(0.0).sqrt(),
                    sound: metrics.decides(row),
                };
                match metrics.is_failing(row) {
                    // Evaluations of the cooldown decide nothing.
                    _ if settings.is_some_and(|settings| stopping.stopped(&settings)) => {}
                    true => stopping.count_anew(),
                    false => {
                        stopping.observe(&settings.unwrap_or_default(), observed);
                    }
                }
                waits.push((update as f64, stopping.without_improvement as f64));
            }
        }
        (!waits.is_empty()).then_some(Stopping { state: stopping, settings, waits })
    }
}

/// Early stopping after the last evaluation, and its history.
#[derive(Clone, Debug)]
pub struct Stopping {
    /// Its state.
    pub state: EarlyStopping,
    /// Its settings, if it may end the run.
    pub settings: Option<EarlyStoppingConfig>,
    /// Update, and evaluations without improvement up to then.
    pub waits: Vec<(f64, f64)>,
}

/// summary.json of a run folder; `None` before its end.
pub(crate) fn summary(folder: &Path) -> std::result::Result<Option<Summary>, String> {
    let path = folder.join("summary.json");
    let text = read_text_of_run(&path, LONGEST, "a summary").map_err(|error| error.to_string())?;
    text.map(|text| serde_json::from_str(&text))
        .transpose()
        .map_err(|error| format!("{} cannot be read: {error}", path.display()))
}
