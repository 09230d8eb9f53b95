//! Simulated tempering of any target: the narrow trait that initial rounds, RTS and every estimator from tempered samples
//! are written in. RBMs implement it here, continuous targets elsewhere.

use rayon::prelude::*;

use super::chains::SweepRecord;
use super::{BetaUpdate, Evaluated, Keep, Ladder, Path, TemperedChains, anneal};
use crate::ops::{padded, words_per_row};

/// Parallel chains in (x, k) on a ladder of unnormalised densities f_k, with f_1 normalised exactly.
pub trait SimulatedTempering {
    /// beta_k and r_k.
    fn ladder(&self) -> &Ladder;

    /// log Z_1.
    fn log_z_base(&self) -> f64;

    /// Index k of the inverse temperature each chain's state was generated at, shape `[S]`.
    fn temperatures(&self) -> &[u32];

    /// Draws every chain's inverse temperature uniformly (RTS 2.4, between initial rounds).
    fn redraw_temperatures(&mut self);

    /// A first guess of zeta from the same chains; log Z_1 at every temperature where nothing better is at hand.
    fn guess_zeta(&mut self) -> Vec<f64> {
        vec![self.log_z_base(); self.ladder().len()]
    }

    /// `sweeps` (at least 1) sweeps of all chains with pseudo-prior `zeta` `[K]`.
    fn sweep(&mut self, zeta: &[f64], sweeps: usize) -> Swept;

    /// Sweeps of every chain so far, those of [`SimulatedTempering::guess_zeta`] included.
    fn sweeps_done(&self) -> u64;

    /// log f_k(x) of the chains' states after the last [`SimulatedTempering::sweep`], shape [S, K].
    fn log_f(&self) -> &[f64];

    /// Derivatives with respect to beta of the tempered density at the same states, for thermodynamic integration.
    fn slopes(&self) -> Slopes;

    /// Number of chains, S.
    fn chains(&self) -> usize {
        self.temperatures().len()
    }
}

/// What a number of sweeps of any target left behind.
#[derive(Clone, Debug)]
pub struct Swept {
    /// C_sk: mean over the sweeps of q(k|x), shape [S, K].
    pub occupancy: Vec<f64>,
    /// sum of 1[x generated at j] q(k|x), shape [K, K].
    pub transitions: Vec<f64>,
    /// Round trips 1 -> K -> 1 completed, all chains together.
    pub round_trips: u64,
}

/// E[Delta | x, beta_k] = d/dbeta log f_beta(x), and Var[Delta | x, beta_k], its own derivative; both of shape [S, K].
/// Delta is log f - log f_1 of the full state; the variance is over what was summed out of it (hidden units).
#[derive(Clone, Debug)]
pub struct Slopes {
    /// E[Delta | x, beta_k].
    pub mean: Vec<f64>,
    /// Var[Delta | x, beta_k]; zero where nothing was summed out.
    pub variance: Vec<f64>,
}

/// Tempered chains of an RBM along a path.
pub struct RbmTempering<'a> {
    path: Path<'a>,
    chains: &'a mut TemperedChains,
    update: BetaUpdate,
    last: Option<Evaluated>,
}

impl<'a> RbmTempering<'a> {
    /// Chains that move along `path`.
    pub fn new(path: Path<'a>, chains: &'a mut TemperedChains, update: BetaUpdate) -> Self {
        Self { path, chains, update, last: None }
    }
}

impl SimulatedTempering for RbmTempering<'_> {
    fn ladder(&self) -> &Ladder {
        self.path.ladder
    }

    fn log_z_base(&self) -> f64 {
        self.path.log_z_base()
    }

    fn temperatures(&self) -> &[u32] {
        &self.chains.temperatures
    }

    fn redraw_temperatures(&mut self) {
        self.chains.redraw_temperatures(self.path.ladder.len());
    }

    /// An annealing pass of the chains: biased low, but near enough for rounds to start with chains everywhere.
    fn guess_zeta(&mut self) -> Vec<f64> {
        let k = self.path.ladder.len();
        let annealed =
            anneal(&self.path, self.chains.len(), self.chains.seed, self.chains.sweeps, Keep::All);
        self.chains.sweeps += k as u64;
        let zeta =
            (0..k).map(|k| self.path.log_z_base() + annealed.mean_weight(k).log_mean).collect();
        self.chains.visible = annealed.visible;
        self.last = None;
        zeta
    }

    fn sweep(&mut self, zeta: &[f64], sweeps: usize) -> Swept {
        let SweepRecord { occupancy, transitions, round_trips, last, .. } =
            self.chains.sweep(self.path, zeta, self.update, sweeps, self.last.take());
        self.last = Some(last);
        Swept { occupancy, transitions, round_trips }
    }

    fn sweeps_done(&self) -> u64 {
        self.chains.sweeps
    }

    fn log_f(&self) -> &[f64] {
        self.last.as_ref().map_or(&[], |last| &last.log_f)
    }

    /// E = (c - a).v + sum_j x_j sigma(beta x_j), V = sum_j x_j^2 sigma (1 - sigma) (algorithms.md, section 5).
    fn slopes(&self) -> Slopes {
        let k = self.path.ladder.len();
        let mut slopes =
            Slopes { mean: vec![0.0; self.chains() * k], variance: vec![0.0; self.chains() * k] };
        let Some(last) = &self.last else { return slopes };
        let n_hidden = self.path.n_hidden();
        let words = words_per_row(self.path.n_visible());
        (
            slopes.mean.par_chunks_mut(k),
            slopes.variance.par_chunks_mut(k),
            last.inputs.as_slice().par_chunks(padded(n_hidden)),
            self.chains.visible.words().par_chunks(words),
        )
            .into_par_iter()
            .for_each(|(mean, variance, x, visible)| {
                let constant = self.path.ops.visible_dot(visible) - self.path.base.dot(visible);
                for ((mean, variance), &beta) in
                    mean.iter_mut().zip(variance).zip(self.path.ladder.betas())
                {
                    let (slope, spread) = hidden_slope(&x[..n_hidden], beta as f32);
                    *mean = constant + slope;
                    *variance = spread;
                }
            });
        slopes
    }
}

/// sum_j x_j sigma(beta x_j) and sum_j x_j^2 sigma (1 - sigma), summed in f64 over blocks the compiler vectorises.
pub(super) fn hidden_slope(x: &[f32], beta: f32) -> (f64, f64) {
    const BLOCK: usize = 64;
    let (mut mean, mut variance) = (0.0, 0.0);
    for block in x.chunks(BLOCK) {
        let (mut first, mut second) = ([0.0f32; BLOCK], [0.0f32; BLOCK]);
        for ((first, second), &x) in first.iter_mut().zip(&mut second).zip(block) {
            let sigma = 1.0 / (1.0 + crate::ops::cpu::math::exp_f32(-beta * x));
            *first = x * sigma;
            *second = x * x * sigma * (1.0 - sigma);
        }
        mean += first.iter().map(|&x| f64::from(x)).sum::<f64>();
        variance += second.iter().map(|&x| f64::from(x)).sum::<f64>();
    }
    (mean, variance)
}
