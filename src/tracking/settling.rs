//! Measurement of log Z by chains at fixed parameters.
//!
//! While parameters change, all chains lag behind them, and the spread over chains cannot show an error that all chains share. So for an
//! evaluation a copy of the chains sweeps at fixed parameters. The first third of the sweeps is dropped, and the other two each measure log
//! Z (RTS eq. 12). If chains still lag, the thirds differ by more than their noise; if chains hardly move, the errors of the thirds are
//! equal chain by chain. In both cases twice as many sweeps are run, up to a limit. Where chains lag behind the model
//! ([`super::ChainTracker::lags`]), the first comparison is made after the sweeps of half a round trip, in which a chain at beta = 0, where it
//! forgets the earlier models, reaches beta = 1: fewer sweeps can look independent by chance. The difference between the equilibrated and the tracked value is the lag of the tracker.

use serde::{Deserialize, Serialize};

use crate::numerics::Table;
use crate::tempering::{Measurement, Occupancy};

/// Largest difference, in errors, of two values of the same log Z, or of a value and a bound above it. Beyond it one of them is wrong.
pub(super) const CONSISTENT: f64 = 3.0;
/// Correlation of the thirds over chains up to which no more sweeps are run.
const DECORRELATED: f64 = 0.3;
/// Largest correlation that is extrapolated from.
const LARGEST_CORRELATION: f64 = 0.9;

/// Number of sweeps at fixed parameters for an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settling {
    /// Sweeps; 0 for none.
    pub sweeps: usize,
    /// Most sweeps if these are not enough.
    pub most: usize,
}

impl Settling {
    /// With the first comparison after so many sweeps, if the limit allows it. Twice that number, and so on, is the limit.
    pub(super) fn for_a_crossing(self, crossing: f64) -> Self {
        let fewest = crossing.max(self.sweeps as f64);
        // As many as thirds have.
        let enough = |sweeps: &usize| (sweeps / 3 * 3) as f64 >= fewest;
        let halved = (0..usize::BITS).map(|halvings| self.most >> halvings);
        let first = halved.take_while(enough).last().unwrap_or(self.most);
        Self { sweeps: first.max(self.sweeps), ..self }
    }
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
    /// The same at the evaluation before, 0 at the first.
    #[serde(default, with = "crate::checkpoint::float")]
    pub correlation_before: f64,
    /// Fraction of the chains that went from one end of the ladder to the other.
    #[serde(default = "all", with = "crate::checkpoint::float")]
    pub crossed: f64,
    /// Equilibrated minus tracked log Z in errors: lag of the chains, and noise.
    #[serde(with = "crate::checkpoint::float")]
    pub innovation_in_errors: f64,
    /// log Z of the equilibrated chains alone.
    #[serde(with = "crate::checkpoint::float")]
    pub log_z: f64,
    /// Its standard error.
    #[serde(with = "crate::checkpoint::float")]
    pub std_error: f64,
    /// Variance from the remaining deviation of the chains at the end of the sweeps.
    #[serde(with = "crate::checkpoint::float")]
    pub memory: f64,
}

/// Of a state that does not say it.
fn all() -> f64 {
    1.0
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
        let settled = drift_in_errors.abs() <= CONSISTENT && correlation <= DECORRELATED;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::Influence;

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
            moving.sweeps == 96 && moving.drift_in_errors > CONSISTENT,
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
    fn chains_that_lag_cross_the_ladder_before_they_are_compared() {
        let first = |crossing: f64, sweeps: usize, most: usize| {
            let settling = Settling { sweeps, most }.for_a_crossing(crossing);
            assert_eq!(settling.most, most);
            settling.sweeps
        };
        assert_eq!(first(250.0, 60, 402), 402);
        assert_eq!(first(200.0, 60, 402), 201);
        assert_eq!((first(100.0, 60, 402), first(99.0, 60, 402)), (201, 100));
        assert_eq!((first(10.0, 60, 402), first(f64::INFINITY, 60, 402)), (100, 402));
        assert_eq!((first(250.0, 60, 60), first(250.0, 60, 50)), (60, 60));
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
}
