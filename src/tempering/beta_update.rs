//! How chains choose their inverse temperature.

use serde::{Deserialize, Serialize};

use crate::keys::choice;

choice! {
    /// How the inverse temperature of a chain is redrawn; both are valid Gibbs updates.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum BetaUpdate {
        /// k ~ q(k | v), hidden units summed out. Worth four times the sweeps of `Joint` (algorithms.md, section 1).
        Collapsed = "collapsed",
        /// k ~ q(k | v, h), one scalar per chain, so many times a sweep with fresh h on the same pre-activations. Paths without hidden units
        /// that are linear in beta take the collapsed update.
        Joint(usize, usual 1.0 => whole(1, 255).unit("times a sweep").example("2")) = "joint",
    }
}
