//! PCD-k: Gibbs chains that continue from update to update (Tieleman 2008).

use super::{Moments, NegativePhase, Now, Particles, Start, moments};
use crate::checkpoint::{StateReader, StateWriter};
use crate::error::Result;
use crate::ops::BitMatrix;
use crate::tracking::check_count;

/// Persistent contrastive divergence.
#[derive(Clone, Debug)]
pub struct PersistentDivergence {
    /// Sweeps per update, k.
    pub sweeps: usize,
    /// The persistent chains.
    pub particles: Particles,
}

impl NegativePhase for PersistentDivergence {
    fn moments(&mut self, now: Now<'_>) -> Result<Moments> {
        let ops = now.model.ops.as_ref();
        self.particles.sweep(ops, self.sweeps);
        Ok(moments(ops, &self.particles.visible, None))
    }

    fn particles(&self) -> Option<&BitMatrix> {
        Some(&self.particles.visible)
    }

    fn save(&self, state: &mut StateWriter) {
        state.bits("particles.visible", &self.particles.visible);
        state.json("particles.sweeps", &self.particles.sweeps);
    }

    fn load(&mut self, state: &StateReader, _start: Option<Start<'_>>) -> Result<()> {
        let Particles { visible, sweeps, .. } = &mut self.particles;
        *visible = state.bits("particles.visible", visible.rows(), visible.columns())?;
        *sweeps = state.json("particles.sweeps")?;
        check_count("particles.sweeps", *sweeps)
    }
}
