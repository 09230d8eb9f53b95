//! The drift-corrected Kalman filter for log Z_k while parameters change (algorithms.md, section 3, step 5).
//!
//! Per temperature a state (zeta, b): zeta_k = log Z_k and b_k, the bias of the predicted shift per update. Without b the filter relies on
//! the prediction too much. Predecessor: Desjardins, Courville, Bengio 2011.
//!
//! The filter's own variance P only sets its gain, because it assumes that errors of successive measurements are independent, which is not
//! true for persistent chains. The error bar comes from the chains. The filter is linear in its inputs, so the contribution I_s of each
//! chain to its error follows the same recursion as zeta, with the chain's contributions to shift and measurement as inputs. Chains are
//! independent, so Var(zeta) = var_s(I_s)/S holds for any autocorrelation.

use serde::{Deserialize, Serialize};

use super::chain_state::{LARGEST_COUNT, lengths};
use super::filter::{Filter, MEASUREMENT_MEMORY, STEP_MEMORY};
use super::{Shift, Smoothing};
use crate::numerics::Influence;
use crate::tempering::Measurement;

/// Random walk of the bias state, as a fraction of the variance of the predicted shift.
const BIAS_WALK: f64 = 0.002;

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
    /// I_s: contribution of each chain to the error of zeta_K, `[S]`.
    influence: Influence,
    /// Contribution of each chain to the error of b_K, `[S]`.
    bias_influence: Influence,
    consistency: f64,
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
            bias_influence: Influence::none(influence.chains()),
            influence,
            consistency: 1.0,
            updates: 0,
            log_z: log_z.clone(),
            variance: variance.clone(),
        }
    }

    /// One update of temperature k: F = [[1, 1], [0, 1]], P <- F P F' + diag(Q, walk), then the measurement. Returns both gains
    /// and the squared innovation over its predicted variance.
    fn update_one(
        &mut self,
        k: usize,
        shift: &Shift,
        measurement: &Measurement,
    ) -> ([f64; 2], f64) {
        let first = self.updates == 1;
        let average = |old: &mut f64, new: f64, memory: f64| {
            *old = if first { new } else { memory * *old + (1.0 - memory) * new };
            *old
        };
        let measured = measurement.variance[k];
        let noise = average(&mut self.measurement_variance[k], measured, MEASUREMENT_MEMORY);
        let moved = shift.variance[k];
        let usual = average(&mut self.prediction_variance[k], moved, STEP_MEMORY);
        let predicted = self.log_z[k] + shift.log_ratio[k] + self.bias[k];
        let p11 = self.variance[k] + 2.0 * self.covariance[k] + self.bias_variance[k] + moved;
        let p12 = self.covariance[k] + self.bias_variance[k];
        let p22 = self.bias_variance[k] + BIAS_WALK * usual;
        let innovation = measurement.log_z[k] - predicted;
        let total = (p11 + noise).max(f64::MIN_POSITIVE);
        let (gain, bias_gain) = (p11 / total, p12 / total);
        self.log_z[k] = predicted + gain * innovation;
        self.bias[k] += bias_gain * innovation;
        self.variance[k] = p11 - gain * p11;
        self.covariance[k] = p12 - gain * p12;
        self.bias_variance[k] = p22 - bias_gain * p12;
        ([gain, bias_gain], innovation * innovation / total)
    }

    /// The recursion of zeta and b at beta = 1, for each chain's contribution to their errors.
    fn follow_chains(
        &mut self,
        shift: &Shift,
        measurement: &Measurement,
        [gain, bias_gain]: [f64; 2],
    ) {
        let states = self.influence.parts_mut().iter_mut().zip(self.bias_influence.parts_mut());
        let fed = shift.influence.parts().iter().zip(measurement.influence.parts());
        for ((own, bias), (moved, measured)) in states.zip(fed) {
            let predicted = *own + moved + *bias;
            let innovation = measured - predicted;
            *own = predicted + gain * innovation;
            *bias += bias_gain * innovation;
        }
    }
}

impl Filter for Kalman {
    fn log_z(&self) -> &[f64] {
        &self.log_z
    }

    fn influence(&self) -> &Influence {
        &self.influence
    }

    fn smoothing(&self) -> Smoothing {
        Smoothing::Kalman
    }

    fn drift(&self) -> Option<&[f64]> {
        Some(&self.bias)
    }

    /// Moving average of squared innovations over their predicted variance at beta = 1: about 1 for independent measurements, less for
    /// autocorrelated ones; above 2 the prediction is worse than its variance says.
    fn consistency(&self) -> Option<f64> {
        Some(self.consistency)
    }

    fn update(&mut self, shift: &mut dyn FnMut() -> Shift, measurement: &Measurement) {
        let (shift, last) = (shift(), self.log_z.len() - 1);
        self.updates += 1;
        // Temperature 1 is exact and has no error.
        for k in 1..=last {
            let (gains, square) = self.update_one(k, &shift, measurement);
            if k == last {
                self.follow_chains(&shift, measurement, gains);
                self.consistency = STEP_MEMORY * self.consistency + (1.0 - STEP_MEMORY) * square;
            }
        }
    }

    fn approach(&mut self, measurement: &Measurement, gain: f64) {
        let kept = 1.0 - gain;
        for k in 1..self.log_z.len() {
            self.log_z[k] += gain * (measurement.log_z[k] - self.log_z[k]);
            self.variance[k] =
                kept * kept * self.variance[k] + gain * gain * measurement.variance[k];
            self.covariance[k] *= kept;
        }
        self.influence.approach(gain, &measurement.influence);
    }

