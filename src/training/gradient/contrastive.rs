//! CD-k: Gibbs chains that start from the minibatch at every update (Hinton 2002).

use super::{Moments, NegativePhase, Now, Particles, moments};
use crate::error::Result;
use crate::ops::{BitMatrix, RbmOps};

/// Contrastive divergence.
#[derive(Clone, Copy, Debug)]
pub struct ContrastiveDivergence {
    /// Sweeps from the batch, k.
    pub sweeps: usize,
    /// Seed of the random streams.
    pub seed: u64,
}

impl ContrastiveDivergence {
    /// The model's moments `sweeps` sweeps after `batch`, shape [rows, M]; `updates`: those done before.
    pub fn moments_from(&self, ops: &dyn RbmOps, batch: BitMatrix, updates: u64) -> Moments {
        let first = updates * self.sweeps as u64;
        let mut particles = Particles { visible: batch, seed: self.seed, sweeps: first };
        particles.sweep(ops, self.sweeps);
        moments(ops, &particles.visible, None)
    }
}

impl NegativePhase for ContrastiveDivergence {
    fn moments(&mut self, now: Now<'_>) -> Result<Moments> {
        Ok(self.moments_from(now.model.ops.as_ref(), now.batch, now.updates))
    }
}
