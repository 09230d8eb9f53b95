//! What every estimator of log Z returns.

use serde::Serialize;

use super::Method;
use crate::trust::Trust;

/// An estimate of log Z with everything needed to judge it.
#[derive(Clone, Debug, Serialize)]
pub struct Estimate {
    /// The method; its name in JSON.
    pub method: Method,
    /// log Z in nats.
    pub value: f64,
    /// Standard error in nats; 0 for exact values, NaN (`null` in JSON) where a method has none.
    pub std_error: f64,
    /// Effective number of samples behind it; `None` where the notion does not apply.
    pub effective_samples: Option<f64>,
    /// Direction of the bias in expectation.
    pub bias: Bias,
    /// Gibbs sweeps of single chains spent (chains x sweeps each), those of a run shared with other methods included.
    pub gibbs_sweeps: u64,
    /// Wall time in seconds: that of the chains, shared or not, and the method's own.
    pub seconds: f64,
    /// Whether the error bar is to be believed, and why not.
    pub trust: Trust,
}

/// Rounding of log f in f32, relative to log Z: what a spread over chains, which all share it, does not show.
const ROUNDING: f64 = 6e-8;

/// A standard error with the rounding of log f added.
pub(super) fn with_rounding(std_error: f64, value: f64) -> f64 {
    std_error.hypot(ROUNDING * value)
}

/// Direction of an estimator's bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Bias {
    /// No bias at all.
    None,
    /// Vanishes faster than the standard error, sign unknown.
    Consistent,
    /// Below log Z in expectation.
    Low,
    /// Above log Z in expectation.
    High,
    /// An error of either sign that more samples do not remove, or not soon enough to be left out of account.
    Biased,
}
