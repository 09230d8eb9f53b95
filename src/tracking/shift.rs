//! Shift of log Z_k between two sets of parameters, from samples of one of them.
//!
//! With weights q_ik: D_k = log sum_i q_ik f_k(v_i; to)/f_k(v_i; from) - log sum_i q_ik (importance sampling).
//! Samples of `from` give log Z_k(to) - log Z_k(from) (algorithms.md, section 3, steps 1 and 3).

use rayon::prelude::*;

use crate::engine::host::reweigh;
use crate::engine::rows_per_task;
use crate::numerics::{Influence, Table, pairs};

/// Estimated shifts and their variances, both `[K]`.
#[derive(Clone, Debug)]
pub struct Shift {
    /// D_k.
    pub log_ratio: Vec<f64>,
    /// Var(D_k), chains taken as independent.
    pub variance: Vec<f64>,
    /// Contribution of each chain to the error of D_K (the last temperature).
    pub influence: Influence,
}

/// `posterior`, `log_f_from`, `log_f_to`: [S, K]. Uses all threads; the result does not depend on their number.
pub fn shift(posterior: &Table, log_f_from: &Table, log_f_to: &Table) -> Shift {
    let (chains, k) = (posterior.len(), posterior.columns());
    let task = k * rows_per_task(chains);
    let mut moved = Table::zeros(chains, k);
    let tasks = (
        moved.as_mut_slice().par_chunks_mut(task),
        posterior.as_slice().par_chunks(task),
        log_f_from.as_slice().par_chunks(task),
        log_f_to.as_slice().par_chunks(task),
    );
    let sums = tasks.into_par_iter().map(|(moved, q, from, to)| {
        reweigh(q, from, to, moved);
        [column_sums(moved, k), column_sums(q, k)]
    });
    let [mut sum_moved, mut sum_stayed] = [vec![0.0; k], vec![0.0; k]];
    for [moved, stayed] in sums.collect::<Vec<_>>() {
        add(&mut sum_moved, &moved);
        add(&mut sum_stayed, &stayed);
    }
    // Differences of relative weights have mean zero over chains, so their variance is their mean square.
    let relative = |sums: &[f64]| sums.iter().map(|sum| chains as f64 / sum).collect::<Vec<f64>>();
    let (scale_moved, scale_stayed) = (relative(&sum_moved), relative(&sum_stayed));
    let mut influence = Influence::none(chains);
    let tasks = (
        influence.parts_mut().par_chunks_mut(task / k),
        moved.as_slice().par_chunks(task),
        posterior.as_slice().par_chunks(task),
    );
    let squares = tasks.into_par_iter().map(|(influence, moved, q)| {
        let mut squares = vec![0.0; k];
        let rows = moved.chunks_exact(k).zip(q.chunks_exact(k));
        for (last, (u, q)) in influence.iter_mut().zip(rows) {
            for j in 0..k {
                squares[j] += (u[j] * scale_moved[j] - q[j] * scale_stayed[j]).powi(2);
            }
            *last = u[k - 1] * scale_moved[k - 1] - q[k - 1] * scale_stayed[k - 1];
        }
        squares
    });
    let mut variance = vec![0.0; k];
    squares.collect::<Vec<_>>().iter().for_each(|squares| add(&mut variance, squares));
    variance.iter_mut().for_each(|v| *v /= pairs(chains));
    let log_ratio = sum_moved.iter().zip(&sum_stayed).map(|(u, q)| (u / q).ln()).collect();
    Shift { log_ratio, variance, influence }
}

fn column_sums(rows: &[f64], k: usize) -> Vec<f64> {
    let mut sums = vec![0.0; k];
    rows.chunks_exact(k).for_each(|row| add(&mut sums, row));
    sums
}

fn add(sums: &mut [f64], values: &[f64]) {
    sums.iter_mut().zip(values).for_each(|(sum, x)| *sum += x);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::random::{Purpose, Streams};

    const K: usize = 3;

    fn table(rows: usize, seed: u64, value: impl Fn(f64) -> f64) -> Table {
        let mut stream = Streams::new(seed, Purpose::TestSystem, 0).row(0);
        Table::from_numbers(K, (0..rows * K).map(|_| value(stream.uniform())).collect())
    }

    /// By the definition, and the variance by leaving each chain out in turn (jackknife, equal to first order): with 400 chains the
    /// two agree to a few hundredths.
    #[test]
    fn shifts_and_errors_are_those_of_the_definition() {
        let n = 400;
        let q = table(n, 1, |u| 0.2 + u);
        let (from, to) = (table(n, 2, |u| 5.0 * u), table(n, 3, |u| u));
        let to = Table::from_numbers(
            K,
            from.as_slice().iter().zip(to.as_slice()).map(|(f, d)| f + d).collect(),
        );
        let found = shift(&q, &from, &to);
        for k in 0..K {
            let without = |left_out: usize| {
                let rows = (0..n).filter(|&i| i != left_out);
                let sum = |weight: &dyn Fn(usize) -> f64| rows.clone().map(weight).sum::<f64>();
                let moved = sum(&|i| q.row(i)[k] * (to.row(i)[k] - from.row(i)[k]).exp());
                (moved / sum(&|i| q.row(i)[k])).ln()
            };
            let whole = without(n);
            assert!((found.log_ratio[k] - whole).abs() < 1e-12);
            let jackknife: f64 = (0..n).map(|i| (without(i) - whole).powi(2)).sum();
            assert!((jackknife / found.variance[k] - 1.0).abs() < 0.05);
        }
        assert!((found.influence.variance() / found.variance[K - 1] - 1.0).abs() < 1e-12);
    }

    #[test]
    fn constants_and_doubled_chains_do_what_they_must() {
        let n = 60;
        let (q, from) = (table(n, 4, |u| 0.1 + u), table(n, 5, |u| 3.0 * u));
        let to = table(n, 6, |u| 3.0 * u);
        let found = shift(&q, &from, &to);
        // Every log f is higher by 2, and so is every log Z.
        let higher = Table::from_numbers(K, to.as_slice().iter().map(|f| f + 2.0).collect());
        let twice = |table: &Table| {
            let mut twice = table.clone();
            twice.extend(table);
            twice
        };
        let doubled = shift(&twice(&q), &twice(&from), &twice(&to));
        let moved = shift(&q, &from, &higher);
        let ratio = (n as f64 - 1.0) / (2.0 * n as f64 - 1.0);
        for k in 0..K {
            assert!((moved.log_ratio[k] - found.log_ratio[k] - 2.0).abs() < 1e-12);
            assert!((moved.variance[k] / found.variance[k] - 1.0).abs() < 1e-9);
            assert!((doubled.log_ratio[k] - found.log_ratio[k]).abs() < 1e-12);
            assert!((doubled.variance[k] / found.variance[k] - ratio).abs() < 1e-9);
        }
    }
}
