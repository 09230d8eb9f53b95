//! Audits: log Z computed independently of the tracker.

use super::Trainer;
use crate::error::Result;
use crate::estimators::{Ais, Estimate, exact};
use crate::model::Parameters;
use crate::ops::RbmOps;

/// Largest smaller layer that is enumerated in an audit.
const LARGEST_EXACT: usize = 20;
/// Combined standard errors beyond which tracker and audit disagree.
const DISAGREEMENT: f64 = 3.0;

/// An audit beside what the tracker said at the same update.
#[derive(Clone, Debug)]
pub struct Audit {
    /// The independent value.
    pub estimate: Estimate,
    /// Tracked minus audited log Z, nats.
    pub difference: f64,
    /// The difference in combined standard errors.
    pub in_errors: f64,
}

impl Audit {
    /// Whether the tracker's error bar does not explain the difference.
    pub fn disagrees(&self) -> bool {
        !(self.in_errors.abs() <= DISAGREEMENT)
    }
}

impl Trainer {
    /// Exact log Z where the smaller layer has at most 20 units, else annealed importance sampling.
    pub(super) fn audit_estimate(
        &self,
        parameters: &Parameters,
        ops: &dyn RbmOps,
    ) -> Result<Estimate> {
        if parameters.n_visible.min(parameters.n_hidden) <= LARGEST_EXACT {
            return exact(parameters);
        }
        let audit = self.config.audit;
        let seed = self.config.seed ^ self.updates.rotate_left(32);
        Ais { chains: audit.chains, temperatures: audit.temperatures, seed }.run(ops, &self.base)
    }

    /// Compares the tracker with an audit of the current model.
    pub(super) fn audit(&self, log_z: f64, std_error: f64) -> Result<Audit> {
        let estimate = self.audit_estimate(&self.rbm.parameters(), self.ops.as_ref())?;
        let difference = log_z - estimate.value;
        let in_errors = difference / std_error.hypot(estimate.std_error).max(f64::MIN_POSITIVE);
        Ok(Audit { estimate, difference, in_errors })
    }
}
