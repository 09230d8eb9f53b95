//! Samples by annealing, for models on which tempered chains do not travel: strongly trained models of hundreds of units have so many
//! modes that chains started at some of them never come down, while slow annealing from the data's marginals reaches all.

use super::Candidate;
use super::judgement::annealed_above;
use crate::error::Result;
use crate::estimators::ais::trust_of_weights;
use crate::ops::Fused;
use crate::ops::random::{Purpose, Streams, derived_seed};
use crate::tempering::{
    AtOne, BaseDistribution, GeometricPath, Keep, Ladder, Prior, TemperedPath, anneal, normalised,
    systematic,
};

/// Chains for every sample, of which weights choose one; fewest and most chains.
const CHAINS_A_SAMPLE: usize = 4;
const FEWEST: usize = 200;
const MOST: usize = 4000;
/// Inverse temperatures.
const TEMPERATURES: usize = 5000;

/// `count` states at beta = 1, drawn by their weights from chains that anneal from `base`, and the sweeps of single chains spent;
/// `None` where the weights are not to be believed, or annealing from another start found more.
///
/// # Errors
/// None in practice: the ladder is a valid one.
pub(super) fn draw(
    ops: &Fused,
    base: &BaseDistribution,
    candidates: &[Candidate],
    count: usize,
    seed: u64,
) -> Result<Option<(AtOne, u64)>> {
    let seed = derived_seed(seed, Purpose::Equilibrium, 1);
    let ladder = Ladder::linear(TEMPERATURES, &Prior::Uniform)?;
    let path = GeometricPath { ops, ladder: &ladder, base };
    let chains = count.saturating_mul(CHAINS_A_SAMPLE).clamp(FEWEST, MOST);
    let annealed = anneal(&path, chains, seed, 0, Keep::Last);
    let mean = annealed.mean_weight(0);
    let log_z = path.log_z_base() + mean.log_mean;
    let tried = candidates.iter().map(|c| (c.name.as_str(), c.log_z, c.std_error));
    if !trust_of_weights(&mean, chains).is_sound()
        || annealed_above(tried, log_z, mean.std_error).is_some()
    {
        return Ok(None);
    }
    let log_weights: Vec<f64> = annealed.final_weights().collect();
    let u = Streams::new(seed, Purpose::Choice, 0).row(0).uniform();
    let mut chosen = systematic(&normalised(&log_weights), count, u);
    let visible = annealed.visible.select(chosen.iter().copied());
    chosen.dedup();
    let sweeps = (chains * (TEMPERATURES - 1)) as u64;
    Ok(Some((AtOne { visible, chains_used: chosen.len() }, sweeps)))
}
