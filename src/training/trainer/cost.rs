//! Cost of training, tracking and enumeration from sizes alone, so that decisions by cost are the same on every machine and a seed gives
//! the same run everywhere.
//!
//! Nanoseconds on one core of an AMD EPYC (Zen 5, November 2026), fitted to 27 runs from 25 x 16 to 784 x 500: most within a third, the
//! smallest ones (25 x 16) up to twice too high. Only their ratios matter.

use crate::config::{Config, GradientConfig};
use crate::engine::padded;
use crate::tempering::BetaUpdate;
use crate::tracking::TrackerOptions;

/// Cost of a sweep of one chain in addition to the following: its streams, its temperature, its statistics.
const CHAIN: f64 = 300.0;
/// One multiplication of a unit's state by a weight, by table look-ups.
const PRODUCT: f64 = 0.005;
/// One unit drawn.
const DRAW: f64 = 1.25;
/// One hidden unit at one inverse temperature of log f.
const SOFTPLUS: f64 = 0.05;
/// One inverse temperature in addition to that: a logarithm, an exponential, sums.
const TEMPERATURE: f64 = 4.0;
/// One parameter updated, averaged and packed for the kernels.
const PARAMETER: f64 = 2.0;
/// Fixed cost of one update.
const CALLS: f64 = 24_000.0;
/// Cost of a step of the tracker in addition to its sweeps, in sweeps: two shifts, weights, a copy of the model.
const SHIFTS: usize = 2;
/// One unit of the larger layer at one state of the smaller one, enumerated.
const ENUMERATED: f64 = 1.1;
/// Enumerated moments, in enumerations of log Z.
const MOMENTS: f64 = 6.0;

/// Sizes that costs depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub visible: usize,
    pub hidden: usize,
    pub batch: usize,
    pub particles: usize,
    pub temperatures: usize,
    /// Whether visible columns are real: only the hidden layer can be enumerated.
    pub reals: bool,
}

impl Sizes {
    /// Units of the layer that enumeration visits, and of the other one.
    pub fn enumerated(&self) -> (usize, usize) {
        match self.reals || self.hidden <= self.visible {
            true => (self.hidden, self.visible),
            false => (self.visible, self.hidden),
        }
    }

    fn weights(&self) -> f64 {
        self.visible as f64 * padded(self.hidden) as f64
    }

    fn sweep_of_one_chain(&self) -> f64 {
        2.0 * PRODUCT * self.weights() + DRAW * (self.visible + self.hidden) as f64
    }

    /// One update of the parameters, without the tracker's chains.
    pub fn update(&self, config: &Config) -> f64 {
        let swept = |rows: usize, sweeps: usize| rows as f64 * sweeps as f64;
        let (rows, enumerated) = match config.training.gradient {
            GradientConfig::Cd { sweeps } => (swept(self.batch, sweeps), 0.0),
            GradientConfig::Pcd { sweeps, .. } => (swept(self.particles, sweeps), 0.0),
            GradientConfig::Tempered {} => (0.0, 0.0),
            GradientConfig::Exact {} => (0.0, MOMENTS * self.enumeration()),
        };
        let moments = (self.batch + self.particles) as f64 * PRODUCT * self.weights();
        let sampled = moments + rows * self.sweep_of_one_chain();
        CALLS + PARAMETER * self.weights() + sampled + enumerated
    }

    /// `sweeps` sweeps of `chains` tempered chains.
    pub fn tempered(&self, chains: usize, sweeps: usize, update: BetaUpdate) -> f64 {
        let k = self.temperatures as f64;
        let beta = match update {
            BetaUpdate::Collapsed => k * (SOFTPLUS * padded(self.hidden) as f64 + TEMPERATURE),
            BetaUpdate::Joint(repeats) => {
                repeats as f64 * (DRAW * self.hidden as f64 + TEMPERATURE * k)
            }
        };
        (chains * sweeps) as f64 * (CHAIN + self.sweep_of_one_chain() + beta)
    }

    /// A step of the tracker with `chains` chains.
    pub(crate) fn tracking_step(&self, chains: usize, tracker: &TrackerOptions) -> f64 {
        self.tempered(chains, tracker.sweeps + SHIFTS, tracker.beta_update)
    }

    /// Enumeration of the smaller layer, or of the hidden one beside real columns.
    pub fn enumeration(&self) -> f64 {
        let (smaller, larger) = self.enumerated();
        2f64.powi(smaller as i32) * larger as f64 * ENUMERATED
    }
}

/// Number of inverse temperatures for a model of this size: more do not increase the rate of round trips (784x500 and 784x100, 30 to 200 of
/// them: docs/performance.md).
pub(crate) fn temperatures(visible: usize, hidden: usize) -> usize {
    let smaller = visible.min(hidden) as f64;
    ((4.5 * smaller.sqrt()) as usize).clamp(20, 50)
}
