//! Where the gradient comes from: `training.gradient`, `[training.pretraining]`.

use serde::{Deserialize, Serialize};

use crate::keys::{choice, section};

choice! {
    /// Where the model's expectations in the gradient come from.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum GradientConfig by "kind" {
        /// CD-k: `sweeps` sweeps from the batch (Hinton 2002).
        Cd {
            /// k of CD-k and PCD-k: sweeps per update.
            sweeps: usize = 1 => size(1).unit("Gibbs sweeps").example("10");
        } = "cd",
        /// PCD-k: persistent particles, `sweeps` sweeps per update (Tieleman 2008).
        Pcd {
            /// k of CD-k and PCD-k: sweeps per update.
            sweeps: usize = 1 => size(1).unit("Gibbs sweeps").example("10");
            /// Number of persistent particles; 0 for as many as rows in a batch.
            particles: usize = 0 => unit("chains").example("200");
        } = "pcd",
        /// The tracker's tempered chains, weighted by q(K|v).
        Tempered {} = "tempered",
        /// The moments of the model itself, by enumeration of its smaller layer, of at most 20 units.
        Exact {} = "exact",
    }
}

section! {
    /// `[training.pretraining]`: CD-1 with plain gradient ascent, before tracking starts.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct PretrainingConfig {
        /// Parameter updates of the pre-training.
        updates: u64 = 1000 => unit("updates");
        /// Its step size.
        learning_rate: f64 = 0.05 => positive();
        /// Its rows per minibatch.
        batch: usize = 100 => least(1).unit("rows");
    }
}
