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
    /// log Z is at least this, nats, with probability 1 - [`FAILURE`], wherever the chains went: from the weights of annealing
    /// ([`betting_lower_bound`](crate::numerics::betting_lower_bound)). `None` where the method does not anneal.
    pub at_least: Option<f64>,
    /// Gibbs sweeps of single chains spent (chains x sweeps each), those of a run shared with other methods included.
    pub gibbs_sweeps: u64,
    /// Wall time in seconds: that of the chains, shared or not, and the method's own.
    pub seconds: f64,
    /// Whether the error bar is to be believed, and why not.
    pub trust: Trust,
}

impl Estimate {
    /// The same, in doubt where the value or its error is not a number that can be used. Every estimator ends with this.
    #[must_use]
    pub(super) fn checked(mut self) -> Self {
        // A method whose error bar is not made of samples has none.
        let has_error = self.effective_samples.is_some();
        if !self.value.is_finite()
            || self.std_error.is_infinite()
            || (has_error && self.std_error.is_nan())
        {
            let text = format!(
                "{} +- {} is no estimate: weights are too large for this method, or its chains did not connect both ends; look at the weights, try --method exact or auto",
                self.value, self.std_error
            );
            self.trust.doubt("not-finite", text);
        }
        self
    }
}

/// Probability that a lower bound from the weights of annealing does not hold.
pub const FAILURE: f64 = 0.001;

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

#[cfg(test)]
mod tests {
    use crate::estimators::{EstimateSettings, Method};
    use crate::model::Parameters;

    /// Sums over weights this large overflow in f32.
    #[test]
    fn what_is_not_finite_is_never_sound() {
        let parameters =
            Parameters::new(12, 8, vec![3e38; 96], vec![0.0; 12], vec![0.0; 8]).unwrap();
        let mut sound = Vec::new();
        let mut not_finite = Vec::new();
        for method in Method::LIST.iter().filter(|method| method.is_offered()) {
            let settings = EstimateSettings {
                methods: vec![method.name().parse().unwrap()],
                chains: 10,
                temperatures: Some(10),
                sweeps: 20,
                budget: 0.0,
                ..EstimateSettings::default()
            };
            let Ok(found) = settings.run(&parameters, None, &mut |_| ()) else { continue };
            for estimate in &found.estimates {
                let (error, has_none) = (estimate.std_error, estimate.effective_samples.is_none());
                let finite = error.is_finite() || (error.is_nan() && has_none);
                if !estimate.value.is_finite() || !finite {
                    not_finite.push(estimate.method);
                    let told = estimate.trust.names().contains("not-finite");
                    if !told || found.agreement.sound || found.agreement.use_method.is_some() {
                        sound.push(estimate.clone());
                    }
                }
            }
        }
        assert!(sound.is_empty(), "{sound:#?}");
        assert!(not_finite.contains(&Method::Ais), "{not_finite:?}");
    }
}
