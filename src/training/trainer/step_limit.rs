//! The length of an update, in nats of log f.
//!
//! By how much an update changes the model is measured by the standard deviation of the change of log f: half its square is the
//! Kullback-Leibler divergence of the models before and after, for small steps. Where columns are strongly correlated, a learning rate that
//! is usual elsewhere changes log f by tens of nats in one update, and neither particles nor tempered chains can follow. Such a step is
//! shortened, in its own direction.
//!
//! Over rows of real columns the deviation is that of the middle half, by the quartiles: log f of a row with a number far out changes by many
//! nats where the model hardly does.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Trainer;
use crate::engine::BitMatrix;
use crate::error::Result;
use crate::model::Parameters;
use crate::numerics::statistics::variance;
use crate::record::Notice;

/// Largest number of rows, and of particles, that a step is measured on: the standard deviation then has an error of 7 %.
const STATES: usize = 100;
/// The first updates are measured, and one of so many later ones.
const MEASURED: (u64, u64) = (200, 10);
/// Fraction of the limit from which on the next update is measured too.
const NEAR: f64 = 0.25;
/// Each time tempered chains lose the ladder the limit is halved, down to this length, in nats.
const SHORTEST: f64 = 1.0;
/// Distance of the quartiles of a normal distribution, in standard deviations.
const QUARTILES: f64 = 1.349;

/// Lengths of the steps since the last evaluation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Steps {
    measured: u64,
    shortened: u64,
    /// Whether the last one that was measured was near the limit.
    near: bool,
    /// How often tempered chains lost the ladder since the start: such steps are too long for them to follow.
    #[serde(default)]
    pub(super) ladders_lost: u32,
}

/// The model before a step whose length is measured.
pub(super) struct Before {
    parameters: Parameters,
    /// Rows of the batch, and particles, with their log f.
    states: Vec<(BitMatrix, Vec<f64>)>,
}

impl Trainer {
    /// The model before a step, if the length of the step is measured.
    pub(super) fn before_step(&self, batch: &BitMatrix) -> Option<Before> {
        let (first, every) = MEASURED;
        let due = self.updates < first || self.updates.is_multiple_of(every) || self.steps.near;
        let states = [Some(batch), self.negative_phase.particles()].into_iter().flatten();
        let with_log_f = |states: BitMatrix| {
            let log_f = self.current.engine.log_f(&states);
            (states, log_f)
        };
        due.then(|| Before {
            parameters: self.current.parameters.as_ref().clone(),
            states: states.map(|states| with_log_f(states.spread(STATES))).collect(),
        })
    }

    /// Shortens the step made since, if it is longer than the limit, which falls with the learning rate.
    pub(super) fn shorten_step(&mut self, before: Before) -> Result<()> {
        let has_reals = self.rows.variables.has_reals();
        let length = |(i, (states, old)): (usize, &(BitMatrix, Vec<f64>))| {
            let new = self.current.engine.log_f(states);
            let changes: Vec<f64> = new.iter().zip(old).map(|(new, old)| new - old).collect();
            if i == 0 && has_reals { middle(changes) } else { variance(&changes).sqrt() }
        };
        let length = before.states.iter().enumerate().map(length).fold(0.0, f64::max);
        let training = &self.config.training;
        let halved = training.largest_step * 0.5f64.powi(self.steps.ladders_lost as i32);
        let largest = halved.max(SHORTEST.min(training.largest_step));
        let limit = largest * self.learning_rate() / training.learning_rate.initial;
        self.steps.measured += 1;
        self.steps.near = length > NEAR * limit;
        if length > limit {
            self.steps.shortened += 1;
            let part = (limit / length) as f32;
            let parameters = Arc::make_mut(&mut self.current.parameters);
            for (new, old) in parameters.arrays_mut().into_iter().zip(before.parameters.arrays()) {
                new.iter_mut().zip(old).for_each(|(new, old)| *new = old + part * (*new - old));
            }
            self.take_moved()?;
        }
        Ok(())
    }

    /// At an evaluation: a notice if most steps since the last one were shortened.
    pub(super) fn report_steps(&mut self, notices: &mut Vec<Notice>) {
        let Steps { measured, shortened, near, ladders_lost } = self.steps;
        if 2 * shortened > measured {
            notices.push(Notice::StepsShortened { measured, shortened });
        }
        self.steps = Steps { near, ladders_lost, ..Steps::default() };
    }
}

/// The standard deviation that normal numbers with the same quartiles have.
fn middle(mut changes: Vec<f64>) -> f64 {
    changes.sort_by(f64::total_cmp);
    let quarter = changes.len() / 4;
    (changes[changes.len() - 1 - quarter] - changes[quarter]) / QUARTILES
}
