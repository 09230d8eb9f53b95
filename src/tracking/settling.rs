//! Measurement of log Z by chains at fixed parameters.
//!
//! While parameters change, all chains lag behind them, and the spread over chains cannot show an error that all chains share. So for an
//! evaluation a copy of the chains sweeps at fixed parameters. The first third of the sweeps is dropped, and the other two each measure log
//! Z (RTS eq. 12). If chains still lag, the thirds differ by more than their noise; if chains hardly move, the errors of the thirds are
//! equal chain by chain. In both cases twice as many sweeps are run, up to a limit. The difference between the equilibrated and the tracked
//! value is the lag of the tracker.

use serde::{Deserialize, Serialize};

use crate::numerics::{Influence, Table};
use crate::tempering::{Measurement, Occupancy};

/// Errors of the difference beyond which the last third contradicts the third before it.
const DRIFT: f64 = 2.5;
/// Correlation of the thirds over chains up to which no more sweeps are run.
const DECORRELATED: f64 = 0.3;
/// Largest correlation that is extrapolated from.
const LARGEST_CORRELATION: f64 = 0.9;
/// Memory of the squared lag, in evaluations.
const MEMORY: f64 = 0.8;
/// Errors beyond which a single innovation is counted as lag, whatever the history.
const GROSS: f64 = 3.0;

/// Number of sweeps at fixed parameters for an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settling {
    /// Sweeps; 0 for none.
    pub sweeps: usize,
    /// Most sweeps if these are not enough.
    pub most: usize,
}

/// Result of the sweeps at fixed parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settled {
    /// Sweeps that were run, including the first third, which is dropped.
    pub sweeps: u64,
    /// Last third's log Z minus that of the third before, in its errors.
    #[serde(with = "crate::checkpoint::float")]
    pub drift_in_errors: f64,
    /// Correlation over chains of their contributions to the errors of the two thirds: near 0 if chains mix, 1 if they are frozen.
    #[serde(with = "crate::checkpoint::float")]
    pub correlation: f64,
    /// Equilibrated minus tracked log Z in errors: lag of the chains, and noise.
    #[serde(with = "crate::checkpoint::float")]
    pub innovation_in_errors: f64,
    /// log Z of the equilibrated chains alone.
    #[serde(with = "crate::checkpoint::float")]
    pub log_z: f64,
    /// Its standard error.
    #[serde(with = "crate::checkpoint::float")]
    pub std_error: f64,
    /// How much higher up the ladder data-initialised chains stay than the tracker's, in errors; `None` without data.
    pub visitors_in_errors: Option<f64>,
    /// Variance from the remaining deviation of the chains at the end of the sweeps.
    #[serde(with = "crate::checkpoint::float")]
    pub memory: f64,
}

/// Sweeps with one pseudo-prior in blocks of equal length, at most six; when there are six, pairs are merged.
struct Pieces {
    chains: usize,
    temperatures: usize,
    length: usize,
    pieces: Vec<Occupancy>,
}

impl Pieces {
    fn push(&mut self, mean: &Table) {
        let mut piece = Occupancy::new(self.chains, self.temperatures);
        piece.add(mean, self.length);
        self.pieces.push(piece);
    }

    fn joined(&self, range: std::ops::Range<usize>) -> Table {
        let mut all = Occupancy::new(self.chains, self.temperatures);
        self.pieces[range].iter().for_each(|piece| all.add(&piece.means(), self.length));
        all.means()
    }

    /// Six blocks to three of twice the length.
    fn halve(&mut self) {
        let pairs = (0..self.pieces.len() / 2).map(|i| self.joined(2 * i..2 * i + 2));
        let pairs: Vec<Table> = pairs.collect();
        self.length *= 2;
        self.pieces.clear();
        pairs.iter().for_each(|mean| self.push(mean));
    }
}

/// Result: the measurement of the last two thirds, and their comparison.
pub(super) struct Rest {
    pub measurement: Measurement,
    pub sweeps: usize,
    pub drift_in_errors: f64,
    pub correlation: f64,
    pub memory: f64,
}

/// Equilibrates: `run` sweeps the given number of times and returns mean occupancies C_sk, [S, K]; `measure` makes a measurement from
/// these.
pub(super) fn settle(
    settling: Settling,
    [chains, temperatures]: [usize; 2],
    mut run: impl FnMut(usize) -> Table,
    measure: impl Fn(&Table) -> Measurement,
) -> Rest {
    let length = (settling.sweeps / 3).max(1);
    let mut pieces = Pieces { chains, temperatures, length, pieces: Vec::new() };
    loop {
        for _ in 0..3 {
            pieces.push(&run(pieces.length));
        }
        let n = pieces.pieces.len();
        let [before, last] =
            [n / 3..2 * n / 3, 2 * n / 3..n].map(|third| measure(&pieces.joined(third)));
        let (drift_in_errors, correlation, memory) = compare(&before, &last);
        let sweeps = n * pieces.length;
        let settled = drift_in_errors.abs() <= DRIFT && correlation <= DECORRELATED;
        if settled || 2 * sweeps > settling.most {
            let measurement = measure(&pieces.joined(n / 3..n));
            return Rest { measurement, sweeps, drift_in_errors, correlation, memory };
        }
        if n == 6 {
            pieces.halve();
        }
    }
}

