//! Mean log-likelihood of data with a standard error that joins log Z and data terms.
//!
//! mean log p(v) = mean log f(v) - log Z; variance = Var(log f)/N + se(log Z)^2.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::tempering::log_sum_exp;
use crate::ops::{BetaGrid, BitMatrix, Layer, Matrix, RbmOps, words_per_row};

/// Rows evaluated by one task.
const TASK: usize = 256;

/// Mean and spread of log f(v) over the rows of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeanLogF {
    /// mean log f(v), minus the mean free energy.
    pub mean: f64,
    /// Standard error of the mean over rows.
    pub std_error: f64,
    /// Number of rows.
    pub rows: usize,
    /// log of the sum of f(v) over the distinct rows: log Z is at least that.
    pub log_z_bound: f64,
}

/// A mean log-likelihood in nats per row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogLikelihood {
    /// mean log p(v).
    pub value: f64,
    /// Standard error, log Z and data together.
    pub std_error: f64,
    /// The part of the standard error that comes from the finite number of rows.
    pub data_std_error: f64,
    /// The part that comes from log Z.
    pub log_z_std_error: f64,
}

/// Mean of log f(v) over all rows; results do not depend on the number of threads.
pub fn mean_log_f(ops: &dyn RbmOps, data: &BitMatrix) -> MeanLogF {
    let words = words_per_row(data.columns());
    let grid = BetaGrid::new(&[1.0]);
    let hidden = ops.n_units(Layer::Hidden);
    let sums: Vec<(f64, f64, Vec<f64>)> = data
        .words()
        .par_chunks(TASK * words)
        .map(|rows| {
            let count = rows.len() / words;
            let mut inputs = Matrix::filled(count, hidden, 0.0);
            ops.inputs(Layer::Hidden, rows, inputs.as_mut_slice());
            let mut values = vec![0.0; count];
            ops.softplus_sums(hidden, inputs.as_slice(), &grid, &mut values);
            for (value, row) in values.iter_mut().zip(rows.chunks_exact(words)) {
                *value += ops.visible_dot(row);
            }
            let mean = values.iter().sum::<f64>() / count as f64;
            (
                mean * count as f64,
                values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() + count as f64 * mean * mean,
                values,
            )
        })
        .collect();
    let n = data.rows().max(1) as f64;
    let mean = sums.iter().map(|(sum, ..)| sum).sum::<f64>() / n;
    let square = sums.iter().map(|(_, square, _)| square).sum::<f64>() / n;
    let variance = (square - mean * mean).max(0.0);
    let mut seen = std::collections::HashSet::with_capacity(data.rows());
    let values = sums.iter().flat_map(|(.., values)| values).copied().enumerate();
    let distinct: Vec<f64> =
        values.filter(|(row, _)| seen.insert(data.row(*row))).map(|(_, value)| value).collect();
    MeanLogF {
        mean,
        std_error: (variance / (n - 1.0).max(1.0)).sqrt(),
        rows: data.rows(),
        log_z_bound: log_sum_exp(distinct.iter().copied()),
    }
}

impl MeanLogF {
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
