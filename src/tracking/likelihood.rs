//! Mean log-likelihood of data with a standard error that combines log Z and data terms.
//!
//! mean log p(v) = mean log f(v) - log Z; variance = Var(log f)/N + se(log Z)^2.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::data::effective_rows;
use crate::engine::{BitMatrix, Engine};
use crate::numerics::log_sum_exp;

/// Rows whose sums are added before those of others.
const TASK: usize = 256;

/// Mean and spread of log f(v) over the rows of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeanLogF {
    /// mean log f(v), minus the mean free energy.
    pub mean: f64,
    /// Standard error of the mean over rows; NaN of one row, which shows none.
    #[serde(with = "crate::checkpoint::float")]
    pub std_error: f64,
    /// Number of rows.
    pub rows: usize,
    /// Logarithm of the sum of f(v) over the distinct rows, a lower bound of log Z.
    pub log_z_bound: f64,
}

/// A mean log-likelihood in nats per row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogLikelihood {
    /// mean log p(v).
    pub value: f64,
    /// Standard error, log Z and data together; NaN of one row.
    #[serde(with = "crate::checkpoint::float")]
    pub std_error: f64,
    /// The part of the standard error from the finite number of rows; NaN of one row.
    #[serde(with = "crate::checkpoint::float")]
    pub data_std_error: f64,
    /// The part from log Z.
    pub log_z_std_error: f64,
}

impl LogLikelihood {
    /// The same rows with a log Z that is lower by `shift` and has another standard error.
    pub(crate) fn with_log_z(self, shift: f64, log_z_std_error: f64) -> Self {
        let std_error = self.data_std_error.hypot(log_z_std_error);
        Self { value: self.value + shift, std_error, log_z_std_error, ..self }
    }
}

/// log of the sum of f over the distinct rows, given log f of each; -infinity for densities, which no sum bounds.
pub(super) fn over_distinct(rows: &BitMatrix, log_f: &[f64]) -> f64 {
    if rows.has_numbers() {
        return f64::NEG_INFINITY;
    }
    let mut seen = HashSet::with_capacity(rows.rows());
    let first = (0..rows.rows()).filter(|&row| seen.insert(rows.row(row)));
    let values: Vec<f64> = first.map(|row| log_f[row]).collect();
    log_sum_exp(values.iter().copied())
}

/// [`mean_log_f`] with a weight for each row: weighted mean, and its error from as many rows as they are worth
/// ([`effective_rows`]).
pub fn weighted_log_f(engine: &dyn Engine, data: &BitMatrix, weights: &[f64]) -> MeanLogF {
    MeanLogF::of(&engine.log_f(data), data, Some(weights))
}

/// Mean of log f(v) over all rows; the result does not depend on the number of threads.
pub fn mean_log_f(engine: &dyn Engine, data: &BitMatrix) -> MeanLogF {
    MeanLogF::of(&engine.log_f(data), data, None)
}

impl MeanLogF {
    /// From log f of every row, `[N]`, with weights or without.
    pub fn of(values: &[f64], data: &BitMatrix, weights: Option<&[f64]>) -> Self {
        Self { log_z_bound: over_distinct(data, values), ..Self::without_bound(values, weights) }
    }

    /// The same without the rows, and with a bound of -infinity.
    pub(crate) fn without_bound(values: &[f64], weights: Option<&[f64]>) -> Self {
        let (mean, std_error) = match weights {
            Some(weights) => weighted_mean(values, weights),
            None => mean(values),
        };
        Self { mean, std_error, rows: values.len(), log_z_bound: f64::NEG_INFINITY }
    }

    /// The log-likelihood given log Z and its standard error.
    pub fn log_likelihood(&self, log_z: f64, log_z_std_error: f64) -> LogLikelihood {
        LogLikelihood {
            value: self.mean - log_z,
            std_error: self.std_error.hypot(log_z_std_error),
            data_std_error: self.std_error,
            log_z_std_error,
        }
    }
}

/// The mean and its standard error, summed in blocks of a fixed size.
fn mean(values: &[f64]) -> (f64, f64) {
    let sums = values.chunks(TASK).map(|values| {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let square = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
        (mean * count, square + count * mean * mean)
    });
    let (sum, square) =
        sums.fold((0.0, 0.0), |(sum, square), (one, other)| (sum + one, square + other));
    let n = values.len().max(1) as f64;
    let mean = sum / n;
    let variance = (square / n - mean * mean).max(0.0);
    (mean, of_mean(variance, n))
}

/// Standard error of a mean over so many independent values; NaN if there is one.
fn of_mean(variance: f64, count: f64) -> f64 {
    if count > 1.0 { (variance / (count - 1.0)).sqrt() } else { f64::NAN }
}

/// The weighted mean, and its standard error from as many rows as the weights are worth ([`effective_rows`]).
fn weighted_mean(values: &[f64], weights: &[f64]) -> (f64, f64) {
    let total: f64 = weights.iter().sum();
    let mean_of = |f: &dyn Fn(f64) -> f64| {
        values.iter().zip(weights).map(|(&x, w)| w * f(x)).sum::<f64>() / total
    };
    let mean = mean_of(&|x| x);
    let variance = mean_of(&|x| (x - mean).powi(2));
    (mean, of_mean(variance, effective_rows(weights)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two rows have an error, one has none; of weighted rows those count that the weights are worth.
    #[test]
    fn one_row_has_no_error() {
        let error = |values: &[f64], weights: Option<&[f64]>| {
            MeanLogF::without_bound(values, weights).std_error
        };
        assert_eq!(error(&[1.0, 3.0], None), 1.0);
        assert_eq!(error(&[1.0, 3.0], Some(&[2.0, 2.0])), 1.0);
        // Weights worth 1.6 rows, variance .75.
        let weighted = error(&[1.0, 3.0], Some(&[3.0, 1.0]));
        assert!((weighted - (0.75 / 0.6f64).sqrt()).abs() < 1e-12, "{weighted}");
        assert!(error(&[1.0], None).is_nan() && error(&[1.0], Some(&[5.0])).is_nan());
        assert!(MeanLogF::without_bound(&[1.0], None).log_likelihood(0.5, 0.1).std_error.is_nan());
    }
}
