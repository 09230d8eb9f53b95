//! How far log Z_k moves between two sets of parameters, from samples of one of them.
//!
//! With weights q_ik: D_k = log sum_i q_ik f_k(v_i; to)/f_k(v_i; from) - log sum_i q_ik (importance sampling).
//! Samples of `from` give log Z_k(to) - log Z_k(from) (algorithms.md, section 3, steps 1 and 3).

use rayon::prelude::*;

use crate::numerics::{Influence, Table, pairs};
use crate::ops::cpu::reweigh;
use crate::tempering::rows_per_task;

/// Estimated shifts and their variances, both `[K]`.
#[derive(Clone, Debug)]
pub struct Shift {
    /// D_k.
    pub log_ratio: Vec<f64>,
    /// Var(D_k), chains taken as independent.
    pub variance: Vec<f64>,
    /// Each chain's part of the error of D_K (the last temperature).
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
