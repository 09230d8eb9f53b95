//! A tracker together with its model, used by the trainer and by [`crate::LogZTracker`].
//!
//! It makes steps from model to model. For an evaluation a copy of its chains equilibrates. If the sum over reference states is larger than
//! the result, the chains have missed a mode and are re-initialised with these states among theirs.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Settling;
use super::budget::{Pace, divided};
use super::second_population::{CONSISTENT, together};
use super::settle::Samples;
use super::{
    ChainTracker, HiddenStates, KnownShare, Model, Part, SecondPopulation, Start, TrackRecord,
    TrackerOptions,
};
use crate::checkpoint::{StateReader, StateWriter};
use crate::engine::BitMatrix;
use crate::engine::host::choose;
use crate::engine::random::{Purpose, Streams};
use crate::error::Result;
use crate::tempering::mixture::MixtureBase;
use crate::tempering::{BaseDistribution, GeometricPath, Ladder, RoundsRecord, TemperedChains};
use crate::trust::Trust;

/// Rows of data from which hidden states are drawn for a bound of log Z.
pub(crate) const BOUND_ROWS: usize = 2000;
/// Difference in nats, and in errors, below the bound at which tracked log Z has missed a mode.
const MISSED: (f64, f64) = (0.2, 3.0);
/// Standard errors below a lower bound of log Z at which the tracked value is wrong.
const BELOW_BOUND: f64 = 2.5;
/// Largest effect of f32 rounding on a bound, nats.
const ROUNDING: f64 = 0.01;

/// States that can show a tracker modes that its chains have missed.
#[derive(Clone, Copy)]
pub struct KnownStates<'a> {
    /// Rows of data, [rows, M].
    pub data: Option<&'a BitMatrix>,
    /// Particles of the gradient, [rows, M].
    pub particles: Option<&'a BitMatrix>,
    /// States of other chains, [rows, M].
    pub chains: Option<&'a BitMatrix>,
    /// Seed of the draws, and the update they are drawn for.
    pub seed: u64,
    /// See `seed`.
    pub update: u64,
}

/// log Z of a model, nats.
#[derive(Clone, Debug, PartialEq)]
pub struct LogZ {
    /// The value.
    pub value: f64,
    /// Its standard error.
    pub std_error: f64,
    /// Whether the value and its error can be trusted, and if not, why.
    pub trust: Trust,
}

/// Tracker of log Z with its model, its ladder and its base distribution.
#[derive(Clone)]
pub struct ModelTracker {
    chains: ChainTracker,
    model: Model,
    ladder: Ladder,
    base: BaseDistribution,
    /// Chains on the ladder from a mixture, if there are any.
    second: Option<SecondPopulation>,
    /// What the evaluations found.
    pub found: Found,
    /// Whether the chains were re-initialised at the last evaluation.
    pub restarted: bool,
}

/// What evaluations found with reference states.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// Known lower bound of log Z of this model, nats; -infinity if none.
    #[serde(with = "crate::checkpoint::float")]
    pub bound: f64,
    /// log Z of this model from reference states.
    pub known: KnownShare,
    /// The fraction of both populations' samples that are rows of the data; their sum is not among these values.
    #[serde(default)]
    pub rows: [KnownShare; 2],
    /// Number of times the chains were re-initialised from reference states.
    pub restarts: u64,
}

impl Default for Found {
    fn default() -> Self {
        Self {
            bound: f64::NEG_INFINITY,
            known: KnownShare::NONE,
            rows: [KnownShare::NONE; 2],
            restarts: 0,
        }
    }
}

/// Name in states of a tracker's model.
pub(crate) const TRACKED: &str = "tracked.";

impl ModelTracker {
    /// Runs initial rounds with `chains` fresh chains, and with half as many from a mixture, if there is one.
    pub fn start(
        start: Start<'_>,
        mixture: Option<Arc<MixtureBase>>,
        chains: usize,
        seed: u64,
        options: TrackerOptions,
    ) -> (Self, RoundsRecord) {
        let Start { model, ladder, base } = start;
        let second = mixture
            .map(|mixture| SecondPopulation::start(model, ladder, mixture, chains, seed, options));
        let chains = TemperedChains::new(base.sample(chains, seed, 0), ladder.len(), seed);
        let (chains, rounds) = ChainTracker::start(&start.path(), chains, options);
        (Self { second, ..Self::of(chains, start) }, rounds)
    }

    /// From a tracker that is at the model of `start`.
    fn of(chains: ChainTracker, Start { model, ladder, base }: Start<'_>) -> Self {
        Self {
            chains,
            model: model.clone(),
            ladder: ladder.clone(),
            base: base.clone(),
            second: None,
            found: Found::default(),
            restarted: false,
        }
    }

