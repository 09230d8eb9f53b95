//! Annealed importance sampling (Neal 2001; Salakhutdinov and Murray 2008).
//!
//! log Z = log Z_1 + log mean w, se = sqrt(var w/S)/mean w. Biased low; heavy tails make the error bar too small when few
//! temperatures are used (algorithms.md, section 5).

use std::time::Instant;

use super::estimate::with_rounding;
use super::{Bias, Estimate, FAILURE, Method};
use crate::engine::Engine;
use crate::error::Result;
use crate::numerics::betting_lower_bound;
use crate::tempering::{
    BaseDistribution, GeometricPath, HEAVIEST_TAIL, Keep, Ladder, MeanWeight, TemperedPath, anneal,
};
use crate::trust::{Doubt, Trust};

/// Settings of annealed importance sampling.
#[derive(Clone, Debug, PartialEq)]
pub struct Ais {
    /// Number of independent chains, S.
    pub chains: usize,
    /// Inverse temperatures; their prior is not used.
    pub ladder: Ladder,
    /// Seed of all random streams.
    pub seed: u64,
}

impl Ais {
    /// Runs all chains along the geometric path.
    ///
    /// # Errors
    /// Fewer than two chains.
    pub fn run(&self, engine: &dyn Engine, base: &BaseDistribution) -> Result<Estimate> {
        base.check_for(engine)?;
        ais(&GeometricPath { engine, ladder: &self.ladder, base }, self.chains, self.seed)
    }
}

/// Annealed importance sampling along any path.
///
/// # Errors
/// Fewer than two chains.
pub fn ais(path: &dyn TemperedPath, chains: usize, seed: u64) -> Result<Estimate> {
    Ok(ais_with_weights(path, chains, seed)?.0)
}

/// The estimate and its log weights.
pub(super) fn ais_with_weights(
    path: &dyn TemperedPath,
    chains: usize,
    seed: u64,
) -> Result<(Estimate, Vec<f64>)> {
    let start = Instant::now();
    super::at_least_two_chains(chains)?;
    let annealed = anneal(path, chains, seed, 0, Keep::Last);
    let mean = annealed.mean_weight(0);
    let value = path.log_z_base() + mean.log_mean;
    let weights: Vec<f64> = annealed.final_weights().collect();
    // Half of the failure probability: up to two passes are compared.
    let at_least = path.log_z_base() + betting_lower_bound(&weights, FAILURE / 2.0);
    let estimate = Estimate {
        effective_samples: Some(mean.effective),
        bias: Bias::Low,
        at_least: Some(at_least),
        gibbs_sweeps: steps(path, chains),
        seconds: start.elapsed().as_secs_f64(),
        trust: trust_of_weights(&mean, chains),
        ..Estimate::new(Method::Ais, value, with_rounding(mean.std_error, value))
    }
    .checked();
    Ok((estimate, weights))
}

/// Gibbs sweeps of one pass along a path.
pub(super) fn steps(path: &dyn TemperedPath, chains: usize) -> u64 {
    (chains * (path.ladder().len() - 1)) as u64
}

/// Whether the error bar of a mean of weights can be trusted.
pub(super) fn trust_of_weights(mean: &MeanWeight, chains: usize) -> Trust {
    let (effective, tail) = (mean.effective, mean.tail);
    let few =
        (effective < 0.1 * chains as f64).then_some(Doubt::FewEffective { effective, chains });
    let heavy = tail > HEAVIEST_TAIL && effective < 0.5 * chains as f64;
    let heavy = heavy.then_some(Doubt::HeavyTail { tail, most: HEAVIEST_TAIL });
    Trust::unless(few).and(Trust::unless(heavy))
}
