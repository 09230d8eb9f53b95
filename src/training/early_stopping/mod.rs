//! Early stopping on the validation log-likelihood, by a mean over a window, insensitive to changes within the error bar.
//!
//! An evaluation's level is the mean over the latest sound evaluations: those of the last tenth of the run, at least
//! three. It is an improvement when it exceeds the reference by more than
//! max(minimum_improvement, error_factor x sqrt(e^2 + e_ref^2)), e the standard errors of log Z: the data term is the same
//! set of rows at both evaluations, so the error of the difference is that of the two log Z. The reference moves only with an
//! improvement, so a slow steady rise adds up against it and is recognised. The run ends when `patience` evaluations
//! brought no improvement and it is `patience_factor` times as long as it was at the last one: training slows down, so what
//! counts is the length of the wait in proportion to the run. (Prechelt 1998, "Early stopping - but when?".)

use serde::{Deserialize, Serialize};

use super::averaging::WINDOW;

mod config;

pub use config::EarlyStoppingConfig;

/// Fewest and most evaluations that are pooled, of those in the last [`WINDOW`] of the run.
const POOLED: (usize, usize) = (3, 20);

/// One evaluation of the validation set.
#[derive(Clone, Copy, Debug)]
pub struct Evaluation {
    /// The update it was made after.
    pub update: u64,
    /// Mean log-likelihood, nats per row.
    pub value: f64,
    /// Standard error of log Z, nats.
    pub log_z_std_error: f64,
    /// Whether log Z can be trusted; other evaluations decide nothing.
    pub sound: bool,
}

/// The consequence of an evaluation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Decision {
    /// Above the reference by more than the error bar: patience is reset.
    pub improved: bool,
    /// The highest level so far, by any amount: a model to keep.
    pub best: bool,
    /// End the run.
    pub stop: bool,
}

/// The state, serialisable; settings are given separately so that a resumed run may change them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EarlyStopping {
    /// The latest sound evaluations, oldest first.
    recent: Vec<Level>,
    reference: Option<Level>,
    best: Option<Level>,
    /// Evaluations since the last improvement, or since the training failed.
    pub(crate) without_improvement: u64,
    /// Update of the latest evaluation.
    update: u64,
}

/// A log-likelihood at an update.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Level {
    update: u64,
    value: f64,
    error: f64,
}

impl EarlyStopping {
    /// Nothing observed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Update of the last improvement, 0 before the first.
    pub(crate) fn improved_at(&self) -> u64 {
        self.reference.map_or(0, |reference| reference.update)
    }

    /// In place of an evaluation at which the training fails: it recovers, or goes on from an earlier model with other settings, so evaluations
    /// so far say nothing about whether it improves, and patience counts anew.
    pub(crate) fn count_anew(&mut self) {
        self.without_improvement = 0;
    }

    /// Whether the evaluations so far end the run under these settings.
    pub fn stopped(&self, config: &EarlyStoppingConfig) -> bool {
        self.without_improvement >= config.patience
            && self.update as f64 >= config.patience_factor * self.improved_at() as f64
    }

    /// Adds one evaluation and decides. NaN and infinity count as no improvement; a finite value whose log Z cannot be trusted is ignored.
    pub fn observe(&mut self, config: &EarlyStoppingConfig, evaluation: Evaluation) -> Decision {
        let Evaluation { update, value, log_z_std_error: error, sound } = evaluation;
        let mut decision = Decision::default();
        if value.is_finite() && !(sound && error.is_finite()) {
            return decision;
        }
        self.update = update;
        if value.is_finite() {
            let level = self.pool(Level { update, value, error });
            decision.best = self.best.is_none_or(|best| level.value > best.value);
            if decision.best {
                self.best = Some(level);
            }
            decision.improved = self.reference.is_none_or(|reference| {
                let error_bar = config.error_factor * level.error.hypot(reference.error);
                level.value - reference.value > config.minimum_improvement.max(error_bar)
            });
            if decision.improved {
                self.reference = Some(level);
                self.without_improvement = 0;
                return decision;
            }
        }
        if update >= config.warm_up {
            self.without_improvement += 1;
            decision.stop = self.stopped(config);
        }
        decision
    }

