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
pub(super) const TEMPERATURES: usize = 5000;
/// Most Gibbs sweeps by which samples of one chain move apart.
const APART: usize = 100;

/// What samples are asked for.
pub(super) struct Asked {
    /// Their number.
    pub count: usize,
    /// Gibbs sweeps of each after the chains were chosen; by default so many that they cost what annealing did, at most 100.
    pub spacing: Option<usize>,
    /// Chains that the budget allows; at least 200 run.
    pub affordable: usize,
    /// A lower bound of log Z.
    pub bound: f64,
    pub seed: u64,
}

/// States at beta = 1, and what is known of them.
pub(super) struct Drawn {
    pub taken: AtOne,
    /// log Z by the weights, and its standard error.
    pub log_z: (f64, f64),
    /// Sweeps of single chains spent.
    pub sweeps: u64,
}

/// States at beta = 1, drawn by their weights from chains that anneal from `base`, and moved by Gibbs sweeps, so that those of one chain
/// differ; `None` if the weights cannot be trusted or a lower bound exceeds their log Z.
///
/// # Errors
/// None in practice: the ladder is valid.
pub(super) fn draw(
    engine: &dyn Engine,
    base: &BaseDistribution,
    asked: &Asked,
) -> Result<Option<Drawn>> {
    draw_along(engine, &Ladder::linear(TEMPERATURES, &Prior::Uniform)?, base, asked)
}

fn draw_along(
    engine: &dyn Engine,
    ladder: &Ladder,
    base: &BaseDistribution,
    &Asked { count, spacing, affordable, bound, seed }: &Asked,
) -> Result<Option<Drawn>> {
    let seed = derived_seed(seed, Purpose::Equilibrium, 1);
    let path = GeometricPath { engine, ladder, base };
    let wanted = count.saturating_mul(CHAINS_A_SAMPLE).min(MOST);
    let chains = wanted.min(affordable).max(FEWEST);
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
    let mut visible = annealed.visible.select(chosen.iter().copied());
    let annealing = chains * (ladder.len() - 1);
    let apart = spacing.unwrap_or_else(|| (annealing / count).clamp(1, APART));
    engine.gibbs(&mut visible, apart, seed, 0);
    chosen.dedup();
    Ok(Some(Drawn {
        taken: AtOne { visible, chains_used: chosen.len() },
        log_z: (log_z, mean.std_error),
        sweeps: (annealing + apart * count) as u64,
    }))
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
        let drawn = |bound, affordable, spacing| {
            let asked = Asked { count, spacing, affordable, bound, seed: 1 };
            draw_along(&engine, &ladder, &base, &asked).unwrap()
        };
        let found = drawn(log_z - 1.0, 5000, Some(1)).expect("refused");
        assert_eq!(found.sweeps, 3 * 4000 + 1000);
        let taken = found.taken;
        // A budget for fewer chains.
        let few = drawn(log_z - 1.0, 300, None).expect("refused");
        assert_eq!(few.sweeps, 3 * 300 + 1000);
        assert!(few.taken.chains_used < 300 && few.taken.visible.rows() == count);
        assert!((few.log_z.0 - log_z).abs() < 4.0 * few.log_z.1);
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
        let refused = |bound| drawn(bound, 5000, None).is_none();
        assert!(refused(log_z + 2.0), "log Z is known to be more");
        assert!(!refused(f64::NAN) && refused(f64::INFINITY));
    }
}
