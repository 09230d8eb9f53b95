//! log Z from the reference hidden states and their coverage, the fraction of the equilibrated chains' own hidden states that are among
//! them.
//!
//! Z = Z_known / P(known). The sum over reference states is exact, and P(known) is estimated as a fraction of samples of the model. If it
//! is nearly 1, as with few hidden units, this estimate of log Z is far more precise than that from the chains' occupancies of the
//! temperatures.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::settle::Samples;
use super::settling::CONSISTENT;
use crate::engine::BitMatrix;
use crate::numerics::joined;
use crate::tempering::effective_number;
use crate::trust::{Doubt, LogZ};

/// Smallest coverage that is used: below it the tracked value is more precise.
const SMALLEST: f64 = 0.3;
/// Values of the tracked error that are tried.
const STEPS: u32 = 64;

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

impl Default for KnownShare {
    fn default() -> Self {
        Self::NONE
    }
}

impl KnownShare {
    /// No reference states.
    pub const NONE: Self = Self { bound: f64::NEG_INFINITY, share: 0.0, samples: 0.0 };

    /// From states whose sum has the logarithm `bound`; `known`: for each sample whether it is among them, its weight and its lineage;
    /// `correlation` of the samples with the earlier states of the same chains, from which reference states were drawn: it reduces the
    /// effective number of samples.
    ///
    /// Samples of a lineage share their past. The spread over lineages of the fraction that is known says how many independent samples they
    /// are worth, between one a lineage and all of them, in so far as lineages differ: the spread counts as much as there are lineages that
    /// contribute to it, beside one that is in the same state in all of its samples.
    pub fn new(
        bound: f64,
        known: impl Iterator<Item = (bool, f64, u32)>,
        correlation: f64,
    ) -> Self {
        let (mut weights, mut of_lineages) = (Vec::new(), Vec::new());
        for (known, weight, lineage) in known {
            let lineage = lineage as usize;
            of_lineages.resize(of_lineages.len().max(lineage + 1), [0.0; 2]);
            of_lineages[lineage][0] += weight;
            of_lineages[lineage][1] += if known { weight } else { 0.0 };
            weights.push(weight);
        }
        let sum = |part: usize| of_lineages.iter().map(|it| it[part]).sum::<f64>();
        let share = sum(1) / sum(0);
        let totals: Vec<f64> = of_lineages.iter().map(|it| it[0]).collect();
        let lineages = effective_number(&totals);
        let deviation = |[all, known]: &[f64; 2]| (known - share * all) / sum(0);
        let squares: Vec<f64> = of_lineages.iter().map(|it| deviation(it).powi(2)).collect();
        let spread = squares.iter().sum::<f64>() * lineages / (lineages - 1.0);
        let contribute = effective_number(&squares);
        let of_one = share * (1.0 - share);
        let variance = (contribute * spread + of_one / lineages) / (contribute + 1.0);
        // NaN where no lineage differs from the others.
        let effective = (of_one / variance).max(lineages).min(effective_number(&weights));
        let samples = effective * (1.0 - correlation.clamp(0.0, 1.0));
        Self { bound, share, samples }
    }

    /// The fraction of samples that are rows of data, whose sum is not known yet.
    pub(super) fn of_rows(rows: &BitMatrix, samples: &Samples) -> Self {
        let known: HashSet<&[u64]> = (0..rows.rows()).map(|row| rows.row(row)).collect();
        let known = (0..samples.visible.rows()).map(|i| known.contains(samples.visible.row(i)));
        Self::new(f64::NEG_INFINITY, samples.with(known), 0.0)
    }

    /// With the logarithm of the sum over the states.
    pub(super) fn of_bound(self, bound: f64) -> Self {
        Self { bound, ..self }
    }

    /// With the samples of other chains.
    pub(super) fn with(self, other: Self) -> Self {
        let part = |it: Self| if it.samples > 0.0 { it.share * it.samples } else { 0.0 };
        let samples = self.samples.max(0.0) + other.samples.max(0.0);
        Self { share: (part(self) + part(other)) / samples.max(f64::MIN_POSITIVE), samples, ..self }
    }

    /// Effective number of independent samples.
    pub(super) fn samples(&self) -> f64 {
        self.samples
    }

