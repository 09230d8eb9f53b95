//! Reverse annealing from data: RAISE (Burda, Grosse and Salakhutdinov 2015).
//!
//! From a data row v down the path, log p(v) >= E[log w] + log f(v) - log Z_1, where p is the model defined by annealing upwards; with many
//! temperatures it becomes the real one. So log Z <= log Z_1 - mean log w over rows, one chain per row. se = sd(log w)/sqrt(S) is the error
//! of the bound's noise, not of its distance from log Z.
//!
//! The bound on log Z holds in expectation for rows that are distributed as the model. Rows that the model does not fit may be more likely
//! under the annealed model, and then the value is too LOW with few temperatures: on mnist-h10 with MNIST rows 221.0 at K = 1000 and 222.9
//! at 10000, where log Z is 226.1. A wide spread of log w over rows shows this and is reported as a doubt.

use std::time::Instant;

use super::ais::steps;
use super::{Bias, Equilibrium, Estimate, Method};
use crate::engine::BitMatrix;
use crate::error::{Error, Result};
use crate::numerics::statistics::{mean, variance};
use crate::tempering::{TemperedPath, descend};
use crate::trust::{Doubt, Trust};

/// Spread of log w beyond which the bound is loose: for rows of the model its distance from log Z is about half the variance.
const WIDE: f64 = 1.0;

/// The upper bound of log Z from samples of the model, whose sweeps are counted.
///
/// # Errors
/// Fewer than two samples.
pub(super) fn from_samples(
    path: &dyn TemperedPath,
    start: &Equilibrium,
    seed: u64,
) -> Result<Estimate> {
    let mut found = raise(path, &start.visible, seed)?;
    found.gibbs_sweeps += start.gibbs_sweeps;
    found.trust = start.trust.clone().and(found.trust);
    Ok(found)
}

/// The upper bound of log Z from data rows, shape [S, M], along any path.
///
/// # Errors
/// Fewer than two rows, or another number of columns than the model has visible units.
pub fn raise(path: &dyn TemperedPath, data: &BitMatrix, seed: u64) -> Result<Estimate> {
    let start = Instant::now();
    let (rows, columns) = (data.rows(), path.n_visible());
    super::at_least_two_chains(rows)?;
    if data.columns() != columns {
        return Err(Error::Mismatch(format!(
            "the data has {} columns, the model {columns} visible units",
            data.columns()
        )));
    }
    let log_weights = descend(path, data, seed);
    let n = rows as f64;
    let (mean, variance) = (mean(&log_weights), variance(&log_weights));
    let deviation = variance.sqrt();
    Ok(Estimate {
        // All rows have the same weight in a mean of logarithms.
        effective_samples: Some(n),
        bias: Bias::High,
        gibbs_sweeps: steps(path, rows),
        seconds: start.elapsed().as_secs_f64(),
        trust: Trust::unless((deviation > WIDE).then_some(Doubt::WideWeights { deviation })),
        ..Estimate::new(Method::Raise, path.log_z_base() - mean, (variance / n).sqrt())
    }
    .checked())
}
