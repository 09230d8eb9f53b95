//! Settings of the automatic estimate.

use crate::context::Context;
use crate::error::Result;
use crate::tempering::schedules::linear;
use crate::tempering::{Ladder, Prior};

/// Default number of chains, inverse temperatures, sweeps and seconds.
pub const CHAINS: usize = 100;
pub const TEMPERATURES: usize = 50;
pub const SWEEPS: usize = 1000;
pub const BUDGET: f64 = 20.0;
/// Prior of beta = 0 and beta = 1 in units of the others'.
const SHARE_OF_ENDS: f64 = 5.0;
/// Settings of the automatic estimate.
#[derive(Clone, Debug)]
pub struct Automatic {
    /// Number of chains, S.
    pub chains: usize,
    /// Inverse temperatures and their prior.
    pub ladder: Ladder,
    /// Counted sweeps of the first run.
    pub sweeps: usize,
    /// Work that may be done while the estimate is in doubt, in seconds of one typical core. It is counted in operations, not by the clock,
    /// so that the same seed gives the same result.
    pub budget: f64,
    /// Seed of all random streams.
    pub seed: u64,
    /// Where the chains run, and what ends them.
    pub context: Context,
}

impl Automatic {
    /// The defaults of the command.
    ///
    /// # Errors
    /// None in practice: the ladder is valid.
    pub fn new(seed: u64) -> Result<Self> {
        let betas = linear(TEMPERATURES)?;
        let ladder = Self::ladder(&betas)?;
        let context = Context::default();
        Ok(Self { chains: CHAINS, ladder, sweeps: SWEEPS, budget: BUDGET, seed, context })
    }

    /// Inverse temperatures whose ends get more than an equal part of the sweeps: at beta = 0 chains change their component, and at both
    /// ends log Z is measured.
    ///
    /// # Errors
    /// Fewer than two inverse temperatures, or not ascending from 0 to 1.
    pub fn ladder(betas: &[f64]) -> Result<Ladder> {
        let mut weights = vec![1.0; betas.len()];
        let last = betas.len().saturating_sub(1);
        for (k, weight) in weights.iter_mut().enumerate() {
            if k == 0 || k == last {
                *weight = SHARE_OF_ENDS;
            }
        }
        Ladder::new(betas, &Prior::Given(weights))
    }
}
