//! What is reported as log Z: the value of both populations, held against what is known from outside: lower bounds, and states of which the
//! chains should see a part.

use super::second_population::together;
use super::settling::CONSISTENT;
use super::{Found, KnownShare, ModelTracker, Part, SecondPopulation};
use crate::trust::{Doubt, LogZ};

/// Largest effect of f32 rounding on a bound, nats.
const ROUNDING: f64 = 0.01;

impl ModelTracker {
    /// Tracked log Z: the value of both populations, combined with the estimate from reference states; or its lower bound if that is
    /// larger, [`super::Found::bound`] or `bound` of the same model. Since log Z is at least the bound, this is never further from log Z
    /// than the value without it.
    ///
    /// Where all this leaves a doubt, the value annealed from the mixture replaces it if it is more certain ([`super::AnnealedLogZ`]).
    pub fn log_z(&self, bound: f64) -> LogZ {
        let bound = self.bound(bound);
        self.unless_in_doubt(self.of_chains(bound), bound)
    }

    /// The same as [`Self::log_z`], and in doubt if the chains are at rows of the data more rarely or more often than it implies; `rows`:
    /// logarithm of the sum over the distinct ones. Chains that miss a mode near the rows see few of them.
    pub fn log_z_beside_rows(&self, bound: f64, rows: f64) -> LogZ {
        let bound = self.bound(bound);
        let mut found = self.of_chains(bound);
        self.hold_against_samples(&mut found, self.found.rows.map(|visits| visits.of_bound(rows)));
        self.unless_in_doubt(found, bound)
    }

    /// The largest known bound.
    pub(super) fn bound(&self, bound: f64) -> f64 {
        match self.chains.options.has(Part::Bound) {
            true => bound.max(self.found.bound),
            false => f64::NEG_INFINITY,
        }
    }

    /// The value of the chains, or the annealed one if that is in doubt; at least `bound`.
    fn unless_in_doubt(&self, found: LogZ, bound: f64) -> LogZ {
        let found = match self.found.annealed {
            Some(annealed) if !found.trust.is_sound() => annealed.instead_of(found, bound),
            _ => found,
        };
        LogZ { value: found.value.max(bound), ..found }
    }

    /// The value of both populations, at least `bound`.
    pub(super) fn of_chains(&self, bound: f64) -> LogZ {
        let Found { known, preferred, above, .. } = &self.found;
        let is_known = known.beside(self.chains.log_z()).is_some();
        let mut found = match &self.second {
            Some(SecondPopulation { chains, .. }) => {
                let [first, second] = [self.chains.found(is_known), chains.found(false)];
                together(held_against(first, bound), held_against(second, bound), above[1])
            }
            None => held_against(self.chains.found_alone(is_known), bound),
        };
        if !self.first_is_lower(&found) {
            hold_against_share(&mut found, known);
        }
        self.hold_against_samples(&mut found, *preferred);
        let found = known.join(found);
        LogZ { value: found.value.max(bound), ..found }
    }

    /// Whether the first population misses something, because its value is far below log Z as it was found.
    fn first_is_lower(&self, found: &LogZ) -> bool {
        let below = found.value - self.chains.log_z();
        self.second.is_some() && below > CONSISTENT * found.std_error.hypot(self.chains.std_error())
    }

    /// In doubt if the fractions of both populations' samples that are among some states contradict it. Those of the first do not count where
    /// it is known to miss something.
    fn hold_against_samples(&self, found: &mut LogZ, [first, second]: [KnownShare; 2]) {
        let visits = if self.first_is_lower(found) { second } else { first.with(second) };
        if visits.samples() > 0.0 && !found.trust.names().contains("known-share") {
            hold_against_share(found, &visits);
        }
    }
}

/// In doubt if the fraction of the chains' samples that are known states contradicts it.
fn hold_against_share(found: &mut LogZ, known: &KnownShare) {
    if known.contradicts(found) {
        found.trust.doubt(known.contradiction(found));
    }
}

/// Whether a lower bound of log Z contradicts it.
pub(super) fn is_below(found: &LogZ, bound: f64) -> bool {
    let below = bound - found.value;
    below > CONSISTENT * found.std_error && below > ROUNDING
}

