//! Where the trials of a search start, and the next value of each key.

use serde::{Deserialize, Serialize};

/// The keys that are chosen.
pub(super) const KEYS: [&str; 4] =
    ["training.updates", "model.hidden", "training.weight_decay", "training.learning_rate.initial"];
/// The last of them.
pub(super) const RATE: usize = 3;
/// A step of two keys at once: longer with a lower rate, where a longer run alone has too much noise, and a lower rate alone too little time.
pub(super) const SLOWER: usize = KEYS.len();
/// A value for each of [`KEYS`].
pub(super) type Values = [f64; 4];

/// Fewest and most updates of a run.
pub(super) const UPDATES: [f64; 2] = [250.0, 1e6];
/// Fewest and most hidden units; their number is a multiple of the former.
const HIDDEN: [f64; 2] = [16.0, 1024.0];
const WEIGHT_DECAYS: [f64; 8] = [0.0, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1];
const FIRST_WEIGHT_DECAY: f64 = 1e-3;

/// The first trial, kept so that an interrupted search goes on with the same trials.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Plan {
    pub minutes: f64,
    /// A value for each key.
    pub first: Values,
    /// Updates between evaluations.
    pub every: u64,
    /// Whether trials have the exact start.
    #[serde(skip)]
    pub exact_start: bool,
}

impl Plan {
    /// `updates`: of the first trial; `hidden` units and learning `rate`: those of the configuration.
    pub fn new(updates: f64, (hidden, rate): (usize, f64)) -> Self {
        let updates = updates.round().clamp(2.0 * UPDATES[0], 20_000.0);
        let first = [updates, hidden as f64, FIRST_WEIGHT_DECAY, rate];
        Self { minutes: 0.0, first, every: 0, exact_start: false }
    }

    /// Whether it can be used: a file may hold anything.
    pub fn is_valid(&self) -> bool {
        self.every > 0 && self.first.iter().all(|value| value.is_finite() && *value >= 0.0)
    }

    /// Values with the next one of a key, or of the two keys of [`SLOWER`]; `None` at the end.
    pub fn next(&self, key: usize, mut values: Values, up: bool) -> Option<Values> {
        let steps = if key == SLOWER { vec![(0, true), (RATE, false)] } else { vec![(key, up)] };
        for (key, up) in steps {
            values[key] = self.step(key, values[key], up)?;
        }
        Some(values)
    }

    /// The next value of a key, up or down; `None` at the end.
    fn step(&self, key: usize, value: f64, up: bool) -> Option<f64> {
        let by = if up { 2.0 } else { 0.5 };
        let within =
            |[least, most]: [f64; 2], next: f64| (least..=most).contains(&next).then_some(next);
        match key {
            0 => within(UPDATES, (by * value).round()),
            1 => within(HIDDEN, ((by * value / HIDDEN[0]).ceil() * HIDDEN[0]).min(HIDDEN[1]))
                .filter(|next| *next != value),
            2 if up => WEIGHT_DECAYS.into_iter().find(|next| *next > value),
            2 => WEIGHT_DECAYS.into_iter().rev().find(|next| *next < value),
            _ => Some(rounded(by * value)),
        }
    }

    /// The values of the run, which may take `times` as long as the trial with these: as many times the updates, unless twice as many were tried
    /// and were worse.
    pub fn longer(&self, values: Values, tried: &[Values], times: f64) -> Values {
        let twice = self.next(0, values, true);
        if times.is_nan() || twice.is_none_or(|twice| tried.contains(&twice)) {
            return values;
        }
        let updates = (values[0] * times.max(1.0)).round().min(UPDATES[1]);
        [updates, values[1], values[2], values[3]]
    }

    /// About how many times as long a trial takes: an update grows with the hidden units, an audit not with the updates.
    pub fn times_as_long(&self, new: &Values, old: &Values) -> f64 {
        let length = new[0] / old[0];
        (length * new[1] / old[1]).max(length).max(1.0)
    }
}

/// Three digits of a number.
fn rounded(number: f64) -> f64 {
    format!("{number:.2e}").parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan { minutes: 1.0, every: 100, ..Plan::new(500.0, (64, 0.1)) }
    }

    #[test]
    fn steps_stay_within_the_ends_and_lead_back() {
        let plan = plan();
        let step = |key, value, up| plan.step(key, value, up);
        for (key, value) in [(0, 777.0), (1, 112.0), (2, FIRST_WEIGHT_DECAY), (3, 0.1)] {
            let up = step(key, value, true).unwrap();
            assert!(up > value && step(key, value, false).unwrap() < value);
            assert_eq!(step(key, up, false), Some(value));
        }
        assert_eq!((step(1, 16.0, false), step(1, 1024.0, true)), (None, None));
        assert_eq!((step(1, 48.0, false), step(1, 592.0, true)), (Some(32.0), Some(1024.0)));
        assert_eq!((step(2, 0.0, false), step(2, 0.1, true)), (None, None));
        assert_eq!((step(0, 300.0, false), step(0, 9e5, true)), (None, None));
        assert_eq!(plan.next(1, plan.first, true), Some([500.0, 128.0, 1e-3, 0.1]));
        assert_eq!(plan.next(SLOWER, plan.first, true), Some([1000.0, 64.0, 1e-3, 0.05]));
        assert_eq!(plan.next(SLOWER, [9e5, 64.0, 1e-3, 0.1], true), None);
    }

    #[test]
    fn the_run_takes_the_time_that_is_left_unless_a_longer_trial_was_not_better() {
        let plan = plan();
        let [values, twice] = [500.0, 1000.0].map(|updates| [updates, 64.0, 0.0, 0.1]);
        let wider = [1000.0, 128.0, 0.0, 0.1];
        let updates = |tried: &[Values], times| plan.longer(values, tried, times)[0];
        assert_eq!(updates(&[values, wider], 3.0), 1500.0);
        assert_eq!(updates(&[values, twice], 3.0), 500.0);
        assert_eq!(
            [updates(&[], 0.5), updates(&[], f64::NAN), updates(&[], 1e9)],
            [500.0, 500.0, 1e6]
        );
        assert_eq!(plan.longer(values, &[], 3.0)[1..], values[1..]);
    }

    #[test]
    fn time_grows_with_length_and_hidden_units_and_does_not_fall() {
        let plan = plan();
        assert_eq!(plan.times_as_long(&[1000.0, 128.0, 0.0, 0.1], &plan.first), 4.0);
        assert_eq!(plan.times_as_long(&[500.0, 32.0, 0.0, 0.1], &plan.first), 1.0);
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
