//! The paper's alpha-smoothed partial update (RTS eq. 24), applied to every temperature.
//!
//! zeta_k <- zeta_k + alpha (y_k - zeta_k). It lags behind changing parameters by (1 - alpha)/alpha times the drift per update, so its
//! error bar includes an estimate of the lag in addition to the noise:
//!
//! ```text
//! Var = var_s(I_s)/S + (1 - alpha)^2 max(0, E[(y - zeta)^2] - E[var_s(G_s - I_s)/S])
//! ```
//!
//! I_s <- (1 - alpha) I_s + alpha G_s is the contribution of chain s to the error of zeta, as G_s is to that of y. Chains are independent,
//! so the spread of I_s includes every autocorrelation of successive measurements. Steps larger than the two spreads explain are lag.

use serde::{Deserialize, Serialize};

use super::chain_state::lengths;
use super::filter::{Filter, STEP_MEMORY};
use super::{Shift, Smoothing};
use crate::numerics::Influence;
use crate::tempering::Measurement;

/// Smoother state; the error bar is kept for beta = 1 alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlphaSmoother {
    /// Fraction of the distance to each measurement that is taken, in (0, 1].
    pub alpha: f64,
    /// zeta_k, the estimate of log Z_k, `[K]`.
    pub log_z: Vec<f64>,
    /// I_s at beta = 1, `[S]`.
    influence: Influence,
    /// Moving average of (y - zeta)^2 minus what noise explains of it, at beta = 1.
    square_lag: f64,
}

impl AlphaSmoother {
    /// Starts from a measurement.
    pub fn new(alpha: f64, measurement: &Measurement) -> Self {
        Self {
            alpha,
            log_z: measurement.log_z.clone(),
            influence: measurement.influence.clone(),
            square_lag: 0.0,
        }
    }
}

impl Filter for AlphaSmoother {
    fn log_z(&self) -> &[f64] {
        &self.log_z
    }

    fn influence(&self) -> &Influence {
        &self.influence
    }

    fn smoothing(&self) -> Smoothing {
        Smoothing::Alpha(self.alpha)
    }

    /// Noise passed on by the smoother, and lag behind the measurements.
    fn std_error(&self) -> f64 {
        let lag = (1.0 - self.alpha).powi(2) * self.square_lag.max(0.0);
        (self.influence.variance() + lag).sqrt()
    }

    /// One partial update by the same chains; the shift is not used.
    fn update(&mut self, _: &mut dyn FnMut() -> Shift, measurement: &Measurement) {
        let last = self.log_z.len() - 1;
        let step = measurement.log_z[last] - self.log_z[last];
        let noise = measurement.influence.minus(&self.influence).variance();
        self.approach(measurement, self.alpha);
        self.square_lag =
            STEP_MEMORY * self.square_lag + (1.0 - STEP_MEMORY) * (step * step - noise);
    }

    fn approach(&mut self, measurement: &Measurement, gain: f64) {
        for (zeta, y) in self.log_z.iter_mut().zip(&measurement.log_z).skip(1) {
            *zeta += gain * (y - *zeta);
        }
        self.influence.approach(gain, &measurement.influence);
    }

    fn check(&self, temperatures: usize, chains: usize) -> Result<(), String> {
        lengths(temperatures, &[("log_z", &self.log_z)])?;
        lengths(chains, &[("influence", self.influence.parts())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::random::{Purpose, Streams};

    const CHAINS: usize = 100;

    /// A measurement of log Z = (0, `truth`) by chains whose contributions to the error at beta = 1 are `parts`.
    fn measurement(truth: f64, parts: &[f64]) -> Measurement {
        let mean = parts.iter().sum::<f64>() / parts.len() as f64;
        Measurement {
            log_z: vec![0.0, truth + mean],
            variance: Vec::new(),
            bias: Vec::new(),
            occupancy: Vec::new(),
            influence: Influence::new(parts.iter().map(|part| part - mean).collect()),
        }
    }

    #[test]
    fn without_noise_the_error_bar_is_the_lag() {
        for alpha in [0.05, 0.2, 0.5] {
            let mut smoother = AlphaSmoother::new(alpha, &measurement(0.0, &[0.0; CHAINS]));
            let steps = 2000;
            for t in 1..=steps {
                smoother.update(
                    &mut || unreachable!(),
                    &measurement(0.03 * f64::from(t), &[0.0; CHAINS]),
                );
            }
            let error = 0.03 * f64::from(steps) - smoother.log_z[1];
            assert!((error - 0.03 * (1.0 - alpha) / alpha).abs() < 1e-6);
            assert!((smoother.std_error() / error - 1.0).abs() < 1e-3, "alpha = {alpha}");
        }
    }

    #[test]
    fn autocorrelated_noise_is_covered() {
        let mut stream = Streams::new(1, Purpose::TestSystem, 0).row(0);
        for (alpha, correlation) in [(0.2, 0.0), (0.2, 0.8), (0.05, 0.8)] {
            let mut parts: Vec<f64> = (0..CHAINS).map(|_| stream.normal()).collect();
            let mut smoother = AlphaSmoother::new(alpha, &measurement(0.0, &parts));
            let (mut errors, mut claimed) = (0.0, 0.0);
            for _ in 0..4000 {
                for part in &mut parts {
                    let fresh = (1.0f64 - correlation * correlation).sqrt();
                    *part = correlation * *part + fresh * stream.normal();
                }
                smoother.update(&mut || unreachable!(), &measurement(0.0, &parts));
                errors += smoother.log_z[1].powi(2);
                claimed += smoother.std_error().powi(2);
            }
            // At alpha = .05 some 4000/60 errors are independent, so their mean square is good to about 17 %.
            let ratio = errors / claimed;
            assert!(
                (0.5..1.5).contains(&ratio),
                "alpha = {alpha}, correlation {correlation}: {ratio}"
            );
        }
    }
}
