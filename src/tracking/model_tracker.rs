//! A tracker together with its model, used by the trainer and by [`crate::LogZTracker`].
//!
//! It makes steps from model to model. For an evaluation a copy of its chains equilibrates. If the sum over reference states is larger than
//! the result, the chains have missed a mode and are re-initialised with these states among theirs.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Settling;
use super::budget::{Pace, divided};
use super::preferred::Preferred;
use super::reported::is_below;
use super::second_population::{PREFIX as SECOND, above, read_mixture, write_mixture};
use super::settle::Samples;
use super::{
    AnnealedLogZ, ChainTracker, HiddenStates, KnownShare, Model, Part, SecondPopulation, Start,
    TrackRecord, TrackerOptions,
};
use crate::checkpoint::{StateReader, StateWriter};
use crate::engine::BitMatrix;
use crate::engine::random::{Purpose, Streams, derived_seed};
use crate::error::Result;
use crate::tempering::mixture::MixtureBase;
use crate::tempering::{BaseDistribution, GeometricPath, Ladder, RoundsRecord, TemperedChains};

/// Rows of data from which hidden states are drawn for a bound of log Z.
pub(crate) const BOUND_ROWS: usize = 2000;

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

/// Tracker of log Z with its model, its ladder and its base distribution.
#[derive(Clone)]
pub struct ModelTracker {
    pub(super) chains: ChainTracker,
    model: Model,
    ladder: Ladder,
    base: BaseDistribution,
    /// Chains on the ladder from a mixture, if there are any.
    pub(super) second: Option<SecondPopulation>,
    /// Its mixture, which stays where it is dropped.
    mixture: Option<Arc<MixtureBase>>,
    /// What the evaluations found.
    pub found: Found,
    /// Whether chains of a population were re-initialised at the last evaluation, because they had missed reference states.
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
    /// The fraction of both populations' samples that are among states which hidden units prefer.
    #[serde(default)]
    pub preferred: [KnownShare; 2],
    /// Whether the second population missed reference states and was replaced by one from a mixture fitted to these too.
    #[serde(default)]
    pub renewed: bool,
    /// The fraction of both populations' samples that are rows of the data; their sum is not among these values.
    #[serde(default)]
    pub rows: [KnownShare; 2],
    /// log Z annealed from the mixture, where the chains were in doubt.
    #[serde(default)]
    pub annealed: Option<AnnealedLogZ>,
    /// Number of evaluations at which chains were re-initialised from reference states.
    pub restarts: u64,
    /// How many errors the second population was above the first at this evaluation and at the one before; 0 where one was in doubt.
    #[serde(default)]
    pub above: [f64; 2],
}

