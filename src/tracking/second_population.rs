//! A second population of chains, independent of the first.
//!
//! All chains of one population can miss the same part of a model, and their spread does not show it: chains from the marginals of the data
//! rarely enter narrow modes, and components of a mixture may separate the chains if there are many columns. So a second population follows
//! the model on the ladder from a mixture fitted to the training rows ([`crate::tempering::mixture`]), with its own random streams, log
//! Z_k, filter and error bar. Its value is reported, or is in doubt if the two contradict each other. If the components of the mixture
//! separate the chains, so that they make hardly any round trips, the second population is dropped.

use std::sync::Arc;

use super::settle::Samples;
use super::settling::CONSISTENT;
use super::{ChainTracker, Model, Settling, Start, TrackRecord, TrackerOptions};
use crate::checkpoint::{StateReader, StateWriter};
use crate::engine::BitMatrix;
use crate::engine::random::{Purpose, Streams, derived_seed};
use crate::error::{Error, Result};
use crate::model::Parameters;
use crate::tempering::mixture::{
    BROAD_COMPONENTS, MixtureBase, MixturePath, REVISITED, TEMPER, WeightedRows, fit, with_broad,
};
use crate::tempering::{
    BaseDistribution, Ladder, NEEDED_PER_CHAIN, TemperedChains, TemperedPath, WINDOW, systematic,
};
use crate::trust::{Doubt, LogZ, Trust};

/// Prefix of the names of the tracker's arrays in a state file.
pub(super) const PREFIX: &str = "mixture.";

/// Number of missed states in the fit of a mixture, and most other rows in it.
const MISSED: usize = 100;
const OTHERS: usize = 4 * MISSED;
/// Fraction of the weight that the missed states have: as much a state as a row has where there are all of both.
const SHARE_OF_MISSED: f64 = MISSED as f64 / (MISSED + OTHERS) as f64;

/// Chains on the ladder from a mixture.
#[derive(Clone)]
pub struct SecondPopulation {
    pub(super) chains: ChainTracker,
    base: Arc<MixtureBase>,
    /// Of the last step.
    model: Model,
    ladder: Ladder,
}

impl SecondPopulation {
    /// Number of chains beside a first population of `chains` chains: half of it.
    pub(crate) fn size(chains: usize) -> usize {
        (chains / 2).max(2)
    }

    /// Starts `count` chains by initial rounds.
    pub fn start(
        model: &Model,
        ladder: &Ladder,
        base: Arc<MixtureBase>,
        count: usize,
        seed: u64,
        options: TrackerOptions,
    ) -> Self {
        let path = MixturePath { engine: model.engine.as_ref(), ladder, base: &base };
        let start = path.sample_base(count, seed, 0);
        let chains = TemperedChains::new(start, ladder.len(), seed);
        let (chains, _) = ChainTracker::start(&path, chains, options);
        Self { chains, base, model: model.clone(), ladder: ladder.clone() }
    }

    /// Another population in place of one that misses states of the model, [N, M], at beta = 1: from a mixture fitted to `rows` and to these, the
    /// more probable ones more often. `None` if its chains do not travel. `seed` and `update` number the draws.
    pub(super) fn renewed(
        &self,
        [rows, missed]: [&BitMatrix; 2],
        seed: u64,
        update: u64,
    ) -> Option<Self> {
        let seed = derived_seed(seed, Purpose::PreferredStates, update);
        let Self { model, ladder, .. } = self;
        let log_f = model.engine.log_f(missed);
        let largest = log_f.iter().copied().fold(f64::MIN, f64::max);
        let weights: Vec<f64> = log_f.iter().map(|f| (TEMPER * (f - largest)).exp()).collect();
        let missed = missed.select(systematic(&weights, MISSED, 0.5));
        let rows = WeightedRows::alike(rows.spread(OTHERS)).with(&missed, SHARE_OF_MISSED);
        let components = self.base.components().len().saturating_sub(BROAD_COMPONENTS).max(1);
        let base = fit(&model.parameters, &rows, components, seed).ok()?;
        let base = with_broad(&base, REVISITED).ok()?;
        let count = self.chains.chains.len();
        let new = Self::start(model, ladder, Arc::new(base), count, seed, self.chains.options);
        new.chains.chains.round_trips.travel().then_some(new)
    }

