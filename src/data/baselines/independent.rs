//! Independent sites: each variable by itself.

use super::{Density, PSEUDO_COUNT};
use crate::engine::BitMatrix;
use crate::units::Variables;

/// p(v) = exp(a.v - A(a)), of bits prod_i p_i^v_i (1 - p_i)^(1 - v_i).
pub(super) struct Independent {
    /// -A(a).
    constant: f64,
    /// a, for bits log p_i - log(1 - p_i), shape `[M]`.
    logits: Vec<f64>,
    variables: Variables,
}

impl Independent {
    pub fn fit(train: &BitMatrix, variables: &Variables) -> Self {
        let means = variables.smoothed(&train.column_counts(), train.rows(), 0.5 * PSEUDO_COUNT);
        let (logits, constant) = variables.natural(means);
        Self { constant, logits, variables: variables.clone() }
    }
}

impl Density for Independent {
    fn log_probability(&self, row: &[u64]) -> f64 {
        let mut log_p = self.constant;
        self.variables.statistics(row, self.logits.len(), |i, t| log_p += self.logits[i] * t);
        log_p
    }
}
