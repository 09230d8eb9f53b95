//! Sums over enumerated states, with what rounding may have changed of them.

use super::enumeration::Visit;
use crate::error::{Error, Result};
use crate::numerics::LogSumExp;

/// Sums of exp(log f), and of the same with log f as much larger as rounding allows.
#[derive(Clone, Copy)]
pub(super) struct Total {
    log_z: LogSumExp,
    highest: LogSumExp,
}

impl Total {
    pub(super) const EMPTY: Self = Self { log_z: LogSumExp::EMPTY, highest: LogSumExp::EMPTY };

    pub(super) fn add(&mut self, visit: &Visit) {
        self.log_z.add(visit.log_f);
        if visit.rounding > 0.0 {
            self.highest.add(visit.log_f + visit.rounding);
        }
    }

    /// log of the sum.
    pub(super) fn value(&self) -> f64 {
        self.log_z.value()
    }

    /// log of the sum over all `pieces`.
    ///
    /// # Errors
    /// Rounding may have changed it by more than a millionth.
    pub(super) fn of(pieces: &[Self]) -> Result<f64> {
        let log_z = LogSumExp::of(pieces.iter().map(Self::value));
        let highest = LogSumExp::of(pieces.iter().map(|piece| piece.highest.value()));
        if highest - log_z > 1e-6 * log_z.abs().max(1.0) {
            return Err(Error::Invalid(format!(
                "exact enumeration: weights and biases of this model are so large that what is left where they cancel has no digits in \
                 double precision, and log Z = {log_z:.6} may be off by {:.1e}: make them smaller",
                highest - log_z
            )));
        }
        Ok(log_z)
    }
}