    /// The mixture at beta = 0.
    pub(crate) fn base(&self) -> &Arc<MixtureBase> {
        &self.base
    }

    /// One step to a new model; and whether the population travels. The tracker's is dropped if its chains do not travel: in their
    /// window, or in the initial rounds after a collapse of their occupancy if these took more sweeps than the chains had made before. The
    /// first window of sweeps shows neither: a model in its first updates makes chains collapse that travel later.
    pub(crate) fn step(&mut self, new: &Model) -> (TrackRecord, bool) {
        let Self { chains, base, model, ladder } = self;
        let path = |model| MixturePath { engine: model, ladder, base };
        let TrackerOptions { sweeps, initial_rounds, .. } = chains.options;
        let before = chains.steps * sweeps as u64;
        let record = chains.step(&path(model.engine.as_ref()), &path(new.engine.as_ref()));
        *model = new.clone();
        let rounds = record.rounds.as_ref().map_or(0, |record| record.rounds.len());
        let cheap = (rounds * initial_rounds.sweeps) as u64 <= before;
        let trips = &chains.chains.round_trips;
        let new = chains.chains.sweeps < WINDOW;
        let travels = trips.travel() && (new || cheap || trips.rate() >= Some(NEEDED_PER_CHAIN));
        (record, travels)
    }

    /// The chains.
    pub fn chains(&self) -> &ChainTracker {
        &self.chains
    }

    /// [`ChainTracker::swap`] at the model of the last step.
    pub(crate) fn swap(
        &mut self,
        particles: &mut BitMatrix,
        first: usize,
        streams: Streams,
    ) -> usize {
        let Self { chains, base, model, ladder } = self;
        let path = MixturePath { engine: model.engine.as_ref(), ladder, base };
        chains.swap(&path, particles, first, streams)
    }

    /// Sweeps of a copy of the chains at fixed parameters.
    pub(super) fn settle(&mut self, settling: Settling) -> Option<Samples> {
        let Self { chains, base, model, ladder } = self;
        let path = MixturePath { engine: model.engine.as_ref(), ladder, base };
        chains.settle_within(&path, settling)
    }

    /// Stores the chains and their mixture, in arrays whose names start with `prefix`.
    pub(crate) fn write(&self, prefix: &str, state: &mut StateWriter) {
        write_mixture(prefix, &self.base, state);
        self.chains.write(prefix, state);
    }

    /// Reads `count` chains that [`Self::write`] stored after `prefix`; `None` if there are none.
    ///
    /// # Errors
    /// The stored arrays do not fit.
    pub(crate) fn read(
        prefix: &str,
        state: &StateReader,
        Start { model, ladder, .. }: Start<'_>,
        count: usize,
        options: TrackerOptions,
    ) -> Result<Option<Self>> {
        let Some(base) = read_mixture(prefix, state, &model.parameters)? else { return Ok(None) };
        if !ChainTracker::is_in(prefix, state) {
            return Ok(None);
        }
        let path = MixturePath { engine: model.engine.as_ref(), ladder, base: &base };
        let chains = ChainTracker::read(prefix, &path, count, options, state)?;
        let (model, ladder) = (model.clone(), ladder.clone());
        Ok(Some(Self { chains, base, model, ladder }))
    }
}

/// Stores a mixture in arrays whose names start with `prefix`.
pub(super) fn write_mixture(prefix: &str, base: &MixtureBase, state: &mut StateWriter) {
    let name = |name: &str| format!("{prefix}{name}");
    let components = base.components();
    let logits: Vec<f32> = components.iter().flat_map(|base| base.logits()).copied().collect();
    let shape = [components.len(), logits.len() / components.len()];
    state.array(&name("logits"), &shape, &logits);
    state.array(&name("log_shares"), &shape[..1], base.log_shares());
}

/// Reads what [`write_mixture`] stored, for a model with these parameters; `None` if there is none.
///
/// # Errors
/// The stored arrays do not fit.
pub(super) fn read_mixture(
    prefix: &str,
    state: &StateReader,
    parameters: &Parameters,
) -> Result<Option<Arc<MixtureBase>>> {
    let name = |name: &str| format!("{prefix}{name}");
    if !state.has(&name("log_shares")) {
        return Ok(None);
    }
    let visible = parameters.n_visible;
    let components = state.shape(&name("log_shares"))?.iter().product();
    let shares = state.array(&name("log_shares"), &[components])?;
    let logits = state.array(&name("logits"), &[components, visible])?;
    let base = |logits| Ok(BaseDistribution::from_logits(logits)?.of(&parameters.variables));
    let bases = logits.chunks_exact(visible).map(base);
    let base = MixtureBase::of_log_shares(bases.collect::<Result<_>>()?, shares)
        .map_err(|problem| Error::Mismatch(format!("checkpoint: {problem}")))?;
    Ok(Some(Arc::new(base)))
}

