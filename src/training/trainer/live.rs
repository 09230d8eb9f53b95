//! Values for the live display: the latest values with their updates, and the time left.

use std::collections::VecDeque;

use super::cooldown::Cooldown;
use super::{EvaluationRecord, Trainer};
use crate::record::{AuditedLogZ, Patience, Progress};

/// Number of evaluations from which the pace is measured.
const WINDOW: usize = 6;

/// State between evaluations.
#[derive(Default)]
pub(super) struct Live {
    pub evaluation: Option<EvaluationRecord>,
    audit: Option<AuditedLogZ>,
    pace: Pace,
}

/// Seconds per update, evaluations included, measured over recent updates. Audits are rare and counted separately.
#[derive(Default)]
struct Pace {
    /// Updates, and seconds without those of audits, at the latest evaluations.
    marks: VecDeque<(u64, f64)>,
    audits: f64,
    last_audit: Option<f64>,
}

impl Pace {
    /// To be called when tracking starts or continues, and after evaluations; `audit`: seconds of them that an audit took.
    fn mark(&mut self, updates: u64, seconds: f64, audit: Option<f64>) {
        self.audits += audit.unwrap_or(0.0);
        self.last_audit = audit.or(self.last_audit);
        self.marks.push_back((updates, seconds - self.audits));
        if self.marks.len() > WINDOW {
            self.marks.pop_front();
        }
    }

    /// Expected seconds of the remaining updates and audits.
    fn left(&self, updates: u64, seconds: f64, updates_left: u64, audits_left: u64) -> Option<f64> {
        let &(first, start) = self.marks.front()?;
        let rate = (seconds - self.audits - start) / updates.checked_sub(first)? as f64;
        let audits = self.last_audit.unwrap_or(0.0) * audits_left as f64;
        rate.is_finite().then_some(rate * updates_left as f64 + audits)
    }
}

impl Live {
    /// Starts the clock: for a resumed run, and for a new one once its tracker has started.
    pub fn start(&mut self, trainer: &Trainer) {
        if self.pace.marks.is_empty() && trainer.begun() {
            self.pace.mark(trainer.updates, trainer.seconds(), None);
        }
    }

    /// Includes an evaluation that began at `start` seconds.
    pub fn evaluated(&mut self, trainer: &Trainer, evaluation: EvaluationRecord, start: f64) {
        let seconds = trainer.seconds();
        let audit = trainer.sampled_audit_due_at(trainer.updates).then_some(seconds - start);
        if trainer.updates > 0 {
            self.pace.mark(trainer.updates, seconds, audit);
        }
        if let Some(audit) = &evaluation.audit {
            self.audit = Some(AuditedLogZ {
                method: audit.estimate.method.name(),
                update: trainer.updates,
                value: audit.estimate.value,
                std_error: audit.estimate.std_error,
                in_errors: audit.in_errors,
                disagrees: audit.disagrees(),
            });
        }
        self.evaluation = Some(evaluation);
    }

    /// `doing`: the next long task.
    pub fn progress(&self, trainer: &Trainer, doing: Option<&str>) -> Progress {
        let (updates, total) = (trainer.updates, trainer.end());
        let seconds = trainer.seconds();
        let audits_left = trainer.sampled_audits_between(updates, total);
        let mut progress = Progress {
            update: updates,
            updates: total,
            epoch: trainer.epoch(),
            seconds,
            seconds_left: self.pace.left(updates, seconds, total - updates, audits_left),
            audited_log_z: self.audit,
            best: trainer.candidates().first().map(|best| (best.update, best.value)),
            patience: patience(trainer),
            ..Progress::default()
        };
        if !trainer.begun() {
            progress.note = Some(format!("pre-training, {} updates", trainer.pretrained));
        }
        if let Some(evaluation) = &self.evaluation {
            let from = |it: Cooldown| format!("cooldown from the model of update {}", it.best);
            progress.note = evaluation.warning().or_else(|| trainer.cooldown().map(from));
            // Between evaluations tracked log Z lags, and its error bar does not include this.
            progress.log_z = Some((evaluation.log_z.value, evaluation.log_z.std_error));
            progress.evaluated_at = evaluation.record.update;
            progress.train_log_likelihood =
                Some((evaluation.train.value, evaluation.train.std_error));
            progress.validation_log_likelihood =
                evaluation.validation.map(|value| (value.value, value.std_error));
        }
        if doing.is_some() {
            progress.note = doing.map(String::from);
        }
        progress
    }
}

fn patience(trainer: &Trainer) -> Option<Patience> {
    let decides = trainer.cooldown().is_none();
    let settings = trainer.config.training.early_stopping.filter(|_| decides)?;
    let stopping = &trainer.judge.stopping;
    Some(Patience {
        without_improvement: stopping.without_improvement,
        patience: settings.patience,
        // It stops at an evaluation.
        not_before: ((settings.patience_factor * stopping.improved_at() as f64).ceil() as u64)
            .next_multiple_of(trainer.config.evaluation.every),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_follows_the_recent_past_and_counts_audits_apart() {
        let mut pace = Pace::default();
        assert_eq!(pace.left(0, 103.0, 1000, 0), None);
        // A start of 103 s does not count.
        pace.mark(0, 103.0, None);
        assert_eq!(pace.left(0, 103.0, 1000, 0), None);
        let near = |found: Option<f64>, expected: f64| {
            assert!((found.unwrap() - expected).abs() < 1e-9, "{found:?} {expected}");
        };
        near(pace.left(10, 108.0, 990, 1), 495.0);
        // An audit of 20 s in an evaluation at 100 updates of half a second.
        pace.mark(100, 173.0, Some(20.0));
        near(pace.left(100, 173.0, 900, 0), 450.0);
        near(pace.left(100, 173.0, 900, 9), 630.0);
        // Later updates take a tenth of a second each; the slow ones are forgotten.
        for i in 1..=WINDOW as u64 {
            pace.mark(100 + 100 * i, 173.0 + 10.0 * i as f64, None);
        }
        near(pace.left(700, 233.0, 300, 0), 30.0);
    }
}
