//! Samples by annealing, for models on which tempered chains do not mix: strongly trained models of hundreds of units have so many modes
//! that chains started at some of them never reach beta = 0, while slow annealing from the data's marginals reaches all modes.

use crate::engine::Engine;
use crate::engine::random::{Purpose, Streams, derived_seed};
use crate::error::Result;
use crate::estimators::ais::trust_of_weights;
use crate::numerics::MOST_ERRORS;
use crate::tempering::{
    AtOne, BaseDistribution, GeometricPath, Keep, Ladder, Prior, TemperedPath, anneal, normalised,
    systematic,
};

/// Chains per sample, one of which is chosen by weight; fewest and most chains.
const CHAINS_A_SAMPLE: usize = 4;
const FEWEST: usize = 200;
const MOST: usize = 4000;
/// Inverse temperatures.
const TEMPERATURES: usize = 5000;

/// `count` states at beta = 1, drawn by their weights from chains that anneal from `base`, and the sweeps of single chains spent; `None` if
/// the weights cannot be trusted or a lower bound exceeds their log Z.
///
/// # Errors
/// None in practice: the ladder is valid.
pub(super) fn draw(
    engine: &dyn Engine,
    base: &BaseDistribution,
    bound: f64,
    count: usize,
    seed: u64,
) -> Result<Option<(AtOne, u64)>> {
    draw_along(engine, &Ladder::linear(TEMPERATURES, &Prior::Uniform)?, base, bound, count, seed)
}

fn draw_along(
    engine: &dyn Engine,
    ladder: &Ladder,
    base: &BaseDistribution,
    bound: f64,
    count: usize,
    seed: u64,
) -> Result<Option<(AtOne, u64)>> {
    let seed = derived_seed(seed, Purpose::Equilibrium, 1);
    let path = GeometricPath { engine, ladder, base };
    let chains = count.saturating_mul(CHAINS_A_SAMPLE).clamp(FEWEST, MOST);
    let annealed = anneal(&path, chains, seed, 0, Keep::Last);
    let mean = annealed.mean_weight(0);
    let log_z = path.log_z_base() + mean.log_mean;
    let below = bound > log_z + MOST_ERRORS * mean.std_error;
    if below || !log_z.is_finite() || !trust_of_weights(&mean, chains).is_sound() {
        return Ok(None);
    }
    let log_weights: Vec<f64> = annealed.final_weights().collect();
    let u = Streams::new(seed, Purpose::Choice, 0).row(0).uniform();
    let mut chosen = systematic(&normalised(&log_weights), count, u);
    let visible = annealed.visible.select(chosen.iter().copied());
    chosen.dedup();
    let sweeps = (chains * (ladder.len() - 1)) as u64;
    Ok(Some((AtOne { visible, chains_used: chosen.len() }, sweeps)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{BitMatrix, Host};
    use crate::model::exact;
    use crate::model::test_systems::gaussian_parameters;

    /// Few temperatures, so that weights are uneven and matter: the chains' states without weights are not distributed as the model.
    #[test]
    fn samples_have_the_means_of_the_model_and_are_refused_where_more_is_known() {
        let (visible, hidden, count) = (10, 8, 1000);
        let parameters = gaussian_parameters(visible, hidden, 1.2, 5);
        let (engine, base) = (Host::new(&parameters), BaseDistribution::uniform(visible));
        let ladder = Ladder::linear(4, &Prior::Uniform).unwrap();
        let log_z = exact::log_partition(&parameters).unwrap();
        let drawn = |bound| draw_along(&engine, &ladder, &base, bound, count, 1).unwrap();
        let Some((taken, sweeps)) = drawn(log_z - 1.0) else { panic!("refused") };
        assert_eq!(sweeps, 3 * 4000);
        let means = exact::moments(&parameters).unwrap().visible;
        let path = GeometricPath { engine: &engine, ladder: &ladder, base: &base };
        let states = anneal(&path, 4000, 7, 0, Keep::Last).visible;
        let share = |bits: &BitMatrix, i: usize| {
            (0..bits.rows()).filter(|&row| bits.get(row, i)).count() as f64 / bits.rows() as f64
        };
        let mut unweighted_is_off = false;
        for (i, mean) in means.iter().enumerate() {
            // As many independent samples as different chains; 5 standard errors.
            let bar = 5.0 * (mean * (1.0 - mean) / taken.chains_used as f64).sqrt();
            let found = share(&taken.visible, i);
            assert!((found - mean).abs() < bar, "unit {i}: {found} {mean}");
            unweighted_is_off |= (share(&states, i) - mean).abs() > bar;
        }
        assert!(unweighted_is_off, "weights that count");
        assert!(drawn(log_z + 2.0).is_none(), "log Z is known to be more");
        assert!(drawn(f64::NAN).is_some() && drawn(f64::INFINITY).is_none());
    }
}