    /// Stores model and chains, including the second population; the caller stores what was found.
    pub(crate) fn write(&self, state: &mut StateWriter) {
        state.parameters(TRACKED, &self.model.parameters);
        self.chains.write("", state);
        if let Some(second) = &self.second {
            second.write(state);
        }
    }

    /// Reads what [`Self::write`] stored, at the model of `start`, whose parameters are stored as [`TRACKED`].
    ///
    /// # Errors
    /// Anything that is missing or does not fit.
    pub(crate) fn read(
        state: &StateReader,
        start: Start<'_>,
        chains: usize,
        options: TrackerOptions,
        found: Found,
    ) -> Result<Self> {
        let second = SecondPopulation::read(state, start, chains, options)?;
        Ok(Self { second, found, ..Self::read_chains("", state, start, chains, options)? })
    }

    /// Reads chains alone, stored after `prefix`, at the model of `start`.
    ///
    /// # Errors
    /// Anything that is missing or does not fit.
    pub(crate) fn read_chains(
        prefix: &str,
        state: &StateReader,
        start: Start<'_>,
        chains: usize,
        options: TrackerOptions,
    ) -> Result<Self> {
        let chains = ChainTracker::read(prefix, &start.path(), chains, options, state)?;
        Ok(Self::of(chains, start))
    }

    /// Changes the number of equilibration sweeps for the next evaluations.
    pub(crate) fn set_settling(&mut self, settling: Settling) {
        let second = self.second.as_mut().map(|second| &mut second.chains);
        let all = [Some(&mut self.chains), second];
        all.into_iter().flatten().for_each(|chains| chains.set_settling(settling));
    }

    /// The trackers of all populations of chains.
    pub fn populations(&self) -> impl Iterator<Item = &ChainTracker> {
        std::iter::once(&self.chains).chain(self.second.iter().map(|second| &second.chains))
    }

    /// The tracker of the chains from the marginals.
    pub fn chains(&self) -> &ChainTracker {
        &self.chains
    }

    /// The model of the last step.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The ladder.
    pub fn ladder(&self) -> &Ladder {
        &self.ladder
    }

    /// One step to a new model of the same size.
    pub fn step(&mut self, new: Model) -> TrackRecord {
        let Self { chains, model, ladder, base, second, .. } = self;
        second.take_if(|second| !second.step(ladder, model, &new));
        let path = GeometricPath { engine: new.engine.as_ref(), ladder, base };
        let record = chains.step(&GeometricPath { engine: model.engine.as_ref(), ..path }, &path);
        *model = new;
        // The bound of the previous model does not hold for this one.
        self.found = Found { restarts: self.found.restarts, ..Found::default() };
        record
    }

    /// Proposes to each chain to swap states with a particle at beta = 1, rows of `particles` from `first` on, around the end: chain v and
    /// particle u swap with probability min(1, q(K|v)/q(K|u)), which leaves the distribution of both as it is at any temperature of
    /// the chain. Only for chains without weights, which speak of states. Returns how many did.
    pub fn swap(&mut self, particles: &mut BitMatrix, first: usize, streams: Streams) -> usize {
        let Self { chains: tracker, model, ladder, base, .. } = self;
        let path = GeometricPath { engine: model.engine.as_ref(), ladder, base };
        let n = particles.rows();
        let proposed: Vec<usize> =
            (0..tracker.chains.len().min(n)).map(|s| (first + s) % n).collect();
        let theirs = tracker.posterior_at(&path, &particles.select(proposed.iter().copied()));
        let mut swapped = 0;
        for (s, &row) in proposed.iter().enumerate() {
            let mut stream = streams.row(s as u32);
            let at_one = |q: &[f64]| q[q.len() - 1];
            let own = at_one(tracker.posterior.row(s));
            if stream.uniform() * at_one(theirs.row(s)) < own {
                let chains = &mut tracker.chains;
                chains.visible.row_mut(s).swap_with_slice(particles.row_mut(row));
                chains.temperatures[s] = choose(theirs.row(s), stream.uniform());
                swapped += 1;
            }
        }
        tracker.look(&path);
        swapped
    }