/// How many errors the second value is above the first; 0 if one is in doubt, or both are exact.
pub(super) fn above([first, second]: [&LogZ; 2]) -> f64 {
    let errors = (second.value - first.value) / first.std_error.hypot(second.std_error);
    let sound = first.trust.is_sound() && second.trust.is_sound();
    if sound && errors.is_finite() { errors } else { 0.0 }
}

/// The value of two populations. Chains that miss a part of a model give values that are too low, by more than their error bar. So a sound
/// value that is far below the other does not count: the other is reported if it is sound, and there is a doubt if not, or if both error
/// bars together do not explain the difference. Otherwise the second population speaks, which starts nearer to the model. Where one is sound
/// alone, its error is at least the distance to the other if that is higher; and if it was the lower one at the evaluation before, its error
/// is multiplied by the number of errors it was lower. Where both are sound and contradicted each other at the evaluation before, they have not
/// yet shown that both have found what one of them missed: the error is multiplied by the number of errors they differed. `before`: how many
/// errors the second one was above the first.
pub(super) fn together(first: LogZ, second: LogZ, before: f64) -> LogZ {
    let second_is_higher = second.value > first.value;
    let (lower, higher) = if second_is_higher { (&first, &second) } else { (&second, &first) };
    let above = higher.value - lower.value;
    let far = above > CONSISTENT * lower.std_error;
    let beyond = above > CONSISTENT * lower.std_error.hypot(higher.std_error);
    let differ = Doubt::TrackersDiffer {
        first: first.value,
        first_error: first.std_error,
        second: second.value,
        second_error: second.std_error,
    };
    let doubt = Trust::unless((lower.trust.is_sound() && beyond).then_some(differ));
    let sound = [&first, &second].map(|it| it.trust.is_sound());
    let takes_first = match sound {
        [true, true] => far && !second_is_higher,
        [false, false] => !(far && second_is_higher),
        [first, _] => first,
    };
    let (mut found, other, was_lower) =
        if takes_first { (first, second, before) } else { (second, first, -before) };
    let alone = sound[0] != sound[1];
    let contradicted = sound == [true; 2] && before.abs() > CONSISTENT;
    found.std_error *= match contradicted {
        true => before.abs(),
        false if alone => was_lower.max(1.0),
        false => 1.0,
    };
    if alone && !beyond {
        found.std_error = found.std_error.max(other.value - found.value);
    }
    found.trust = found.trust.and(doubt);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::test_systems::gaussian_parameters;
    use crate::tempering::{BetaUpdate, InitialRounds, Prior};
    use crate::tracking::{Parts, Settling, Smoothing};

    fn of(value: f64, sound: bool) -> LogZ {
        let doubt = (!sound).then(|| Doubt::other("doubt", "reason"));
        LogZ { value, std_error: 0.1, trust: Trust::unless(doubt) }
    }

    #[test]
    fn the_second_population_speaks_or_both_contradict_each_other_or_one_is_alone() {
        let found = |first: (f64, bool), second: (f64, bool)| {
            let found = together(of(first.0, first.1), of(second.0, second.1), 0.0);
            ((found.value * 1000.0).round() / 1000.0, found.trust.names())
        };
        let differ = "populations-differ".to_string();
        assert_eq!(found((5.0, true), (5.2, true)), (5.2, String::new()));
        assert_eq!(found((5.2, true), (5.0, true)), (5.0, String::new()));
        assert_eq!(found((5.0, true), (6.0, true)), (6.0, differ.clone()));
        assert_eq!(found((6.0, true), (5.0, true)), (6.0, differ.clone()));
        // A low value in doubt does not contradict the other.
        assert_eq!(found((5.0, false), (6.0, true)), (6.0, String::new()));
        assert_eq!(found((6.0, true), (5.0, false)), (6.0, String::new()));
        // A high value in doubt has found what the other misses, or is wrong.
        assert_eq!(found((6.0, false), (5.0, true)), (5.0, differ.clone()));
        assert_eq!(found((5.0, true), (6.0, false)), (5.0, differ.clone()));
        assert_eq!(found((5.0, true), (5.1, false)), (5.0, String::new()));
        assert_eq!(found((5.0, false), (5.1, false)), (5.0, "doubt".into()));
        assert_eq!(found((5.0, false), (7.0, false)), (7.0, "doubt".into()));
        assert_eq!(found((5.0, true), (f64::NAN, false)), (5.0, String::new()));
        // A large error bar of either value explains the difference: chains that lag can be high because one of them counts for all.
        let wide = |value, sound| LogZ { std_error: 1.0, ..of(value, sound) };
        assert_eq!(together(of(5.0, true), wide(6.0, true), 0.0), wide(6.0, true));
        assert_eq!(together(wide(6.0, true), of(5.0, true), 0.0), wide(6.0, true));
        assert_eq!(together(wide(5.2, true), of(5.0, true), 0.0), of(5.0, true));
        // A value in doubt is as likely to have found it, and to be wrong: its distance is an error.
        assert_eq!(together(of(5.0, true), wide(6.0, false), 0.0), wide(5.0, true));
        assert_eq!(together(wide(6.0, false), of(5.0, true), 0.0), wide(5.0, true));
        assert_eq!(together(of(5.0, true), wide(4.0, false), 0.0), of(5.0, true));
        assert_eq!(together(of(5.0, true), wide(8.1, false), 0.0).trust.names(), differ);
    }

    #[test]
    fn the_one_that_was_lower_has_a_larger_error_alone() {
        let error =
            |first, second, before| together(of(5.0, first), of(5.1, second), before).std_error;
        for (before, [of_first, of_second]) in
            [(2.5, [0.25, 0.1]), (-2.5, [0.1, 0.25]), (0.3, [0.1; 2])]
        {
            assert_eq!(error(true, false, before), of_first);
            assert_eq!(error(false, true, before), of_second);
            assert_eq!(error(true, true, before), 0.1);
        }
        // Both are sound again after they contradicted each other.
        assert_eq!([error(true, true, 4.0), error(true, true, -4.0)], [0.4, 0.4]);
        let above = |a, b| above([&a, &b]);
        assert_eq!(above(of(5.0, true), of(5.1, false)), 0.0);
        assert!((above(of(5.2, true), of(5.0, true)) + 2.0_f64.sqrt()).abs() < 1e-9);
    }

    /// Whether a population is kept after a collapse by a model that jumps, `sweeps` sweeps after its start.
    fn kept_after_a_collapse(initial_rounds: InitialRounds, sweeps: u64) -> bool {
        let ladder = Ladder::linear(10, &Prior::Uniform).unwrap();
        let base = MixtureBase::new(vec![BaseDistribution::uniform(24)], &[1.0]).unwrap();
        let options = TrackerOptions {
            smoothing: Smoothing::Kalman,
            sweeps: 2,
            weighted: true,
            settling: Settling { sweeps: 0, most: 0 },
            without: Parts::default(),
            beta_update: BetaUpdate::Collapsed,
            initial_rounds,
        };
        let model = |scale| {
            let mut parameters = gaussian_parameters(24, 4, 0.1, 1);
            parameters.visible_bias.fill(scale);
            Model::on_host(parameters)
        };
        let (old, new) = (model(0.0), model(-9.0));
        let mut population = SecondPopulation::start(&old, &ladder, Arc::new(base), 40, 1, options);
        population.chains.chains.sweeps = sweeps;
        assert!(population.step(&old).1 && population.chains.steps == 1);
        let kept = population.step(&new).1;
        assert_eq!(population.chains.steps, 0, "no collapse");
        kept
    }

    /// Chains that travel are of use after a collapse too. Of those that do not in rounds that cost more sweeps than they had made, new ones
    /// are kept.
    #[test]
    fn a_collapse_ends_a_population_that_is_not_new_and_does_not_travel() {
        let short = InitialRounds { sweeps: 3, most: 1, ..InitialRounds::default() };
        assert!(kept_after_a_collapse(InitialRounds::default(), WINDOW));
        assert!(!kept_after_a_collapse(short, WINDOW));
        assert!(kept_after_a_collapse(short, 40));
    }
}
