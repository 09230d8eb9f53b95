//! What training, tracking and enumeration cost, from sizes alone: decisions on it are the same on every machine, so that
//! a seed gives the same run everywhere.
//!
//! Nanoseconds on one core of the machine of docs/performance.md; what counts are their ratios.

use crate::config::{Config, GradientConfig};
use crate::ops::padded;
use crate::tempering::BetaUpdate;
use crate::tracking::TrackerOptions;

/// One multiplication of a unit's state by a weight, by table look-ups.
const PRODUCT: f64 = 0.008;
/// One unit drawn.
const DRAW: f64 = 1.0;
/// One hidden unit at one inverse temperature of log f.
const SOFTPLUS: f64 = 0.1;
/// One exponential over temperatures, with what is summed of it.
const EXPONENTIAL: f64 = 10.0;
/// One parameter updated, averaged and packed for the kernels.
const PARAMETER: f64 = 10.0;
/// One parameter's share in the moments of one row.
const MOMENT: f64 = 0.008;
/// Calls of one update, whatever the size.
const CALLS: f64 = 60_000.0;
/// What a step of the tracker costs beside its sweeps, in evaluations of log f: two shifts, weights, a copy of the model,
/// as measured on 64x16.
const SHIFTS: f64 = 16.0;
/// One unit of the larger layer at one state of the smaller one, enumerated.
const ENUMERATED: f64 = 2.0;

/// Sizes that costs depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub visible: usize,
    pub hidden: usize,
    pub batch: usize,
    pub particles: usize,
    pub temperatures: usize,
}

impl Sizes {
    fn weights(&self) -> f64 {
        self.visible as f64 * padded(self.hidden) as f64
    }

    fn sweep_of_one_chain(&self) -> f64 {
        2.0 * PRODUCT * self.weights() + DRAW * (self.visible + self.hidden) as f64
    }

    fn log_f_of_one_chain(&self) -> f64 {
        let k = self.temperatures as f64;
        PRODUCT * self.weights() + k * (SOFTPLUS * padded(self.hidden) as f64 + EXPONENTIAL)
    }

    /// One update of the parameters, the tracker's chains not counted.
    pub fn update(&self, config: &Config) -> f64 {
        let rows = match config.training.gradient {
            GradientConfig::Cd { sweeps } => self.batch as f64 * sweeps as f64,
            GradientConfig::Pcd { sweeps, .. } => self.particles as f64 * sweeps as f64,
            GradientConfig::Tempered {} => 0.0,
        };
        let moments = (self.batch + self.particles) as f64 * (MOMENT + PRODUCT) * self.weights();
        CALLS + PARAMETER * self.weights() + moments + rows * self.sweep_of_one_chain()
    }

    /// `sweeps` sweeps of `chains` tempered chains, `shifts` times log f at all temperatures beside them.
    pub fn tempered(&self, chains: usize, sweeps: usize, update: BetaUpdate, shifts: f64) -> f64 {
        let k = self.temperatures as f64;
        let beta = match update {
            BetaUpdate::Collapsed => {
                k * (SOFTPLUS * padded(self.hidden) as f64 + 2.0 * EXPONENTIAL)
            }
            BetaUpdate::Joint { repeats } => {
                repeats as f64 * (DRAW * self.hidden as f64 + EXPONENTIAL * k)
            }
        };
        let sweep = self.sweep_of_one_chain() + beta;
        chains as f64 * (sweeps as f64 * sweep + shifts * self.log_f_of_one_chain())
    }

    /// A step of the tracker with `chains` chains.
    pub fn tracking_step(&self, chains: usize, tracker: &TrackerOptions) -> f64 {
        self.tempered(chains, tracker.sweeps, tracker.beta_update, SHIFTS)
    }

    /// Enumeration of the smaller layer.
    pub fn enumeration(&self) -> f64 {
        let (smaller, larger) = (self.visible.min(self.hidden), self.visible.max(self.hidden));
        2f64.powi(smaller.min(1000) as i32) * larger as f64 * ENUMERATED
    }
}

/// Inverse temperatures that do for a model of this size: more make no chain travel faster (784x500 and 784x100, 30 to 200 of them:
/// docs/performance.md).
pub(crate) fn temperatures(visible: usize, hidden: usize) -> usize {
    let smaller = visible.min(hidden) as f64;
    ((4.5 * smaller.sqrt()) as usize).clamp(20, 50)
}
