//! Gibbs chains at beta = 1: the negative phase of contrastive divergence.

use crate::engine::{BitMatrix, Engine};

/// Visible states and the position of their random streams.
#[derive(Clone, Debug, PartialEq)]
pub struct Particles {
    /// v, shape [particles, M].
    pub visible: BitMatrix,
    /// Seed of the random streams.
    pub seed: u64,
    /// Sweeps done so far.
    pub sweeps: u64,
}

impl Particles {
    /// `sweeps` sweeps h | v, v | h of all particles at beta = 1.
    pub fn sweep(&mut self, engine: &dyn Engine, sweeps: usize) {
        engine.gibbs(&mut self.visible, sweeps, self.seed, self.sweeps);
        self.sweeps += sweeps as u64;
    }
}
