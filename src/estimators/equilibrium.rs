//! Samples of the model at beta = 1: the output of `ztrack sample`, and the start of reverse annealing.
//!
//! Plain Gibbs chains stay in their initial mode; a tempered chain can leave it at low beta. When a chain is at k = K, its v is a draw from
//! the model, so states are taken there, with sweeps between two samples.

use super::tempered::{TemperedRun, verdict};
use super::{Automatic, Estimate, FoundStart, Known};
use crate::engine::random::{Purpose, derived_seed};
use crate::engine::{BitMatrix, Engine, Layer};
use crate::error::{Error, Result};
use crate::model::{Parameters, exact};
use crate::tempering::mixture::{MixtureBase, MixturePath};
use crate::tempering::{
    AtOne, BaseDistribution, BetaUpdate, GeometricPath, InitialRounds, Ladder, Prior,
    SimulatedTempering, TemperedChains, TemperedPath, Tempering, check_memory,
};
use crate::trust::Trust;

/// Fraction of the chains that are at beta = 1 at a time.
const SHARE_AT_ONE: f64 = 0.1;
/// Temperatures and sweeps of tempered chains that draw samples instead, one chain per sample.
const TEMPERATURES: usize = 100;
const MIXTURE_TEMPERATURES: usize = 50;
const SWEEPS: usize = 500;
const SPACING: usize = 20;

/// Samples of the model, with their diagnostics.
#[derive(Clone, Debug)]
pub struct Equilibrium {
    /// v, shape [N, M].
    pub visible: BitMatrix,
    /// Number of different chains; 0 if samples are exact and independent.
    pub chains_used: usize,
    /// Gibbs sweeps of single chains spent; 0 for exact samples.
    pub gibbs_sweeps: u64,
    /// Whether they are the last states of annealing, not of tempered chains.
    pub annealed: bool,
    /// Whether they represent the whole distribution.
    pub trust: Trust,
    /// log Z by their chains; `None` if other evidence shows whether the samples are of all modes.
    pub chains: Option<Estimate>,
}

impl Equilibrium {
    /// `count` samples: exact if the smaller layer has at most 20 units, else by chains of the settings, run and checked as those of the
    /// automatic estimate; `spacing` sweeps between two samples of a chain, by default so many that samples cost as much as
    /// the check of the chains did, at most 100.
    ///
    /// # Errors
    /// No sample requested, more than fit into memory, errors of [`Automatic::run`], and chains that hardly ever reach beta = 1.
    pub fn of(
        parameters: &Parameters,
        settings: &Automatic,
        known: Known<'_>,
        (count, spacing): (usize, Option<usize>),
        tell: &mut dyn FnMut(&str),
    ) -> Result<Self> {
        let words = parameters.variables.words(parameters.n_visible);
        // Its place, its state as drawn and in the table, and bytes of cells for the caller.
        let bytes = (64 + 2 * 8 * words + parameters.n_visible) as f64;
        check_memory(bytes * count as f64, &format!("{count} samples")).map_err(Error::TooLarge)?;
        if let Some(exact) = Self::exact(parameters, count, settings.seed)? {
            return Ok(exact);
        }
        settings
            .context
            .interruptible(|| Self::by_chains(parameters, settings, known, (count, spacing), tell))
    }

    /// `count` samples for annealing: exact if the smaller layer has at most 20 units, else of as many chains on the path from a given
    /// mixture.
    ///
    /// # Errors
    /// Fewer than two samples, or chains that hardly ever reach beta = 1.
    pub fn draw_from(
        parameters: &Parameters,
        engine: &dyn Engine,
        found: &FoundStart,
        count: usize,
        seed: u64,
    ) -> Result<Self> {
        if let Some(exact) = Self::exact(parameters, count, seed)? {
            return Ok(exact);
        }
        let ladder = sampling_ladder(MIXTURE_TEMPERATURES)?;
        let path = MixturePath { engine, ladder: &ladder, base: &found.mixture };
        let above = found.from_above.select(0..found.from_above.rows().min(count / 2));
        Self::one_a_chain(path, above, SWEEPS, count, seed)
    }

    /// As [`Equilibrium::draw_from`], of chains on the path from a product distribution.
    ///
    /// # Errors
    /// As [`Equilibrium::draw_from`].
    pub fn draw(
        parameters: &Parameters,
        engine: &dyn Engine,
        base: &BaseDistribution,
        count: usize,
        seed: u64,
    ) -> Result<Self> {
        match Self::exact(parameters, count, seed)? {
            Some(exact) => Ok(exact),
            None => {
                let ladder = sampling_ladder(TEMPERATURES)?;
                let nothing = BitMatrix::zeros(0, engine.n_units(Layer::Visible));
                let path = GeometricPath { engine, ladder: &ladder, base };
                Self::one_a_chain(path, nothing, SWEEPS, count, seed)
            }
        }
    }

