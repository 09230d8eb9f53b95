//! CD-k: Gibbs chains that start from the minibatch at every update (Hinton 2002).

use super::{Moments, NegativePhase, Now, Particles};
use crate::engine::{BitMatrix, Engine};
use crate::error::Result;

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
    pub(crate) fn moments_from(
        &self,
        engine: &dyn Engine,
        batch: BitMatrix,
        updates: u64,
    ) -> Moments {
        let first = updates * self.sweeps as u64;
        let mut particles = Particles { visible: batch, seed: self.seed, sweeps: first };
        particles.sweep(engine, self.sweeps);
        engine.moments(&particles.visible, None)
    }
}

impl NegativePhase for ContrastiveDivergence {
    fn moments(&mut self, now: Now<'_>) -> Result<Moments> {
        Ok(self.moments_from(now.model.engine.as_ref(), now.batch, now.updates))
    }
}
