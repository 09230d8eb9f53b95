//! The pseudo-prior zeta in the conditional distribution of the temperature.

use super::Ladder;
use crate::engine::host::softmax;
use crate::numerics::Table;

/// zeta_k with r_k: q(k|v) is proportional to f_k(v) r_k e^-zeta_k. Any zeta is valid; if it is log Z_k, chains are at temperature k for a
/// fraction r_k of the time.
#[derive(Clone, Copy, Debug)]
pub struct PseudoPrior<'a> {
    /// log r_k, `[K]`.
    pub log_r: &'a [f64],
    /// zeta_k, `[K]`; zeta_1 must be log Z_1 if log Z is measured.
    pub zeta: &'a [f64],
}

impl<'a> PseudoPrior<'a> {
    /// Over the temperatures of a ladder; `zeta` of shape `[K]`.
    pub fn new(ladder: &'a Ladder, zeta: &'a [f64]) -> Self {
        Self { log_r: ladder.log_prior(), zeta }
    }

    /// log r_k - zeta_k, `[K]`.
    pub fn tilt(&self) -> Vec<f64> {
        self.log_r.iter().zip(self.zeta).map(|(log_r, zeta)| log_r - zeta).collect()
    }

    /// q(k|v) of states with given log f_k(v); both [S, K].
    pub fn posterior(&self, log_f: &Table) -> Table {
        let tilt = self.tilt();
        let mut posterior = Table::zeros(log_f.len(), tilt.len());
        for (q, log_f) in posterior.rows_mut().zip(log_f.rows()) {
            softmax(log_f, &tilt, q);
        }
        posterior
    }
}
