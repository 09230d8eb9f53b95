//! log Z_k of K densities from states drawn from some of them: UWHAM (Vardi 1985; Shirts and Chodera 2008; Tan et al. 2012).
//!
//! Over the densities states were drawn from, n_k each (RTS eq. 18 says maximise, but the objective is convex):
//!     minimise over zeta  (1/N) sum_i log sum_k (n_k/N) e^{-zeta_k} f_k(x_i) + sum_k (n_k/N) zeta_k
//! then Z_k = sum_i f_k(x_i)/D_i for all, D_i = sum_l n_l e^{-zeta_l} f_l(x_i). Newton, O(N K^2 + K^3) a step.
//!
//! Errors: with w_ik = n_k e^{-zeta_k} f_k(x_i)/D_i, eta_k = log n_k - zeta_k are coefficients of a logistic regression of the label k_i
//! (Geyer 1994), whose scores e_{k_i} - w_i are summed chain by chain (sandwich estimator), so that the error bar includes correlation
//! along a chain.

use std::borrow::Cow;

use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::{Accum, Mat, MatRef, Par};
use rayon::prelude::*;

use super::newton::{Local, minimise};
use crate::engine::host::math::exp_f64;
use crate::numerics::log_sum_exp;

/// Rows of one task: fixed, so that sums do not depend on threads.
const TASK: usize = 256;

/// N states and K unnormalised densities.
pub(super) struct Pooled<'a> {
    /// Number of densities, K.
    pub k: usize,
    /// log f_k(x_i), shape [N, K].
    pub log_f: Cow<'a, [f64]>,
    /// The density x_i was drawn from, shape `[N]`.
    pub generated_at: Cow<'a, [u32]>,
    /// The chain x_i is of, shape `[N]`, and the number of chains.
    pub chain: Vec<u32>,
    pub chains: usize,
}

/// log Z_k of all densities.
pub(super) struct Reweighted {
    /// log Z_k - log Z_1, shape `[K]`.
    pub log_z: Vec<f64>,
    /// Each chain's contribution to the error of log Z_K - log Z_1, shape `[S]`.
    pub influence: Vec<f64>,
    /// Whether Newton's method reached the minimum.
    pub converged: bool,
}

impl Pooled<'_> {
    /// Solves from a first guess of log Z_k; `None` without states.
    pub fn solve(&self, guess: &[f64]) -> Option<Reweighted> {
        let (k, n) = (self.k, self.generated_at.len() as f64);
        let mut counts = vec![0.0; k];
        self.generated_at.iter().for_each(|&at| counts[at as usize] += 1.0);
        let drawn: Vec<usize> = (0..k).filter(|&j| counts[j] > 0.0).collect();
        if drawn.is_empty() {
            return None;
        }
        let m = drawn.len();
        let columns = if m == k {
            Cow::Borrowed(&*self.log_f)
        } else {
            let rows = self.log_f.chunks_exact(k);
            Cow::Owned(rows.flat_map(|row| drawn.iter().map(|&j| row[j])).collect())
        };
        let share: Vec<f64> = drawn.iter().map(|&j| counts[j] / n).collect();
        let start: Vec<f64> = drawn.iter().map(|&j| guess[j] - guess[drawn[0]]).collect();
        let minimum = minimise(start, |zeta| objective(&columns, &share, zeta));
        let tilt = tilt(&share, &minimum.at);

        // Z_k = sum_i f_k(x_i)/D_i; log_sums are log(D_i/N), and N cancels from differences.
        let log_sums: Vec<f64> = columns
            .par_chunks(TASK * m)
            .flat_map_iter(|rows| weigh(rows, &tilt).log_sums)
            .collect();
        let column = |j: usize| {
            let terms = self.log_f.iter().skip(j).step_by(k).zip(&log_sums);
            terms.map(|(log_f, log_sum)| log_f - log_sum)
        };
        let raw: Vec<f64> = (0..k).map(|j| log_sum_exp(column(j))).collect();

        // Contribution of sample i to log Z_j: W_ij = f_j(x_i)/(D_i Z_j), minus the effect of its label on eta.
        let difference: Vec<f64> = column(k - 1)
            .zip(column(0))
            .map(|(last, first)| (last - raw[k - 1]).exp() - (first - raw[0]).exp())
            .collect();
        let blocks = || columns.chunks(TASK * m).zip(difference.chunks(TASK)).enumerate();
        let mut pull = vec![0.0; m];
        for (_, (rows, difference)) in blocks() {
            let weights = weigh(rows, &tilt).weights;
            for (row, difference) in weights.chunks_exact(m).zip(difference) {
                pull.iter_mut().zip(row).for_each(|(sum, w)| *sum += difference * w);
            }
        }
        let y = if m == 1 { vec![0.0] } else { minimum.solve(&pull) };
        let mut place = vec![0; k];
        drawn.iter().enumerate().for_each(|(place_of, &j)| place[j] = place_of);
        let mut influence = vec![0.0; self.chains];
        for (block, (rows, difference)) in blocks() {
            let weights = weigh(rows, &tilt).weights;
            for (r, (row, difference)) in weights.chunks_exact(m).zip(difference).enumerate() {
                let i = block * TASK + r;
                let label = y[place[self.generated_at[i] as usize]];
                let expected: f64 = row.iter().zip(&y).map(|(w, y)| w * y).sum();
                influence[self.chain[i] as usize] += difference - (label - expected) / n;
            }
        }
        let log_z = raw.iter().map(|z| z - raw[0]).collect();
        Some(Reweighted { log_z, influence, converged: minimum.converged })
    }
}

