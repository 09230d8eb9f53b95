//! Where the gradient comes from: `training.gradient`, `[training.pretraining]`.

use serde::{Deserialize, Serialize};

/// Where the model's expectations in the gradient come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum GradientConfig {
    /// CD-k: `sweeps` sweeps from the batch (Hinton 2002).
    Cd {
        /// k.
        #[serde(default = "one")]
        sweeps: usize,
    },
    /// PCD-k: persistent particles, `sweeps` sweeps per update (Tieleman 2008).
    Pcd {
        /// k.
        #[serde(default = "one")]
        sweeps: usize,
        /// Number of particles; 0 for as many as rows in a batch.
        #[serde(default)]
        particles: usize,
    },
    /// The tracker's tempered chains, weighted by q(K|v).
    Tempered {},
}

fn one() -> usize {
    1
}

/// `[training.pretraining]`: CD-1 with plain gradient ascent, before tracking starts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PretrainingConfig {
    /// Parameter updates.
    pub updates: u64,
    /// Step size.
    pub learning_rate: f64,
    /// Rows per minibatch.
    pub batch: usize,
}

impl Default for PretrainingConfig {
    fn default() -> Self {
        Self { updates: 1000, learning_rate: 0.05, batch: 100 }
    }
}
