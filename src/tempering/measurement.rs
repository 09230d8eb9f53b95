//! Rao-Blackwellized tempered sampling: log Z_k from the occupancy of the temperatures.
//!
//! y_k = zeta_k + log(c_k/r_k) - log(c_1/r_1) (RTS eq. 12), valid for any pseudo-prior zeta the chains used.
//! Standard errors come from per-chain means (eq. 16 with parallel chains), never from autocorrelations.

use super::{Ladder, PseudoPrior};
use crate::numerics::{Influence, Table, pairs};

/// Occupancies of S chains, summed over any number of blocks of sweeps with the same pseudo-prior.
#[derive(Clone, Debug)]
pub struct Occupancy {
    /// sum over sweeps of q(k|v), shape [S, K].
    sums: Table,
    sweeps: usize,
}

/// A measurement of log Z_k at every temperature.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// y_k, shape `[K]`; y_1 is exact.
    pub log_z: Vec<f64>,
    /// Var(y_k), shape `[K]`.
    pub variance: Vec<f64>,
    /// First-order bias of y_k (eq. 15), shape `[K]`; not subtracted.
    pub bias: Vec<f64>,
    /// c_k, shape `[K]`.
    pub occupancy: Vec<f64>,
    /// G_sK: contribution of each chain to the error at the last temperature, beta = 1 (see [`parts`]).
    pub influence: Influence,
}

impl Occupancy {
    /// Empty sums.
    pub fn new(chains: usize, temperatures: usize) -> Self {
        Self { sums: Table::zeros(chains, temperatures), sweeps: 0 }
    }

    /// Adds mean occupancies C_sk, [S, K], of `sweeps` sweeps.
    pub fn add(&mut self, mean: &Table, sweeps: usize) {
        self.sums.add(sweeps as f64, mean);
        self.sweeps += sweeps;
    }

    /// C_sk over all sweeps so far, shape [S, K].
    pub fn means(&self) -> Table {
        let scale = 1.0 / self.sweeps.max(1) as f64;
        let means = self.sums.as_slice().iter().map(|sum| sum * scale).collect();
        Table::from_numbers(self.sums.columns(), means)
    }

    /// The measurement, given the pseudo-prior the chains used; `zeta[0]` must be log Z_1.
    pub fn measure(&self, ladder: &Ladder, zeta: &[f64]) -> Measurement {
        PseudoPrior::new(ladder, zeta).measure(&self.means())
    }
}

impl PseudoPrior<'_> {
    /// The measurement from mean occupancies C_sk, [S, K], of chains that used this pseudo-prior.
    pub fn measure(&self, means: &Table) -> Measurement {
        let (k, s) = (means.columns(), means.len() as f64);
        let mut occupancy = vec![0.0; k];
        for row in means.rows() {
            occupancy.iter_mut().zip(row).for_each(|(c, x)| *c += x / s);
        }
        let log_ratio: Vec<f64> =
            occupancy.iter().zip(self.log_r).map(|(c, log_r)| c.ln() - log_r).collect();
        let shifted = self.zeta.iter().zip(&log_ratio);
        let log_z = shifted.map(|(zeta, ratio)| zeta + ratio - log_ratio[0]).collect();
        let inverse: Vec<f64> = occupancy.iter().map(|c| 1.0 / c).collect();
        let mut variance = vec![0.0; k];
        let mut squares = vec![0.0; k];
        for row in means.rows() {
            let first = row[0] * inverse[0];
            for j in 0..k {
                let relative = row[j] * inverse[j];
                variance[j] += (relative - first).powi(2);
                squares[j] += (relative - 1.0).powi(2);
            }
        }
        // The contributions have mean zero by construction.
        let scale = 1.0 / pairs(means.len());
        variance.iter_mut().chain(&mut squares).for_each(|v| *v *= scale);
        let bias = squares.iter().map(|square| 0.5 * (squares[0] - square)).collect();
        let influence = Influence::new(parts(means, &occupancy, k - 1).collect());
        Measurement { log_z, variance, bias, occupancy, influence }
    }
}

/// G_sj = C_sj/c_j - C_s1/c_1: contribution of each chain to the error at temperature j, from mean occupancies C_sk [S, K] and their mean
/// c_k over chains.
pub fn parts(means: &Table, occupancy: &[f64], j: usize) -> impl Iterator<Item = f64> {
    let (own, first) = (occupancy[j], occupancy[0]);
    means.rows().map(move |row| row[j] / own - row[0] / first)
}

impl Measurement {
    /// max_k |log(c_k/r_k)|: how far the pseudo-prior is from the truth.
    pub fn occupancy_error(&self, ladder: &Ladder) -> f64 {
        self.occupancy
            .iter()
            .zip(ladder.log_prior())
            .map(|(c, log_r)| (c.ln() - log_r).abs())
            .fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::random::{Purpose, Streams};
    use crate::tempering::Prior;

    /// A constant added to zeta is added to all of y; the order of the chains does not matter; if every chain is counted twice, y is the
    /// same and its variance (S - 1)/(2S - 1) times as large.
    #[test]
    fn measurements_know_no_constant_no_order_and_no_copies() {
        let (s, k) = (30, 6);
        let ladder = Ladder::linear(k, &Prior::Exponential(1.0)).unwrap();
        let mut stream = Streams::new(3, Purpose::TestSystem, 0).row(0);
        let rows: Vec<Vec<f64>> =
            (0..s).map(|_| (0..k).map(|_| 0.1 + stream.uniform()).collect()).collect();
        let table = |rows: &[Vec<f64>]| Table::from_numbers(k, rows.concat());
        let zeta: Vec<f64> = (0..k).map(|_| 10.0 * stream.uniform()).collect();
        let higher: Vec<f64> = zeta.iter().map(|zeta| zeta + 7.0).collect();
        let measure = |zeta: &[f64], rows| PseudoPrior::new(&ladder, zeta).measure(&table(rows));
        let found = measure(&zeta, &rows);
        let reversed: Vec<Vec<f64>> = rows.iter().rev().cloned().collect();
        let ratio = (s as f64 - 1.0) / (2.0 * s as f64 - 1.0);
        let cases = [
            (measure(&higher, &rows), 7.0, 1.0),
            (measure(&zeta, &reversed), 0.0, 1.0),
            (measure(&zeta, &[rows.clone(), rows.clone()].concat()), 0.0, ratio),
        ];
        for (other, constant, ratio) in cases {
            for j in 0..k {
                assert!((other.log_z[j] - found.log_z[j] - constant).abs() < 1e-12);
                assert!((other.variance[j] - ratio * found.variance[j]).abs() < 1e-12);
            }
            let variance = other.influence.variance();
            assert!((variance / other.variance[k - 1] - 1.0).abs() < 1e-9);
        }
    }
}
