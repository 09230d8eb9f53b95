//! Results of runs by name: the cells of every table of runs, and differences between runs.

use super::page::{duration, with_error};
use super::run_files::RunFiles;
use super::summary::Summary;
use crate::tracking::LogLikelihood;

/// Column of metrics.csv.
const VALIDATION: &str = "validation_log_likelihood";

impl RunFiles {
    /// A result as text, "-" where there is none: state, updates, best at, hidden units, weight decay, learning rate,
    /// train, validation, test, log Z, audit, sound, doubts, time, age.
    pub fn result(&self, name: &str) -> String {
        self.found(name).unwrap_or_else(|| "-".into())
    }

    fn found(&self, name: &str) -> Option<String> {
        let summary = self.summary.as_ref();
        let best = summary.map(|summary| &summary.best);
        let config = self.config.as_ref();
        let evaluations = || summary.map(|summary| summary.evaluations);
        Some(match name {
            "state" => self.state.name().into(),
            "updates" => {
                let update = self.metrics.update(self.metrics.rows().checked_sub(1)?);
                match self.planned().filter(|planned| *planned as f64 != update) {
                    Some(planned) => format!("{update} of {planned}"),
                    None => update.to_string(),
                }
            }
            "best at" => self.best()?.0.to_string(),
            "hidden units" => config?.model.hidden.to_string(),
            "weight decay" => config?.training.weight_decay.to_string(),
            "learning rate" => config?.training.learning_rate.initial.to_string(),
            "log Z" => with_error(best?.log_z, best?.log_z_std_error),
            "audit" => if best?.doubt.is_none() { "sound" } else { "in doubt" }.into(),
            "sound" => format!("{} of {}", evaluations()?.sound, evaluations()?.all),
            "doubts" => {
                let name = self.metrics.doubts().into_iter().next();
                let name = name.map_or(String::new(), |(name, _)| format!(", {name}"));
                match self.doubted() {
                    (0, _) => "none".into(),
                    (doubted, all) => format!("{doubted} of {all}{name}"),
                }
            }
            "time" => match &self.summary {
                Some(summary) => summary.time(),
                None => duration(self.seconds()?),
            },
            "age" => format!("{} ago", duration(self.age?.as_secs_f64())),
            part => match self.likelihood(part) {
                Some(value) => with_error(value.value, value.std_error),
                None if part == "validation" => {
                    let row = self.best_so_far()?;
                    let of = |name: &str| self.metrics.number(name, row);
                    with_error(of(VALIDATION), of(&format!("{VALIDATION}_std_error")))
                }
                None => return None,
            },
        })
    }

    /// The log-likelihood of a part of the data at the end of the run: train, validation or test.
    pub fn likelihood(&self, part: &str) -> Option<LogLikelihood> {
        let all = self.summary.as_ref()?.best.likelihoods();
        all.into_iter().find(|(name, _)| *name == part).map(|(_, value)| value)
    }

    /// The log-likelihood of validation rows, without them that of training rows; minus infinity for a run that has not ended.
    pub fn score(&self) -> f64 {
        let value = |part| self.likelihood(part).map(|it| it.value);
        value("validation").or_else(|| value("train")).unwrap_or(f64::NEG_INFINITY)
    }

    /// Row in metrics.csv of the best model so far, as the live display names it: the highest validation log-likelihood of those that
    /// decide.
    fn best_so_far(&self) -> Option<usize> {
        let metrics = &self.metrics;
        let rows = metrics.rows_with(VALIDATION).filter(|&row| metrics.update(row) > 0.0);
        let value = |row: &usize| metrics.number(VALIDATION, *row);
        // The first of equal ones.
        let best =
            rows.filter(|&row| metrics.decides(row)).min_by(|a, b| value(b).total_cmp(&value(a)));
        best.filter(|row| value(row).is_finite())
    }

    /// Update and validation log-likelihood of the best model; while the run goes on, of the best so far.
    pub fn best(&self) -> Option<(u64, Option<f64>)> {
        if let Some(Summary { best, .. }) = &self.summary {
            return Some((best.update, best.validation_log_likelihood.map(|it| it.value)));
        }
        let row = self.best_so_far()?;
        Some((self.metrics.update(row) as u64, self.metrics.value(VALIDATION, row)))
    }

    /// Evaluations after update 0 whose tracked log Z was in doubt, and all.
    pub fn doubted(&self) -> (usize, usize) {
        let metrics = &self.metrics;
        let rows = (0..metrics.rows()).filter(|&row| metrics.update(row) > 0.0);
        let doubted = |row: &usize| metrics.value("sound", *row) == Some(0.0);
        (rows.clone().filter(doubted).count(), rows.count())
    }

    /// Seconds of the run so far; at its end with the last audits.
    pub fn seconds(&self) -> Option<f64> {
        self.summary.as_ref().map(|summary| summary.seconds).or(self.metrics.last("seconds"))
    }
}

/// The log-likelihood of a part of the data in a second run minus that in the first. On the same rows the scatter of rows is the same in
/// both values, so the error of log Z is the lower end of the difference's error, and the sum of all errors its upper end.
pub fn difference(first: &RunFiles, second: &RunFiles, part: &str) -> String {
    let (Some(a), Some(b)) = (first.likelihood(part), second.likelihood(part)) else {
        return "-".into();
    };
    let value = b.value - a.value;
    let all = a.std_error.hypot(b.std_error);
    match same_rows([first, second], part) {
        Some(true) => {
            let of_log_z = a.log_z_std_error.hypot(b.log_z_std_error);
            format!("{value:+.3} ± {of_log_z:.3} from log Z, at most {all:.3}")
        }
        Some(false) => format!("{value:+.3} ± {all:.3}, on other rows"),
        None => format!("{value:+.3} ± {all:.3}"),
    }
}

/// Whether a part of the data has the same checksum in both runs, if both are known.
pub fn same_rows(runs: [&RunFiles; 2], part: &str) -> Option<bool> {
    let part = if part == "train" { "training" } else { part };
    let [first, second] = runs.map(|run| run.summary.as_ref()?.data.get(part));
    Some(first? == second?)
}
