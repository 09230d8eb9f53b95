//! Sums of Gaussian bumps, whose log Z is known exactly.
//!
//! f(x) = sum_c exp(-(x - m_c)' P (x - m_c)/2), one precision P for all; log Z = log C + (d log 2 pi - log det P)/2.

use super::LogDensity;
use ztrack::{Error, Result};

/// Gaussian bumps of equal height and shape.
#[derive(Clone, Debug, PartialEq)]
pub struct GaussianMixture {
    means: Vec<Vec<f64>>,
    precision: Vec<f64>,
    log_determinant: f64,
}

impl GaussianMixture {
    /// Bumps at `means`, each of shape `[d]`, with `precision` of shape [d, d].
    ///
    /// # Errors
    /// No mean, shapes that do not fit, or a precision that is not symmetric and positive definite.
    pub fn new(means: Vec<Vec<f64>>, precision: Vec<f64>) -> Result<Self> {
        let d = means.first().map_or(0, Vec::len);
        if d == 0 || means.iter().any(|mean| mean.len() != d) || precision.len() != d * d {
            return Err(Error::Mismatch(
                "a Gaussian mixture needs means of one length d and a precision of d x d numbers"
                    .into(),
            ));
        }
        match log_determinant(&precision, d) {
            Some(log_determinant) => Ok(Self { means, precision, log_determinant }),
            None => Err(Error::Invalid(
                "the precision of a Gaussian mixture must be symmetric and positive definite"
                    .into(),
            )),
        }
    }

    /// RTS App. E.1: means +-2.5 e_1 in 10 dimensions, covariance .5 I.
    pub fn two_in_ten_dimensions() -> Self {
        let mean = |sign: f64| (0..10).map(|i| if i == 0 { sign * 2.5 } else { 0.0 }).collect();
        let precision = (0..100).map(|i| if i % 11 == 0 { 2.0 } else { 0.0 }).collect();
        Self { means: vec![mean(1.0), mean(-1.0)], precision, log_determinant: 10.0 * 2.0f64.ln() }
    }

    /// Exact log Z.
    pub fn log_partition(&self) -> f64 {
        let volume = self.dimension() as f64 * std::f64::consts::TAU.ln() - self.log_determinant;
        (self.means.len() as f64).ln() + 0.5 * volume
    }

    /// P (x - m) in `out`, and the exponent -(x - m)' P (x - m)/2.
    fn exponent(&self, mean: &[f64], x: &[f64], out: &mut [f64]) -> f64 {
        let d = mean.len();
        let mut square = 0.0;
        for (i, (out, row)) in out.iter_mut().zip(self.precision.chunks_exact(d)).enumerate() {
            *out = row.iter().zip(x).zip(mean).map(|((p, x), m)| p * (x - m)).sum();
            square += *out * (x[i] - mean[i]);
        }
        -0.5 * square
    }
}

impl LogDensity for GaussianMixture {
    fn dimension(&self) -> usize {
        self.means[0].len()
    }

    fn value(&self, x: &[f64]) -> f64 {
        self.value_and_gradient(x, &mut vec![0.0; x.len()])
    }

    fn value_and_gradient(&self, x: &[f64], gradient: &mut [f64]) -> f64 {
        // Running log-sum-exp: the sum so far is rescaled when a higher bump comes.
        let mut pull = vec![0.0; x.len()];
        let (mut highest, mut total) = (f64::NEG_INFINITY, 0.0);
        gradient.fill(0.0);
        for mean in &self.means {
            let exponent = self.exponent(mean, x, &mut pull);
            let new_highest = exponent.max(highest);
            let (keep, weight) = ((highest - new_highest).exp(), (exponent - new_highest).exp());
            total = total * keep + weight;
            gradient.iter_mut().zip(&pull).for_each(|(g, p)| *g = *g * keep - weight * p);
            highest = new_highest;
        }
        gradient.iter_mut().for_each(|g| *g /= total);
        highest + total.ln()
    }
}

/// log det of a symmetric positive definite matrix by Cholesky; `None` for any other.
fn log_determinant(matrix: &[f64], d: usize) -> Option<f64> {
    let mut lower = vec![0.0; d * d];
    let mut log_determinant = 0.0;
    for i in 0..d {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|k| lower[i * d + k] * lower[j * d + k]).sum();
            let rest = matrix[i * d + j] - dot;
            if matrix[i * d + j] != matrix[j * d + i] {
                return None;
            }
            lower[i * d + j] = if i == j { rest.sqrt() } else { rest / lower[j * d + j] };
        }
        let pivot = lower[i * d + i];
        if pivot.is_nan() || pivot <= 0.0 || pivot.is_infinite() {
            return None;
        }
        log_determinant += 2.0 * pivot.ln();
    }
    Some(log_determinant)
}
