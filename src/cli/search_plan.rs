//! Where the trials of a search start, and the next value of each key.

use serde::{Deserialize, Serialize};

/// The keys that are chosen.
pub(super) const KEYS: [&str; 4] =
    ["training.updates", "model.hidden", "training.weight_decay", "training.learning_rate.initial"];
/// Places of the last three in it.
pub(super) const HIDDEN: usize = 1;
pub(super) const WEIGHT_DECAY: usize = 2;
pub(super) const RATE: usize = 3;
/// The setting of trials whose particles would miss modes from random weights.
pub(super) const EXACT_START: [&str; 2] = ["model.start", "\"exact\""];
/// A value for each of [`KEYS`].
pub(super) type Values = [f64; 4];

/// Fewest and most updates of a run.
pub(super) const UPDATES: [f64; 2] = [250.0, 1e6];
/// Fewest and most hidden units; their number is a multiple of the former.
const UNITS: [f64; 2] = [16.0, 1024.0];
/// More evaluations than this tell no more.
const EVALUATIONS: f64 = 200.0;
const WEIGHT_DECAYS: [f64; 8] = [0.0, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1];

/// The first trial, kept so that an interrupted search goes on with the same trials.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Plan {
    pub minutes: f64,
    /// A value for each key.
    pub first: Values,
    /// Updates between evaluations of a short trial.
    pub every: u64,
    /// Whether trials have the exact start.
    #[serde(skip)]
    pub exact_start: bool,
}

impl Plan {
    /// `updates`: of the first trial; `hidden` units and learning `rate`: those of the configuration. The first weight decay is that of a standard
    /// normal prior of the weights, the nearest one to 1 / `rows`.
    pub fn new(updates: f64, (hidden, rate): (usize, f64), rows: usize) -> Self {
        let updates = updates.round().clamp(2.0 * UPDATES[0], 20_000.0);
        let distance = |decay: &f64| (decay * rows as f64).ln().abs();
        let nearest = |a: &f64, b: &f64| distance(a).total_cmp(&distance(b));
        let decay = WEIGHT_DECAYS.into_iter().min_by(nearest);
        let first = [updates, hidden as f64, decay.unwrap_or_default(), rate];
        Self { minutes: 0.0, first, every: 0, exact_start: false }
    }

    /// Whether it can be used: a file may hold anything.
    pub fn is_valid(&self) -> bool {
        self.every > 0 && self.first.iter().all(|value| value.is_finite() && *value >= 0.0)
    }

    /// Updates between evaluations.
    pub fn every(&self, values: Values) -> u64 {
        let usual = self.every as f64;
        (usual * (values[0] / (EVALUATIONS * usual)).ceil()) as u64
    }

    /// Values with the next one of a key, up or down; `None` at the end. Another number of hidden units comes with a length that takes about the same
    /// time, in proportion to it, as it is time that limits a run.
    pub fn next(&self, key: usize, mut values: Values, up: bool) -> Option<Values> {
        let value = values[key];
        let by = if up { 2.0 } else { 0.5 };
        values[key] = match key {
            HIDDEN => {
                let [least, most] = UNITS;
                let next = ((by * value / least).ceil() * least).min(most);
                let next = Some(next).filter(|next| *next >= least && *next != value)?;
                values = of_length(values, value / next);
                next
            }
            WEIGHT_DECAY if up => WEIGHT_DECAYS.into_iter().find(|next| *next > value)?,
            WEIGHT_DECAY => WEIGHT_DECAYS.into_iter().rev().find(|next| *next < value)?,
            _ => rounded(by * value),
        };
        Some(values)
    }

    /// The values of a trial that may take `times` as long as one with these; `None` if that is not longer, or not known because that one has failed
    /// at once.
    pub fn longer(&self, values: Values, times: f64) -> Option<Values> {
        let known = times.is_finite().then(|| of_length(values, times));
        known.filter(|longer| longer[0] > values[0])
    }

    /// Whether values were tried, up to rounding.
    pub fn are_among(values: &Values, tried: &[Values]) -> bool {
        let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 0.01 * b;
        tried.iter().any(|it| values.iter().zip(it).all(close))
    }
}

