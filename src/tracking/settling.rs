//! What the chains say of a model that stands still.
//!
//! While parameters move all chains run behind them, and the spread over chains cannot show what all chains share. So
//! before an evaluation the chains sweep on at fixed parameters, in two halves, and each half measures log Z (RTS eq. 12).
//! Chains that still lag give halves that differ by more than their noise: then the first half is dropped and another
//! one is run, up to a limit. What the settled chains measure against what the tracker said before is its lag.

use serde::{Deserialize, Serialize};

use super::influence;
use crate::tempering::{Measurement, Occupancy};

/// Errors of the difference beyond which the second half contradicts the first.
const DRIFT: f64 = 2.5;
/// Memory of the squared lag, in evaluations.
const MEMORY: f64 = 0.8;
/// Errors beyond which a single innovation is lag, whatever was seen before.
const GROSS: f64 = 3.0;

/// How long chains sweep at fixed parameters before an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settling {
    /// Sweeps of both halves together; 0 for none.
    pub sweeps: usize,
    /// Most halves that are run.
    pub halves: usize,
}

/// What chains found at fixed parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settled {
    /// Halves that were run; those before the last two did not count.
    pub halves: usize,
    /// Second minus first half's log Z, in its errors.
    pub drift_in_errors: f64,
    /// Correlation over chains of their parts of the two halves' errors: near 0 where chains mix, 1 where they are frozen.
    pub correlation: f64,
    /// Settled minus tracked log Z, nats: what the chains lagged behind, and noise.
    pub innovation: f64,
    /// The same in errors.
    pub innovation_in_errors: f64,
    /// Settled log Z alone, and its standard error.
    pub log_z: f64,
    /// Its standard error.
    pub std_error: f64,
}

impl Settled {
    /// Whether the halves agree.
    pub fn at_rest(&self) -> bool {
        self.drift_in_errors.abs() <= DRIFT
    }
}

/// One half: mean occupancies C_sk, [S, K], and their measurement.
pub(super) struct Half {
    pub occupancy: Vec<f64>,
    pub measurement: Measurement,
}

/// Runs halves of `sweeps` sweeps by `run` until the last two agree, at most `most`. Returns the measurement of the last
/// two together, how many halves were run, and how the two compare; `measure`: from mean occupancies.
pub(super) fn settle(
    most: usize,
    sweeps: usize,
    chains: usize,
    mut run: impl FnMut() -> Half,
    measure: impl Fn(&[f64]) -> Measurement,
) -> (Measurement, Settled) {
    let mut first = run();
    let mut halves = 1;
    loop {
        let second = run();
        halves += 1;
        let last = second.measurement.log_z.len() - 1;
        let parts = (&second.measurement.influence, &first.measurement.influence);
        let changes: Vec<f64> = parts.0.iter().zip(parts.1).map(|(b, a)| b - a).collect();
        let drift = second.measurement.log_z[last] - first.measurement.log_z[last];
        let drift_in_errors = in_errors(drift, influence::variance(&changes));
        if drift_in_errors.abs() > DRIFT && halves < most.max(2) {
            first = second;
            continue;
        }
        let temperatures = second.measurement.log_z.len();
        let mut both = Occupancy::new(chains, temperatures);
        both.add(&first.occupancy, sweeps);
        both.add(&second.occupancy, sweeps);
        let measurement = measure(&both.means());
        let settled = Settled {
            halves,
            drift_in_errors,
            correlation: influence::correlation(parts.0, parts.1),
            innovation: 0.0,
            innovation_in_errors: 0.0,
            log_z: measurement.log_z[last],
            std_error: influence::variance(&measurement.influence).sqrt(),
        };
        return (measurement, settled);
    }
}

pub(super) fn in_errors(difference: f64, variance: f64) -> f64 {
    if difference == 0.0 { 0.0 } else { difference / variance.sqrt() }
}

/// Variance of tracked log Z that the chains' spread does not show, learnt from what settled chains found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lag {
    /// Moving mean of squared innovations minus what noise explains of them; negative by chance.
    square: f64,
    /// What of it is in the present value.
    pub(super) present: f64,
}

impl Lag {
    /// Learns from an innovation and its noise; the variance to give to the value before it.
    pub(super) fn learn(&mut self, step: f64, noise: f64) -> f64 {
        let excess = step * step - noise;
        self.square = MEMORY * self.square + (1.0 - MEMORY) * excess;
        let gross = if step * step > GROSS * GROSS * noise { excess } else { 0.0 };
        self.square.max(gross).max(0.0)
    }

    /// The parameters moved on: the lag is back.
    pub(super) fn moved(&mut self) {
        self.present = self.square.max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half(log_z: f64, parts: &[f64]) -> Half {
        let measurement = Measurement {
            log_z: vec![0.0, log_z],
            variance: vec![0.0, 1.0],
            bias: Vec::new(),
            occupancy: Vec::new(),
            influence: parts.to_vec(),
        };
        Half { occupancy: vec![0.5; 2 * parts.len()], measurement }
    }

    #[test]
    fn halves_are_run_until_two_agree() {
        // Errors of a half: 1/sqrt(3), of a difference .82.
        let parts = [[1.0, -1.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0]];
        for (values, halves, at_rest) in [
            (&[5.0, 5.5][..], 2, true),
            (&[0.0, 4.0, 5.0], 3, true),
            (&[0.0, 4.0, 8.0, 12.0, 16.0], 4, false),
        ] {
            let mut runs = 0;
            let run = || {
                runs += 1;
                half(values[runs - 1], &parts[runs % 2])
            };
            let measure = |_: &[f64]| half(1.0, &parts[0]).measurement;
            let (_, settled) = settle(4, 10, 4, run, measure);
            assert_eq!((settled.halves, settled.at_rest()), (halves, at_rest), "{values:?}");
            assert!(settled.correlation.abs() < 1e-12);
        }
    }

    #[test]
    fn lag_is_what_noise_does_not_explain() {
        let mut lag = Lag::default();
        for i in 0..100 {
            let sign = if i % 2 == 0 { 1.0 } else { -1.0 };
            assert_eq!(lag.learn(sign * 0.5, 0.25), 0.0);
        }
        assert_eq!(lag.learn(2.0, 0.25), 3.75);
        let mut steady = Lag::default();
        (0..100).for_each(|_| {
            steady.learn(-0.6, 0.2);
        });
        steady.moved();
        assert!((steady.present - 0.16).abs() < 1e-6);
    }
}
