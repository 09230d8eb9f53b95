//! Self-adjusted mixture sampling (Tan 2015): the gain that makes adaptive weights as good as fixed ones.
//!
//! Gain min(r, n^-b) for the first n0 steps, min(r, 1/(n - n0 + n0^b)) after, r = min r_k. (RTS eq. 19 gives 1/n alone,
//! without cut and stages.) A sweep of S chains counts as S steps of the paper's single chain, made at once: its gain is
//! S times that, at most 1. From n0 on, zeta is the mean over all sweeps since, to first order.

use super::stochastic_approximation::Recursion;
use super::{Estimate, Method, at_least_one_sweep};
use crate::error::{Error, Result};
use crate::tempering::SimulatedTempering;
use crate::trust::Trust;

/// Settings of self-adjusted mixture sampling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sams {
    /// Sweeps of every chain in the second stage; the first has a fifth as many, before it.
    pub sweeps: usize,
    /// b, in (1/2, 1]; Tan uses .6 to .8.
    pub exponent: f64,
}

impl Sams {
    /// The paper's exponent.
    pub fn new(sweeps: usize) -> Self {
        Self { sweeps, exponent: 0.8 }
    }

    /// Runs both stages.
    ///
    /// # Errors
    /// Fewer than two chains, no sweeps, or an exponent out of range.
    pub fn run(&self, chains: &mut dyn SimulatedTempering) -> Result<Estimate> {
        at_least_one_sweep(self.sweeps)?;
        if !(self.exponent > 0.5 && self.exponent <= 1.0) {
            return Err(Error::Invalid(format!(
                "SAMS exponent {}: above 0.5 and at most 1 is needed",
                self.exponent
            )));
        }
        let mut recursion = Recursion::new(chains)?;
        let first_stage = (self.sweeps / 5).max(1);
        for t in 1..=first_stage + self.sweeps {
            let gain = self.gain(t as f64, first_stage as f64, recursion.chain_count());
            recursion.step(gain.min(recursion.largest_gain()));
            recursion.context().go_on()?;
            recursion.context().progress().at("sweeps", t, first_stage + self.sweeps);
            if t == first_stage {
                recursion.forget_histogram();
            }
        }
        Ok(recursion.finish(Method::Sams, Trust::sound()))
    }

    fn gain(&self, t: f64, first_stage: f64, chains: f64) -> f64 {
        if t <= first_stage {
            chains * (chains * t).powf(-self.exponent)
        } else {
            1.0 / (t - first_stage + (chains * first_stage).powf(self.exponent) / chains)
        }
    }
}
