//! Stochastic gradient ascent with momentum.
//!
//! v <- mu v + eps g;  theta <- theta + v (Polyak 1964), or theta + mu v + eps g (Nesterov's in the form of Bengio,
//! Boulanger-Lewandowski, Pascanu 2013).

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Gradient, UpdateRule};
use crate::checkpoint::{StateReader, StateWriter};
use crate::engine::{AS_A_NUMBER, NUMBERS_PER_TASK, fewest_tasks};
use crate::error::Result;
use crate::keys::section;
use crate::model::Parameters;

section! {
    /// Settings of [`Sgd`].
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct SgdConfig {
        /// Momentum, in [0, 1); 0 is plain gradient ascent.
        momentum: f64 = 0.0 => range(0.0..1.0).example("0.9");
        /// Whether the momentum looks ahead (Nesterov).
        nesterov: bool = false => example("true");
    }
}

/// Gradient ascent with momentum.
pub struct Sgd {
    config: SgdConfig,
    velocity: Parameters,
}

impl Sgd {
    /// Zero velocity.
    pub fn new(config: SgdConfig, n_visible: usize, n_hidden: usize) -> Self {
        Self { config, velocity: Parameters::zeros(n_visible, n_hidden) }
    }
}

impl UpdateRule for Sgd {
    fn step(&mut self, parameters: &mut Parameters, gradient: &Gradient, learning_rate: f64) {
        let SgdConfig { momentum, nesterov } = self.config;
        let (mu, rate) = (momentum as f32, learning_rate as f32);
        let arrays = parameters.arrays_mut().into_iter().zip(self.velocity.arrays_mut());
        for ((theta, velocity), gradient) in arrays.zip(gradient.arrays()) {
            let tasks = (
                theta.par_chunks_mut(NUMBERS_PER_TASK),
                velocity.par_chunks_mut(NUMBERS_PER_TASK),
                gradient.par_chunks(NUMBERS_PER_TASK),
            );
            let fewest = fewest_tasks(gradient.len() * AS_A_NUMBER);
            tasks.into_par_iter().with_min_len(fewest).for_each(|(theta, velocity, gradient)| {
                let numbers = theta.iter_mut().zip(gradient);
                if momentum == 0.0 {
                    return numbers.for_each(|(theta, g)| *theta += g * rate);
                }
                numbers.zip(velocity).for_each(|((theta, g), velocity)| {
                    let push = g * rate;
                    *velocity = *velocity * mu + push;
                    *theta += if nesterov { *velocity * mu + push } else { *velocity };
                });
            });
        }
    }

    fn save(&self, state: &mut StateWriter) {
        state.parameters("update.velocity.", &self.velocity);
    }

    fn load(&mut self, state: &StateReader) -> Result<()> {
        let Parameters { n_visible, n_hidden, .. } = self.velocity;
        self.velocity = state.parameters("update.velocity.", n_visible, n_hidden)?;
        Ok(())
    }
}
