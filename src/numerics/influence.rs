//! Error bars from the contributions of independent chains (or lineages) to an error.
//!
//! An error is the mean over S chains of their contributions, which have mean zero. So its variance is their square sum over S (S - 1), for
//! any autocorrelation of a chain in time (RTS eq. 16 with parallel chains).

use serde::{Deserialize, Serialize};

/// S (S - 1), at least 1: the divisor that turns a square sum of the contributions of S chains into the variance of their mean.
pub fn pairs(chains: usize) -> f64 {
    let n = chains as f64;
    n * (n - 1.0).max(1.0)
}

/// Contribution of each chain to an error, `[S]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Influence(Vec<f64>);

impl Influence {
    /// From contributions whose mean is zero.
    pub fn new(parts: Vec<f64>) -> Self {
        Self(parts)
    }

    /// Zero error of S chains.
    pub fn none(chains: usize) -> Self {
        Self(vec![0.0; chains])
    }

    /// The contributions, `[S]`.
    pub fn parts(&self) -> &[f64] {
        &self.0
    }

    /// The contributions, mutable, `[S]`.
    pub(crate) fn parts_mut(&mut self) -> &mut [f64] {
        &mut self.0
    }

    /// Number of chains, S.
    pub fn chains(&self) -> usize {
        self.0.len()
    }

    /// Variance of the error.
    pub fn variance(&self) -> f64 {
        self.covariance(self)
    }

    /// Standard error.
    pub fn std_error(&self) -> f64 {
        self.variance().sqrt()
    }

    /// Covariance with another error of the same chains.
    pub fn covariance(&self, other: &Self) -> f64 {
        let sum: f64 = self.0.iter().zip(&other.0).map(|(x, y)| x * y).sum();
        sum / pairs(self.0.len())
    }

    /// Correlation over chains with another error; 0 where one has no spread.
    pub fn correlation(&self, other: &Self) -> f64 {
        let scale = (self.variance() * other.variance()).sqrt();
        if scale > 0.0 { self.covariance(other) / scale } else { 0.0 }
    }

    /// The error of this minus another.
    pub fn minus(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(x, y)| x - y).collect())
    }

    /// Moves by the fraction `gain` towards another error, as the estimate does.
    pub(crate) fn approach(&mut self, gain: f64, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, new)| *own += gain * (new - *own));
    }

    /// Weight of a new estimate beside this old one by their precisions. Their covariance is left out: the minimum of the variance as few
    /// chains show it would be too small, the more so the more often estimates are combined.
    pub(crate) fn gain(&self, new: &Self) -> f64 {
        let (old, new) = (self.variance(), new.variance());
        if old + new > 0.0 { old / (old + new) } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn influence(parts: &[f64]) -> Influence {
        Influence::new(parts.to_vec())
    }

    #[test]
    fn the_gain_weighs_by_precision() {
        let (wide, narrow) =
            (influence(&[2.0, -2.0, 2.0, -2.0]), influence(&[1.0, 1.0, -1.0, -1.0]));
        assert!((wide.variance() - 16.0 / 12.0).abs() < 1e-12);
        assert_eq!(wide.covariance(&narrow), 0.0);
        assert!((wide.gain(&narrow) - 0.8).abs() < 1e-12);
        assert_eq!(wide.gain(&wide), 0.5);
        assert_eq!(Influence::none(4).gain(&Influence::none(4)), 1.0);
        assert!((wide.correlation(&wide) - 1.0).abs() < 1e-12);
    }

    /// The variance of a mean is that of the textbook; if every chain is counted twice, it is halved up to the factor from S - 1.
    #[test]
    fn doubled_chains_have_half_the_variance() {
        let values = [1.0, 4.0, 2.0, 7.0, 3.5];
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let once: Vec<f64> = values.iter().map(|x| x - mean).collect();
        let textbook = once.iter().map(|x| x * x).sum::<f64>() / (n - 1.0) / n;
        let twice = influence(&[once.clone(), once.clone()].concat());
        assert!((influence(&once).variance() - textbook).abs() < 1e-12);
        assert!((twice.variance() - textbook * (n - 1.0) / (2.0 * n - 1.0)).abs() < 1e-12);
    }

    #[test]
    fn errors_add_up_as_estimates_do() {
        let (mut own, other) = (influence(&[3.0, -3.0]), influence(&[4.0, -4.0]));
        assert_eq!(other.minus(&own), influence(&[1.0, -1.0]));
        own.approach(0.25, &influence(&[7.0, 1.0]));
        assert_eq!(own, influence(&[4.0, -2.0]));
    }
}
