//! Adam (Kingma and Ba 2015), uphill.
//!
//! m <- beta1 m + (1-beta1) g;  v <- beta2 v + (1-beta2) g^2;
//! theta <- theta + eps m/(1-beta1^t) / (sqrt(v/(1-beta2^t)) + epsilon)

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Gradient, UpdateRule};
use crate::checkpoint::{StateReader, StateWriter};
use crate::engine::{AS_A_NUMBER, NUMBERS_PER_TASK, fewest_tasks};
use crate::error::Result;
use crate::keys::section;
use crate::model::Parameters;

section! {
    /// Settings of [`Adam`].
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct AdamConfig {
        /// Memory of the mean, in [0, 1).
        beta1: f64 = 0.9 => range(0.0..1.0);
        /// Memory of the square, in [0, 1).
        beta2: f64 = 0.999 => range(0.0..1.0);
        /// Added to the root of the square; positive.
        epsilon: f64 = 1e-8 => positive();
    }
}

/// Adam's means of gradient and square.
pub struct Adam {
    config: AdamConfig,
    updates: u64,
    mean: Parameters,
    square: Parameters,
}

impl Adam {
    /// No memory.
    pub fn new(config: AdamConfig, n_visible: usize, n_hidden: usize) -> Self {
        let zeros = Parameters::zeros(n_visible, n_hidden);
        Self { config, updates: 0, mean: zeros.clone(), square: zeros }
    }
}

impl UpdateRule for Adam {
    fn step(&mut self, parameters: &mut Parameters, gradient: &Gradient, learning_rate: f64) {
        self.updates += 1;
        let AdamConfig { beta1, beta2, epsilon } = self.config;
        let correction = |beta: f64| 1.0 - beta.powf(self.updates as f64);
        let (keep_mean, new_mean) = (beta1 as f32, (1.0 - beta1) as f32);
        let (keep_square, new_square) = (beta2 as f32, (1.0 - beta2) as f32);
        let rate = (learning_rate / correction(beta1)) as f32;
        // Scaling the root is the same as scaling the square, and keeps small squares out of the subnormal range.
        let (scale, epsilon) = (correction(beta2).powf(-0.5) as f32, epsilon as f32);
        let memory = self.mean.arrays_mut().into_iter().zip(self.square.arrays_mut());
        let arrays = parameters.arrays_mut().into_iter().zip(memory);
        for ((theta, (mean, square)), gradient) in arrays.zip(gradient.arrays()) {
            let tasks = (
                theta.par_chunks_mut(NUMBERS_PER_TASK),
                mean.par_chunks_mut(NUMBERS_PER_TASK),
                square.par_chunks_mut(NUMBERS_PER_TASK),
                gradient.par_chunks(NUMBERS_PER_TASK),
            );
            let fewest = fewest_tasks(gradient.len() * AS_A_NUMBER);
            tasks.into_par_iter().with_min_len(fewest).for_each(
                |(theta, mean, square, gradient)| {
                    let memory = mean.iter_mut().zip(square);
                    for ((theta, (mean, square)), g) in theta.iter_mut().zip(memory).zip(gradient) {
                        *mean = *mean * keep_mean + g * new_mean;
                        *square = *square * keep_square + g * g * new_square;
                        *theta += *mean * rate / (square.sqrt() * scale + epsilon);
                    }
                },
            );
        }
    }

    fn save(&self, state: &mut StateWriter) {
        state.parameters("update.mean.", &self.mean);
        state.parameters("update.square.", &self.square);
        state.json("update.updates", &self.updates);
    }

    fn load(&mut self, state: &StateReader) -> Result<()> {
        let Parameters { n_visible, n_hidden, .. } = self.mean;
        self.updates = state.json("update.updates")?;
        self.mean = state.parameters("update.mean.", n_visible, n_hidden)?;
        self.square = state.parameters("update.square.", n_visible, n_hidden)?;
        Ok(())
    }
}
