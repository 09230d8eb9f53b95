//! Stochastic gradient ascent with momentum.
//!
//! v <- mu v + eps g;  theta <- theta + v (Polyak 1964), or theta + mu v + eps g (Nesterov's in the form of Bengio,
//! Boulanger-Lewandowski, Pascanu 2013).

use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::gradient::moved;
use super::{Gradient, UpdateRule};
use crate::checkpoint::{StateReader, StateWriter};
use crate::error::{Error, Result};
use crate::model::Rbm;

/// Settings of [`Sgd`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SgdConfig {
    /// mu, in [0, 1); 0 is plain gradient ascent.
    pub momentum: f64,
    /// Whether to look ahead.
    pub nesterov: bool,
}

impl SgdConfig {
    pub(super) fn check(&self) -> Result<()> {
        if (0.0..1.0).contains(&self.momentum) {
            return Ok(());
        }
        Err(Error::config("momentum", format!("{} is not in [0, 1)", self.momentum)))
    }
}

/// Gradient ascent with momentum.
pub struct Sgd {
    config: SgdConfig,
    velocity: Gradient,
}

impl Sgd {
    /// At rest.
    pub fn new(config: SgdConfig, n_visible: usize, n_hidden: usize, device: &Device) -> Self {
        Self { config, velocity: Gradient::zeros(n_visible, n_hidden, device) }
    }

    fn tensor<const D: usize>(
        &self,
        velocity: &Tensor<D>,
        gradient: Tensor<D>,
        rate: f64,
    ) -> [Tensor<D>; 2] {
        let SgdConfig { momentum, nesterov } = self.config;
        let push = gradient * rate;
        if momentum == 0.0 {
            return [push.clone(), push];
        }
        let velocity = velocity.clone() * momentum + push.clone();
        let step = if nesterov { velocity.clone() * momentum + push } else { velocity.clone() };
        [velocity, step]
    }
}

impl UpdateRule for Sgd {
    fn step(&mut self, rbm: Rbm, gradient: Gradient, learning_rate: f64) -> Rbm {
        let v = &self.velocity;
        let [vw, weights] = self.tensor(&v.weights, gradient.weights, learning_rate);
        let [vc, visible_bias] = self.tensor(&v.visible_bias, gradient.visible_bias, learning_rate);
        let [vb, hidden_bias] = self.tensor(&v.hidden_bias, gradient.hidden_bias, learning_rate);
        self.velocity = Gradient { weights: vw, visible_bias: vc, hidden_bias: vb };
        moved(rbm, Gradient { weights, visible_bias, hidden_bias })
    }

    fn save(&self, state: &mut StateWriter) {
        self.velocity.save("velocity", state);
    }

    fn load(&mut self, state: &StateReader) -> Result<()> {
        self.velocity.load("velocity", state)
    }
}
