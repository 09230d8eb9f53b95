//! Independent sites: each unit by itself.

use super::{Density, smoothed};
use crate::ops::{BitMatrix, for_each_set_bit};

/// p(v) = prod_i p_i^v_i (1 - p_i)^(1 - v_i).
pub(super) struct Independent {
    /// log p(0), all units off.
    log_off: f64,
    /// log p_i - log(1 - p_i), shape `[M]`.
    logits: Vec<f64>,
}

impl Independent {
    pub fn fit(train: &BitMatrix) -> Self {
        let rows = train.rows() as f64;
        let counts = train.column_counts();
        let means: Vec<f64> = counts.iter().map(|&count| smoothed(count as f64, rows)).collect();
        Self {
            log_off: means.iter().map(|p| (-p).ln_1p()).sum(),
            logits: means.iter().map(|p| p.ln() - (-p).ln_1p()).collect(),
        }
    }
}

impl Density for Independent {
    fn log_probability(&self, row: &[u64]) -> f64 {
        let mut log_p = self.log_off;
        for_each_set_bit(row, |unit| log_p += self.logits[unit]);
        log_p
    }
}