    /// `count` samples of any model, without enumeration, from a mixture, with so many temperatures and sweeps.
    pub(super) fn by_mixture_path(
        engine: &dyn Engine,
        base: &MixtureBase,
        (temperatures, sweeps): (usize, usize),
        count: usize,
        seed: u64,
    ) -> Result<Self> {
        let ladder = sampling_ladder(temperatures)?;
        let nothing = BitMatrix::zeros(0, engine.n_units(Layer::Visible));
        let path = MixturePath { engine, ladder: &ladder, base };
        Self::one_a_chain(path, nothing, sweeps, count, seed)
    }

    fn exact(parameters: &Parameters, count: usize, seed: u64) -> Result<Option<Self>> {
        if count == 0 {
            return Err(Error::Invalid("0 samples: at least 1 is needed".into()));
        }
        if parameters.smaller_layer() > exact::QUICK_UNITS {
            return Ok(None);
        }
        let visible = exact::samples(parameters, count, seed)?;
        Ok(Some(Self {
            visible,
            chains_used: 0,
            gibbs_sweeps: 0,
            annealed: false,
            trust: Trust::sound(),
            chains: None,
        }))
    }

    fn by_chains(
        parameters: &Parameters,
        settings: &Automatic,
        known: Known<'_>,
        amount: (usize, Option<usize>),
        tell: &mut dyn FnMut(&str),
    ) -> Result<Self> {
        let (taken, gibbs_sweeps, trust, annealed) =
            settings.sample(parameters, known, amount, tell)?;
        let AtOne { visible, chains_used } = taken;
        Ok(Self { visible, chains_used, gibbs_sweeps, annealed, trust, chains: None })
    }

    /// Puts samples in doubt if log Z of their chains is below a lower bound: they miss a part of the model.
    pub(crate) fn refuse_below(&mut self, bound: f64) {
        if let Some(chains) = &mut self.chains {
            chains.refuse_below(bound);
            self.trust = std::mem::take(&mut self.trust).and(chains.trust.clone());
        }
    }

    fn one_a_chain<P: TemperedPath>(
        path: P,
        above: BitMatrix,
        sweeps: usize,
        count: usize,
        seed: u64,
    ) -> Result<Self> {
        // Not the streams of annealing, with whose pass these samples are compared.
        let seed = derived_seed(seed, Purpose::Equilibrium, 0);
        let mut chains =
            TemperedChains::new(path.sample_base(count, seed, 0), path.ladder().len(), seed);
        let mut chains =
            Tempering::new(path, &mut chains, BetaUpdate::Collapsed).with_states_above(above);
        let run = TemperedRun::new(&mut chains, &InitialRounds::default(), sweeps)?;
        let found = chains.take_at_one(&run.measurement().log_z, count, SPACING)?;
        Ok(Self {
            visible: found.visible,
            chains_used: found.chains_used,
            gibbs_sweeps: chains.sweeps_done() * count as u64,
            annealed: false,
            trust: verdict(&run),
            chains: Some(run.rts()),
        })
    }
}

