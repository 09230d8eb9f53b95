//! log Z from the reference hidden states and their coverage, the fraction of the equilibrated chains' own hidden states that are among
//! them.
//!
//! Z = Z_known / P(known). The sum over reference states is exact, and P(known) is estimated as a fraction of samples of the model. If it
//! is nearly 1, as with few hidden units, this estimate of log Z is far more precise than that from the chains' occupancies of the
//! temperatures.

use serde::{Deserialize, Serialize};

use crate::numerics::joined;
use crate::trust::LogZ;

/// Smallest coverage that is used: below it the tracked value is more precise.
const SMALLEST: f64 = 0.3;
/// Largest difference, in errors, of two values that are combined. Beyond it one of them is wrong.
pub(super) const CONSISTENT: f64 = 3.0;

/// Reference states of a model and how many of its samples are among them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnownShare {
    /// Logarithm of the sum over reference states, nats.
    #[serde(with = "crate::checkpoint::float")]
    bound: f64,
    /// Fraction of the samples.
    #[serde(with = "crate::checkpoint::float")]
    share: f64,
    /// Effective number of independent samples.
    #[serde(with = "crate::checkpoint::float")]
    samples: f64,
}

impl KnownShare {
    /// No reference states.
    pub const NONE: Self = Self { bound: f64::NEG_INFINITY, share: 0.0, samples: 0.0 };

    /// From states whose sum has the logarithm `bound`; `known`: for each sample whether it is among them, and its weight; `correlation` of
    /// the samples with the earlier states of the same chains, from which reference states were drawn: it reduces the effective number of
    /// samples.
    pub fn new(
        bound: f64,
        known: impl Iterator<Item = (bool, f64)> + Clone,
        correlation: f64,
    ) -> Self {
        let sum = |of: &dyn Fn((bool, f64)) -> f64| known.clone().map(of).sum::<f64>();
        let total = sum(&|(_, w)| w);
        let share = sum(&|(known, w)| if known { w } else { 0.0 }) / total;
        let effective = total * total / sum(&|(_, w)| w * w);
        Self { bound, share, samples: effective * (1.0 - correlation.clamp(0.0, 1.0)) }
    }

    /// The estimate from the reference states and its standard error beside a tracked value; `None` if it is too imprecise: fewer than one sample, or too small a
    /// coverage.
    ///
    /// Both the decision and the variance use the mean of the fraction found and the fraction that the tracked value implies. With the
    /// fraction found alone, fractions that are too large by chance would be used more often and have a larger weight.
    pub fn beside(&self, tracked: f64) -> Option<(f64, f64)> {
        let Self { bound, share, samples: n } = *self;
        let middle = self.middle(tracked);
        if !(n >= 1.0 && bound.is_finite() && middle >= SMALLEST) {
            return None;
        }
        // No sample among the reference states counts as less than one.
        let found = share.max(0.5 / n);
        // The logarithm of a mean is too small by half its relative variance, on average.
        let bias = 0.5 * (1.0 - found) / (found * n);
        // All n samples among the reference states do not prove that the other states have no mass: the variance is that under Jeffreys'
        // prior.
        let smoothed = (n * middle + 0.5) / (n + 1.0);
        let variance = (1.0 - smoothed) / (smoothed * (n + 2.0));
        Some((bound - found.ln() - bias, variance.sqrt()))
    }

    /// The mean of the fraction found and the fraction that a tracked value implies.
    fn middle(&self, tracked: f64) -> f64 {
        0.5 * (self.share + (self.bound - tracked).exp().min(1.0))
    }

    /// The estimate from the reference states, if it contradicts a tracked value with its error.
    pub fn contradicts(&self, tracked: &LogZ) -> Option<(f64, f64)> {
        let LogZ { value, std_error, .. } = *tracked;
        self.beside(value)
            .filter(|known| (known.0 - value).abs() > CONSISTENT * std_error.hypot(known.1))
    }

