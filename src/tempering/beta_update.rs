//! How chains choose their inverse temperature.

/// How the inverse temperature of a chain is redrawn; both are valid Gibbs updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BetaUpdate {
    /// k ~ q(k | v), hidden units summed out. Worth four times the sweeps of `Joint` (algorithms.md, section 1).
    Collapsed,
    /// k ~ q(k | v, h), one scalar per chain, repeated with fresh h on the same pre-activations. Paths without hidden units
    /// that are linear in beta take the collapsed update.
    Joint {
        /// Number of (h, k) draws per sweep, at least 1.
        repeats: usize,
    },
}