/// K equally spaced inverse temperatures with a tenth of the prior at beta = 1, the rest even.
fn sampling_ladder(temperatures: usize) -> Result<Ladder> {
    let others = temperatures.saturating_sub(1);
    let mut weights = vec![1.0; temperatures];
    if let Some(last) = weights.last_mut() {
        *last = others as f64 * SHARE_AT_ONE / (1.0 - SHARE_AT_ONE);
    }
    Ladder::linear(temperatures, &Prior::Given(weights))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Host;
    use crate::model::test_systems;

    /// Total variation between samples of chains and the enumerated distribution. If every chain is taken instead of those at beta = 1, it
    /// is 0.39.
    #[test]
    fn samples_of_chains_follow_the_enumerated_distribution() {
        let parameters = test_systems::gaussian_parameters(6, 4, 1.5, 3);
        let engine = Host::new(&parameters);
        let count = 4000;
        let settings = Automatic { chains: 200, budget: 0.0, ..Automatic::new(5).unwrap() };
        let unknown = Known::default();
        let from_found =
            Equilibrium::by_chains(&parameters, &settings, unknown, (count, Some(5)), &mut |_| ());
        let (base, ladder) = (BaseDistribution::uniform(6), sampling_ladder(10).unwrap());
        let path = GeometricPath { engine: &engine, ladder: &ladder, base: &base };
        let nothing = BitMatrix::zeros(0, 6);
        let from_base = Equilibrium::one_a_chain(path, nothing, SWEEPS, count, 5);
        for samples in [from_found.unwrap(), from_base.unwrap()] {
            assert!(samples.trust.is_sound(), "{}", samples.trust.names());
            assert!(samples.chains_used > 160);
            let exact = exact::log_probabilities_of_visible(&parameters).unwrap();
            let exact: Vec<f64> = exact.into_iter().map(f64::exp).collect();
            let cells = (0..count).map(|row| samples.visible.row(row)[0] as usize);
            // Successive samples of a chain are a little correlated.
            let distance = test_systems::total_variation(cells, &exact);
            assert!(distance < 2.0, "{distance}");
        }
    }

    /// Chains that start at states of the model: taken where they find the audited log Z, and not where this is another.
    #[test]
    fn chains_from_known_states_have_to_find_the_audited_value() {
        let parameters = test_systems::gaussian_parameters(6, 4, 1.5, 3);
        let (count, log_z) = (4000, exact::log_partition(&parameters).unwrap());
        let states = exact::samples(&parameters, 100, 2).unwrap();
        let settings = Automatic { chains: 200, ..Automatic::new(5).unwrap() };
        let exact = exact::log_probabilities_of_visible(&parameters).unwrap();
        let exact: Vec<f64> = exact.into_iter().map(f64::exp).collect();
        for (audited, quick) in [(log_z, true), (log_z + 1.0, false), (log_z - 1.0, false)] {
            let audited = Some((audited, 0.01));
            let known = Known { states: Some(&states), audited, ..Known::default() };
            let mut lines = Vec::new();
            let mut told = |line: &str| lines.push(line.to_string());
            let asked = (count, Some(5));
            let found = Equilibrium::by_chains(&parameters, &settings, known, asked, &mut told);
            let searched = lines.iter().any(|line| line.contains("all starts are tried"));
            assert_eq!(searched, !quick, "{lines:?}");
            let cells = (0..count).map(|row| found.as_ref().unwrap().visible.row(row)[0] as usize);
            let distance = test_systems::total_variation(cells, &exact);
            assert!(distance < 2.0, "{distance}");
        }
    }

    /// Where chains are in doubt and log Z is known, annealing that finds it is sound; another value leaves the doubts.
    #[test]
    fn annealing_has_to_find_the_known_value() {
        let parameters = test_systems::gaussian_parameters(6, 4, 1.5, 3);
        let log_z = exact::log_partition(&parameters).unwrap();
        let (states, base) =
            (exact::samples(&parameters, 100, 2).unwrap(), BaseDistribution::uniform(6));
        let settings =
            Automatic { chains: 10, sweeps: 2, budget: 0.0, ..Automatic::new(5).unwrap() };
        let exact = exact::log_probabilities_of_visible(&parameters).unwrap();
        let exact: Vec<f64> = exact.into_iter().map(f64::exp).collect();
        for (audited, sound) in [(log_z, true), (log_z + 1.0, false)] {
            let (marginals, audited) = (Some(&base), Some((audited, 0.01)));
            let known = Known { marginals, states: Some(&states), audited, ..Known::default() };
            let asked = (4000, None);
            let found = Equilibrium::by_chains(&parameters, &settings, known, asked, &mut |_| ());
            let found = found.unwrap();
            assert_eq!(found.trust.is_sound(), sound, "{}", found.trust.names());
            let cells = (0..4000).map(|row| found.visible.row(row)[0] as usize);
            // Samples of one of the 200 chains share its weight.
            let distance = test_systems::total_variation(cells, &exact);
            assert!(distance < 4.0, "{distance}");
        }
    }

    /// All units off and all on, with almost no mass in between: chains from the visible bias alone never reach the second mode.
    #[test]
    fn samples_are_of_both_modes() {
        let parameters =
            Parameters::new(20, 12, vec![1.0; 240], vec![-6.0; 20], vec![-10.0; 12]).unwrap();
        let settings = Automatic::new(3).unwrap();
        let count = 1000;
        let unknown = Known::default();
        let samples =
            Equilibrium::by_chains(&parameters, &settings, unknown, (count, Some(20)), &mut |_| ());
        let samples = samples.unwrap();
        assert!(samples.trust.is_sound(), "{}", samples.trust.names());
        let on = |rows: &BitMatrix| {
            let ones = |row| rows.row(row).iter().map(|word| word.count_ones()).sum::<u32>();
            (0..rows.rows()).filter(|row| ones(*row) > 10).count() as f64 / rows.rows() as f64
        };
        let expected = on(&exact::samples(&parameters, 100_000, 1).unwrap());
        assert!((0.1..0.9).contains(&expected), "{expected}");
        // 100 chains that change modes a few times: sqrt(p (1 - p)/100) = .05; the limit is four of these.
        let found = on(&samples.visible);
        assert!((found - expected).abs() < 0.2, "{found} of the samples, {expected} of the model");
    }

    #[test]
    fn a_tenth_of_the_ladder_is_at_one() {
        let ladder = sampling_ladder(50).unwrap();
        assert!((ladder.log_prior()[49].exp() - SHARE_AT_ONE).abs() < 1e-12);
    }
}
