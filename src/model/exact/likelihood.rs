//! The log-likelihood of data with the exact log Z.

use rayon::prelude::*;

use super::log_partition;
use crate::engine::BitMatrix;
use crate::error::{Error, Result};
use crate::model::Parameters;
use crate::numerics::softplus;

/// Mean over the rows of `data`, shape [N, M], of log p(v) = log f(v) - log Z, in nats.
///
/// # Errors
/// No rows, another number of columns than the model has visible units, or a smaller layer beyond
/// [`super::MAX_UNITS`].
pub fn mean_log_likelihood(parameters: &Parameters, data: &BitMatrix) -> Result<f64> {
    if data.rows() == 0 {
        return Err(Error::Invalid("the mean log-likelihood of no rows is undefined".into()));
    }
    let log_weights = log_weights(parameters, data)?;
    Ok(log_weights.iter().sum::<f64>() / data.rows() as f64 - log_partition(parameters)?)
}

/// log f(v) = c.v + sum_j softplus(b_j + (v'W)_j) of every row of `data`, in f64: the reference for faster kernels.
///
/// # Errors
/// Another number of columns than the model has visible units.
pub fn log_weights(parameters: &Parameters, data: &BitMatrix) -> Result<Vec<f64>> {
    let Parameters { n_visible, visible_bias, hidden_bias, .. } = parameters;
    if data.columns() != *n_visible {
        return Err(Error::Mismatch(format!(
            "the data has {} columns, the model {n_visible} visible units",
            data.columns()
        )));
    }
    let offset = parameters.log_offset();
    let hidden_bias: Vec<f64> = hidden_bias.iter().map(|&b| f64::from(b)).collect();
    let log_weight = |x: &mut Vec<f64>, row| {
        x.clone_from(&hidden_bias);
        let mut linear = offset;
        parameters.variables.statistics(data.row(row), *n_visible, |i, t| {
            linear += t * f64::from(visible_bias[i]);
            let weights = parameters.weights_of(i);
            x.iter_mut().zip(weights).for_each(|(x, &w)| *x += t * f64::from(w));
        });
        linear + x.iter().map(|&x| softplus(x)).sum::<f64>()
    };
    Ok((0..data.rows()).into_par_iter().map_init(Vec::new, log_weight).collect())
}
