//! Early stopping on the validation log-likelihood, blind to changes inside the error bar.
//!
//! An evaluation is an improvement when it exceeds the reference by more than
//! max(minimum_improvement, error_factor x sqrt(e^2 + e_ref^2)), e the standard errors of log Z: the data term is the same
//! set of rows at both evaluations, so the error of the difference is that of the two log Z. The reference moves only with an
//! improvement, so a slow steady rise adds up against it and is recognised. (Prechelt 1998, "Early stopping - but when?".)

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Settings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EarlyStoppingConfig {
    /// Evaluations in a row without improvement that end the run; >= 1.
    pub patience: u64,
    /// Nats per row below which a rise is no improvement; >= 0.
    pub minimum_improvement: f64,
    /// Standard errors of the difference below which a rise is no improvement; >= 0.
    pub error_factor: f64,
    /// Updates before which nothing counts against patience.
    pub warm_up: u64,
    /// Weight of the past in the exponential moving average that is judged, in [0, 1); 0 judges single evaluations.
    pub smoothing: f64,
}

impl Default for EarlyStoppingConfig {
    fn default() -> Self {
        Self {
            patience: 10,
            minimum_improvement: 0.0,
            error_factor: 2.0,
            warm_up: 0,
            smoothing: 0.0,
        }
    }
}

impl EarlyStoppingConfig {
    /// Checks ranges.
    ///
    /// # Errors
    /// Names the field `training.early_stopping....`.
    pub fn check(&self) -> Result<()> {
        let error = |field, problem: String| {
            Err(Error::config(format!("training.early_stopping.{field}"), problem))
        };
        if self.patience == 0 {
            return error("patience", "must be at least 1 evaluation".into());
        }
        for (field, value) in
            [("minimum_improvement", self.minimum_improvement), ("error_factor", self.error_factor)]
        {
            if !(value >= 0.0 && value.is_finite()) {
                return error(field, format!("{value} is not a number >= 0"));
            }
        }
        if !(0.0..1.0).contains(&self.smoothing) {
            return error("smoothing", format!("{} is not in [0, 1)", self.smoothing));
        }
        Ok(())
    }
}

/// One evaluation of the validation set.
#[derive(Clone, Copy, Debug)]
pub struct Evaluation {
    /// The update it was made after.
    pub update: u64,
    /// Mean log-likelihood, nats per row.
    pub value: f64,
    /// Standard error of log Z, nats.
    pub log_z_std_error: f64,
    /// Whether the tracker vouches for log Z; evaluations it does not vouch for decide nothing.
    pub mixed: bool,
}

/// What follows from an evaluation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// Beyond the error bar above the reference: patience starts anew.
    pub improved: bool,
    /// The highest (smoothed) value so far, if only by a hair: the model to keep.
    pub best: bool,
    /// End the run.
    pub stop: bool,
    /// Why.
    pub reason: Reason,
}

/// Why an evaluation was judged as it was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reason {
    /// Higher than the reference by more than the error bar.
    Improved,
    /// Not higher, or not by enough, for this many evaluations.
    NoImprovement {
        /// Evaluations in a row.
        evaluations: u64,
    },
    /// No improvement, but still in the warm-up.
    WarmUp,
    /// log Z is not to be trusted here: ignored.
    NotMixed,
    /// NaN or infinity: counts as no improvement.
    NotFinite,
}

