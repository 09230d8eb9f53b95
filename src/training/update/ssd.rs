//! Stochastic spectral descent (Carlson, Cevher, Carin 2015), uphill.
//!
//! W <- W + eps g#, eps = 1/(M J) from the majoriser of log Z in the Schatten-infinity norm. The same bound in the biases'
//! Euclidean norms (Var(u.v) <= M/4 for |u| = 1) gives 1/M and 1/J, so a learning rate eps moves c by eps J g and b by eps M g.
//! Keeps no memory.

use super::gradient::moved;
use super::{Gradient, UpdateRule, sharp};
use crate::checkpoint::{StateReader, StateWriter};
use crate::error::Result;
use crate::model::Rbm;

/// Stochastic spectral descent.
pub struct Ssd;

impl UpdateRule for Ssd {
    fn step(&mut self, rbm: Rbm, gradient: Gradient, learning_rate: f64) -> Rbm {
        let [n_visible, n_hidden] = gradient.weights.dims();
        let step = Gradient {
            weights: sharp(gradient.weights) * learning_rate,
            visible_bias: gradient.visible_bias * (learning_rate * n_hidden as f64),
            hidden_bias: gradient.hidden_bias * (learning_rate * n_visible as f64),
        };
        moved(rbm, step)
    }

    fn save(&self, _: &mut StateWriter) {}

    fn load(&mut self, _: &StateReader) -> Result<()> {
        Ok(())
    }
}