impl Default for Found {
    fn default() -> Self {
        Self {
            bound: f64::NEG_INFINITY,
            known: KnownShare::NONE,
            preferred: [KnownShare::NONE; 2],
            renewed: false,
            rows: [KnownShare::NONE; 2],
            annealed: None,
            restarts: 0,
            above: [0.0; 2],
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
        let second = mixture.clone().map(|mixture| {
            let size = SecondPopulation::size(chains);
            let seed = derived_seed(seed, Purpose::Tracker, 1);
            SecondPopulation::start(model, ladder, mixture, size, seed, options)
        });
        let chains = TemperedChains::new(base.sample(chains, seed, 0), ladder.len(), seed);
        let (chains, rounds) = ChainTracker::start(&start.path(), chains, options);
        (Self { second, mixture, ..Self::of(chains, start) }, rounds)
    }

    /// From a tracker that is at the model of `start`.
    fn of(chains: ChainTracker, Start { model, ladder, base }: Start<'_>) -> Self {
        Self {
            chains,
            model: model.clone(),
            ladder: ladder.clone(),
            base: base.clone(),
            second: None,
            mixture: None,
            found: Found::default(),
            restarted: false,
        }
    }

    /// Stores model and chains, including the second population; the caller stores what was found.
    pub(crate) fn write(&self, state: &mut StateWriter) {
        state.parameters(TRACKED, &self.model.parameters);
        self.chains.write("", state);
        if let Some(mixture) = &self.mixture {
            write_mixture(SECOND, mixture, state);
        }
        if let Some(second) = &self.second {
            second.chains.write(SECOND, state);
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
        let size = SecondPopulation::size(chains);
        let mixture = read_mixture(SECOND, state, &start.model.parameters)?;
        let second = SecondPopulation::read(SECOND, state, start, size, options)?;
        Ok(Self { second, mixture, found, ..Self::read_chains("", state, start, chains, options)? })
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

    /// The mixture of the second population, if there is one: fitted anew where that was.
    pub(crate) fn mixture(&self) -> Option<&Arc<MixtureBase>> {
        self.mixture.as_ref()
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
        second.take_if(|second| !second.step(&new).1);
        let path = GeometricPath { engine: new.engine.as_ref(), ladder, base };
        let record = chains.step(&GeometricPath { engine: model.engine.as_ref(), ..path }, &path);
        *model = new;
        // The bound of the previous model does not hold for this one.
        let Found { restarts, above, .. } = self.found;
        self.found = Found { restarts, above, ..Found::default() };
        record
    }

    /// Sweeps of a copy of the chains at fixed parameters for an evaluation. If the sum over reference states is larger than the resulting
    /// log Z, the chains are re-initialised with these states among theirs. If the second population misses some of them, one from a mixture
    /// that is fitted to them too takes its place.
    pub fn settle(&mut self, known: KnownStates<'_>) {
        let KnownStates { seed, update, .. } = known;
        let options = self.chains.options;
        let rows = known.rows(&self.chains.chains.visible);
        let Self { chains, model, ladder, base, second, .. } = self;
        let mut parts = [options.settling; 2];
        if let Some(second) = second {
            parts = divided(options.settling, [Pace::from(&*chains), Pace::from(&second.chains)]);
        }
        let mut of_second = second.as_mut().and_then(|it| it.settle(parts[1]));
        let path = GeometricPath { engine: model.engine.as_ref(), ladder, base };
        let mut of_first = chains.settle_within(&path, parts[0]);
        let used = |it: &&Samples| options.has(Part::KnownShare) && !it.weights.is_empty();
        let tracked = second.as_ref().map_or(&*chains, |second| &second.chains).found(false);
        let samples = [&of_first, &of_second].map(|it| it.as_ref().filter(used));
        let preferred = options
            .has(Part::PreferredStates)
            .then(|| Preferred::of(model, &tracked, samples, seed, update));
        let all = preferred.iter().fold(rows.clone(), |all, more| all.followed_by(&more.visible));
        let streams = Streams::new(seed, Purpose::BoundHidden, update);
        let states = HiddenStates::of(&model.parameters, path.engine, &all, streams);
        self.found.bound = states.bound();
        let bound = self.found.bound;
        self.restarted = options.has(Part::Restart) && is_below(&chains.found(false), bound);
        if self.restarted {
            chains.start_from(path, &states);
            of_first = chains.settle_within(&path, parts[0]);
        }
        if let (Some(missed), Some(second)) = (&preferred, second.as_mut())
            && (missed.are_missed || is_below(&tracked, bound))
            && let Some(new) = second.renewed([&rows, &missed.visible], seed, update)
        {
            *second = new;
            self.mixture = Some(second.base().clone());
            of_second = second.settle(parts[1]);
            (self.restarted, self.found.renewed) = (true, true);
        }
        self.found.restarts += u64::from(self.restarted);
        let samples = [&of_first, &of_second].map(|it| it.as_ref().filter(used));
        if let Some(preferred) = &preferred {
            let share = |it| preferred.share(model, it);
            self.found.preferred = match self.restarted {
                true => samples.map(|it| it.map_or(KnownShare::NONE, share)),
                false => preferred.shares,
            };
        }
        let streams = Streams::new(seed, Purpose::KnownShare, update);
        let share = |samples| states.share(path.engine, samples, streams);
        self.found.known = samples[0].map_or(KnownShare::NONE, share);
        let visits = |samples: &Samples| known.data.map(|rows| KnownShare::of_rows(rows, samples));
        self.found.rows = samples.map(|it| it.and_then(visits).unwrap_or(KnownShare::NONE));
        let second = second.as_ref().map(|second| second.chains.found(false));
        let now = second.map_or(0.0, |second| above([&chains.found(false), &second]));
        self.found.above = [now, self.found.above[0]];
        self.found.annealed = self.annealed(known, preferred.as_ref());
    }

    /// log Z annealed from the mixture if the value of the chains is in doubt. Not where evaluations equilibrate nothing.
    fn annealed(
        &self,
        known: KnownStates<'_>,
        preferred: Option<&Preferred>,
    ) -> Option<AnnealedLogZ> {
        let options = self.chains.options;
        let mixture = self.mixture.as_ref()?;
        if !options.has(Part::Annealing)
            || options.settling.sweeps == 0
            || self.of_chains(self.bound(f64::NEG_INFINITY)).trust.is_sound()
        {
            return None;
        }
        let mut states = KnownStates { data: None, ..known }.rows(&self.chains.chains.visible);
        if let Some(preferred) = preferred {
            states = states.followed_by(&preferred.visible);
        }
        AnnealedLogZ::of(&self.model, mixture, &states, known.seed, known.update)
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
