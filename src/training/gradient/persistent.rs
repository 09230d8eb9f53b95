//! PCD-k: Gibbs chains that continue from update to update (Tieleman 2008).

use super::{Moments, NegativePhase, Now, Particles, Start};
use crate::checkpoint::{StateReader, StateWriter};
use crate::engine::BitMatrix;
use crate::error::Result;
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
        let engine = now.model.engine.as_ref();
        self.particles.sweep(engine, self.sweeps);
        Ok(engine.moments(&self.particles.visible, None))
    }

    fn restart(&mut self, _start: Start<'_>, rows: &BitMatrix) {
        let (n, count) = (rows.rows(), self.particles.visible.rows());
        self.particles.visible = rows.select((0..count).map(|i| i * n / count));
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