    /// A tracked value and its standard error, combined with the estimate from the reference states ([`joined`]); unchanged if there is no
    /// such estimate or it contradicts the value.
    pub fn join(&self, mut tracked: LogZ) -> LogZ {
        if let Some(known) = self.beside(tracked.value)
            && self.contradicts(&tracked).is_none()
        {
            let both = [(tracked.value, tracked.std_error), known];
            (tracked.value, tracked.std_error) = joined(&both);
        }
        tracked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::Trust;

    fn of(known: usize, n: usize, correlation: f64) -> KnownShare {
        KnownShare::new(10.0, (0..n).map(|i| (i < known, 0.3)), correlation)
    }

    fn tracked(value: f64, std_error: f64) -> LogZ {
        LogZ { value, std_error, trust: Trust::sound() }
    }

    /// Over all outcomes of n draws, with their probabilities, beside a tracked value that is right: unbiased on average, and with an error
    /// bar that is no smaller than the errors.
    #[test]
    fn the_gap_is_right_in_the_mean_and_so_is_its_error() {
        for (p, n) in [(0.99_f64, 20), (0.9, 40), (0.8, 60), (0.6, 60)] {
            let (mut bias, mut square, mut claimed, mut used) = (0.0, 0.0, 0.0, 0.0);
            let mut probability = p.powi(n);
            for missed in 0..n {
                let known = of((n - missed) as usize, n as usize, 0.0);
                if let Some((found, std_error)) = known.beside(10.0 - p.ln()) {
                    let error = found - 10.0 + p.ln();
                    used += probability;
                    bias += probability * error;
                    square += probability * error * error;
                    claimed += probability * std_error.powi(2);
                }
                probability *= (1.0 - p) / p * f64::from(n - missed) / f64::from(missed + 1);
            }
            let deviation = square.sqrt();
            assert!(used > 0.97, "{p} of {n}: used in {used}");
            assert!(bias.abs() < 0.15 * deviation, "{p} of {n}: bias {bias}, errors {deviation}");
            let ratio = claimed.sqrt() / deviation;
            assert!((0.9..2.0).contains(&ratio), "{p} of {n}: claims {ratio} of the errors");
        }
    }

    #[test]
    fn few_frozen_or_no_samples_say_little_or_nothing() {
        let error = |known: KnownShare| known.beside(10.0).unwrap().1;
        assert!(error(of(20, 20, 0.75)) > 2.0 * error(of(20, 20, 0.0)));
        for nothing in [
            of(4, 20, 0.0),
            of(20, 20, 0.96),
            of(20, 20, f64::NAN),
            KnownShare::new(f64::NEG_INFINITY, [(true, 1.0)].into_iter(), 0.0),
            KnownShare::new(1.0, [].into_iter(), 0.0),
            KnownShare::new(1.0, [(true, f64::NAN)].into_iter(), 0.0),
            KnownShare::NONE,
        ] {
            let tracked = tracked(11.0, 0.3);
            assert_eq!(nothing.beside(11.0), None, "{nothing:?}");
            assert_eq!(nothing.contradicts(&tracked), None);
            assert_eq!(nothing.join(tracked.clone()), tracked);
        }
        assert_eq!(of(20, 20, 0.0).beside(f64::NAN), of(20, 20, 0.0).beside(10.0));
    }

    #[test]
    fn values_are_joined_by_precision_or_contradict_each_other() {
        let known = of(20, 20, 0.0);
        let (value, error) = known.beside(10.3).unwrap();
        let LogZ { value: log_z, std_error, .. } = known.join(tracked(10.3, 0.3));
        assert!((value..10.05).contains(&log_z) && std_error < error, "{log_z} {std_error}");
        // Two values with the same error that differ by more than it: the error reaches from their mean to both.
        let (value, error) = known.beside(10.4).unwrap();
        let LogZ { value: log_z, std_error, .. } = known.join(tracked(10.4, error));
        assert!((10.4 - value) / error.hypot(error) > 1.0);
        assert!(known.contradicts(&tracked(10.4, error)).is_none());
        assert!((log_z - 0.5 * (10.4 + value)).abs() < 1e-9, "{log_z}");
        assert!((std_error - 0.5 * (10.4 - value)).abs() < 1e-9, "{std_error}");
        let known_at_12 = known.beside(12.0).unwrap();
        assert_eq!(known.join(tracked(12.0, 0.3)), tracked(12.0, 0.3));
        assert_eq!(known.contradicts(&tracked(12.0, 0.3)), Some(known_at_12));
        // Tracked log Z is that of the reference states, but no sample is among them.
        let none = of(0, 20, 0.0);
        assert!(none.contradicts(&tracked(10.0, 0.1)).is_some());
        assert!(none.contradicts(&tracked(15.0, 0.1)).is_none());
    }
}
