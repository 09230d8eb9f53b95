//! States of the model that its chains and particles have reached, for the model file. They are not rows of the data.

use std::collections::HashSet;

use super::Trainer;
use crate::engine::BitMatrix;
use crate::engine::random::{Purpose, Streams};
use crate::tempering::systematic;

/// Most states of the tracker's chains, and of the particles of the gradient.
const CHAINS: usize = 128;
const PARTICLES: usize = CHAINS / 2;

impl Trainer {
    /// States at beta = 1, each once: of the tracker's chains by their weights, and of the particles. `None` before tracking starts. The
    /// random streams of the run do not change.
    pub fn known_states(&self) -> Option<BitMatrix> {
        let tracker = self.tracker.as_ref()?;
        let mut stream = Streams::new(self.config.seed, Purpose::KnownStates, self.updates).row(0);
        let mut drawn = |states: &BitMatrix, weights: &[f64], most: usize| {
            states.select(systematic(weights, most, stream.uniform()))
        };
        let mut states = BitMatrix::zeros(0, self.rows.columns());
        let each = CHAINS / tracker.populations().count();
        for chains in tracker.populations() {
            states = states.followed_by(&drawn(&chains.chains.visible, &chains.weights(), each));
        }
        if let Some(particles) = self.negative_phase.particles() {
            let weights = vec![1.0 / particles.rows() as f64; particles.rows()];
            states = states.followed_by(&drawn(particles, &weights, PARTICLES));
        }
        let mut seen = HashSet::new();
        let distinct = (0..states.rows()).filter(|&row| seen.insert(states.row(row)));
        Some(states.select(distinct))
    }
}
