//! Simulated tempering of any target: the interface of initial rounds, RTS and every estimator from tempered samples. [`super::Tempering`]
//! implements it for chains of binary states along any path; continuous targets implement it themselves.

use super::Ladder;
use crate::context::Context;
use crate::numerics::Table;

/// Parallel chains in (x, k) on a ladder of unnormalised densities f_k, with f_1 normalised exactly.
pub trait SimulatedTempering {
    /// beta_k and r_k.
    fn ladder(&self) -> &Ladder;

    /// The flag that ends the chains' work, and its progress.
    fn context(&self) -> &Context {
        Context::none()
    }

    /// log Z_1.
    fn log_z_base(&self) -> f64;

    /// Index k of the inverse temperature each chain's state was generated at, shape `[S]`.
    fn temperatures(&self) -> &[u32];

    /// Draws every chain's inverse temperature uniformly (RTS 2.4, between initial rounds).
    fn redraw_temperatures(&mut self);

    /// A first guess of zeta from the same chains; log Z_1 at every temperature if there is no better one.
    fn guess_zeta(&mut self) -> Vec<f64> {
        vec![self.log_z_base(); self.ladder().len()]
    }

    /// `sweeps` (at least 1) sweeps of all chains with pseudo-prior `zeta` `[K]`.
    fn sweep(&mut self, zeta: &[f64], sweeps: usize) -> Swept;

    /// Sweeps of every chain so far, including those of [`SimulatedTempering::guess_zeta`].
    fn sweeps_done(&self) -> u64;

    /// log f_k(x) of the chains' states after the last [`SimulatedTempering::sweep`], shape [S, K].
    fn log_f(&self) -> &Table;

    /// Derivatives with respect to beta of the tempered density at the same states, for thermodynamic integration.
    fn slopes(&self) -> Slopes;

    /// Number of chains, S.
    fn chains(&self) -> usize {
        self.temperatures().len()
    }
}

/// Result of a number of sweeps of any target.
#[derive(Clone, Debug)]
pub struct Swept {
    /// C_sk: mean over the sweeps of q(k|x), shape [S, K].
    pub occupancy: Table,
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
    pub mean: Table,
    /// Var[Delta | x, beta_k]; zero if nothing was summed out.
    pub variance: Table,
}
