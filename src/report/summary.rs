//! summary.json: the end of a run, its best model with an audit, and a description of the run.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::page::{duration, shown_error};
use super::words::{quoted, times};
use crate::numerics::MOST_ERRORS;
use crate::tracking::LogLikelihood;
use crate::training::{Comparison, Health, StopReason, Times, TrainingState};

/// The file. Fields that older versions did not write are empty.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// Why the run ended.
    pub stop_reason: StopReason,
    /// Parameter updates.
    pub updates: u64,
    /// Passes through the training data.
    pub epochs: f64,
    /// Time in seconds, audits at the end and resumed parts included.
    pub seconds: f64,
    /// Time of all threads on processors since the command began, in seconds, audits included; none where the system does not tell.
    #[serde(default)]
    pub processor_seconds: Option<f64>,
    /// Tracked log Z at the last evaluation.
    #[serde(with = "crate::checkpoint::float")]
    pub log_z: f64,
    /// Its standard error.
    #[serde(with = "crate::checkpoint::float")]
    pub log_z_std_error: f64,
    /// Whether it can be trusted.
    pub sound: bool,
    /// The doubts.
    pub doubts: Vec<String>,
    /// Mean log-likelihood of training rows at the last evaluation.
    pub train_log_likelihood: Option<LogLikelihood>,
    /// The same of validation rows.
    pub validation_log_likelihood: Option<LogLikelihood>,
    /// Counts of the evaluations.
    pub evaluations: Evaluations,
    /// Number of notices of each kind; the notices are in notices.jsonl.
    #[serde(default)]
    pub notices: BTreeMap<String, u64>,
    /// The model in best.safetensors (last.safetensors without validation rows), log Z audited.
    pub best: Best,
    /// Whether the training works, at the last evaluation.
    #[serde(default)]
    pub training: Health,
    /// The best model beside the best of the simple ones, if there are held-out rows.
    #[serde(default)]
    pub comparison: Option<Comparison>,
    /// The update at which validation rows improved last, if that was late: nothing but the number of updates ended the run.
    #[serde(default)]
    pub improved_late: Option<u64>,
    /// Changes that a resume accepted by force.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forced: Vec<String>,
    /// Version of ztrack.
    #[serde(default)]
    pub version: String,
    /// The command that ended the run.
    #[serde(default)]
    pub command: String,
    /// When it ended, UTC, as in 2026-11-22T01:02:03Z.
    #[serde(default)]
    pub date: String,
    /// Threads it had.
    #[serde(default)]
    pub threads: usize,
    /// Seed of all random streams.
    #[serde(default)]
    pub seed: u64,
    /// SHA-256 of the rows of each part.
    #[serde(default)]
    pub data: BTreeMap<String, String>,
    /// Time by part.
    #[serde(default)]
    pub times: Times,
    /// The resolved configuration.
    #[serde(default)]
    pub configuration: serde_json::Value,
}

/// Counts of the evaluations of the run, without that of update 0.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Evaluations {
    /// All.
    pub all: u64,
    /// Those whose tracked log Z was sound.
    pub sound: u64,
    /// Those that can be used for decisions: sound, audited or exact.
    pub decided_on: u64,
}

impl Evaluations {
    /// In words.
    pub fn text(&self) -> String {
        let others = match self.decided_on.saturating_sub(self.sound) {
            0 => String::new(),
            n => format!("; exact values or audits stood in at {n} of the others"),
        };
        format!("sound at {} of {} evaluations{others}", self.sound, self.all)
    }
}

/// The best model of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Best {
    /// The update after which it was.
    pub update: u64,
    /// Number of models that were audited to find it; 0 if none had a sound evaluation or audit and it is the last one.
    pub candidates_audited: usize,
    /// Whether its evaluation was in doubt, or the audit contradicts it, so that only the audit supports the model.
    #[serde(default)]
    pub evaluation_in_doubt: bool,
    /// Method of log Z.
    pub audit_method: String,
    /// Audited log Z.
    pub log_z: f64,
    /// Its standard error.
    #[serde(with = "crate::checkpoint::float")]
    pub log_z_std_error: f64,
    /// A lower bound of log Z with 99.9 % probability, from the weights of annealing, whatever states chains missed; none if log Z is
    /// exact.
    #[serde(default)]
    pub log_z_at_least: Option<f64>,
    /// Tracked log Z when the model was evaluated.
    pub tracked_log_z: Option<f64>,
    /// Its standard error.
    pub tracked_log_z_std_error: Option<f64>,
    /// Tracked minus audited log Z, in combined standard errors.
    pub tracked_minus_audited_in_errors: Option<f64>,
    /// Mean log-likelihood of training rows.
    pub train_log_likelihood: LogLikelihood,
    /// Mean log-likelihood of validation rows.
    pub validation_log_likelihood: Option<LogLikelihood>,
    /// Mean log-likelihood of test rows.
    pub test_log_likelihood: Option<LogLikelihood>,
    /// The doubts of the audited log Z, if there are any.
    pub doubt: Option<String>,
}

