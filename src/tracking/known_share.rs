//! How much of log Z the known hidden states make up, by what share of the settled chains' own hidden states is among them.
//!
//! Z = Z_known / P(known). The sum over known states is exact, and P(known) is a share of samples of the model: where it is nearly 1,
//! as with few hidden units, log Z is known far better so than by how the chains divide over the temperatures.

use serde::{Deserialize, Serialize};

/// Smallest share that is used: of a small one the tracked value knows more.
const SMALLEST: f64 = 0.5;
/// Samples that count as unknown beside those there are: chains remember a little of where they were when the known states were drawn, so
/// that their share is too large. Without it sound evaluations of `examples/tracking_accuracy` are .01 nats too low in the mean.
const UNSEEN: f64 = 0.1;
/// Errors by which both values may differ to be joined. Beyond, one of them is wrong.
const CONSISTENT: f64 = 3.0;

/// log Z from known states; without any, minus infinity with an infinite error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnownShare {
    /// Nats.
    #[serde(with = "crate::checkpoint::float")]
    log_z: f64,
    #[serde(with = "crate::checkpoint::float")]
    std_error: f64,
}

impl KnownShare {
    /// Nothing is known.
    pub const NONE: Self = Self { log_z: f64::NEG_INFINITY, std_error: f64::INFINITY };

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
        let n = total * total / sum(&|(_, w)| w * w) * (1.0 - correlation.clamp(0.0, 1.0));
        if !bound.is_finite() || share.is_nan() || share < SMALLEST {
            return Self::NONE;
        }
        // The logarithm of a mean is too small by half its variance, in the mean. Frozen chains are no sample at all: what is corrected is
        // then that of one, and the error bar says the rest.
        let samples = n.max(1.0);
        let bias = 0.5 * (1.0 - share) / (share * samples);
        // All of n samples among the known states do not make the rest nothing: the variance is that under Jeffreys' prior.
        let smoothed = (n * share + 0.5) / (n + 1.0);
        let variance = (1.0 - smoothed) / (smoothed * (n + 2.0));
        let log_z = bound - share.ln() - bias + (UNSEEN / samples).ln_1p();
        Self { log_z, std_error: variance.sqrt() }
    }

    /// Whether there is a value.
    pub fn is_some(&self) -> bool {
        self.log_z.is_finite()
    }

    /// Value and standard error, where there are any and these contradict a tracked value with its error.
    pub fn contradicts(&self, (log_z, std_error): (f64, f64)) -> Option<(f64, f64)> {
        let limit = CONSISTENT * std_error.hypot(self.std_error);
        let far = self.is_some() && (self.log_z - log_z).abs() > limit;
        far.then_some((self.log_z, self.std_error))
    }

    /// A tracked value and its standard error with what is known joined to it, each by its precision; as it is where there is nothing to
    /// join or that contradicts it.
    pub fn join(&self, (log_z, std_error): (f64, f64)) -> (f64, f64) {
        if !self.is_some() || self.contradicts((log_z, std_error)).is_some() {
            return (log_z, std_error);
        }
        let both = std_error.hypot(self.std_error);
        let gain = (std_error / both).powi(2);
        (log_z + gain * (self.log_z - log_z), std_error * self.std_error / both)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(known: usize, n: usize, correlation: f64) -> KnownShare {
        KnownShare::new(10.0, (0..n).map(|i| (i < known, 0.3)), correlation)
    }

    /// Over all outcomes of n draws, by their probabilities: right in the mean, and with an error bar that is no smaller than the errors.
    #[test]
    fn the_gap_is_right_in_the_mean_and_so_is_its_error() {
        for (p, n) in [(0.99_f64, 20), (0.9, 40), (0.8, 60)] {
            let (mut bias, mut square, mut claimed) = (0.0, 0.0, 0.0);
            let mut probability = p.powi(n);
            for missed in 0..n / 2 {
                let found = of((n - missed) as usize, n as usize, 0.0);
                let error = found.log_z - 10.0 + p.ln();
                bias += probability * error;
                square += probability * error * error;
                claimed += probability * found.std_error.powi(2);
                probability *= (1.0 - p) / p * f64::from(n - missed) / f64::from(missed + 1);
            }
            let deviation = square.sqrt();
            let unseen = (UNSEEN / f64::from(n)).ln_1p();
            let bias = bias - unseen;
            assert!(bias.abs() < 0.1 * deviation, "{p} of {n}: bias {bias}, errors {deviation}");
            let ratio = claimed.sqrt() / deviation;
            assert!((0.95..2.0).contains(&ratio), "{p} of {n}: claims {ratio} of the errors");
        }
    }

    #[test]
    fn few_frozen_or_contradicting_samples_say_little_or_nothing() {
        assert_eq!(of(8, 20, 0.0), KnownShare::NONE);
        assert!(of(20, 20, 0.75).std_error > 2.0 * of(20, 20, 0.0).std_error);
        assert!(of(20, 20, 1.0).std_error > 0.5);
        assert_eq!(
            KnownShare::new(f64::NEG_INFINITY, [(true, 1.0)].into_iter(), 0.0),
            KnownShare::NONE
        );
        assert_eq!(KnownShare::new(1.0, [].into_iter(), 0.0), KnownShare::NONE);

        let known = of(20, 20, 0.0);
        let (log_z, std_error) = known.join((10.3, 0.3));
        assert!((10.0..10.015).contains(&log_z) && std_error < known.std_error, "{log_z}");
        assert_eq!(known.join((12.0, 0.3)), (12.0, 0.3));
        assert_eq!(known.contradicts((12.0, 0.3)), Some((known.log_z, known.std_error)));
        assert_eq!(KnownShare::NONE.join((12.0, 0.3)), (12.0, 0.3));
        assert_eq!(KnownShare::NONE.contradicts((12.0, 0.3)), None);
    }
}
