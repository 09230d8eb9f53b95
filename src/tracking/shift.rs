//! How far log Z_k moves between two sets of parameters, from samples of one of them.
//!
//! With weights q_ik: D_k = log sum_i q_ik f_k(v_i; to)/f_k(v_i; from) - log sum_i q_ik (importance sampling).
//! Samples of `from` give log Z_k(to) - log Z_k(from) (algorithms.md, section 3, steps 1 and 3).

use crate::ops::cpu::math::exp_f64;

/// Estimated shifts and their variances, both `[K]`.
#[derive(Clone, Debug)]
pub struct Shift {
    /// D_k.
    pub log_ratio: Vec<f64>,
    /// Var(D_k), chains taken as independent.
    pub variance: Vec<f64>,
    /// Each chain's part of the error of D_K (the last temperature), shape `[S]`; mean zero.
    pub influence: Vec<f64>,
}

/// `posterior`, `log_f_from`, `log_f_to`: [S, K], row-major.
pub fn shift(posterior: &[f64], log_f_from: &[f64], log_f_to: &[f64], k: usize) -> Shift {
    let chains = posterior.len() / k;
    let mut moved = vec![0.0; posterior.len()];
    for (((moved, q), from), to) in moved.iter_mut().zip(posterior).zip(log_f_from).zip(log_f_to) {
        *moved = q * exp_f64(to - from);
    }
    let sum_moved = column_sums(&moved, k);
    let sum_stayed = column_sums(posterior, k);
    // Differences of relative weights have mean zero over chains, so their variance is their mean square.
    let mut variance = vec![0.0; k];
    let mut influence = Vec::with_capacity(chains);
    let n = chains as f64;
    for (u, q) in moved.chunks_exact(k).zip(posterior.chunks_exact(k)) {
        let mut part = 0.0;
        for j in 0..k {
            part = u[j] * n / sum_moved[j] - q[j] * n / sum_stayed[j];
            variance[j] += part * part;
        }
        influence.push(part);
    }
    variance.iter_mut().for_each(|v| *v /= n * (n - 1.0).max(1.0));
    let log_ratio = sum_moved.iter().zip(&sum_stayed).map(|(u, q)| (u / q).ln()).collect();
    Shift { log_ratio, variance, influence }
}

fn column_sums(rows: &[f64], k: usize) -> Vec<f64> {
    let mut sums = vec![0.0; k];
    for row in rows.chunks_exact(k) {
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    }
    sums
}
