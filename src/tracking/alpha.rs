//! The paper's alpha-smoothed partial update (RTS eq. 24), applied to every temperature.
//!
//! zeta_k <- zeta_k + alpha (y_k - zeta_k). It lags behind moving parameters by (1 - alpha)/alpha drifts per update, so
//! its error bar carries the lag it can see beside the noise.

use serde::{Deserialize, Serialize};

const MEMORY: f64 = 0.95;

/// Smoother state, one entry per temperature in every vector.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlphaSmoother {
    /// Share of the way to go to each measurement, in (0, 1].
    pub alpha: f64,
    /// zeta_k, the estimate of log Z_k.
    pub log_z: Vec<f64>,
    measurement_variance: Vec<f64>,
    mean_step: Vec<f64>,
}

impl AlphaSmoother {
    /// Starts from a measurement.
    pub fn new(alpha: f64, log_z: Vec<f64>, variance: Vec<f64>) -> Self {
        Self { alpha, mean_step: vec![0.0; log_z.len()], log_z, measurement_variance: variance }
    }

    /// One partial update.
    pub fn update(&mut self, measured: &[f64], measured_variance: &[f64]) {
        for k in 1..self.log_z.len() {
            let step = measured[k] - self.log_z[k];
            self.log_z[k] += self.alpha * step;
            self.mean_step[k] = MEMORY * self.mean_step[k] + (1.0 - MEMORY) * step;
            self.measurement_variance[k] =
                MEMORY * self.measurement_variance[k] + (1.0 - MEMORY) * measured_variance[k];
        }
    }

    /// Noise passed on by the smoother, and the lag behind the measurements.
    pub fn std_error(&self, k: usize) -> f64 {
        let noise = self.alpha / (2.0 - self.alpha) * self.measurement_variance[k];
        let lag = (1.0 - self.alpha) * self.mean_step[k];
        (noise + lag * lag).sqrt()
    }
}