/// The state, all of it serialisable; settings are given anew so that a resumed run may change them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EarlyStopping {
    smoothed: Option<Level>,
    reference: Option<Level>,
    best: Option<Level>,
    without_improvement: u64,
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

    /// Update and (smoothed) value of the best evaluation so far.
    pub fn best(&self) -> Option<(u64, f64)> {
        self.best.map(|best| (best.update, best.value))
    }

    /// Evaluations since the last improvement.
    pub fn without_improvement(&self) -> u64 {
        self.without_improvement
    }

    /// Whether an evaluation observed so far ended the run, under these settings.
    pub fn stopped(&self, config: &EarlyStoppingConfig) -> bool {
        self.without_improvement >= config.patience
    }

    /// Takes in one evaluation and decides.
    pub fn observe(&mut self, config: &EarlyStoppingConfig, evaluation: Evaluation) -> Decision {
        let Evaluation { update, value, log_z_std_error: error, mixed } = evaluation;
        let undecided = |reason| Decision { improved: false, best: false, stop: false, reason };
        if !value.is_finite() {
            return self.no_improvement(config, update, Reason::NotFinite);
        }
        if !mixed || !error.is_finite() {
            return undecided(Reason::NotMixed);
        }
        let level = self.smooth(config.smoothing, Level { update, value, error });
        let best = self.best.is_none_or(|best| level.value > best.value);
        if best {
            self.best = Some(level);
        }
        let improved = self.reference.is_none_or(|reference| {
            let error_bar = config.error_factor * level.error.hypot(reference.error);
            level.value - reference.value > config.minimum_improvement.max(error_bar)
        });
        if improved {
            self.reference = Some(level);
            self.without_improvement = 0;
            return Decision { improved, best, stop: false, reason: Reason::Improved };
        }
        let evaluations = self.without_improvement + 1;
        let decision = self.no_improvement(config, update, Reason::NoImprovement { evaluations });
        Decision { best, ..decision }
    }

    fn no_improvement(
        &mut self,
        config: &EarlyStoppingConfig,
        update: u64,
        reason: Reason,
    ) -> Decision {
        if update < config.warm_up {
            let reason = if reason == Reason::NotFinite { reason } else { Reason::WarmUp };
            return Decision { improved: false, best: false, stop: false, reason };
        }
        self.without_improvement += 1;
        let stop = self.without_improvement >= config.patience;
        Decision { improved: false, best: false, stop, reason }
    }

    /// Moving average of value and error: successive errors of a tracked log Z are correlated, so averaging is not
    /// credited with making them smaller.
    fn smooth(&mut self, weight: f64, new: Level) -> Level {
        let level = match self.smoothed {
            Some(old) => Level {
                update: new.update,
                value: weight * old.value + (1.0 - weight) * new.value,
                error: weight * old.error + (1.0 - weight) * new.error,
            },
            None => new,
        };
        self.smoothed = Some(level);
        level
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::random::{Purpose, Streams};

    const CONFIG: EarlyStoppingConfig = EarlyStoppingConfig {
        patience: 3,
        minimum_improvement: 0.01,
        error_factor: 2.0,
        warm_up: 0,
        smoothing: 0.0,
    };

    /// Observes values at updates 100, 200, ...; the number of the evaluation that stops, from 1.
    fn stops_at(config: &EarlyStoppingConfig, values: &[f64], error: f64) -> Option<usize> {
        let mut state = EarlyStopping::new();
        let stop = values.iter().zip(1..).find(|&(&value, i)| {
            let evaluation =
                Evaluation { update: 100 * i, value, log_z_std_error: error, mixed: true };
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
        let early_dip = [-99.0, -98.0, -99.5, -99.5, -99.5, -99.5, -90.0, -91.0, -91.0, -91.0];
        let warm = EarlyStoppingConfig { warm_up: 600, ..CONFIG };
        let patient = EarlyStoppingConfig { patience: 20, ..CONFIG };
        let smooth = EarlyStoppingConfig { smoothing: 0.8, ..CONFIG };
        let spike = [-90.0, -86.0, -89.5, -89.0, -88.5, -88.0, -87.5];
        type Case<'a> = (&'a str, EarlyStoppingConfig, &'a [f64], f64, Option<usize>);
        let table: [Case; 11] = [
            ("a steady rise never stops", CONFIG, &rise, 0.001, None),
            // 0.005 nats a step against a bar of 0.028: recognised every sixth evaluation.
            ("a slow rise stops the impatient", CONFIG, &slow, 0.01, Some(4)),
            ("a slow rise does not stop the patient", patient, &slow, 0.01, None),
            ("noise inside the error bar is no change", CONFIG, &noise, 0.1, Some(4)),
            ("a fall stops after patience", CONFIG, &[-9.0, -8.0, -8.5, -8.6, -8.7], 0.01, Some(5)),
            ("a rise restarts patience", CONFIG, &[-9.0, -9.0, -9.0, -8.0, -8.0, -8.0], 0.01, None),
            ("without warm-up a dip stops", CONFIG, &early_dip, 0.01, Some(5)),
            ("in the warm-up nothing stops", warm, &early_dip, 0.01, Some(10)),
            (
                "NaN counts as no improvement",
                CONFIG,
                &[-9.0, f64::NAN, f64::NAN, f64::NAN],
                0.01,
                Some(4),
            ),
            ("one lucky spike stops the unsmoothed", CONFIG, &spike, 0.01, Some(5)),
            ("the smoothed see the rise behind it", smooth, &spike, 0.01, None),
        ];
        for (name, config, values, error, expected) in table {
            assert_eq!(stops_at(&config, values, error), expected, "{name}");
        }
    }

    #[test]
    fn evaluations_without_a_trustworthy_log_z_change_nothing() {
        let mut state = EarlyStopping::new();
        let at = |update, value, log_z_std_error, mixed| Evaluation {
            update,
            value,
            log_z_std_error,
            mixed,
        };
        state.observe(&CONFIG, at(1, -90.0, 0.01, true));
        let before = state.clone();
        for i in 2..20 {
            for evaluation in [at(i, -50.0, 0.01, false), at(i, -99.0, f64::NAN, true)] {
                let decision = state.observe(&CONFIG, evaluation);
                assert_eq!(decision.reason, Reason::NotMixed);
                assert!(!decision.stop && !decision.best && !decision.improved);
            }
        }
        assert_eq!(state, before);
    }

    #[test]
    fn the_best_is_kept_even_inside_the_error_bar() {
        let mut state = EarlyStopping::new();
        let mut observe = |update, value| {
            let evaluation = Evaluation { update, value, log_z_std_error: 0.1, mixed: true };
            let decision = state.observe(&CONFIG, evaluation);
            (decision.improved, decision.best)
        };
        assert_eq!(observe(1, -90.0), (true, true));
        assert_eq!(observe(2, -89.9), (false, true));
        assert_eq!(observe(3, -89.95), (false, false));
        assert_eq!(observe(4, -89.7), (true, true));
        assert_eq!(state.best(), Some((4, -89.7)));
    }

    #[test]
    fn a_stored_state_goes_on_the_same() {
        let mut state = EarlyStopping::new();
        for i in 1..4 {
            let value = -1.0 / i as f64;
            state.observe(
                &CONFIG,
                Evaluation { update: i, value, log_z_std_error: 0.3, mixed: true },
            );
        }
        let text = serde_json::to_string(&state).unwrap();
        assert_eq!(serde_json::from_str::<EarlyStopping>(&text).unwrap(), state);
    }

    #[test]
    fn settings_out_of_range_are_named() {
        assert!(CONFIG.check().is_ok() && EarlyStoppingConfig::default().check().is_ok());
        for (field, config) in [
            ("patience", EarlyStoppingConfig { patience: 0, ..CONFIG }),
            ("minimum_improvement", EarlyStoppingConfig { minimum_improvement: -1.0, ..CONFIG }),
            ("error_factor", EarlyStoppingConfig { error_factor: f64::NAN, ..CONFIG }),
            ("smoothing", EarlyStoppingConfig { smoothing: 1.0, ..CONFIG }),
        ] {
            let message = config.check().unwrap_err().to_string();
            assert!(message.contains(&format!("training.early_stopping.{field}")), "{message}");
        }
    }
}