/// As many `times` the updates, with a rate that is lower by the root of it: what a longer run can gain is divided between more distance and less
/// noise.
fn of_length(mut values: Values, times: f64) -> Values {
    let updates = (values[0] * times).round().clamp(UPDATES[0], UPDATES[1]);
    values[RATE] = rounded(values[RATE] * (values[0] / updates).sqrt());
    values[0] = updates;
    values
}

/// Three digits of a number.
fn rounded(number: f64) -> f64 {
    format!("{number:.2e}").parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan { minutes: 1.0, every: 100, ..Plan::new(500.0, (64, 0.1), 1000) }
    }

    #[test]
    fn steps_stay_within_the_ends_and_lead_back() {
        let plan = plan();
        let step = |key, value, up| {
            let mut values = plan.first;
            values[key] = value;
            plan.next(key, values, up).map(|next| next[key])
        };
        for (key, value) in [(HIDDEN, 112.0), (WEIGHT_DECAY, 1e-3), (RATE, 0.1)] {
            let up = step(key, value, true).unwrap();
            assert!(up > value && step(key, value, false).unwrap() < value);
            assert_eq!(step(key, up, false), Some(value));
        }
        assert_eq!((step(HIDDEN, 16.0, false), step(HIDDEN, 1024.0, true)), (None, None));
        assert_eq!(step(HIDDEN, 48.0, false), Some(32.0));
        assert_eq!(step(HIDDEN, 592.0, true), Some(1024.0));
        assert_eq!((step(WEIGHT_DECAY, 0.0, false), step(WEIGHT_DECAY, 0.1, true)), (None, None));
        // The same time.
        let wider = plan.next(HIDDEN, [1000.0, 64.0, 1e-3, 0.1], true).unwrap();
        assert_eq!(wider, [500.0, 128.0, 1e-3, 0.141]);
        let back = plan.next(HIDDEN, wider, false).unwrap();
        assert!(Plan::are_among(&back, &[[1000.0, 64.0, 1e-3, 0.1]]), "{back:?}");
    }

    #[test]
    fn values_are_the_same_up_to_rounding() {
        let tried = [[707.0, 128.0, 1e-3, 0.119], [1000.0, 64.0, 0.0, 0.1]];
        assert!(Plan::are_among(&[1001.0, 64.0, 0.0, 0.0999], &tried));
        assert!(!Plan::are_among(&[1001.0, 64.0, 1e-4, 0.1], &tried));
        assert!(!Plan::are_among(&[1020.0, 64.0, 0.0, 0.1], &tried));
    }

    #[test]
    fn the_first_weight_decay_is_that_of_a_normal_prior() {
        let of = |rows| Plan::new(500.0, (64, 0.1), rows).first[2];
        assert_eq!([1, 400, 1001, 2000, 12_262].map(of), [0.1, 3e-3, 1e-3, 3e-4, 1e-4]);
        assert_eq!(of(1_000_000), 1e-4);
    }

    #[test]
    fn a_longer_trial_has_a_lower_rate() {
        let plan = plan();
        let longer = |times| plan.longer(plan.first, times);
        assert_eq!(longer(4.0), Some([2000.0, 64.0, 1e-3, 0.05]));
        assert_eq!(longer(1e9), Some([1e6, 64.0, 1e-3, 0.00224]));
        assert_eq!([1.0, 0.5, f64::NAN, f64::INFINITY].map(longer), [None; 4]);
        let every = |updates| plan.every([updates, 64.0, 0.0, 0.1]);
        assert_eq!([500.0, 20_000.0, 20_001.0, 60_000.0].map(every), [100, 100, 200, 300]);
    }

    #[test]
    fn a_plan_of_a_file_is_read_only_if_its_numbers_can_be_used() {
        let of = |first, every| Plan { first, every, ..plan() };
        assert!(of([500.0, 16.0, 0.0, 0.1], 100).is_valid());
        assert!(!of([500.0, f64::NAN, 0.0, 0.1], 100).is_valid());
        assert!(!of([500.0, 16.0, -1.0, 0.1], 100).is_valid());
        assert!(!of([500.0, 16.0, 0.0, 0.1], 0).is_valid());
    }
}
