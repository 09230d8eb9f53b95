//! The running average of the parameters: theta-bar += (theta - theta-bar)/max(1, a u) after update u, with a the fraction of the history
//! that is averaged over.
//!
//! One update of PCD changes log f near a particle by several nats, and the current parameters contain the noise of the last dozens of
//! updates, which chains cannot follow. Their average has little of this noise, changes slowly and is as good a model (784x500: +0.4 nats
//! of test log-likelihood). So it is the model that is tracked, evaluated and saved (Polyak and Juditsky 1992; algorithms.md, section 3).

use rayon::prelude::*;

use crate::engine::{AS_A_NUMBER, NUMBERS_PER_TASK, fewest_tasks};
use crate::model::Parameters;

/// Fraction of the history that is averaged over: by default for the parameters, always for the evaluations that early stopping pools.
pub(crate) const WINDOW: f64 = 0.1;

/// theta-bar and its window.
#[derive(Clone, Debug)]
pub struct Averaged {
    window: f64,
    parameters: Parameters,
}

impl Averaged {
    /// Starts at `parameters`; `window` in (0, 1].
    pub fn new(window: f64, parameters: Parameters) -> Self {
        Self { window, parameters }
    }

    /// Includes the parameters after update number `updates`, counted from 1.
    pub fn follow(&mut self, new: &Parameters, updates: u64) {
        let rate = (1.0 / (self.window * updates as f64).max(1.0)) as f32;
        for (old, new) in self.parameters.arrays_mut().into_iter().zip(new.arrays()) {
            let fewest = fewest_tasks(new.len() * AS_A_NUMBER);
            let tasks = old.par_chunks_mut(NUMBERS_PER_TASK).zip(new.par_chunks(NUMBERS_PER_TASK));
            tasks.with_min_len(fewest).for_each(|(old, new)| {
                old.iter_mut().zip(new).for_each(|(old, new)| *old += rate * (new - *old));
            });
        }
    }

    /// theta-bar.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_one_is_the_mean_and_a_small_one_the_present() {
        let at = |x: f32| Parameters { weights: vec![x; 6], ..Parameters::zeros(2, 3) };
        let (mut mean, mut short) = (Averaged::new(1.0, at(9.0)), Averaged::new(1e-3, at(9.0)));
        for u in 1..=100 {
            mean.follow(&at(u as f32), u);
            short.follow(&at(u as f32), u);
        }
        assert!((mean.parameters().weights[0] - 50.5).abs() < 1e-3);
        assert_eq!(short.parameters().weights[5], 100.0);
    }

    /// The average follows a steady drift at a distance of a little more than a tenth of the history, and averages noise.
    #[test]
    fn a_tenth_of_the_history_is_averaged_over() {
        let at = |x: f64| Parameters { hidden_bias: vec![x as f32; 3], ..Parameters::zeros(2, 3) };
        let mut average = Averaged::new(0.1, at(0.0));
        let n = 10_000;
        for u in 1..=n {
            let ripple = if u % 2 == 0 { 500.0 } else { -500.0 };
            average.follow(&at(u as f64 + ripple), u);
        }
        let lag = n as f64 - f64::from(average.parameters().hidden_bias[0]);
        // For rate 1/(a u) and a drift of 1 the distance is a u/(1 + a).
        assert!((lag / (0.1 * n as f64 / 1.1) - 1.0).abs() < 0.02, "{lag}");
    }
}