impl Best {
    /// What to do where the audit is further from the tracked value than both errors explain.
    pub fn advice(&self) -> Option<&'static str> {
        let differs = |z: &f64| z.is_nan() || z.abs() > MOST_ERRORS;
        self.tracked_minus_audited_in_errors.filter(differs).map(|_| {
            "That is more than the error bars explain: use the audit; other values of the run may be as wrong, and another model may be better. Raise tempering.chains or tempering.settling.most, or lower the learning rate."
        })
    }

    /// The likelihoods there are, by the part of the data.
    pub fn likelihoods(&self) -> Vec<(&'static str, LogLikelihood)> {
        let all = [
            ("train", Some(self.train_log_likelihood)),
            ("validation", self.validation_log_likelihood),
            ("test", self.test_log_likelihood),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

/// Differences of likelihoods, in standard errors, from which on they count.
const CLEAR: f64 = 2.0;

impl Summary {
    /// The time in words, with the share of audits unless that is below half a percent.
    pub fn time(&self) -> String {
        let share = 100.0 * (self.times.audits + self.times.final_audits) / self.seconds;
        let audits = if share < 0.5 { String::new() } else { format!(", {share:.0} % in audits") };
        duration(self.seconds) + &audits
    }

    /// Whether log Z was tracked during the run.
    pub fn is_tracked(&self) -> bool {
        self.configuration.pointer("/tempering/share").and_then(serde_json::Value::as_f64)
            != Some(0.0)
    }

    /// Of the run in a folder: whether the training works, the best model beside the best simple one, and whether the size of the model limits it.
    pub(crate) fn remarks(&self, folder: &Path) -> Vec<String> {
        let mut words = Vec::new();
        let (failing, all) = (self.training.failing, self.evaluations.all);
        let mut mended = self.training.mended_at.map_or(String::new(), |update| {
            format!(" From update {update} on its particles exchanged states with tempered chains.")
        });
        if self.training.rewinds > 0 {
            mended += &format!(
                " It went back to its best state {}.",
                times(self.training.rewinds as usize)
            );
        }
        if let (TrainingState::Failing, Some(best)) = (self.training.state, self.training.best) {
            words.push(format!(
                "The training failed: at the end the training rows are far below their log-likelihood at update {}.{mended} training.gradient = \"tempered\" or a smaller training.learning_rate.initial may help.",
                best.update
            ));
        } else if failing > 0 {
            words.push(format!(
                "The training failed at {failing} of {all} evaluations and recovered.{mended}"
            ));
        }
        if let Some(update) = self.improved_late {
            words.push(format!(
                "Validation rows still improved at update {update}: a longer run (ztrack train --out {} --resume --set training.updates={}) or a larger training.learning_rate.initial may give a better model.",
                quoted(folder.as_os_str()),
                2 * self.updates
            ));
        }
        let train = self.best.train_log_likelihood;
        // The mean over weighted training rows is not that of the others.
        let weighted =
            ["weights", "similarity"].map(|key| !self.configuration["data"][key].is_null());
        let held_out = self.best.validation_log_likelihood.filter(|_| weighted == [false; 2]);
        let gap = held_out.map(|held| {
            (train.value - held.value, train.data_std_error.hypot(held.data_std_error))
        });
        let overfits = self.notices.contains_key("overfits");
        if let Some(it) = &self.comparison {
            let Comparison { name, part, difference, difference_std_error: error, .. } = it;
            let detail = if it.detail.is_empty() { "" } else { &format!(", {}", it.detail) };
            let (size, better) =
                (difference.abs(), if *difference < 0.0 { "worse" } else { "better" });
            // A model overfits where training rows score clearly better than others; beside a simple model that is all of the matter if what
            // they have more makes up for what is missing.
            let apart = |least: f64| gap.is_some_and(|(gap, error)| gap > least.max(CLEAR * error));
            let remedy = match (*difference < -CLEAR * error, apart(size) || overfits && apart(0.0))
            {
                (true, true) => {
                    ": it overfits; weight decay (training.weight_decay) or fewer hidden units (model.hidden) may help"
                }
                (true, false) if name == "factor analysis" => {
                    ": columns that nearly determine each other need very many hidden units; train on their principal components (docs/real.md)"
                }
                (true, false) if self.notices.contains_key("steps-shortened") => {
                    ": steps were too large; a smaller training.learning_rate.initial may help"
                }
                (true, false) if self.stop_reason == StopReason::EarlyStopping => {
                    ": more hidden units (model.hidden) may help"
                }
                (true, false) => {
                    ": more hidden units (model.hidden) or a longer run (training.updates) may help"
                }
                (false, _) => "",
            };
            words.push(format!(
                "The best of the simple models ({name}{detail}) has {part} log-likelihood {:.3} ± {}; this model is {size:.2} ± {} nats per row {better}{remedy}.",
                it.mean,
                shown_error(it.std_error, 3),
                shown_error(*error, 2)
            ));
        }
        if let Some((gap, error)) = gap {
            // Rows that are all the same have no error but rounding.
            let agree = gap.abs() < CLEAR * error && error > 1e-6;
            if agree && !overfits && !words.iter().any(|it| it.contains("model.hidden")) {
                words.push("Training and validation log-likelihood agree within two errors: more hidden units (model.hidden) may give a better model.".into());
            }
        }
        words
    }
}