/// Drift in errors, correlation, and the variance of the remaining deviation. If deviations from equilibrium fall by the factor
/// `correlation` from third to third, the remainder of a drift d after the last third is d correlation/(1 - correlation), and half of a
/// drift beyond noise is in the mean of the two. Both have the sign of the drift, so they are added before they are squared.
fn compare(before: &Measurement, last: &Measurement) -> (f64, f64, f64) {
    let top = last.log_z.len() - 1;
    let noise = last.influence.minus(&before.influence).variance();
    let drift = last.log_z[top] - before.log_z[top];
    let correlation = last.influence.correlation(&before.influence);
    let kept = correlation.clamp(0.0, LARGEST_CORRELATION);
    let left = drift.abs() * kept / (1.0 - kept);
    let memory = (left + 0.5 * (drift * drift - noise).max(0.0).sqrt()).powi(2);
    (in_errors(drift, noise), correlation, memory)
}

pub(super) fn in_errors(difference: f64, variance: f64) -> f64 {
    if difference == 0.0 { 0.0 } else { difference / variance.sqrt() }
}

/// How much higher up the ladder (0 at its bottom, 1 at its top) one set of chains is than another, in errors; mean occupancies C_sk, [S,
/// K], of each, the other's weighted by `weights`, S w_s.
pub(super) fn higher_in_errors(visitors: &Table, own: &Table, weights: &[f64]) -> f64 {
    let heights = |occupancy: &Table| -> Vec<f64> {
        let height = |row: &[f64]| {
            row.iter().zip(0u32..).map(|(c, k)| c * f64::from(k)).sum::<f64>()
                / row.iter().sum::<f64>()
        };
        occupancy.rows().map(height).collect()
    };
    let mean_and_variance = |heights: &[f64], weights: &[f64]| {
        let n: f64 = weights.iter().sum();
        let mean = heights.iter().zip(weights).map(|(x, w)| x * w).sum::<f64>() / n;
        let parts = heights.iter().zip(weights);
        let parts = parts.map(|(x, w)| (x - mean) * w * weights.len() as f64 / n);
        (mean, Influence::new(parts.collect()).variance())
    };
    let even = vec![1.0; visitors.len()];
    let (theirs, first) = mean_and_variance(&heights(visitors), &even);
    let (ours, second) = mean_and_variance(&heights(own), weights);
    in_errors(theirs - ours, first + second)
}

/// Error of tracked log Z that the spread over chains does not show, estimated from equilibrated chains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lag {
    /// Moving mean of innovations, nats.
    #[serde(with = "crate::checkpoint::float")]
    mean: f64,
    /// Variance of that mean from noise alone.
    #[serde(with = "crate::checkpoint::float")]
    mean_variance: f64,
    /// Moving mean of squared innovations, without the mean, minus the part that noise explains; negative by chance.
    #[serde(with = "crate::checkpoint::float")]
    square: f64,
    /// The part of the variance that is in the present value.
    #[serde(with = "crate::checkpoint::float")]
    pub(super) present: f64,
}

impl Lag {
    /// Expected lag of the value before an evaluation: the moving mean, shrunk by its noise (James and Stein 1961, for one number).
    pub(super) fn expected(&self) -> f64 {
        let square = self.mean * self.mean;
        if square > self.mean_variance {
            self.mean * (1.0 - self.mean_variance / square)
        } else {
            0.0
        }
    }

    /// Updates the estimate from an innovation, equilibrated minus tracked value, and its noise; returns the variance to give to the
    /// tracked value once the expected lag is added to it.
    pub(super) fn learn(&mut self, step: f64, noise: f64) -> f64 {
        let rest = step - self.expected();
        let excess = rest * rest - noise;
        self.mean = MEMORY * self.mean + (1.0 - MEMORY) * step;
        self.mean_variance = MEMORY * MEMORY * self.mean_variance + (1.0 - MEMORY).powi(2) * noise;
        self.square = MEMORY * self.square + (1.0 - MEMORY) * excess;
        let gross = if rest * rest > GROSS * GROSS * noise { excess } else { 0.0 };
        self.square.max(gross).max(0.0)
    }

    /// Updates the estimate from an error that remains after equilibration, and its noise. Only its size counts, because it does not tell
    /// the lag that equilibration corrects.
    pub(super) fn learn_residual(&mut self, error: f64, noise: f64) {
        self.square = MEMORY * self.square + (1.0 - MEMORY) * (error * error - noise);
    }