    /// Sweeps of a copy of the chains at fixed parameters for an evaluation. If the sum over reference states is larger than the resulting
    /// log Z, the chains are re-initialised with these states among theirs.
    pub fn settle(&mut self, known: KnownStates<'_>) {
        let options = self.chains.options;
        let rows = known.rows(&self.chains.chains.visible);
        let Self { chains, model, ladder, base, second, .. } = self;
        let mut settling = options.settling;
        let mut of_second = None;
        if let Some(second) = second {
            let [own, other] =
                divided(settling, [Pace::from(&*chains), Pace::from(&second.chains)]);
            of_second = second.settle(ladder, model, other);
            settling = own;
        }
        let path = GeometricPath { engine: model.engine.as_ref(), ladder, base };
        let streams = Streams::new(known.seed, Purpose::BoundHidden, known.update);
        let states = HiddenStates::of(&model.parameters, path.engine, &rows, streams);
        self.found.bound = states.bound();
        let mut samples = chains.settle_within(&path, settling);
        let missing = self.found.bound - chains.log_z();
        self.restarted = options.has(Part::Restart)
            && missing > MISSED.0
            && missing > MISSED.1 * chains.std_error();
        if self.restarted {
            chains.start_from(path, &states);
            samples = chains.settle_within(&path, settling);
            self.found.restarts += 1;
        }
        let streams = Streams::new(known.seed, Purpose::KnownShare, known.update);
        let used = |it: &&Samples| options.has(Part::KnownShare) && !it.weights.is_empty();
        let of_both = [&samples, &of_second].map(|it| it.as_ref().filter(used));
        let share = |samples| states.share(path.engine, samples, streams);
        self.found.known = of_both[0].map_or(KnownShare::NONE, share);
        let visits = |samples: &Samples| known.data.map(|rows| KnownShare::of_rows(rows, samples));
        self.found.rows = of_both.map(|it| it.and_then(visits).unwrap_or(KnownShare::NONE));
    }

    /// The same as [`Self::log_z`], and in doubt if the chains are at rows of the data more rarely or more often than it implies; `rows`:
    /// logarithm of the sum over the distinct ones. Chains that miss a mode near the rows see few of them. The samples of both populations
    /// count, unless the first is known to miss something because its value is lower.
    pub fn log_z_beside_rows(&self, bound: f64, rows: f64) -> LogZ {
        let mut found = self.log_z(bound);
        let [first, second] = self.found.rows;
        let below = found.value - self.chains.log_z();
        let low = below > CONSISTENT * found.std_error.hypot(self.chains.std_error());
        let visits = if low && self.second.is_some() { second } else { first.with(second) };
        if visits.samples() > 0.0 && !found.trust.names().contains("known-share") {
            found.hold_against_share(&visits.of_bound(rows));
        }
        found
    }

    /// Tracked log Z: the value of both populations, combined with the estimate from reference states; or its lower bound if that is
    /// larger, [`Found::bound`] or `bound` of the same model. Since log Z is at least the bound, this is never further from log Z
    /// than the value without it.
    pub fn log_z(&self, bound: f64) -> LogZ {
        let bound = match self.chains.options.has(Part::Bound) {
            true => bound.max(self.found.bound),
            false => f64::NEG_INFINITY,
        };
        let first = self.chains.log_z();
        let trust = self.chains.trust_if(self.found.known.beside(first).is_some());
        let std_error = self.chains.std_error();
        let first = LogZ { value: first, std_error, trust }.held_against(bound);
        let mut found = match &self.second {
            Some(SecondPopulation { chains, .. }) => {
                let (value, std_error) = (chains.log_z(), chains.std_error());
                let second = LogZ { value, std_error, trust: chains.trust() };
                together(first, second.held_against(bound))
            }
            None => first,
        };
        let tracked = (found.value, found.std_error);
        found.hold_against_share(&self.found.known);
        (found.value, found.std_error) = self.found.known.join(tracked);
        found.value = found.value.max(bound);
        found
    }
}

impl LogZ {
    /// In doubt if the fraction of the chains' samples that are known states contradicts it.
    fn hold_against_share(&mut self, known: &KnownShare) {
        let tracked = (self.value, self.std_error);
        if known.contradicts(tracked) {
            self.trust.doubt("known-share", known.contradiction(tracked));
        }
    }

    /// In doubt if a lower bound of log Z contradicts it.
    fn held_against(mut self, bound: f64) -> Self {
        let below = bound - self.value;
        if below > BELOW_BOUND * self.std_error && below > ROUNDING {
            self.trust.doubt(
                "bound",
                format!("tracked log Z {:.3} ± {:.3} is below the sum over states of data and particles alone, {bound:.3}: the chains miss a mode; a smaller learning rate or more tempering.chains would help", self.value, self.std_error),
            );
        }
        self
    }
}

