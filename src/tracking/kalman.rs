//! The drift-corrected Kalman filter for log Z_k while parameters move (algorithms.md, section 3, step 5).
//!
//! Per temperature a state (zeta, b): zeta_k = log Z_k and b_k the bias of the predicted shift per update, which the
//! filter must carry, or it trusts the prediction too much. Predecessor: Desjardins, Courville, Bengio 2011.
//!
//! The filter's own variance P only sets its gain: it takes errors of successive measurements as independent, which those
//! of persistent chains are not. The error bar comes from the chains instead. The filter is linear in what it is fed, so
//! each chain's part of its error, I_s, follows the same recursion as zeta, fed with the chain's parts of shift and
//! measurement; chains are independent, so Var(zeta) = var_s(I_s)/S holds whatever the autocorrelation.

use serde::{Deserialize, Serialize};

use super::Shift;
use super::influence;
use crate::tempering::Measurement;

/// Random walk of the bias state, as a share of the variance of the predicted shift.
const BIAS_WALK: f64 = 0.002;
/// Memory of the measurement variance.
const MEASUREMENT_MEMORY: f64 = 0.95;
/// Memory of the prediction variance.
const PREDICTION_MEMORY: f64 = 0.98;
/// Rate of the means over time from which the autocorrelation of measurements is found.
const SLOW: f64 = 0.01;
/// Updates of inconsistent innovations before the filter trusts its prediction less.
const PATIENCE: u32 = 50;

/// Filter state. Vectors of length K hold one entry per temperature, those of length S one per chain (at beta = 1).
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
    /// I_s: each chain's part of the error of zeta_K, `[S]`.
    influence: Vec<f64>,
    /// Each chain's part of the error of b_K, `[S]`.
    bias_influence: Vec<f64>,
    /// Slow moving mean of each chain's part of the measurements, `[S]`.
    slow_influence: Vec<f64>,
    /// Variance of the slow mean if measurements were independent with variance 1.
    slow_weight: f64,
    inflation: f64,
    consistency: f64,
    inconsistent: u32,
    updates: u64,
}

impl Kalman {
    /// Starts from a measurement.
    pub fn new(measurement: &Measurement) -> Self {
        let Measurement { log_z, variance, .. } = measurement;
        let zeros = vec![0.0; log_z.len()];
        let influence = measurement.influence.clone();
        Self {
            bias: zeros.clone(),
            covariance: zeros.clone(),
            bias_variance: variance.iter().map(|v| 0.01 * v).collect(),
            measurement_variance: variance.clone(),
            prediction_variance: zeros,
            bias_influence: vec![0.0; influence.len()],
            slow_influence: vec![0.0; influence.len()],
            slow_weight: 0.0,
            influence,
            inflation: 1.0,
            consistency: 1.0,
            inconsistent: 0,
            updates: 0,
            log_z: log_z.clone(),
            variance: variance.clone(),
        }
    }

