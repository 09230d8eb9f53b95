//! Reference states that do not depend on the tracked chains: states that hidden units prefer, alone or in random sets, and where Gibbs sweeps
//! lead from these.
//!
//! A mode that neither chains nor particles have reached grows unseen, because nothing in the gradient opposes it. Some hidden units turn
//! each other on in it, and chains from the visible states that these units prefer reach it within some sweeps, whatever separates it from
//! the data. Of 64 units on connect4 (docs/results.md) single ones lead to such a mode and random sets do not; of 22 units that learned 48 rows
//! of 400 bits in four clusters, 4 % of the chains from single ones and 37 % of those from random sets do.

use super::bound::HiddenStates;
use super::settle::Samples;
use super::{KnownShare, Model};
use crate::engine::BitMatrix;
use crate::engine::random::{Purpose, Streams, derived_seed};
use crate::model::preferred_states;
use crate::trust::LogZ;

/// Most visible states that turn single hidden units on or off, and number of random sets of units.
const MOST: usize = 128;
const SETS: usize = 32;
/// Gibbs sweeps from these states, and so many more after each of which states are taken: a mode has many states of similar mass.
const SWEEPS: usize = 10;
const TAKEN: usize = 6;
/// Fraction of the model's mass beyond which these states could be a mode that the chains miss, and how many times the number of states
/// is doubled to tell.
const NOTICEABLE: f64 = 0.002;
const DOUBLINGS: usize = 5;

/// States that hidden units prefer, held against the samples of both populations.
pub(super) struct Preferred {
    /// v at beta = 1, [states, M].
    pub visible: BitMatrix,
    hidden: HiddenStates,
    /// The fraction of the samples of each population that are among them.
    pub shares: [KnownShare; 2],
    /// Whether these fractions contradict the tracked value because they are too small.
    pub are_missed: bool,
    streams: Streams,
}

impl Preferred {
    /// States after Gibbs sweeps from [`preferred_states`]. More of them where by the tracked value they have a noticeable
    /// part of the mass and `samples` of that model do not show whether the chains have found it. `seed` and `update` number the draws.
    pub fn of(
        model: &Model,
        tracked: &LogZ,
        samples: [Option<&Samples>; 2],
        seed: u64,
        update: u64,
    ) -> Self {
        let engine = model.engine.as_ref();
        let mut chains = preferred_states(&model.parameters, [MOST, SETS], seed, update);
        let seed = derived_seed(seed, Purpose::PreferredStates, update);
        engine.gibbs(&mut chains, SWEEPS, seed, 0);
        let (mut visible, mut sweeps) = (chains.select(0..0), SWEEPS);
        let mut doublings = 0;
        loop {
            for _ in 0..TAKEN << doublings.max(1) >> 1 {
                engine.gibbs(&mut chains, 1, seed, sweeps as u64);
                visible = visible.followed_by(&chains);
                sweeps += 1;
            }
            let streams = Streams::new(seed, Purpose::BoundHidden, 0);
            let hidden = HiddenStates::of(&model.parameters, engine, &visible, streams);
            let streams = Streams::new(seed, Purpose::KnownShare, 0);
            let mut found =
                Self { visible, hidden, shares: [KnownShare::NONE; 2], are_missed: false, streams };
            let implied = (found.hidden.bound() - tracked.value).exp();
            if implied.is_nan() || implied <= NOTICEABLE {
                return found;
            }
            found.shares =
                samples.map(|it| it.map_or(KnownShare::NONE, |it| found.share(model, it)));
            let [first, second] = found.shares;
            let visits = first.with(second);
            found.are_missed = visits.misses(tracked);
            doublings += 1;
            if found.are_missed || visits.sees(tracked) || doublings > DOUBLINGS {
                return found;
            }
            visible = found.visible;
        }
    }

    /// The fraction of samples that are among the states.
    pub fn share(&self, model: &Model, samples: &Samples) -> KnownShare {
        self.hidden.share(model.engine.as_ref(), samples, self.streams)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::exact::log_partition;
    use crate::model::test_systems::gaussian_parameters;
    use crate::tempering::mixture::MixtureBase;
    use crate::tempering::{BaseDistribution, BetaUpdate, InitialRounds, Ladder, Prior};
    use crate::tracking::{
        KnownStates, ModelTracker, Part, Parts, Settling, Smoothing, Start, TrackerOptions,
    };

    const BLOCK: usize = 15;

    fn base() -> BaseDistribution {
        BaseDistribution::from_logits(&[-2.0; 2 * BLOCK]).unwrap()
    }

    /// Nearly independent bits; where `planted`, six hidden units turn on half of the bits together, and are on only with these: a mode with most
    /// of the mass, far from the rest of it.
    fn model(planted: bool) -> Model {
        let mut parameters = gaussian_parameters(2 * BLOCK, 10, 0.1, 1);
        parameters.visible_bias.fill(-2.0);
        if planted {
            for i in BLOCK..2 * BLOCK {
                parameters.visible_bias[i] = -5.0;
                parameters.weights[10 * i..10 * i + 6].fill(1.9);
            }
            parameters.hidden_bias[..6].fill(-15.65);
        }
        Model::on_host(parameters)
    }

    /// A tracker of the model without the mode, at an evaluation after it has gone on to the one with it.
    fn tracker(mixture: bool, without: Parts) -> ModelTracker {
        let ladder = Ladder::linear(10, &Prior::Uniform).unwrap();
        let options = TrackerOptions {
            smoothing: Smoothing::Kalman,
            sweeps: 2,
            weighted: true,
            settling: Settling { sweeps: 60, most: 60 },
            without,
            beta_update: BetaUpdate::Collapsed,
            initial_rounds: InitialRounds::default(),
        };
        let start = Start { model: &model(false), ladder: &ladder, base: &base() };
        let mixture = mixture.then(|| MixtureBase::new(vec![base()], &[1.0]).unwrap().into());
        let mut tracker = ModelTracker::start(start, mixture, 60, 1, options).0;
        tracker.step(model(true));
        let (data, particles, chains) = (None, None, None);
        tracker.settle(KnownStates { data, particles, chains, seed: 1, update: 1 });
        tracker
    }

    #[test]
    fn a_mode_that_no_chain_has_reached_is_found() {
        let exact = log_partition(&model(true).parameters).unwrap();
        for mixture in [false, true] {
            let errors = |without| {
                let tracker = tracker(mixture, without);
                let LogZ { value, std_error, trust } = tracker.log_z(f64::NEG_INFINITY);
                ((value - exact) / std_error, trust.is_sound(), tracker.found.renewed)
            };
            let (in_errors, sound, _) = errors(Parts::default().and(Part::PreferredStates));
            assert!(in_errors < -10.0 && sound, "{in_errors}");
            let (in_errors, _, renewed) = errors(Parts::default());
            assert!(in_errors.abs() < 4.0 && renewed == mixture, "{in_errors}");
        }
    }

    #[test]
    fn states_without_a_mode_say_nothing() {
        let model = model(false);
        let value = log_partition(&model.parameters).unwrap();
        let tracked = LogZ { value, std_error: 0.1, trust: crate::trust::Trust::sound() };
        let preferred = Preferred::of(&model, &tracked, [None, None], 1, 1);
        assert!(!preferred.are_missed && preferred.visible.rows() > 0);
        assert!(preferred.hidden.bound() < value + 1e-3);
    }
}