impl KnownStates<'_> {
    /// Reference states: rows of data, particles and chains.
    fn rows(&self, own: &BitMatrix) -> BitMatrix {
        let data = self.data.map(|data| data.spread(BOUND_ROWS));
        let more = [self.particles, Some(own), self.chains];
        let empty = || BitMatrix::zeros(0, own.columns());
        let data = data.unwrap_or_else(empty);
        more.into_iter().flatten().fold(data, |rows, more| rows.followed_by(more))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::test_systems::gaussian_parameters;
    use crate::tempering::{BetaUpdate, InitialRounds, Prior};
    use crate::tracking::{Parts, Settling, Smoothing};

    fn model(seed: u64) -> Model {
        Model::on_host(gaussian_parameters(8, 4, 0.5, seed))
    }

    fn tracker(settling: usize) -> ModelTracker {
        let ladder = Ladder::linear(5, &Prior::Uniform).unwrap();
        let base = BaseDistribution::uniform(8);
        let options = TrackerOptions {
            smoothing: Smoothing::Kalman,
            sweeps: 2,
            weighted: true,
            settling: Settling { sweeps: settling, most: settling },
            without: Parts::default(),
            beta_update: BetaUpdate::Collapsed,
            initial_rounds: InitialRounds::default(),
        };
        let start = Start { model: &model(1), ladder: &ladder, base: &base };
        ModelTracker::start(start, None, 20, 1, options).0
    }

    /// A bound belongs to one model and raises only the value of that model.
    #[test]
    fn log_z_is_never_reported_below_the_bound_of_its_model() {
        let mut tracker = tracker(0);
        let tracked = tracker.chains().log_z();
        assert_eq!(tracker.log_z(tracked - 1.0).value, tracked);
        assert_eq!(tracker.log_z(tracked + 0.5).value, tracked + 0.5);
        tracker.found.bound = tracked + 1.0;
        assert_eq!(tracker.log_z(tracked + 0.5).value, tracked + 1.0);
        let far = tracked + 100.0 * tracker.chains().std_error() + 1.0;
        assert!(tracker.log_z(far).trust.names().contains("bound"));
        tracker.step(model(2));
        assert_eq!(tracker.log_z(f64::NEG_INFINITY).value, tracker.chains().log_z());
    }

    /// The same holds for the coverage of reference states: a consistent estimate is combined, a contradicting one is reported and not
    /// combined.
    #[test]
    fn known_states_are_joined_or_contradict_and_are_those_of_one_model() {
        let mut tracker = tracker(0);
        let own = (tracker.chains().log_z(), tracker.chains().std_error());
        let reported = |tracker: &ModelTracker| {
            let found = tracker.log_z(f64::NEG_INFINITY);
            (found.value, found.std_error)
        };
        let known = |bound| KnownShare::new(bound, (0..1000).map(|i| (true, 1.0, i)), 0.0);
        tracker.found.known = known(own.0 - own.1);
        let joined = reported(&tracker);
        assert!(joined.0 < own.0 && joined.1 < 0.5 * own.1, "{joined:?} of {own:?}");
        let doubts = tracker.log_z(f64::NEG_INFINITY).trust;
        assert!(!doubts.names().contains("known-share"), "{doubts:?}");
        tracker.found.known = known(own.0 - 5.0 * own.1 - 0.1);
        assert_eq!(reported(&tracker), own);
        assert!(tracker.log_z(f64::NEG_INFINITY).trust.names().contains("known-share"));
        tracker.step(model(2));
        assert_eq!(tracker.found.known, KnownShare::NONE);
    }

    /// Chains of one population, equilibrated, are at rows as often as the model is; a value by which they have another share is in doubt.
    #[test]
    fn chains_see_rows_as_often_as_the_value_implies() {
        let (mut tracker, model) = (tracker(600), model(1));
        let rows = BitMatrix::from_fn(60, 8, |row, i| row >> i & 1 == 1);
        let known =
            KnownStates { data: Some(&rows), particles: None, chains: None, seed: 1, update: 1 };
        tracker.settle(known);
        let log_f = model.engine.log_f(&rows);
        let bound = crate::numerics::log_sum_exp(log_f.iter().copied());
        let names = |tracker: &ModelTracker, bound| {
            tracker.log_z_beside_rows(f64::NEG_INFINITY, bound).trust.names()
        };
        assert_eq!(names(&tracker, bound), "");
        let exact = crate::model::exact::log_partition(&model.parameters).unwrap();
        let [first, second] = tracker.found.rows;
        assert!(first.samples() > 10.0 && second == KnownShare::NONE, "{first:?}");
        for (shift, contradicted) in [(0.0, false), (3.0, true), (-3.0, true)] {
            let of_shifted = first.of_bound(bound);
            assert_eq!(of_shifted.contradicts((exact + shift, 0.01)), contradicted, "{first:?}");
        }
        assert_eq!(names(&tracker, bound - 3.0), "known-share");
        tracker.step(self::model(2));
        assert_eq!(tracker.found.rows, [KnownShare::NONE; 2]);
    }
}
