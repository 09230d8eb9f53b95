//! log Z by enumeration of the smaller layer.

use std::time::Instant;

use super::{Bias, Estimate, Method};
use crate::context::Context;
use crate::error::Result;
use crate::model::{Parameters, exact};

/// Exact log Z; cost 2^min(M, J) x max(M, J).
///
/// # Errors
/// The smaller layer has more than 25 units.
pub fn exact(parameters: &Parameters) -> Result<Estimate> {
    exact_within(parameters, Context::none())
}

/// The same, ended by a context.
pub(crate) fn exact_within(parameters: &Parameters, context: &Context) -> Result<Estimate> {
    let start = Instant::now();
    let value = exact::log_partition_within(parameters, context)?;
    Ok(Estimate {
        bias: Bias::None,
        seconds: start.elapsed().as_secs_f64(),
        ..Estimate::new(Method::Exact, value, 0.0)
    }
    .checked())
}
