//! log Z by enumeration of the smaller layer.

use std::time::Instant;

use super::{Bias, Estimate, Method};
use crate::error::Result;
use crate::model::{Parameters, exact};
use crate::trust::Trust;

/// Exact log Z; cost 2^min(M, J) x max(M, J).
///
/// # Errors
/// The smaller layer has more than 25 units.
pub fn exact(parameters: &Parameters) -> Result<Estimate> {
    let start = Instant::now();
    Ok(Estimate {
        method: Method::Exact,
        value: exact::log_partition(parameters)?,
        std_error: 0.0,
        effective_samples: None,
        bias: Bias::None,
        at_least: None,
        gibbs_sweeps: 0,
        seconds: start.elapsed().as_secs_f64(),
        trust: Trust::sound(),
    }
    .checked())
}