/// log(n_k/N) - zeta_k.
fn tilt(share: &[f64], zeta: &[f64]) -> Vec<f64> {
    share.iter().zip(zeta).map(|(share, zeta)| share.ln() - zeta).collect()
}

struct Weights {
    /// log sum_k e^{tilt_k} f_k(x_i), shape `[N]`.
    log_sums: Vec<f64>,
    /// w_ik, shape [N, K].
    weights: Vec<f64>,
}

fn weigh(log_f: &[f64], tilt: &[f64]) -> Weights {
    let k = tilt.len();
    let mut weights = log_f.to_vec();
    let log_sums = (weights.chunks_exact_mut(k))
        .map(|row| {
            row.iter_mut().zip(tilt).for_each(|(w, tilt)| *w += tilt);
            let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            row.iter_mut().for_each(|w| *w = exp_f64(*w - largest));
            let total: f64 = row.iter().sum();
            row.iter_mut().for_each(|w| *w /= total);
            largest + total.ln()
        })
        .collect();
    Weights { log_sums, weights }
}

/// The objective, its gradient n_k/N - mean w_k, and its Hessian mean (diag w - w w').
fn objective(log_f: &[f64], share: &[f64], zeta: &[f64]) -> Local {
    let k = share.len();
    let tilt = tilt(share, zeta);
    let tasks: Vec<(f64, Vec<f64>, Mat<f64>)> = log_f
        .par_chunks(TASK * k)
        .map(|rows| {
            let Weights { log_sums, weights } = weigh(rows, &tilt);
            let mut sums = vec![0.0; k];
            for row in weights.chunks_exact(k) {
                sums.iter_mut().zip(row).for_each(|(sum, w)| *sum += w);
            }
            let w = MatRef::from_row_major_slice(&weights, log_sums.len(), k);
            let mut gram = Mat::zeros(k, k);
            let (lower, full) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
            let replace = Accum::Replace;
            matmul(&mut gram, lower, replace, w.transpose(), full, w, full, 1.0, Par::Seq);
            (log_sums.iter().sum(), sums, gram)
        })
        .collect();
    let n = (log_f.len() / k) as f64;
    let mut value = 0.0;
    let mut sums = vec![0.0; k];
    let mut hessian = Mat::zeros(k, k);
    for (log_sum, part, gram) in tasks {
        value += log_sum / n;
        sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += part / n);
        hessian -= gram;
    }
    hessian /= faer::Scale(n);
    (0..k).for_each(|j| hessian[(j, j)] += sums[j]);
    value += share.iter().zip(zeta).map(|(share, zeta)| share * zeta).sum::<f64>();
    let gradient = share.iter().zip(&sums).map(|(share, sum)| share - sum).collect();
    Local { value, gradient, hessian }
}

#[cfg(test)]
mod tests {
    use super::super::errors::between_chains;
    use super::*;
    use crate::engine::random::{Purpose, Streams};

    /// Independent samples of N(0, 1) and e N(3, 1), every sample a chain of its own: the mean square of the error bars against
    /// that of the errors, whose relative standard deviation is .07. Tried: influence without the labels' part.
    #[test]
    fn the_error_bar_is_the_spread_of_repeated_samples() {
        const SAMPLES: usize = 100;
        let (mut errors, mut claimed) = (0.0, 0.0);
        for seed in 0..400 {
            let mut stream = Streams::new(seed, Purpose::TestSystem, 0).row(0);
            let x: Vec<f64> = (0..2 * SAMPLES)
                .map(|i| stream.normal() + if i < SAMPLES { 0.0 } else { 3.0 })
                .collect();
            let log_f = |x: &f64| [-0.5 * x * x, 1.0 - 0.5 * (x - 3.0).powi(2)];
            let pooled = Pooled {
                k: 2,
                log_f: x.iter().flat_map(log_f).collect(),
                generated_at: (0..2 * SAMPLES).map(|i| u32::from(i >= SAMPLES)).collect(),
                chain: (0..2 * SAMPLES as u32).collect(),
                chains: 2 * SAMPLES,
            };
            let found = pooled.solve(&[0.0, 0.0]).unwrap();
            assert!(found.converged);
            errors += (found.log_z[1] - 1.0).powi(2);
            claimed += between_chains(&found.influence).powi(2);
        }
        let ratio = claimed / errors;
        println!("claimed over true variance: {ratio:.2}");
        assert!((0.72..1.28).contains(&ratio), "{ratio}");
    }
}
