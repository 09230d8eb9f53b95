//! Reverse annealing: from samples of the model down to the base distribution.
//!
//! E[w] = Z_1/Z, so log Z = log Z_1 - log mean w, se as for AIS. Biased high in expectation, where AIS is low. Samples of a part of the
//! distribution give the log Z of that part, which is low; so samples of chains that did not mix put the value in doubt.

use std::time::Instant;

use super::ais::{steps, trust_of_weights};
use super::estimate::with_rounding;
use super::{Bias, Equilibrium, Estimate, Method};
use crate::error::Result;
use crate::tempering::{MeanWeight, TemperedPath, descend};

/// Reverse annealing along any path, one chain from each sample.
///
/// # Errors
/// Fewer than two samples.
pub fn reverse_ais(path: &dyn TemperedPath, start: &Equilibrium, seed: u64) -> Result<Estimate> {
    let clock = Instant::now();
    super::at_least_two_chains(start.visible.rows())?;
    let log_weights = descend(path, &start.visible, seed);
    Ok(Estimate { seconds: clock.elapsed().as_secs_f64(), ..of_weights(path, start, &log_weights) })
}

/// The estimate from given weights.
pub(super) fn of_weights(
    path: &dyn TemperedPath,
    start: &Equilibrium,
    log_weights: &[f64],
) -> Estimate {
    let chains = log_weights.len();
    let mean = MeanWeight::of(log_weights.iter().copied());
    let value = path.log_z_base() - mean.log_mean;
    Estimate {
        effective_samples: Some(mean.effective),
        bias: Bias::High,
        gibbs_sweeps: steps(path, chains) + start.gibbs_sweeps,
        trust: start.trust.clone().and(trust_of_weights(&mean, chains)),
        ..Estimate::new(Method::ReverseAis, value, with_rounding(mean.std_error, value))
    }
    .checked()
}
