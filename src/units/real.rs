//! A real variable: v ~ N(mean, variance) given the hidden units.
//!
//! Its statistics are v and v^2, so it has two natural parameters, two adjacent columns of the visible layer:
//!
//! p(v | h) = exp(eta_1 v + eta_2 v^2 - A),   A = eta_1^2 / (-4 eta_2) + log(pi / (-eta_2)) / 2 + log scale
//!
//! The row of W of v^2 is zero. v is the number of the table minus `mean`, over `scale`. With log scale, log Z and log f are those of
//! densities in the table's own units. In packed states the bits of both columns are 0, and v is an f32 behind the columns.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

/// Least and largest variance given the hidden units, in units of the variance of the training rows. A smaller one is a collapse: the
/// density at repeated values grows without limit.
pub(crate) const VARIANCES: [f64; 2] = [0.01, 2.0];

/// Bounds of the natural parameter of v^2, -1 / (2 variance).
pub(crate) fn square_biases() -> [f32; 2] {
    VARIANCES.map(|variance| (-0.5 / variance) as f32)
}

/// The numbers of a real variable.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Real {
    /// Mean of the training rows, in the table's own units.
    pub mean: f64,
    /// Standard deviation of the same; 0 where no rows were seen, that of all rows with a minus before the training rows are known.
    pub scale: f64,
    /// Place of v in a packed row, counted in f32.
    pub(crate) at: usize,
}

impl Real {
    /// Of rows that were not seen yet.
    pub(super) const UNSEEN: Self = Self { mean: 0.0, scale: 0.0, at: 0 };

    /// v of a packed row.
    #[inline(always)]
    pub fn value(&self, row: &[u64]) -> f32 {
        f32::from_bits((row[self.at / 2] >> (32 * (self.at % 2))) as u32)
    }

    /// Writes v into a packed row.
    #[inline(always)]
    pub fn set(&self, row: &mut [u64], value: f32) {
        let (word, shift) = (&mut row[self.at / 2], 32 * (self.at % 2));
        *word = *word & !(0xFFFF_FFFF << shift) | u64::from(value.to_bits()) << shift;
    }

    /// v of a number of the table.
    pub fn standardised(&self, number: f64) -> f32 {
        ((number - self.mean) / self.scale) as f32
    }

    /// The number of the table that v is.
    pub fn number(&self, value: impl Into<f64>) -> f64 {
        self.mean + self.scale * value.into()
    }

    /// Mean and variance of v.
    pub(super) fn moments(eta: &[f64]) -> (f64, f64) {
        (eta[0] / (-2.0 * eta[1]), 1.0 / (-2.0 * eta[1]))
    }

    pub(super) fn log_partition(&self, eta: &[f64]) -> f64 {
        let log_scale = if self.scale > 0.0 { self.scale.ln() } else { 0.0 };
        eta[0] * eta[0] / (-4.0 * eta[1]) + 0.5 * (PI / -eta[1]).ln() + log_scale
    }

    /// Natural parameters of E v and E v^2, in their place.
    pub(super) fn to_natural(means: &mut [f64]) {
        let variance = means[1] - means[0] * means[0];
        (means[0], means[1]) = (means[0] / variance, -0.5 / variance);
    }
}
