//! Stochastic spectral descent (Carlson, Cevher, Carin 2015), uphill.
//!
//! W <- W + eps g#, eps = 1/(M J) from the majoriser of log Z in the Schatten-infinity norm. The same bound in the biases'
//! Euclidean norms (Var(u.v) <= M/4 for |u| = 1) gives 1/M and 1/J, so a learning rate eps moves c by eps J g and b by eps M g.
//! Keeps no memory.

use super::{Gradient, UpdateRule, sharp};
use crate::checkpoint::{StateReader, StateWriter};
use crate::error::Result;
use crate::model::Parameters;

/// Stochastic spectral descent.
pub struct Ssd;

impl UpdateRule for Ssd {
    fn step(&mut self, parameters: &mut Parameters, gradient: &Gradient, learning_rate: f64) {
        let Parameters { n_visible, n_hidden, .. } = *gradient;
        let direction = sharp(&gradient.weights, n_visible, n_hidden);
        let rates = [1.0, n_hidden as f64, n_visible as f64].map(|by| (learning_rate * by) as f32);
        let [_, visible, hidden] = gradient.arrays();
        let directions = [&direction[..], visible, hidden];
        for ((theta, direction), rate) in
            parameters.arrays_mut().into_iter().zip(directions).zip(rates)
        {
            theta.iter_mut().zip(direction).for_each(|(theta, x)| *theta += x * rate);
        }
    }

    fn save(&self, _: &mut StateWriter) {}

    fn load(&mut self, _: &StateReader) -> Result<()> {
        Ok(())
    }
}