    /// The mean of the latest evaluations. Successive errors of a tracked log Z are correlated, so pooling is not assumed to make them
    /// smaller.
    fn pool(&mut self, new: Level) -> Level {
        self.recent.push(new);
        let from = new.update as f64 * (1.0 - WINDOW);
        while self.recent.len() > POOLED.1
            || (self.recent.len() > POOLED.0 && (self.recent[0].update as f64) < from)
        {
            self.recent.remove(0);
        }
        let n = self.recent.len() as f64;
        let mean = |value: fn(&Level) -> f64| self.recent.iter().map(value).sum::<f64>() / n;
        Level { update: new.update, value: mean(|l| l.value), error: mean(|l| l.error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::random::{Purpose, Streams};

    const CONFIG: EarlyStoppingConfig = EarlyStoppingConfig {
        patience: 3,
        patience_factor: 1.0,
        minimum_improvement: 0.01,
        error_factor: 2.0,
        warm_up: 0,
    };

    /// Observes values at updates 100, 200, ...; the number of the evaluation that stops, from 1.
    fn stops_at(config: &EarlyStoppingConfig, values: &[f64], error: f64) -> Option<usize> {
        let mut state = EarlyStopping::new();
        let stop = values.iter().zip(1..).find(|&(&value, i)| {
            let evaluation =
                Evaluation { update: 100 * i, value, log_z_std_error: error, sound: true };
            state.observe(config, evaluation).stop
        });
        stop.map(|(_, i)| i as usize)
    }

    #[test]
    fn decisions_follow_the_table() {
        let rise: Vec<f64> = (0..200).map(|i| -100.0 + 0.05 * f64::from(i)).collect();
        let slow: Vec<f64> = rise.iter().map(|x| x * 0.1).collect();
        let mut normal = Streams::new(1, Purpose::Choice, 0).row(0);
        let noise: Vec<f64> = (0..10).map(|_| -90.0 + 0.1 * normal.normal()).collect();
        let early_dip = [-99.0, -98.0, -99.5, -99.5, -99.5, -99.5, -99.5, -90.0, -91.0, -91.0];
        let warm = EarlyStoppingConfig { warm_up: 700, ..CONFIG };
        let patient = EarlyStoppingConfig { patience: 20, ..CONFIG };
        let factor = EarlyStoppingConfig { patience_factor: 3.0, ..CONFIG };
        let fall: Vec<f64> =
            (0..40).map(|i| if i < 5 { -9.0 + 0.1 * f64::from(i) } else { -9.5 }).collect();
        type Case<'a> = (&'a str, EarlyStoppingConfig, &'a [f64], f64, Option<usize>);
        let table: [Case; 9] = [
            ("a steady rise never stops", CONFIG, &rise, 0.001, None),
            // 0.005 nats per step with an error bar of 0.028: recognised every sixth evaluation.
            ("a slow rise stops the impatient", CONFIG, &slow, 0.01, Some(4)),
            ("a slow rise does not stop the patient", patient, &slow, 0.01, None),
            ("noise inside the error bar is no change", CONFIG, &noise, 0.1, Some(4)),
            // The mean of three rises until the fifth evaluation.
            ("a fall stops after patience", CONFIG, &fall, 0.01, Some(8)),
            ("and not before three times the last rise", factor, &fall, 0.01, Some(15)),
            ("without warm-up a dip stops", CONFIG, &early_dip, 0.01, Some(5)),
            ("in the warm-up nothing stops", warm, &early_dip, 0.01, None),
            (
                "NaN counts as no improvement",
                CONFIG,
                &[-9.0, f64::NAN, f64::NAN, f64::NAN],
                0.01,
                Some(4),
            ),
        ];
        for (name, config, values, error, expected) in table {
            assert_eq!(stops_at(&config, values, error), expected, "{name}");
        }
    }

    /// Single evaluations scatter by ten times the rise of the curve; pooled ones show the rise, whose total is five error bars.
    #[test]
    fn a_trend_under_noise_is_followed() {
        let mut normal = Streams::new(3, Purpose::Choice, 0).row(0);
        let curve: Vec<f64> = (0..400)
            .map(|i| -90.0 - 20.0 / (1.0 + f64::from(i)) + 0.05 * normal.normal())
            .collect();
        let stop = stops_at(&EarlyStoppingConfig::default(), &curve, 0.05);
        // 20/(1 + i) is below the error bar of .07 from i = 286 on.
        assert!(stop.is_none_or(|stop| stop > 200), "{stop:?}");
        let flat: Vec<f64> =
            curve.iter().enumerate().map(|(i, x)| if i < 20 { *x } else { -91.0 }).collect();
        let stop = stops_at(&EarlyStoppingConfig::default(), &flat, 0.05);
        assert!(stop.is_some_and(|stop| (50..=62).contains(&stop)), "{stop:?}");
    }

    #[test]
    fn evaluations_without_a_trustworthy_log_z_change_nothing() {
        let mut state = EarlyStopping::new();
        let at = |update, value, log_z_std_error, sound| Evaluation {
            update,
            value,
            log_z_std_error,
            sound,
        };
        state.observe(&CONFIG, at(1, -90.0, 0.01, true));
        let before = state.clone();
        for i in 2..20 {
            for evaluation in [at(i, -50.0, 0.01, false), at(i, -99.0, f64::NAN, true)] {
                let decision = state.observe(&CONFIG, evaluation);
                assert!(!decision.stop && !decision.best && !decision.improved);
            }
        }
        assert_eq!(state, before);
    }

    #[test]
    fn a_stored_state_goes_on_the_same() {
        let mut state = EarlyStopping::new();
        for i in 1..4 {
            let value = -1.0 / i as f64;
            state.observe(
                &CONFIG,
                Evaluation { update: i, value, log_z_std_error: 0.3, sound: true },
            );
        }
        let text = serde_json::to_string(&state).unwrap();
        assert_eq!(serde_json::from_str::<EarlyStopping>(&text).unwrap(), state);
    }
}
