//! The drift-corrected Kalman filter for log Z_k while parameters move (algorithms.md, section 3, step 5).
//!
//! Per temperature a state (zeta, b): zeta_k = log Z_k and b_k the bias of the predicted shift per update, which the
//! filter must carry, or it trusts the prediction too much. Predecessor: Desjardins, Courville, Bengio 2011.

use serde::{Deserialize, Serialize};

/// Random walk of the bias state, as a share of the variance of the predicted shift.
const BIAS_WALK: f64 = 0.002;
/// Memory of the measurement variance and of correlations.
const MEASUREMENT_MEMORY: f64 = 0.95;
/// Memory of the prediction variance.
const PREDICTION_MEMORY: f64 = 0.98;
/// Updates of inconsistent innovations before the filter trusts its prediction less.
const PATIENCE: u32 = 50;

/// Filter state, one entry per temperature in every vector.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kalman {
    /// zeta_k, the estimate of log Z_k.
    pub log_z: Vec<f64>,
    /// b_k, bias of the predicted shift per update.
    pub bias: Vec<f64>,
    variance: Vec<f64>,
    covariance: Vec<f64>,
    bias_variance: Vec<f64>,
    measurement_variance: Vec<f64>,
    prediction_variance: Vec<f64>,
    lag_product: Vec<f64>,
    lag_square: Vec<f64>,
    inflation: f64,
    consistency: f64,
    inconsistent: u32,
    updates: u64,
}

/// What one update of the filter has to work with; all [K].
pub struct Evidence<'a> {
    /// Predicted shift of log Z_k and its variance.
    pub shift: &'a [f64],
    /// Variance of the predicted shift.
    pub shift_variance: &'a [f64],
    /// y_k.
    pub measured: &'a [f64],
    /// Var(y_k) if consecutive measurements were independent.
    pub measured_variance: &'a [f64],
    /// sum over chains of this and the last update's influences multiplied.
    pub lag_product: &'a [f64],
    /// sum over chains of this update's squared influences.
    pub lag_square: &'a [f64],
}

impl Kalman {
    /// Starts from a measurement.
    pub fn new(log_z: Vec<f64>, variance: Vec<f64>) -> Self {
        let zeros = vec![0.0; log_z.len()];
        Self {
            bias: zeros.clone(),
            covariance: zeros.clone(),
            bias_variance: variance.iter().map(|v| 0.01 * v).collect(),
            measurement_variance: variance.clone(),
            prediction_variance: zeros.clone(),
            lag_product: zeros.clone(),
            lag_square: zeros,
            inflation: 1.0,
            consistency: 1.0,
            inconsistent: 0,
            updates: 0,
            log_z,
            variance,
        }
    }

    /// Standard error of zeta_k.
    pub fn std_error(&self, k: usize) -> f64 {
        self.variance[k].max(0.0).sqrt()
    }

    /// Moving average of squared innovations over their predicted variance at beta = 1; about 1 when the error bar
    /// is right.
    pub fn consistency(&self) -> f64 {
        self.consistency
    }

    /// How much more variance than estimated the prediction is given.
    pub fn inflation(&self) -> f64 {
        self.inflation
    }

    /// One update; returns true if the filter just doubled its distrust of the prediction.
    pub fn update(&mut self, evidence: &Evidence<'_>) -> bool {
        let last = self.log_z.len() - 1;
        let first = self.updates == 0;
        self.updates += 1;
        // Temperature 1 is exact and has no error.
        for k in 1..=last {
            let average = |old: f64, new: f64, memory: f64| {
                if first { new } else { memory * old + (1.0 - memory) * new }
            };
            self.lag_product[k] =
                average(self.lag_product[k], evidence.lag_product[k], MEASUREMENT_MEMORY);
            self.lag_square[k] =
                average(self.lag_square[k], evidence.lag_square[k], MEASUREMENT_MEMORY);
            self.measurement_variance[k] = average(
                self.measurement_variance[k],
                evidence.measured_variance[k],
                MEASUREMENT_MEMORY,
            );
            self.prediction_variance[k] =
                average(self.prediction_variance[k], evidence.shift_variance[k], PREDICTION_MEMORY);
            let correlation = if self.lag_square[k] > 0.0 {
                (self.lag_product[k] / self.lag_square[k]).clamp(0.0, 0.95)
            } else {
                0.0
            };
            let noise = self.measurement_variance[k] * (1.0 + correlation) / (1.0 - correlation);

            let predicted = self.log_z[k] + evidence.shift[k] + self.bias[k];
            let q = self.inflation * evidence.shift_variance[k];
            let walk = BIAS_WALK * self.inflation * self.prediction_variance[k];
            // P <- F P F' + diag(Q, walk) with F = [[1, 1], [0, 1]].
            let p11 = self.variance[k] + 2.0 * self.covariance[k] + self.bias_variance[k] + q;
            let p12 = self.covariance[k] + self.bias_variance[k];
            let p22 = self.bias_variance[k] + walk;
            let innovation = evidence.measured[k] - predicted;
            let total = (p11 + noise).max(f64::MIN_POSITIVE);
            let (gain, bias_gain) = (p11 / total, p12 / total);
            self.log_z[k] = predicted + gain * innovation;
            self.bias[k] += bias_gain * innovation;
            self.variance[k] = p11 - gain * p11;
            self.covariance[k] = p12 - gain * p12;
            self.bias_variance[k] = p22 - bias_gain * p12;
            if k == last {
                let square = innovation * innovation / total;
                self.consistency =
                    PREDICTION_MEMORY * self.consistency + (1.0 - PREDICTION_MEMORY) * square;
            }
        }
        self.inconsistent = if self.consistency > 2.0 { self.inconsistent + 1 } else { 0 };
        let distrust = self.inconsistent >= PATIENCE;
        if distrust {
            self.inflation *= 2.0;
            self.inconsistent = 0;
        }
        distrust
    }
}
