//! The cooldown: where early stopping would end the run, training goes on from the best model for a while, with a learning rate that falls
//! to zero. At a constant rate the parameters fluctuate about a maximum of the likelihood; a falling rate brings them closer to it.

use serde::{Deserialize, Serialize};

use super::Trainer;

/// A part of the run, from one update to another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cooldown {
    /// The update of the best model.
    pub best: u64,
    /// The update at which early stopping would have ended the run.
    pub from: u64,
    /// The last update.
    pub until: u64,
    /// The learning rate of the best model, in the first update.
    rate: f64,
}

impl Cooldown {
    /// The learning rate of the update that follows this one, up to the last.
    fn rate(&self, update: u64) -> f64 {
        self.rate * (self.until - update) as f64 / (self.until - self.from) as f64
    }
}

impl Trainer {
    /// Plans a cooldown from this update on; `None` without one, or if there is no best model to start from.
    pub(super) fn plan_cooldown(&self) -> Option<Cooldown> {
        let share = self.config.training.cooldown;
        let best = self.judge.standing.training.best.filter(|_| share > 0.0)?.update;
        // Without a start with few hidden units in its place.
        self.judge.best.as_ref().filter(|_| self.judge.small.is_none())?;
        let every = self.config.evaluation.every;
        let length = ((share * best as f64).ceil() as u64).next_multiple_of(every);
        let (from, until) = (self.updates, (self.updates + length).min(self.total));
        let rate = self.scheduled_rate(best);
        (from < until).then_some(Cooldown { best, from, until, rate })
    }

    /// The cooldown that this update begins, is in, or ends.
    pub(super) fn cooldown(&self) -> Option<Cooldown> {
        self.judge.standing.cooldown.filter(|cooldown| self.updates <= cooldown.until)
    }

    /// The step size of the next update.
    pub fn learning_rate(&self) -> f64 {
        let rate = self.cooldown().map(|cooldown| cooldown.rate(self.updates));
        rate.unwrap_or_else(|| self.scheduled_rate(self.updates))
    }

    /// By the schedule, halved as often as the training failed.
    fn scheduled_rate(&self, update: u64) -> f64 {
        let halvings = self.judge.standing.training.halvings;
        self.config.training.learning_rate.at(update, self.total) * 0.5f64.powi(halvings as i32)
    }

    /// The updates that have led to the present parameters: those after the best model, which a cooldown discards, are left out.
    pub(super) fn updates_behind(&self) -> u64 {
        let behind = |Cooldown { best, from, .. }| best + self.updates - from;
        self.cooldown().map_or(self.updates, behind)
    }

    /// The last update that is planned.
    pub(super) fn end(&self) -> u64 {
        self.cooldown().map_or(self.total, |cooldown| cooldown.until.min(self.total))
    }
}
