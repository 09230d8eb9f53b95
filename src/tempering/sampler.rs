//! Samples of the model itself (beta = 1) from tempered chains.
//!
//! Plain Gibbs chains stay in the mode they start in; a tempered chain leaves it on its way down the ladder. Where a
//! chain is at k = K its v is a draw from the model, so states are taken there, with sweeps between two looks.

use super::{
    BetaUpdate, InitialRounds, Ladder, NEEDED_PER_CHAIN, Path, Prior, PseudoPrior,
    SimulatedTempering, TemperedChains, TemperedPath, Tempering,
};
use crate::error::{Error, Result};
use crate::ops::BitMatrix;

/// Share of the chains that are at beta = 1 at a time.
const SHARE_AT_ONE: f64 = 0.1;
/// Looks beyond the number that should do before the sampler gives up.
const PATIENCE: usize = 1000;

/// How samples are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampler {
    /// Number of tempered chains, at least 2.
    pub chains: usize,
    /// Sweeps before the first look, after the initial rounds.
    pub burn_in: usize,
    /// Sweeps between two looks, at least 1.
    pub spacing: usize,
    /// Seed of all random streams.
    pub seed: u64,
}

/// Samples and what they are worth.
#[derive(Clone, Debug)]
pub struct Samples {
    /// v, shape [N, M].
    pub visible: BitMatrix,
    /// Round trips 1 -> K -> 1 per chain while samples were taken and in the burn-in.
    pub round_trips_per_chain: f64,
    /// Different chains the samples come from.
    pub chains_used: usize,
    /// Sweeps of every chain spent, initial rounds and burn-in included.
    pub sweeps: u64,
}

impl Samples {
    /// Why the samples may miss parts of the distribution, if so.
    pub fn doubt(&self) -> Option<String> {
        (self.round_trips_per_chain < NEEDED_PER_CHAIN).then(|| {
            format!(
                "not mixed: {:.2} round trips per chain, {NEEDED_PER_CHAIN} needed: use more sweeps or temperatures",
                self.round_trips_per_chain
            )
        })
    }
}

/// K equally spaced inverse temperatures with a tenth of the prior at beta = 1, the rest even.
///
/// # Errors
/// Fewer than two temperatures.
pub fn sampling_ladder(temperatures: usize) -> Result<Ladder> {
    let others = temperatures.saturating_sub(1);
    let mut weights = vec![1.0; temperatures];
    if let Some(last) = weights.last_mut() {
        *last = (others as f64 * SHARE_AT_ONE / (1.0 - SHARE_AT_ONE)).max(f64::MIN_POSITIVE);
    }
    Ladder::linear(temperatures, &Prior::Given(weights))
}

impl Sampler {
    /// Draws `count` samples.
    ///
    /// # Errors
    /// Fewer than two chains, no sample asked for, or chains that hardly ever come to beta = 1.
    pub fn run(&self, path: Path<'_>, count: usize) -> Result<Samples> {
        if self.chains < 2 || count == 0 {
            return Err(Error::Invalid(format!(
                "{count} samples of {} chains: at least 1 sample and 2 chains are needed",
                self.chains
            )));
        }
        let visible = path.sample_base(self.chains, self.seed, 0);
        let mut chains = TemperedChains::new(visible, path.ladder.len(), self.seed);
        let mut tempering = Tempering::new(path, &mut chains, BetaUpdate::Collapsed);
        let mut zeta = InitialRounds::default().run(&mut tempering).measurement.log_z;
        let mut round_trips = 0;
        if self.burn_in > 0 {
            let swept = tempering.sweep(&zeta, self.burn_in);
            zeta = PseudoPrior::new(path.ladder, &zeta).measure(&swept.occupancy).log_z;
            round_trips += swept.round_trips;
        }
        let expected = count as f64 / (self.chains as f64 * SHARE_AT_ONE);
        let most = (20.0 * expected) as usize + PATIENCE;
        let found = tempering.take_at_one(&zeta, count, (self.spacing, most));
        let sweeps = tempering.sweeps_done();
        let found = found.map_err(|taken| Error::Invalid(format!(
            "only {taken} of {count} samples after {sweeps} sweeps: chains hardly ever reach beta = 1; use more temperatures, or a base distribution fitted to the data",
        )))?;
        Ok(Samples {
            visible: found.visible,
            round_trips_per_chain: (round_trips + found.round_trips) as f64 / self.chains as f64,
            chains_used: found.chains_used,
            sweeps,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{exact, test_systems};
    use crate::ops::Fused;
    use crate::tempering::BaseDistribution;

    /// Total variation between samples and the enumerated distribution. Breaking the choice (taking every chain
    /// instead of those at beta = 1) gives 0.39.
    #[test]
    fn samples_follow_the_enumerated_distribution() {
        let parameters = test_systems::gaussian_parameters(6, 4, 1.5, 3);
        let base = BaseDistribution::uniform(6);
        let ladder = sampling_ladder(10).unwrap();
        let ops = Fused::new(&parameters);
        let path = Path { ops: &ops, ladder: &ladder, base: &base };
        let count = 20_000;
        let sampler = Sampler { chains: 500, burn_in: 50, spacing: 10, seed: 5 };
        let samples = sampler.run(path, count).unwrap();
        assert_eq!(samples.doubt(), None);
        assert!(samples.chains_used > 400);
        let mut counts = vec![0.0; 64];
        (0..count).for_each(|row| counts[samples.visible.row(row)[0] as usize] += 1.0);
        let exact = exact::log_probabilities_of_visible(&parameters).unwrap();
        let n = count as f64;
        let distance: f64 =
            counts.iter().zip(&exact).map(|(c, p)| (c / n - p.exp()).abs()).sum::<f64>() / 2.0;
        // E|c/n - p| = sqrt(2 p (1 - p)/(pi n)) for independent draws; successive ones are a little correlated.
        let floor: f64 = exact
            .iter()
            .map(|p| (2.0 * p.exp() * (1.0 - p.exp()) / (std::f64::consts::PI * n)).sqrt())
            .sum::<f64>()
            / 2.0;
        assert!(distance < 2.0 * floor, "total variation {distance}, floor {floor}");
    }

    #[test]
    fn a_tenth_of_the_ladder_is_at_one() {
        let ladder = sampling_ladder(50).unwrap();
        assert!((ladder.log_prior()[49].exp() - SHARE_AT_ONE).abs() < 1e-12);
        assert!(sampling_ladder(1).is_err() && sampling_ladder(0).is_err());
        assert!(sampling_ladder(2).is_ok());
    }
}