    /// Its vectors of length K, by name.
    pub(super) fn per_temperature(&self) -> [(&'static str, &[f64]); 7] {
        [
            ("log_z", &self.log_z),
            ("bias", &self.bias),
            ("variance", &self.variance),
            ("covariance", &self.covariance),
            ("bias_variance", &self.bias_variance),
            ("measurement_variance", &self.measurement_variance),
            ("prediction_variance", &self.prediction_variance),
        ]
    }

    /// Its vectors of length S, by name.
    pub(super) fn per_chain(&self) -> [(&'static str, &[f64]); 3] {
        [
            ("influence", &self.influence),
            ("bias_influence", &self.bias_influence),
            ("slow_influence", &self.slow_influence),
        ]
    }

    /// Updates it has seen.
    pub(super) fn updates(&self) -> u64 {
        self.updates
    }

    /// Standard error of zeta at beta = 1, from the spread of the chains' parts.
    pub fn std_error(&self) -> f64 {
        influence::variance(&self.influence).sqrt()
    }

    /// I_s at beta = 1, `[S]`.
    pub(super) fn influence(&self) -> &[f64] {
        &self.influence
    }

    /// Goes the share `gain` of the way to a measurement at the same parameters; `lag`: variance of zeta that the chains'
    /// spread does not show.
    pub(super) fn join(&mut self, measurement: &Measurement, gain: f64, lag: f64) {
        let kept = 1.0 - gain;
        for k in 1..self.log_z.len() {
            self.log_z[k] += gain * (measurement.log_z[k] - self.log_z[k]);
            self.variance[k] =
                kept * kept * (self.variance[k] + lag) + gain * gain * measurement.variance[k];
            self.covariance[k] *= kept;
        }
        for (own, new) in self.influence.iter_mut().zip(&measurement.influence) {
            *own += gain * (new - *own);
        }
    }

    /// Moving average of squared innovations over their predicted variance at beta = 1: about 1 for independent
    /// measurements, less for autocorrelated ones; above 2 the prediction is worse than it says.
    pub fn consistency(&self) -> f64 {
        self.consistency
    }

    /// How much more variance than estimated the prediction is given.
    pub fn inflation(&self) -> f64 {
        self.inflation
    }

    /// One update: the predicted shift of log Z_k, then the measurement. Returns true if the filter just doubled its
    /// distrust of the prediction.
    pub fn update(&mut self, shift: &Shift, measurement: &Measurement) -> bool {
        let last = self.log_z.len() - 1;
        let first = self.updates == 0;
        self.updates += 1;
        let autocorrelation = self.autocorrelation(measurement);
        // Temperature 1 is exact and has no error.
        for k in 1..=last {
            let average = |old: f64, new: f64, memory: f64| {
                if first { new } else { memory * old + (1.0 - memory) * new }
            };
            self.measurement_variance[k] =
                average(self.measurement_variance[k], measurement.variance[k], MEASUREMENT_MEMORY);
            self.prediction_variance[k] =
                average(self.prediction_variance[k], shift.variance[k], PREDICTION_MEMORY);
            let noise = self.measurement_variance[k] * autocorrelation;

            let predicted = self.log_z[k] + shift.log_ratio[k] + self.bias[k];
            let q = self.inflation * shift.variance[k];
            let walk = BIAS_WALK * self.inflation * self.prediction_variance[k];
            // P <- F P F' + diag(Q, walk) with F = [[1, 1], [0, 1]].
            let p11 = self.variance[k] + 2.0 * self.covariance[k] + self.bias_variance[k] + q;
            let p12 = self.covariance[k] + self.bias_variance[k];
            let p22 = self.bias_variance[k] + walk;
            let innovation = measurement.log_z[k] - predicted;
            let total = (p11 + noise).max(f64::MIN_POSITIVE);
            let (gain, bias_gain) = (p11 / total, p12 / total);
            self.log_z[k] = predicted + gain * innovation;
            self.bias[k] += bias_gain * innovation;
            self.variance[k] = p11 - gain * p11;
            self.covariance[k] = p12 - gain * p12;
            self.bias_variance[k] = p22 - bias_gain * p12;
            if k == last {
                self.follow_chains(shift, measurement, gain, bias_gain);
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

    /// The recursion of zeta and b at beta = 1, for each chain's part of their errors.
    fn follow_chains(
        &mut self,
        shift: &Shift,
        measurement: &Measurement,
        gain: f64,
        bias_gain: f64,
    ) {
        let states = self.influence.iter_mut().zip(&mut self.bias_influence);
        let fed = shift.influence.iter().zip(&measurement.influence);
        for ((own, bias), (moved, measured)) in states.zip(fed) {
            let predicted = *own + moved + *bias;
            let innovation = measured - predicted;
            *own = predicted + gain * innovation;
            *bias += bias_gain * innovation;
        }
    }

    /// How many times larger the variance of a long mean of measurements is than if they were independent, at least 1:
    /// the spread over chains of slow means against that of single measurements.
    fn autocorrelation(&mut self, measurement: &Measurement) -> f64 {
        let (mut slow, mut single) = (0.0, 0.0);
        for (mean, part) in self.slow_influence.iter_mut().zip(&measurement.influence) {
            *mean += SLOW * (part - *mean);
            slow += *mean * *mean;
            single += part * part;
        }
        self.slow_weight = (1.0 - SLOW).powi(2) * self.slow_weight + SLOW * SLOW;
        if single > 0.0 { (slow / (single * self.slow_weight)).max(1.0) } else { 1.0 }
    }
}