    fn check(&self, temperatures: usize, chains: usize) -> Result<(), String> {
        let per_temperature: [(&str, &[f64]); 7] = [
            ("log_z", &self.log_z),
            ("bias", &self.bias),
            ("variance", &self.variance),
            ("covariance", &self.covariance),
            ("bias_variance", &self.bias_variance),
            ("measurement_variance", &self.measurement_variance),
            ("prediction_variance", &self.prediction_variance),
        ];
        let per_chain = [
            ("influence", self.influence.parts()),
            ("bias_influence", self.bias_influence.parts()),
        ];
        lengths(temperatures, &per_temperature)?;
        lengths(chains, &per_chain)?;
        if self.updates > LARGEST_COUNT {
            return Err(format!("`filter.updates` is {}", self.updates));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::random::{Purpose, Streams};

    const CHAINS: usize = 5;

    /// Contributions with mean zero, and the inputs with them.
    fn drawn(normal: &mut dyn FnMut() -> f64, log_z: f64, variance: f64) -> Measurement {
        let parts: Vec<f64> = (0..CHAINS).map(|_| normal()).collect();
        let mean = parts.iter().sum::<f64>() / CHAINS as f64;
        let influence = Influence::new(parts.iter().map(|part| part - mean).collect());
        let (log_z, variance) = (vec![0.0, log_z], vec![0.0, variance]);
        Measurement { log_z, variance, bias: Vec::new(), occupancy: Vec::new(), influence }
    }

    fn shift(measurement: &Measurement, by: f64, variance: f64) -> Shift {
        Shift {
            log_ratio: vec![0.0, by],
            variance: vec![0.0, variance],
            influence: measurement.influence.clone(),
        }
    }

    /// The textbook filter in matrices, [[zeta], [b]] with F = [[1, 1], [0, 1]] and H = [1, 0], compared with this one, which is written
    /// out.
    #[test]
    fn it_is_the_textbook_filter_of_level_and_drift() {
        type Square = [[f64; 2]; 2];
        let product = |a: Square, b: Square| -> Square {
            [0, 1].map(|i| [0, 1].map(|j| a[i][0] * b[0][j] + a[i][1] * b[1][j]))
        };
        let mut stream = Streams::new(1, Purpose::TestSystem, 0).row(0);
        let mut normal = || stream.normal();
        let first = drawn(&mut normal, 3.0, 0.2);
        let mut filter = Kalman::new(&first);
        let (mut x, mut p) = ([3.0, 0.0], [[0.2, 0.0], [0.0, 0.002]]);
        let (mut noise, mut usual) = (0.0, 0.0);
        for t in 0..30 {
            let (by, q) = (0.3 + 0.1 * normal(), 0.01 * (1.0 + normal().abs()));
            let measured =
                drawn(&mut normal, 3.0 + 0.35 * f64::from(t), 0.1 + 0.01 * f64::from(t % 3));
            filter.update(&mut || shift(&measured, by, q), &measured);

            let keep = |old: f64, new: f64, memory: f64| {
                if t == 0 { new } else { memory * old + (1.0 - memory) * new }
            };
            noise = keep(noise, measured.variance[1], MEASUREMENT_MEMORY);
            usual = keep(usual, q, STEP_MEMORY);
            let f = [[1.0, 1.0], [0.0, 1.0]];
            x = [x[0] + x[1] + by, x[1]];
            p = product(product(f, p), [[1.0, 0.0], [1.0, 1.0]]);
            p[0][0] += q;
            p[1][1] += BIAS_WALK * usual;
            let total = p[0][0] + noise;
            let gain = [p[0][0] / total, p[1][0] / total];
            let innovation = measured.log_z[1] - x[0];
            x = [x[0] + gain[0] * innovation, x[1] + gain[1] * innovation];
            p = product([[1.0 - gain[0], 0.0], [-gain[1], 1.0]], p);

            let found = [filter.log_z[1], filter.bias[1], filter.variance[1]];
            for (found, expected) in found.into_iter().zip([x[0], x[1], p[0][0]]) {
                assert!((found - expected).abs() < 1e-10, "{t}: {found} {expected}");
            }
            assert!((filter.covariance[1] - p[0][1]).abs() < 1e-12);
            assert_eq!(filter.log_z[0], 0.0);
        }
    }

    /// The filter is linear in its inputs: with chain s's contributions added to shifts and measurements, zeta changes by exactly I_s.
    #[test]
    fn a_chains_part_is_what_its_errors_would_do() {
        for chain in 0..CHAINS {
            let mut stream = Streams::new(2, Purpose::TestSystem, 0).row(0);
            let mut normal = || stream.normal();
            let first = drawn(&mut normal, 1.0, 0.3);
            let moved_by = |measurement: &Measurement, by: f64| {
                let mut moved = measurement.clone();
                moved.log_z[1] += by * measurement.influence.parts()[chain];
                moved
            };
            let [mut plain, mut moved] = [0.0, 1.0].map(|by| Kalman::new(&moved_by(&first, by)));
            for _ in 0..40 {
                let fed = drawn(&mut normal, 1.0, 0.3);
                let of_shift = drawn(&mut normal, 0.0, 0.0);
                for (filter, by) in [(&mut plain, 0.0), (&mut moved, 1.0)] {
                    let step = 0.1 + by * of_shift.influence.parts()[chain];
                    filter.update(&mut || shift(&of_shift, step, 0.05), &moved_by(&fed, by));
                }
                let difference = moved.log_z[1] - plain.log_z[1];
                assert!((difference - plain.influence.parts()[chain]).abs() < 1e-9);
            }
        }
    }
}
