//! Audits: log Z computed independently of the tracker.

use super::Trainer;
use crate::error::Result;
use crate::estimators::{Ais, Estimate, exact};
use crate::interrupt;
use crate::model::Parameters;
use crate::ops::{BitMatrix, Fused, RbmOps};
use crate::tempering::{Ladder, Prior};
use crate::tracking::{LogLikelihood, mean_log_f};

/// Largest smaller layer that is enumerated in an audit.
const LARGEST_EXACT: usize = 20;
/// Combined standard errors beyond which tracker and audit disagree.
const DISAGREEMENT: f64 = 3.0;
/// Relative error that f32 pre-activations leave in any sampled estimate; matters only where errors are far below it.
const ROUNDING: f64 = 1e-5;

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
        self.in_errors.is_nan() || self.in_errors.abs() > DISAGREEMENT
    }
}

impl Trainer {
    /// Exact log Z where the smaller layer has at most 20 units, else annealed importance sampling.
    pub(super) fn audit_estimate(
        &self,
        parameters: &Parameters,
        ops: &dyn RbmOps,
    ) -> Result<Estimate> {
        let _permit = interrupt::permit();
        if parameters.n_visible.min(parameters.n_hidden) <= LARGEST_EXACT {
            return exact(parameters);
        }
        let audit = self.config.audit;
        let seed = self.config.seed ^ self.updates.rotate_left(32);
        let ladder = Ladder::linear(audit.temperatures, &Prior::Uniform)?;
        Ais { chains: audit.chains, ladder, seed }.run(ops, &self.base)
    }

    /// Compares the tracker with an audit of the current model.
    pub(super) fn audit(&self, log_z: f64, std_error: f64) -> Result<Audit> {
        let estimate = self.audit_estimate(&self.rbm.parameters(), self.ops.as_ref())?;
        let difference = log_z - estimate.value;
        let rounding = ROUNDING * estimate.value.abs().max(1.0);
        let in_errors = difference / std_error.hypot(estimate.std_error).hypot(rounding);
        Ok(Audit { estimate, difference, in_errors })
    }
}

/// The final word on a model: log Z by audit, and the log-likelihoods that follow.
#[derive(Clone, Debug)]
pub struct FinalLikelihood {
    /// Audited log Z.
    pub log_z: Estimate,
    /// Mean log-likelihood of the training rows evaluated.
    pub train: LogLikelihood,
    /// Mean log-likelihood of the validation rows.
    pub validation: Option<LogLikelihood>,
    /// Mean log-likelihood of the test rows.
    pub test: Option<LogLikelihood>,
}

impl Trainer {
    /// Audits a model of this run, say the best one, and evaluates it on all rows, test rows included.
    ///
    /// # Errors
    /// Audit settings that cannot be used.
    pub fn final_likelihood(&self, parameters: &Parameters) -> Result<FinalLikelihood> {
        let ops = Fused::new(parameters);
        let log_z = self.audit_estimate(parameters, &ops)?;
        let likelihood =
            |rows: &BitMatrix| mean_log_f(&ops, rows).log_likelihood(log_z.value, log_z.std_error);
        Ok(FinalLikelihood {
            train: likelihood(&self.rows.train_evaluated),
            validation: self.rows.validation.as_ref().map(likelihood),
            test: self.rows.test.as_ref().map(likelihood),
            log_z,
        })
    }
}
