//! The recursion of SAMS and Wang-Landau: zeta changes after every sweep, towards even occupancy of the temperatures.
//!
//! zeta_k += g (q_k/r_k - q_1/r_1), q(k|x) averaged over all chains, which share zeta; zeta_1 = log Z_1 stays.
//!
//! Error bar: near the solution E[q_k/r_k - q_1/r_1] = (log Z_k - zeta_k) + second order, so the error of zeta obeys e <- (1 - g) e + g
//! (noise), and is a sum of contributions of single chains, A_s <- (1 - g) A_s + g (chain s's noise). Given the path of zeta the chains are
//! independent: Var(zeta_K) = var_s(A_s)/S. This holds for any autocorrelation of the chains, as in RTS eq. 16. It does not include the
//! error of the first zeta, which decays as the product of all (1 - g).
//!
//! Cost: that of the sweeps.

use std::time::Instant;

use super::estimate::with_rounding;
use super::{Estimate, Method, at_least_two_chains};
use crate::context::Context;
use crate::error::Result;
use crate::numerics::Influence;
use crate::tempering::{NEEDED_PER_CHAIN, SimulatedTempering};
use crate::trust::{Doubt, Trust};

/// Fraction of its prior that a temperature must have received; below it, zeta has not converged, however few chains there are.
const EVEN: f64 = 0.5;

/// Chains and the state of the recursion.
pub(super) struct Recursion<'a> {
    chains: &'a mut dyn SimulatedTempering,
    zeta: Vec<f64>,
    /// 1/r_k.
    inverse_prior: Vec<f64>,
    /// A_s at the last temperature.
    influence: Influence,
    histogram: Vec<f64>,
    counted: usize,
    round_trips: u64,
    sweeps_before: u64,
    start: Instant,
}

impl<'a> Recursion<'a> {
    /// Starts from the chains' own guess of zeta.
    pub(super) fn new(chains: &'a mut dyn SimulatedTempering) -> Result<Self> {
        let start = Instant::now();
        at_least_two_chains(chains.chains())?;
        let sweeps_before = chains.sweeps_done();
        let zeta = chains.guess_zeta();
        let inverse_prior =
            chains.ladder().log_prior().iter().map(|log_r| (-log_r).exp()).collect();
        let (n, k) = (chains.chains(), zeta.len());
        Ok(Self {
            chains,
            zeta,
            inverse_prior,
            influence: Influence::none(n),
            histogram: vec![0.0; k],
            counted: 0,
            round_trips: 0,
            sweeps_before,
            start,
        })
    }

    /// The largest gain: S chains one after the other, each changing no zeta_k by more than 1 nat (g <= min r_k), at most the Newton step.
    /// (Gains that differ between temperatures, as in min(r_k, .), would have no common fixed point.)
    pub(super) fn largest_gain(&self) -> f64 {
        let smallest_prior = 1.0 / self.inverse_prior.iter().copied().fold(0.0, f64::max);
        (self.chain_count() * smallest_prior).min(1.0)
    }

    /// Of the chains.
    pub(super) fn context(&self) -> &Context {
        self.chains.context()
    }

    /// S.
    pub(super) fn chain_count(&self) -> f64 {
        self.influence.chains() as f64
    }

    /// One sweep, then one change of zeta.
    pub(super) fn step(&mut self, gain: f64) {
        let k = self.zeta.len();
        let swept = self.chains.sweep(&self.zeta, 1);
        let n = self.chain_count();
        let mut mean = vec![0.0; k];
        for row in swept.occupancy.rows() {
            mean.iter_mut().zip(row).for_each(|(mean, q)| *mean += q / n);
        }
        let ratio = |q: &[f64], k: usize| q[k] * self.inverse_prior[k];
        for (influence, row) in self.influence.parts_mut().iter_mut().zip(swept.occupancy.rows()) {
            let own = ratio(row, k - 1) - ratio(row, 0);
            let all = ratio(&mean, k - 1) - ratio(&mean, 0);
            *influence += gain * (own - all - *influence);
        }
        for (j, zeta) in self.zeta.iter_mut().enumerate().skip(1) {
            *zeta += gain * (ratio(&mean, j) - ratio(&mean, 0));
        }
        self.histogram.iter_mut().zip(&mean).for_each(|(sum, q)| *sum += q);
        self.counted += 1;
        self.round_trips += swept.round_trips;
    }

    /// min_k c_k/r_k since the histogram was last reset.
    pub(super) fn flatness(&self) -> f64 {
        let lowest = self.histogram.iter().zip(&self.inverse_prior).map(|(sum, r)| sum * r);
        lowest.fold(f64::INFINITY, f64::min) / self.counted.max(1) as f64
    }

    /// Starts a new histogram.
    pub(super) fn forget_histogram(&mut self) {
        self.histogram.fill(0.0);
        self.counted = 0;
    }

    /// zeta_K; `doubt` is that of the method, round trips and flatness are checked here.
    pub(super) fn finish(self, method: Method, doubt: Trust) -> Estimate {
        let n = self.chain_count();
        let per_chain = self.round_trips as f64 / n;
        let flatness = self.flatness();
        let unmixed = (per_chain < NEEDED_PER_CHAIN)
            .then_some(Doubt::NotMixed { per_chain, needed: NEEDED_PER_CHAIN });
        let uneven = (flatness < EVEN).then_some(Doubt::NotFlat { flatness, needed: EVEN });
        let value = self.zeta[self.zeta.len() - 1];
        Estimate {
            effective_samples: Some(self.round_trips as f64),
            gibbs_sweeps: (self.chains.sweeps_done() - self.sweeps_before) * n as u64,
            seconds: self.start.elapsed().as_secs_f64(),
            trust: Trust::unless(unmixed).and(doubt).and(Trust::unless(uneven)),
            ..Estimate::new(method, value, with_rounding(self.influence.std_error(), value))
        }
        .checked()
    }
}