/// In doubt if a lower bound of log Z contradicts it.
fn held_against(mut found: LogZ, bound: f64) -> LogZ {
    let LogZ { value, std_error, .. } = found;
    if is_below(&found, bound) {
        found.trust.doubt(Doubt::Bound { value, std_error, bound });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::BitMatrix;
    use crate::model::test_systems::gaussian_parameters;
    use crate::tempering::mixture::MixtureBase;
    use crate::tempering::{BaseDistribution, BetaUpdate, InitialRounds, Ladder, Prior};
    use crate::tracking::{
        AnnealedLogZ, KnownStates, Model, Parts, Settling, Smoothing, Start, TrackerOptions,
    };
    use crate::trust::Trust;

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

    /// How far the populations are apart is kept for the next evaluation, and counts where one of them is sound alone.
    #[test]
    fn what_a_population_missed_before_is_remembered() {
        let mut tracker = tracker(24);
        let mixture = MixtureBase::new(vec![BaseDistribution::uniform(8)], &[1.0]).unwrap();
        let Model { parameters, .. } = tracker.model();
        let model = Model::on_host((**parameters).clone());
        let (ladder, options) = (tracker.ladder().clone(), tracker.chains.options);
        let second = SecondPopulation::start(&model, &ladder, mixture.into(), 10, 2, options);
        tracker.second = Some(second);
        let known =
            |update| KnownStates { data: None, particles: None, chains: None, seed: 1, update };
        tracker.settle(known(1));
        let [first, before] = tracker.found.above;
        assert!(first != 0.0 && first.is_finite() && before == 0.0);
        tracker.step(model);
        tracker.settle(known(2));
        assert_eq!(tracker.found.above[1], first);
        // The second drifts: the first is sound alone.
        tracker.found.known = KnownShare::NONE;
        let chains = &mut tracker.second.as_mut().unwrap().chains;
        chains.settled.as_mut().unwrap().drift_in_errors = f64::NAN;
        let distance = chains.log_z() - tracker.chains.log_z();
        let own = tracker.chains.std_error();
        for (above, expected) in [(2.5, 2.5 * own), (-2.5, own)] {
            tracker.found.above[1] = above;
            assert_eq!(tracker.log_z(f64::NEG_INFINITY).std_error, expected.max(distance));
        }
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

    /// The annealed value counts in place of a doubt alone.
    #[test]
    fn the_annealed_value_replaces_a_doubt() {
        let mut tracker = tracker(24);
        let chains = tracker.chains.log_z();
        tracker.found.annealed = Some(AnnealedLogZ { value: chains + 0.1, std_error: 1e-9 });
        let round_trips = &mut tracker.chains.chains.round_trips;
        round_trips.add(1000, 1000);
        let found = tracker.log_z(f64::NEG_INFINITY);
        assert!(found.trust.is_sound() && found.value == chains, "{found:?}");
        tracker.chains.chains.round_trips.add(0, 1_000_000);
        assert!(!tracker.of_chains(f64::NEG_INFINITY).trust.is_sound());
        let found = tracker.log_z(f64::NEG_INFINITY);
        assert!(found.trust.is_sound() && found.value == chains + 0.1, "{found:?}");
    }

    /// Frozen chains that hardly cross the ladder in an equilibration are in doubt where no other population checks them.
    #[test]
    fn one_population_alone_has_to_cross_the_ladder() {
        let settled = |sweeps| {
            let mut tracker = tracker(sweeps);
            tracker.settle(KnownStates {
                data: None,
                particles: None,
                chains: None,
                seed: 1,
                update: 1,
            });
            tracker.found.known = KnownShare::NONE;
            tracker
        };
        let mut tracker = settled(24);
        // A few sweeps are too few for all.
        let crossed = [settled(3), settled(24)].map(|it| it.chains.settled().unwrap().crossed);
        assert!(crossed[0] < 0.8 && crossed[1] > 0.9, "{crossed:?}");
        let settled = tracker.chains.settled.as_mut().unwrap();
        (settled.correlation, settled.crossed) = (0.9, 0.1);
        let names = |tracker: &ModelTracker| tracker.log_z(f64::NEG_INFINITY).trust.names();
        assert!(names(&tracker).contains("few-crossed"), "{}", names(&tracker));
        let mixture = MixtureBase::new(vec![BaseDistribution::uniform(8)], &[1.0]).unwrap();
        let Model { parameters, .. } = tracker.model();
        let model = Model::on_host((**parameters).clone());
        let (ladder, options) = (tracker.ladder().clone(), tracker.chains.options);
        let second = SecondPopulation::start(&model, &ladder, mixture.into(), 10, 2, options);
        tracker.second = Some(second);
        assert!(!names(&tracker).contains("few-crossed"), "{}", names(&tracker));
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
        // States that hidden units prefer only contradict: the samples of both populations together see none of a third of the mass.
        tracker.found.known = KnownShare::NONE;
        let missed = |n| KnownShare::new(own.0 - 1.1, (0..n).map(|i| (false, 1.0, i)), 0.0);
        for (samples, contradicted) in [(2, false), (1000, true)] {
            tracker.found.preferred = [missed(samples); 2];
            assert_eq!(reported(&tracker), own);
            let names = tracker.log_z(f64::NEG_INFINITY).trust.names();
            assert_eq!(names.contains("known-share"), contradicted, "{names}");
        }
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
        let of = |value| LogZ { value, std_error: 0.01, trust: Trust::sound() };
        for (shift, contradicted) in [(0.0, false), (6.0, true), (-6.0, true)] {
            let of_shifted = first.of_bound(bound);
            assert_eq!(of_shifted.contradicts(&of(exact + shift)), contradicted, "{first:?}");
        }
        assert_eq!(names(&tracker, bound - 7.0), "known-share");
        tracker.step(self::model(2));
        assert_eq!(tracker.found.rows, [KnownShare::NONE; 2]);
    }
}
