//! Annealed importance sampling (Neal 2001; Salakhutdinov and Murray 2008).
//!
//! log Z = log Z_1 + log mean w, se = sqrt(var w/S)/mean w. Biased low; heavy tails make the error bar too small when few
//! temperatures are used (algorithms.md, section 5).

use std::time::Instant;

use super::{Bias, Estimate};
use crate::error::Result;
use crate::ops::RbmOps;
use crate::tempering::{BaseDistribution, Ladder, Path, Prior, anneal};

/// Settings of annealed importance sampling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ais {
    /// Number of independent chains, S.
    pub chains: usize,
    /// Number of equally spaced inverse temperatures, K.
    pub temperatures: usize,
    /// Seed of all random streams.
    pub seed: u64,
}

impl Ais {
    /// Runs all chains.
    ///
    /// # Errors
    /// Fewer than two chains or temperatures.
    pub fn run(&self, ops: &dyn RbmOps, base: &BaseDistribution) -> Result<Estimate> {
        let start = Instant::now();
        super::at_least_two_chains(self.chains)?;
        let ladder = Ladder::linear(self.temperatures, &Prior::Uniform)?;
        let path = Path { ops, ladder: &ladder, base };
        let annealed = anneal(path, self.chains, self.seed, 0);
        let last = ladder.len() - 1;
        let (std_error, effective) = annealed.std_error_and_sample_size(last);
        let share = effective / self.chains as f64;
        Ok(Estimate {
            method: "ais",
            value: path.log_z_base() + annealed.log_mean_weight(last),
            std_error,
            effective_samples: Some(effective),
            bias: Bias::Low,
            gibbs_sweeps: (self.chains * last) as u64,
            seconds: start.elapsed().as_secs_f64(),
            doubt: (share < 0.1).then(|| {
                format!(
                    "only {effective:.1} of {} chains carry the weight: use more temperatures",
                    self.chains
                )
            }),
        })
    }
}
