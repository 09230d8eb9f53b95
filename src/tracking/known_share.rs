//! How much of log Z the known hidden states make up, by what share of the settled chains' own hidden states is among them.
//!
//! Z = Z_known / P(known). The sum over known states is exact, and P(known) is a share of samples of the model: where it is nearly 1,
//! as with few hidden units, log Z is known far better so than by how the chains divide over the temperatures.

use serde::{Deserialize, Serialize};

use crate::numerics::joined;

/// Smallest share that is used: of a small one the tracked value knows more.
const SMALLEST: f64 = 0.3;
/// Errors by which both values may differ to be joined. Beyond, one of them is wrong.
const CONSISTENT: f64 = 3.0;

/// Known states of a model and how many of its samples are among them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnownShare {
    /// log of the sum over known states, nats.
    #[serde(with = "crate::checkpoint::float")]
    bound: f64,
    /// Share of the samples.
    #[serde(with = "crate::checkpoint::float")]
    share: f64,
    /// Independent samples.
    #[serde(with = "crate::checkpoint::float")]
    samples: f64,
}

/// A value of log Z and its standard error, nats.
pub type Estimate = (f64, f64);

impl KnownShare {
    /// Nothing is known.
    pub const NONE: Self = Self { bound: f64::NEG_INFINITY, share: 0.0, samples: 0.0 };

    /// Of states whose sum is `bound`, log; `known`: for each sample whether it is among them, and its weight; `correlation` of the samples
    /// with the states they were before, from which known states were drawn: so much of their number says nothing.
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

    /// What known states say of log Z beside a tracked value; `None` where they say little: fewer than one sample, or too small a share.
    ///
    /// Whether a share is large enough, and its variance, go by the middle of the share found and that which the tracked value implies. By
    /// the share found alone those that came out too large by chance would be used more often and weigh more.
    pub fn beside(&self, tracked: f64) -> Option<Estimate> {
        let Self { bound, share, samples: n } = *self;
        if !(n >= 1.0 && self.is_large_beside(tracked)) {
            return None;
        }
        let middle = self.middle(tracked);
        // No sample at all among the known states is less than one.
        let found = share.max(0.5 / n);
        // The logarithm of a mean is too small by half its variance, in the mean.
        let bias = 0.5 * (1.0 - found) / (found * n);
        // All of n samples among the known states do not make the rest nothing: the variance is that under Jeffreys' prior.
        let smoothed = (n * middle + 0.5) / (n + 1.0);
        let variance = (1.0 - smoothed) / (smoothed * (n + 2.0));
        Some((bound - found.ln() - bias, variance.sqrt()))
    }

    /// Whether known states make up much of the model, by their share and by a tracked value.
    pub fn is_large_beside(&self, tracked: f64) -> bool {
        self.bound.is_finite() && self.middle(tracked) >= SMALLEST
    }

    /// The middle of the share found and that which a tracked value implies.
    fn middle(&self, tracked: f64) -> f64 {
        0.5 * (self.share + (self.bound - tracked).exp().min(1.0))
    }

    /// What known states say, where that contradicts a tracked value with its error.
    pub fn contradicts(&self, (log_z, std_error): Estimate) -> Option<Estimate> {
        let far =
            |known: &Estimate| (known.0 - log_z).abs() > CONSISTENT * std_error.hypot(known.1);
        self.beside(log_z).filter(far)
    }

    /// A tracked value and its standard error with what is known joined to it ([`joined`]); as it is where there is nothing to join or
    /// that contradicts it.
    pub fn join(&self, tracked: Estimate) -> Estimate {
        match self.beside(tracked.0) {
            Some(known) if self.contradicts(tracked).is_none() => joined(&[tracked, known]),
            _ => tracked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(known: usize, n: usize, correlation: f64) -> KnownShare {
        KnownShare::new(10.0, (0..n).map(|i| (i < known, 0.3)), correlation)
    }

    /// Over all outcomes of n draws, by their probabilities, beside a tracked value that is right: right in the mean, and with an error bar
    /// that is no smaller than the errors.
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
            let tracked = (11.0, 0.3);
            assert_eq!(nothing.beside(11.0), None, "{nothing:?}");
            assert_eq!((nothing.join(tracked), nothing.contradicts(tracked)), (tracked, None));
        }
        assert_eq!(of(20, 20, 0.0).beside(f64::NAN), of(20, 20, 0.0).beside(10.0));
    }

    #[test]
    fn values_are_joined_by_precision_or_contradict_each_other() {
        let known = of(20, 20, 0.0);
        let (value, error) = known.beside(10.3).unwrap();
        let (log_z, std_error) = known.join((10.3, 0.3));
        assert!((value..10.05).contains(&log_z) && std_error < error, "{log_z} {std_error}");
        // Two values with the same error, further apart than it: the error reaches from their middle to both.
        let (value, error) = known.beside(10.4).unwrap();
        let (log_z, std_error) = known.join((10.4, error));
        assert!(
            (10.4 - value) / error.hypot(error) > 1.0 && known.contradicts((10.4, error)).is_none()
        );
        assert!((log_z - 0.5 * (10.4 + value)).abs() < 1e-9, "{log_z}");
        assert!((std_error - 0.5 * (10.4 - value)).abs() < 1e-9, "{std_error}");
        let known_at_12 = known.beside(12.0).unwrap();
        assert_eq!(known.join((12.0, 0.3)), (12.0, 0.3));
        assert_eq!(known.contradicts((12.0, 0.3)), Some(known_at_12));
        // Tracked log Z is that of the known states, but no sample is among them.
        let none = of(0, 20, 0.0);
        assert!(none.contradicts((10.0, 0.1)).is_some() && none.contradicts((15.0, 0.1)).is_none());
    }
}
