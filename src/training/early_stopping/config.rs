//! Settings of early stopping.

use serde::{Deserialize, Serialize};

use crate::keys::section;

section! {
    /// Settings.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct EarlyStoppingConfig {
        /// Evaluations in a row without improvement that end the run.
        patience: u64 = 30 => least(1).unit("evaluations").example("15");
        /// How many times as long as at the last improvement the run must be to end; at least 1.
        patience_factor: f64 = 2.5 => range(1.0..);
        /// A smaller rise is no improvement.
        minimum_improvement: f64 = 0.0 => range(0.0..).unit("nats per row").example("0.01");
        /// A rise of fewer standard errors of the difference is no improvement.
        error_factor: f64 = 1.0 => range(0.0..).unit("standard errors");
        /// Updates before which nothing counts against patience.
        warm_up: u64 = 0 => unit("updates").example("1000");
    }
}