    /// The estimate from the reference states and its standard error beside a tracked value; `None` if it is too imprecise: fewer than one sample, or too small a
    /// coverage.
    ///
    /// Both the decision and the variance use the mean of the fraction found and the fraction that the tracked value implies. With the
    /// fraction found alone, fractions that are too large by chance would be used more often and have a larger weight.
    pub fn beside(&self, tracked: f64) -> Option<(f64, f64)> {
        let Self { bound, share, samples: n } = *self;
        let is_large = self.bound.is_finite() && self.middle(tracked) >= SMALLEST;
        if !(n >= 1.0 && is_large) {
            return None;
        }
        let middle = self.middle(tracked);
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
        0.5 * (self.share + self.implied(tracked))
    }

    /// Whether the fraction found contradicts a tracked value with its error, which implies another one: by the likelihood ratio, z^2/2 for a
    /// tracked value that is z errors off and n KL(found || implied) for n samples. Where both are normal, its root is their difference in
    /// combined errors; and e to minus it bounds the probability of so large a difference for any fraction and number of samples
    /// (Chernoff).
    pub fn contradicts(&self, tracked: &LogZ) -> bool {
        let LogZ { value: log_z, std_error, .. } = *tracked;
        let implied = self.implied(log_z);
        if !(self.samples > 0.0 && implied > 0.0) {
            return false;
        }
        let sign = if self.share < implied { 1.0 } else { -1.0 };
        (0..=STEPS).all(|step| {
            let z = CONSISTENT * f64::from(step) / f64::from(STEPS);
            let implied = self.implied(log_z + sign * z * std_error);
            // Beyond the fraction found the tracked value alone explains the difference.
            let apart = sign * (implied - self.share) > 0.0;
            let samples = if apart { self.samples * divergence(self.share, implied) } else { 0.0 };
            z * z + 2.0 * samples > CONSISTENT * CONSISTENT
        })
    }

    /// Whether the tracked value is contradicted because the samples miss some of the states.
    pub(super) fn misses(&self, tracked: &LogZ) -> bool {
        self.share < self.implied(tracked.value) && self.contradicts(tracked)
    }

    /// Whether the samples have found most of what the tracked value implies of the states.
    pub(super) fn sees(&self, tracked: &LogZ) -> bool {
        self.share > 0.5 * self.implied(tracked.value)
    }

    /// What [`Self::contradicts`] found.
    pub(super) fn contradiction(&self, tracked: &LogZ) -> Doubt {
        let LogZ { value, std_error, .. } = *tracked;
        let [implied, found] = [self.implied(value), self.share].map(|share| 100.0 * share);
        Doubt::KnownShare { value, std_error, implied, found, samples: self.samples }
    }

    /// The fraction of the mass that the states have by a value of log Z.
    fn implied(&self, log_z: f64) -> f64 {
        (self.bound - log_z).exp().min(1.0)
    }

    /// A tracked value and its standard error, combined with the estimate from the reference states ([`joined`]); unchanged if there is no
    /// such estimate or it contradicts the value.
    pub fn join(&self, mut tracked: LogZ) -> LogZ {
        if let Some(known) = self.beside(tracked.value)
            && !self.contradicts(&tracked)
        {
            let both = [(tracked.value, tracked.std_error), known];
            (tracked.value, tracked.std_error) = joined(&both);
        }
        tracked
    }
}

