//! The result of every estimator of log Z.

use serde::Serialize;

use super::Method;
use crate::trust::{Doubt, Trust};

/// An estimate of log Z with everything needed to assess it.
#[derive(Clone, Debug, Serialize)]
pub struct Estimate {
    /// The method; its name in JSON.
    pub method: Method,
    /// log Z in nats.
    pub value: f64,
    /// Standard error in nats; 0 for exact values, NaN (`null` in JSON) if a method has none.
    pub std_error: f64,
    /// Effective number of samples; `None` if this is not defined for the method.
    pub effective_samples: Option<f64>,
    /// Direction of the bias in expectation.
    pub bias: Bias,
    /// log Z is at least this, nats, with probability 1 - [`FAILURE`], whatever states the chains reach: from the weights of annealing
    /// ([`betting_lower_bound`](crate::numerics::betting_lower_bound)). `None` if the method does not anneal.
    pub at_least: Option<f64>,
    /// Whether the value was below another lower bound, which holds for certain, and was replaced by it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub raised: bool,
    /// Gibbs sweeps of single chains spent (chains x sweeps each), including those of a run shared with other methods.
    pub gibbs_sweeps: u64,
    /// Wall time in seconds: that of the chains, shared or not, and that of the method.
    pub seconds: f64,
    /// Whether the error bar can be trusted, and if not, why.
    pub trust: Trust,
}

impl Estimate {
    /// A consistent and sound estimate without samples, sweeps and time.
    pub(crate) fn new(method: Method, value: f64, std_error: f64) -> Self {
        Self {
            method,
            value,
            std_error,
            effective_samples: None,
            bias: Bias::Consistent,
            at_least: None,
            raised: false,
            gibbs_sweeps: 0,
            seconds: 0.0,
            trust: Trust::sound(),
        }
    }

    /// The same, in doubt if the value or its error is not finite. Every estimator ends with this.
    #[must_use]
    pub(super) fn checked(mut self) -> Self {
        // A method without samples has no error bar, and NaN is expected.
        let has_error = self.effective_samples.is_some();
        if !self.value.is_finite()
            || self.std_error.is_infinite()
            || (has_error && self.std_error.is_nan())
        {
            let Self { value, std_error, .. } = self;
            self.trust.doubt(Doubt::NotFinite { value, std_error });
        }
        self
    }
}

/// Probability that a lower bound from the weights of annealing does not hold.
pub const FAILURE: f64 = 0.001;

/// Rounding of log f in f32, relative to log Z: the spread over chains, which all share it, does not show it.
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
    /// An error of either sign that more samples remove too slowly or not at all.
    Biased,
}

#[cfg(test)]
mod tests {
    use crate::estimators::{EstimateSettings, Method, Starting};
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
            let Ok(found) = settings.run(&parameters, Starting::default(), &mut |_| ()) else {
                continue;
            };
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
