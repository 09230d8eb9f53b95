//! Settings of early stopping.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Settings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EarlyStoppingConfig {
    /// Evaluations in a row without improvement that end the run; >= 1.
    pub patience: u64,
    /// The run ends only if it is this many times as long as at the last improvement; >= 1.
    pub patience_factor: f64,
    /// Smallest rise that is an improvement, nats per row; >= 0.
    pub minimum_improvement: f64,
    /// Smallest rise that is an improvement, in standard errors of the difference; >= 0.
    pub error_factor: f64,
    /// Evaluations before this update do not count against patience.
    pub warm_up: u64,
}

impl Default for EarlyStoppingConfig {
    fn default() -> Self {
        Self {
            patience: 30,
            patience_factor: 2.5,
            minimum_improvement: 0.0,
            error_factor: 1.0,
            warm_up: 0,
        }
    }
}

impl EarlyStoppingConfig {
    /// Checks ranges.
    ///
    /// # Errors
    /// Names the field.
    pub fn check(&self) -> Result<()> {
        let error = |field, problem: String| Err(Error::config(field, problem));
        if self.patience == 0 {
            return error("patience", "must be at least 1 evaluation".into());
        }
        for (field, value) in
            [("minimum_improvement", self.minimum_improvement), ("error_factor", self.error_factor)]
        {
            if !(value >= 0.0 && value.is_finite()) {
                return error(field, format!("{value} is not a number >= 0"));
            }
        }
        if !(self.patience_factor >= 1.0 && self.patience_factor.is_finite()) {
            return error("patience_factor", format!("{} is not at least 1", self.patience_factor));
        }
        Ok(())
    }
}
