//! Adam (Kingma and Ba 2015), uphill.
//!
//! m <- beta1 m + (1-beta1) g;  v <- beta2 v + (1-beta2) g^2;
//! theta <- theta + eps m/(1-beta1^t) / (sqrt(v/(1-beta2^t)) + epsilon)

use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::gradient::moved;
use super::{Gradient, UpdateRule};
use crate::checkpoint::{StateReader, StateWriter};
use crate::error::{Error, Result};
use crate::model::Rbm;

/// Settings of [`Adam`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdamConfig {
    /// Memory of the mean, in [0, 1).
    pub beta1: f64,
    /// Memory of the square, in [0, 1).
    pub beta2: f64,
    /// Added to the root of the square; > 0.
    pub epsilon: f64,
}

impl Default for AdamConfig {
    fn default() -> Self {
        Self { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }
    }
}

impl AdamConfig {
    pub(super) fn check(&self) -> Result<()> {
        for (field, beta) in [("beta1", self.beta1), ("beta2", self.beta2)] {
            if !(0.0..1.0).contains(&beta) {
                let problem = format!("{beta} is not in [0, 1)");
                return Err(Error::config(field, problem));
            }
        }
        if self.epsilon > 0.0 && self.epsilon.is_finite() {
            return Ok(());
        }
        let problem = format!("{} is not a positive number", self.epsilon);
        Err(Error::config("epsilon", problem))
    }
}

/// Adam's means of gradient and square.
pub struct Adam {
    config: AdamConfig,
    updates: u64,
    mean: Gradient,
    square: Gradient,
}

impl Adam {
    /// No memory.
    pub fn new(config: AdamConfig, n_visible: usize, n_hidden: usize, device: &Device) -> Self {
        let zeros = Gradient::zeros(n_visible, n_hidden, device);
        Self { config, updates: 0, mean: zeros.clone(), square: zeros }
    }

    /// New mean, new square, step.
    fn tensor<const D: usize>(
        &self,
        mean: &Tensor<D>,
        square: &Tensor<D>,
        gradient: Tensor<D>,
        rate: f64,
    ) -> [Tensor<D>; 3] {
        let AdamConfig { beta1, beta2, epsilon } = self.config;
        let correction = |beta: f64| 1.0 - beta.powf(self.updates as f64);
        let mean = mean.clone() * beta1 + gradient.clone() * (1.0 - beta1);
        let square = square.clone() * beta2 + gradient.clone() * gradient * (1.0 - beta2);
        // Scaling the root is the same as scaling the square, and keeps small squares out of the subnormal range.
        let root = square.clone().sqrt() * correction(beta2).powf(-0.5) + epsilon;
        let step = mean.clone() * (rate / correction(beta1)) / root;
        [mean, square, step]
    }
}

impl UpdateRule for Adam {
    fn step(&mut self, rbm: Rbm, gradient: Gradient, learning_rate: f64) -> Rbm {
        self.updates += 1;
        let (m, v, g, rate) = (&self.mean, &self.square, gradient, learning_rate);
        let [mw, vw, weights] = self.tensor(&m.weights, &v.weights, g.weights, rate);
        let [mc, vc, visible_bias] =
            self.tensor(&m.visible_bias, &v.visible_bias, g.visible_bias, rate);
        let [mb, vb, hidden_bias] =
            self.tensor(&m.hidden_bias, &v.hidden_bias, g.hidden_bias, rate);
        self.mean = Gradient { weights: mw, visible_bias: mc, hidden_bias: mb };
        self.square = Gradient { weights: vw, visible_bias: vc, hidden_bias: vb };
        moved(rbm, Gradient { weights, visible_bias, hidden_bias })
    }

    fn save(&self, state: &mut StateWriter) {
        self.mean.save("mean", state);
        self.square.save("square", state);
        state.json("update.updates", &self.updates);
    }

    fn load(&mut self, state: &StateReader) -> Result<()> {
        self.updates = state.json("update.updates")?;
        self.mean.load("mean", state)?;
        self.square.load("square", state)
    }
}
