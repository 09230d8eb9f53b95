//! Checked settings of a tracker.

use crate::config::{SettlingConfig, TemperingConfig};
use crate::tracking::TrackerOptions;
use crate::training::Steps;

/// Default number of sweeps per step, as in the trainer.
const SWEEPS: usize = 2;
/// Default for the most equilibration sweeps of an evaluation: as many as the chains made since the last one, between these limits. Chains
/// of a model that changes much between evaluations lag by more than 60 sweeps can make up for (`experiments/own_loop`).
const MOST_SWEEPS: std::ops::RangeInclusive<u64> = 600..=2000;

/// Checked by the builder.
#[derive(Clone)]
pub(super) struct Settings {
    pub hidden: usize,
    pub tempering: TemperingConfig,
    pub seed: u64,
    /// Fraction of the updates that is averaged over; 0 for none.
    pub window: f64,
}

impl Settings {
    /// When the chains make steps.
    pub fn steps(&self) -> Steps {
        match self.tempering.every.given() {
            Some(every) => Steps::Every(every),
            None if self.window > 0.0 => Steps::of_an_average(),
            None => Steps::Every(1),
        }
    }

    /// How chains are run, `steps` of them after the last evaluation.
    pub(crate) fn tracker_options(&self, steps: u64) -> TrackerOptions {
        let sweeps = self.tempering.sweeps.or(SWEEPS);
        let most = (steps * sweeps as u64).clamp(*MOST_SWEEPS.start(), *MOST_SWEEPS.end());
        TrackerOptions {
            sweeps,
            weighted: self.tempering.weighted.or(true),
            settling: self.tempering.settling.or(SettlingConfig::SWEEPS, most as usize),
            ..self.tempering.tracker_options()
        }
    }
}