/// KL(a || b) of two coins, nats.
fn divergence(a: f64, b: f64) -> f64 {
    let part = |a: f64, b: f64| if a == 0.0 { 0.0 } else { a * (a / b).ln() };
    part(a, b) + part(1.0 - a, 1.0 - b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::random::{Purpose, Streams};
    use crate::trust::Trust;

    fn of(known: usize, n: usize, correlation: f64) -> KnownShare {
        KnownShare::new(10.0, (0..n).map(|i| (i < known, 0.3, i as u32)), correlation)
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
            KnownShare::new(f64::NEG_INFINITY, [(true, 1.0, 0)].into_iter(), 0.0),
            KnownShare::new(1.0, [].into_iter(), 0.0),
            KnownShare::new(1.0, [(true, f64::NAN, 0)].into_iter(), 0.0),
            KnownShare::NONE,
        ] {
            let tracked = tracked(11.0, 0.3);
            assert_eq!(nothing.beside(11.0), None, "{nothing:?}");
            assert!(!nothing.contradicts(&tracked));
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
        let (value, error) = known.beside(10.2).unwrap();
        let LogZ { value: log_z, std_error, .. } = known.join(tracked(10.2, error));
        assert!(
            (10.2 - value) / error.hypot(error) > 1.0 && !known.contradicts(&tracked(10.2, error))
        );
        assert!((log_z - 0.5 * (10.2 + value)).abs() < 1e-9, "{log_z}");
        assert!((std_error - 0.5 * (10.2 - value)).abs() < 1e-9, "{std_error}");
        assert_eq!(known.join(tracked(12.0, 0.3)), tracked(12.0, 0.3));
        assert!(known.contradicts(&tracked(12.0, 0.3)));
        // Tracked log Z is that of the reference states, but no sample is among them.
        let none = of(0, 20, 0.0);
        assert!(none.contradicts(&tracked(10.0, 0.1)) && !none.contradicts(&tracked(15.0, 0.1)));
    }

    /// Over all outcomes of n samples and of a normal error of the tracked value: a right value is contradicted no more often than the bound
    /// says.
    #[test]
    fn a_right_value_is_hardly_ever_contradicted() {
        for (p, n, error) in
            [(0.3_f64, 20, 0.2), (0.05, 40, 0.1), (0.9, 40, 0.02), (0.5, 60, 0.3), (0.001, 60, 0.1)]
        {
            let (mut refused, mut probability) = (0.0, (1.0 - p).powi(n));
            for found in 0..=n {
                for z in -50..=50 {
                    let z = 0.1 * f64::from(z);
                    let density = 0.1 * (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
                    let tracked = tracked(10.0 - p.ln() + z * error, error);
                    if of(found as usize, n as usize, 0.0).contradicts(&tracked) {
                        refused += probability * density;
                    }
                }
                probability *= p / (1.0 - p) * f64::from(n - found) / f64::from(found + 1);
            }
            assert!(refused < (-4.5f64).exp(), "{p} of {n}: {refused}");
        }
    }

    /// A run on pumsb_star, where both populations missed three quarters of the mass (1.4 nats): rows had 28 % of it by the tracked value, and
    /// no sample of 17 and 16 lineages was a row.
    #[test]
    fn two_populations_together_see_too_few_rows() {
        let tracked = &tracked(437.718, 0.165);
        let visits = |rows: usize, n: usize| of(rows, n, 0.0).of_bound(436.45);
        assert!(!visits(0, 14).contradicts(tracked));
        assert!(visits(0, 17).with(visits(0, 16)).contradicts(tracked));
        assert!(!visits(5, 17).with(visits(3, 16)).contradicts(tracked));
        assert_eq!(visits(5, 17).with(KnownShare::NONE), visits(5, 17));
        assert_eq!(KnownShare::NONE.of_bound(436.45).with(visits(5, 17)), visits(5, 17));
    }

    /// 60 lineages of 20 samples: as many samples as there are where states are independent of each other, one a lineage where each keeps its
    /// state, and where no sample is missing, which says nothing about how long states are kept; between them where they are kept for five
    /// samples.
    #[test]
    fn samples_count_by_the_spread_over_lineages() {
        let samples = |kept: u32, share: f64| {
            let known = |i: u32| {
                let place = i / 20 * 20 + i % 20 / kept;
                Streams::new(1, Purpose::TestSystem, 0).row(place).uniform() < share
            };
            KnownShare::new(10.0, (0..1200).map(|i| (known(i), 0.2, i / 20)), 0.0).samples
        };
        // The spread of 60 numbers has an error of 18 %, and one lineage in 61 counts as kept: 1200/(1 + 19/61) are 915, 240/(1 + 3/61) 229.
        assert!((620.0..=1200.0).contains(&samples(1, 0.7)), "{}", samples(1, 0.7));
        assert!((155.0..370.0).contains(&samples(5, 0.7)), "{}", samples(5, 0.7));
        assert!((60.0..90.0).contains(&samples(20, 0.7)), "{}", samples(20, 0.7));
        assert!((samples(1, 1.0) - 60.0).abs() < 1e-9, "{}", samples(1, 1.0));
    }
}
