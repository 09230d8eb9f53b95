//! Samples by annealing, for models on which tempered chains do not travel: strongly trained models of hundreds of units have so many
//! modes that chains started at some of them never come down, while slow annealing from the data's marginals reaches all.

use super::judgement::{MOST_ERRORS, annealed_above};
use super::{Bound, Candidate};
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
/// `None` where the weights are not to be believed, annealing from another start found more, or known states add up to more.
///
/// # Errors
/// None in practice: the ladder is a valid one.
pub(super) fn draw(
    ops: &Fused,
    base: &BaseDistribution,
    (candidates, bound): (&[Candidate], Bound),
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
        || bound.value > log_z + MOST_ERRORS * mean.std_error
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::exact;
    use crate::model::test_systems::gaussian_parameters;

    #[test]
    fn samples_have_the_means_of_the_model_and_are_refused_where_more_is_known() {
        let (visible, hidden, count) = (10, 8, 60);
        let parameters = gaussian_parameters(visible, hidden, 1.0, 3);
        let (ops, base) = (Fused::new(&parameters), BaseDistribution::uniform(visible));
        let log_z = exact::log_partition(&parameters).unwrap();
        let bound = |value| Bound { value, states: 1 };
        let drawn = |candidates: &[Candidate], value| {
            draw(&ops, &base, (candidates, bound(value)), count, 1).unwrap()
        };
        let (taken, _) = drawn(&[], log_z).unwrap();
        let means = exact::moments(&parameters).unwrap().visible;
        for (i, mean) in means.iter().enumerate() {
            let ones = (0..count).filter(|&row| taken.visible.get(row, i)).count() as f64;
            // Drawn from even weights: about as many as independent samples; 5 standard errors.
            let bar = 5.0 * (mean * (1.0 - mean) / count as f64).sqrt() + 1.0 / count as f64;
            assert!((ones / count as f64 - mean).abs() < bar, "unit {i}: {ones} {mean}");
        }
        assert!(taken.chains_used > count / 2);
        assert!(drawn(&[], log_z + 1.0).is_none(), "known states add up to more");
        let candidate =
            |log_z| Candidate { name: "another".into(), log_z, std_error: 0.1, effective: 50.0 };
        assert!(drawn(&[candidate(log_z)], log_z).is_some());
        assert!(drawn(&[candidate(log_z + 3.0)], log_z).is_none(), "another start found more");
    }
}
