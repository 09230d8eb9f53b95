//! A model that moves further during a round trip of the chains than these can follow.

use ztrack::model::Parameters;
use ztrack::model::exact::log_partition;
use ztrack::model::test_systems::gaussian_parameters;
use ztrack::tempering::{BaseDistribution, Ladder, Prior};
use ztrack::tracking::{
    KnownStates, Model, ModelTracker, Part, Parts, Settling, Smoothing, Start, TrackerOptions,
};

const M: usize = 30;
const J: usize = 12;

/// On a circle through two random models.
fn model(ends: &[Parameters; 2], angle: f64) -> Parameters {
    let (sin, cos) = (angle.sin() as f32, angle.cos() as f32);
    let mut parameters = ends[0].clone();
    let pairs = parameters.weights.iter_mut().zip(&ends[1].weights);
    pairs.for_each(|(x, y)| *x = cos * *x + sin * y);
    parameters
}

/// A tracker after 100 steps of so many radians and an evaluation with at most `most` sweeps.
fn tracked(step: f64, most: usize) -> ModelTracker {
    let ends = [1, 2].map(|seed| gaussian_parameters(M, J, 1.6, seed));
    let ladder = Ladder::linear(20, &Prior::Uniform).unwrap();
    let base = BaseDistribution::uniform(M);
    let first = Model::on_host(model(&ends, 0.0));
    let start = Start { model: &first, ladder: &ladder, base: &base };
    let settling = Settling { sweeps: 24, most };
    let options = TrackerOptions {
        settling,
        without: Parts::default().and(Part::KnownShare),
        weighted: true,
        ..super::options(Smoothing::Kalman, 1)
    };
    let mut tracker = ModelTracker::start(start, None, 100, 1, options).0;
    for t in 1..=100 {
        tracker.step(Model::on_host(model(&ends, step * f64::from(t))));
    }
    tracker.settle(KnownStates { data: None, particles: None, chains: None, seed: 1, update: 1 });
    tracker
}

/// The lag of tracked log Z is no part of the spread over chains that would weigh it. Equilibrated chains still lag before they came from
/// beta = 0, which their correlation does not show.
#[test]
fn chains_that_lag_count_alone_and_after_they_came_from_the_base() {
    let found = |step, most| {
        let tracker = tracked(step, most);
        let (chains, found) = (tracker.chains(), tracker.log_z(f64::NEG_INFINITY));
        let settled = chains.settled().unwrap();
        let errors =
            (found.value - log_partition(&tracker.model().parameters).unwrap()) / found.std_error;
        assert!(settled.correlation < 0.75 && errors.abs() < 4.0, "{settled:?} {errors:.1}");
        let crossings = settled.sweeps as f64 * chains.chains.round_trips.rate().unwrap() / 500.0;
        (chains.log_z() == settled.log_z, crossings >= 1.0, found.trust.names())
    };
    let sound = String::new();
    assert_eq!(found(0.002, 24), (false, false, sound.clone()));
    assert_eq!(found(0.04, 24), (true, false, "lag".into()));
    assert_eq!(found(0.04, 400), (true, true, sound));
}

/// Few sweeps can be independent by chance, so the correlation of the evaluation before counts as well.
#[test]
fn the_correlation_of_the_evaluation_before_is_kept() {
    let mut tracker = tracked(0.04, 24);
    let first = tracker.chains().settled().unwrap().clone();
    tracker.step(tracker.model().clone());
    tracker.settle(KnownStates { data: None, particles: None, chains: None, seed: 1, update: 2 });
    let second = tracker.chains().settled().unwrap();
    assert_eq!((first.correlation_before, second.correlation_before), (0.0, first.correlation));
    assert_ne!(second.correlation, first.correlation);
}