    /// The parameters changed, so the lag returns.
    pub(super) fn moved(&mut self) {
        self.present = self.square.max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARTS: [[f64; 4]; 2] = [[1.0, -1.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0]];

    fn measurement(log_z: f64, parts: &[f64]) -> Measurement {
        Measurement {
            log_z: vec![0.0, log_z],
            variance: vec![0.0, 1.0],
            bias: Vec::new(),
            occupancy: Vec::new(),
            influence: Influence::new(parts.to_vec()),
        }
    }

    /// Runs whose log Z is a function of the number of sweeps, given by their occupancies; in `parts` the contributions of the chains to
    /// the first and the second measured third.
    fn settle_on(log_z: fn(f64) -> f64, frozen: bool) -> Rest {
        let mut done = 0;
        let run = |sweeps: usize| {
            done += sweeps;
            let value = log_z(done as f64 - 0.5 * sweeps as f64);
            Table::from_numbers(2, [value, done as f64].repeat(4))
        };
        let calls = std::cell::Cell::new(0);
        let measure = |mean: &Table| {
            calls.set(calls.get() + 1);
            measurement(mean.row(0)[0], &PARTS[if frozen { 0 } else { calls.get() % 2 }])
        };
        settle(Settling { sweeps: 6, most: 100 }, [4, 2], run, measure)
    }

    #[test]
    fn sweeps_are_doubled_until_chains_are_at_rest() {
        let rest = settle_on(|_| 5.0, false);
        assert_eq!((rest.sweeps, rest.measurement.log_z[1]), (6, 5.0));
        // Errors of a difference are .82: thirds differ by less than 2.5 of them from 48 sweeps on.
        let lagging = settle_on(|sweep| 5.0 - 30.0 * (-sweep / 8.0).exp(), false);
        assert_eq!(lagging.sweeps, 48);
        assert!((lagging.measurement.log_z[1] - 5.0).abs() < 1.5);
        let moving = settle_on(|sweep| 3.0 * sweep, false);
        assert!(
            moving.sweeps == 96 && moving.drift_in_errors > DRIFT,
            "{} {}",
            moving.sweeps,
            moving.drift_in_errors
        );
        assert!(moving.memory > 100.0, "{}", moving.memory);
        let frozen = settle_on(|_| 5.0, true);
        assert!(frozen.sweeps == 96 && frozen.correlation > 0.99);
    }

    /// The remainder of a drift and half of the drift itself are errors of one sign: a drift of d at correlation rho leaves d (rho/(1 -
    /// rho) + 1/2).
    #[test]
    fn both_parts_of_the_memory_add_up() {
        let parts = |rho: f64| [1.0, -1.0].map(|sign| [rho + sign, rho - sign]).concat();
        let (before, last) = (measurement(5.0, &parts(1.0)), measurement(8.0, &parts(0.0)));
        let (_, correlation, memory) = compare(&before, &last);
        let noise = last.influence.minus(&before.influence).variance();
        let rho = correlation.clamp(0.0, LARGEST_CORRELATION);
        let expected = 3.0 * rho / (1.0 - rho) + 0.5 * (9.0 - noise).max(0.0).sqrt();
        assert!((0.3..0.9).contains(&correlation) && noise < 4.0, "{correlation} {noise}");
        assert!((memory.sqrt() - expected).abs() < 1e-9, "{memory} {expected}");
    }

    #[test]
    fn pieces_keep_their_means() {
        let mut pieces = Pieces { chains: 1, temperatures: 2, length: 5, pieces: Vec::new() };
        (0..6).for_each(|i| pieces.push(&Table::from_numbers(2, vec![f64::from(i), 1.0])));
        let before = (pieces.joined(0..6), pieces.joined(2..4));
        pieces.halve();
        assert_eq!((pieces.length, pieces.pieces.len()), (10, 3));
        assert_eq!((pieces.joined(0..3), pieces.joined(1..2)), before);
    }

    #[test]
    fn visitors_that_stay_at_the_top_are_seen() {
        let spread = (0..40).flat_map(|i| [1.0 + f64::from(i % 4), 1.0, 2.0]).collect();
        let spread = Table::from_numbers(3, spread);
        let top = Table::from_numbers(3, [0.0, 0.0, 1.0].repeat(20));
        let even = vec![1.0; 40];
        assert!(higher_in_errors(&top, &spread, &even) > 10.0);
        assert!(higher_in_errors(&spread.between(0, 20), &spread, &even).abs() < 1e-9);
    }

    #[test]
    fn lag_is_what_noise_does_not_explain() {
        let mut lag = Lag::default();
        for i in 0..100 {
            let sign = if i % 2 == 0 { 1.0 } else { -1.0 };
            assert!(lag.learn(sign * 0.5, 0.25) < 0.05);
            assert!(lag.expected().abs() < 0.1);
        }
        assert!((lag.learn(2.0, 0.25) - 3.75).abs() < 0.5);
        // A constant lag is expected, and its remainder is no variance.
        let mut steady = Lag::default();
        (0..100).for_each(|_| {
            steady.learn(0.6, 0.01);
        });
        steady.moved();
        assert!((steady.expected() - 0.6).abs() < 0.01 && steady.present < 0.01);
        // Results of audits widen the error bar and do not change the value.
        let before = steady.expected();
        (0..100).for_each(|_| steady.learn_residual(0.5, 0.01));
        steady.moved();
        assert_eq!(steady.expected(), before);
        assert!((steady.present - 0.24).abs() < 0.01, "{}", steady.present);
    }
}
