//! RMSspectral (Carlson, Collins, Hsieh, Carin, Cevher 2015, "Preconditioned spectral descent"), uphill.
//!
//! V <- lambda V + (1-lambda) G^2;  D = sqrt(eps_d + sqrt(V / (1-lambda^t)));  W <- W + eps (G / D)# / D
//!
//! Two nested roots; division before and after. The biases follow RMSprop with their own step:
//! b <- b + eps_b g / (eps_d + sqrt(v / (1-lambda^t))), eps_b scaled as the schedule scales eps.

use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::gradient::moved;
use super::{Gradient, UpdateRule, sharp};
use crate::checkpoint::{StateReader, StateWriter};
use crate::error::{Error, Result};
use crate::model::{Rbm, host};

/// Settings of [`RmsSpectral`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RmsSpectralConfig {
    /// lambda, memory of the square, in [0, 1).
    pub memory: f64,
    /// eps_d > 0; 1e-4 to 1e-2 regularises an RBM, 1e-8 does nothing.
    pub damping: f64,
    /// eps_b >= 0, the biases' step at the schedule's start: the step of W, whose scale carries the nuclear norm, is far
    /// too small for them.
    pub bias_learning_rate: f64,
    /// Largest change of any weight in one update; the whole step of W is shortened to respect it. > 0.
    pub max_step: f64,
}

impl Default for RmsSpectralConfig {
    fn default() -> Self {
        Self { memory: 0.99, damping: 1e-3, bias_learning_rate: 1e-3, max_step: 0.01 }
    }
}

impl RmsSpectralConfig {
    pub(super) fn check(&self) -> Result<()> {
        let finite = f64::is_finite;
        for (field, value, ok, range) in [
            ("memory", self.memory, (0.0..1.0).contains(&self.memory), "in [0, 1)"),
            ("damping", self.damping, self.damping > 0.0 && finite(self.damping), "positive"),
            (
                "bias_learning_rate",
                self.bias_learning_rate,
                self.bias_learning_rate >= 0.0 && finite(self.bias_learning_rate),
                "a number >= 0",
            ),
            ("max_step", self.max_step, self.max_step > 0.0 && finite(self.max_step), "positive"),
        ] {
            if !ok {
                let problem = format!("{value} is not {range}");
                return Err(Error::config(field, problem));
            }
        }
        Ok(())
    }
}

/// RMSspectral's mean squares.
pub struct RmsSpectral {
    config: RmsSpectralConfig,
    initial_learning_rate: f64,
    updates: u64,
    square: Gradient,
}

impl RmsSpectral {
    /// No memory. `initial_learning_rate` is the schedule's value at which `bias_learning_rate` applies in full.
    pub fn new(
        config: RmsSpectralConfig,
        n_visible: usize,
        n_hidden: usize,
        initial_learning_rate: f64,
        device: &Device,
    ) -> Self {
        let square = Gradient::zeros(n_visible, n_hidden, device);
        Self { config, initial_learning_rate, updates: 0, square }
    }

    /// New mean square, and its bias-corrected root.
    fn root<const D: usize>(&self, square: &Tensor<D>, gradient: &Tensor<D>) -> [Tensor<D>; 2] {
        let memory = self.config.memory;
        let correction = 1.0 - memory.powf(self.updates as f64);
        let square = square.clone() * memory + gradient.clone() * gradient.clone() * (1.0 - memory);
        let root = square.clone().sqrt() * correction.powf(-0.5);
        [square, root]
    }

    /// New mean square and step of a bias.
    fn bias(&self, square: &Tensor<1>, gradient: Tensor<1>, rate: f64) -> [Tensor<1>; 2] {
        let [square, root] = self.root(square, &gradient);
        [square, gradient * rate / (root + self.config.damping)]
    }

    /// New mean square and step of the weights.
    fn weights(&self, gradient: Tensor<2>, rate: f64) -> [Tensor<2>; 2] {
        let [square, root] = self.root(&self.square.weights, &gradient);
        let d = (root + self.config.damping).sqrt();
        let direction = sharp(gradient / d.clone()) / d;
        let largest = host(direction.clone().abs().max()).first().copied().unwrap_or(0.0);
        let rate = rate.min(self.config.max_step / f64::from(largest));
        [square, direction * rate]
    }
}

impl UpdateRule for RmsSpectral {
    fn step(&mut self, rbm: Rbm, gradient: Gradient, learning_rate: f64) -> Rbm {
        self.updates += 1;
        let bias_rate = self.config.bias_learning_rate * learning_rate / self.initial_learning_rate;
        let [vw, weights] = self.weights(gradient.weights, learning_rate);
        let [vc, visible_bias] =
            self.bias(&self.square.visible_bias, gradient.visible_bias, bias_rate);
        let [vb, hidden_bias] =
            self.bias(&self.square.hidden_bias, gradient.hidden_bias, bias_rate);
        self.square = Gradient { weights: vw, visible_bias: vc, hidden_bias: vb };
        moved(rbm, Gradient { weights, visible_bias, hidden_bias })
    }

    fn save(&self, state: &mut StateWriter) {
        self.square.save("square", state);
        state.json("update.updates", &self.updates);
    }

    fn load(&mut self, state: &StateReader) -> Result<()> {
        self.updates = state.json("update.updates")?;
        self.square.load("square", state)
    }
}
