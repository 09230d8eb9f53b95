//! RMSspectral (Carlson, Collins, Hsieh, Carin, Cevher 2015, "Preconditioned spectral descent"), uphill.
//!
//! V <- lambda V + (1-lambda) G^2;  D = sqrt(eps_d + sqrt(V / (1-lambda^t)));  W <- W + eps (G / D)# / D
//!
//! Two nested roots; division before and after. The biases follow RMSprop with their own step:
//! b <- b + eps_b g / (eps_d + sqrt(v / (1-lambda^t))), eps_b scaled as the schedule scales eps.

use serde::{Deserialize, Serialize};

use super::{Gradient, UpdateRule, sharp};
use crate::checkpoint::{StateReader, StateWriter};
use crate::error::Result;
use crate::keys::section;
use crate::model::Parameters;

section! {
    /// Settings of [`RmsSpectral`].
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct RmsSpectralConfig {
        /// Memory of the square, in [0, 1).
        memory: f64 = 0.99 => range(0.0..1.0);
        /// Added to the root of the square; 1e-4 to 1e-2 regularises an RBM, 1e-8 does nothing.
        damping: f64 = 1e-3 => positive();
        /// Step of the biases at the schedule's start; that of the weights is far too small for them.
        bias_learning_rate: f64 = 1e-3 => range(0.0..);
        /// Largest change of any weight in one update; positive.
        max_step: f64 = 0.01 => positive();
    }
}

/// RMSspectral's mean squares.
pub struct RmsSpectral {
    config: RmsSpectralConfig,
    initial_learning_rate: f64,
    updates: u64,
    square: Parameters,
}

impl RmsSpectral {
    /// No memory. `initial_learning_rate` is the schedule's value at which `bias_learning_rate` applies in full.
    pub fn new(
        config: RmsSpectralConfig,
        n_visible: usize,
        n_hidden: usize,
        initial_learning_rate: f64,
    ) -> Self {
        let square = Parameters::zeros(n_visible, n_hidden);
        Self { config, initial_learning_rate, updates: 0, square }
    }

    /// Includes the gradient in the mean squares; returns their bias-corrected roots plus eps_d, for W, c and b.
    fn damped_roots(&mut self, gradient: &Gradient) -> [Vec<f32>; 3] {
        let RmsSpectralConfig { memory, damping, .. } = self.config;
        let (keep, new) = (memory as f32, (1.0 - memory) as f32);
        let scale = (1.0 - memory.powf(self.updates as f64)).powf(-0.5) as f32;
        let mut arrays = self.square.arrays_mut().into_iter().zip(gradient.arrays());
        [(); 3].map(|()| {
            let (squares, gradient) = arrays.next().expect("parameters are three arrays");
            let root = |(square, g): (&mut f32, &f32)| {
                *square = *square * keep + g * g * new;
                square.sqrt() * scale + damping as f32
            };
            squares.iter_mut().zip(gradient).map(root).collect()
        })
    }
}

impl UpdateRule for RmsSpectral {
    fn step(&mut self, parameters: &mut Parameters, gradient: &Gradient, learning_rate: f64) {
        self.updates += 1;
        let RmsSpectralConfig { bias_learning_rate, max_step, .. } = self.config;
        let Parameters { n_visible, n_hidden, .. } = *gradient;
        let [mut d, visible, hidden] = self.damped_roots(gradient);
        d.iter_mut().for_each(|d| *d = d.sqrt());
        let divided = |x: &[f32]| x.iter().zip(&d).map(|(x, d)| x / d).collect::<Vec<f32>>();
        let direction = divided(&sharp(&divided(&gradient.weights), n_visible, n_hidden));
        let largest = direction.iter().fold(0.0f32, |largest, x| largest.max(x.abs()));
        let rate = learning_rate.min(max_step / f64::from(largest)) as f32;
        parameters.weights.iter_mut().zip(direction).for_each(|(w, x)| *w += x * rate);
        let rate = (bias_learning_rate * learning_rate / self.initial_learning_rate) as f32;
        for (bias, gradient, root) in [
            (&mut parameters.visible_bias, &gradient.visible_bias, visible),
            (&mut parameters.hidden_bias, &gradient.hidden_bias, hidden),
        ] {
            let numbers = bias.iter_mut().zip(gradient).zip(root);
            numbers.for_each(|((bias, g), root)| *bias += g * rate / root);
        }
    }

    fn save(&self, state: &mut StateWriter) {
        state.parameters("update.square.", &self.square);
        state.json("update.updates", &self.updates);
    }

    fn load(&mut self, state: &StateReader) -> Result<()> {
        let Parameters { n_visible, n_hidden, .. } = self.square;
        self.updates = state.json("update.updates")?;
        self.square = state.parameters("update.square.", n_visible, n_hidden)?;
        Ok(())
    }
}
