//! One annealing pass up a ladder: importance weights at every temperature (Neal 2001).
//!
//! v ~ p1; for k = 2..K: log w += log f_k(v) - log f_{k-1}(v) at the current v, then a sweep at k. (SCHEDULES Alg. 1 draws
//! the start inside the loop, which would be a different and useless algorithm.)

use rayon::prelude::*;

use super::path::{log_f, rows_per_task};
use super::{Path, log_sum_exp};
use crate::ops::random::{Purpose, Streams};
use crate::ops::{BetaGrid, BitMatrix, Draw, Layer, Matrix, padded, words_per_row};

/// Chains after an annealing pass.
#[derive(Clone, Debug)]
pub struct Annealed {
    /// Final states at beta = 1, shape [S, M].
    pub visible: BitMatrix,
    /// log w at every temperature, shape [S, K].
    pub log_weights: Vec<f64>,
    temperatures: usize,
}

/// Anneals `chains` independent chains; random streams are those of (seed, annealing, `first_step` + k).
pub fn anneal(path: Path<'_>, chains: usize, seed: u64, first_step: u64) -> Annealed {
    let k = path.ladder.len();
    let mut visible = path.base.sample(chains, seed, first_step);
    let mut log_weights = vec![0.0; chains * k];
    let task = rows_per_task(chains);
    visible
        .words_mut()
        .par_chunks_mut(task * words_per_row(path.n_visible()))
        .zip(log_weights.par_chunks_mut(task * k))
        .enumerate()
        .for_each(|(i, (visible, weights))| {
            run(path, visible, weights, (i * task) as u32, seed, first_step);
        });
    Annealed { visible, log_weights, temperatures: k }
}

fn run(
    path: Path<'_>,
    visible: &mut [u64],
    weights: &mut [f64],
    first_row: u32,
    seed: u64,
    first_step: u64,
) {
    let Path { ops, ladder, base } = path;
    let (k, betas) = (ladder.len(), ladder.betas());
    let (n_visible, n_hidden) = (path.n_visible(), path.n_hidden());
    let rows = weights.len() / k;
    let mut inputs = Matrix::filled(rows, n_hidden, 0.0);
    let mut visible_inputs = Matrix::filled(rows, n_visible, 0.0);
    let mut hidden = BitMatrix::zeros(rows, n_hidden);
    let mut pair = vec![0.0; rows * 2];
    debug_assert_eq!(inputs.stride(), padded(n_hidden));
    for j in 1..k {
        ops.inputs(Layer::Hidden, visible, inputs.as_mut_slice());
        let grid = BetaGrid::new(&betas[j - 1..=j]);
        log_f(ops, base, &grid, visible, inputs.as_slice(), &mut pair);
        for (row, pair) in weights.chunks_exact_mut(k).zip(pair.chunks_exact(2)) {
            row[j] = row[j - 1] + pair[1] - pair[0];
        }
        let beta = vec![betas[j] as f32; rows];
        let step = first_step + j as u64;
        let draws = Streams::new(seed, Purpose::AnnealedHidden, step);
        ops.draw(
            &Draw {
                n_units: n_hidden,
                inputs: inputs.as_slice(),
                beta: &beta,
                base: None,
                streams: draws,
                first_row,
            },
            hidden.words_mut(),
        );
        ops.inputs(Layer::Visible, hidden.words(), visible_inputs.as_mut_slice());
        let draws = Streams::new(seed, Purpose::AnnealedVisible, step);
        let base = Some(base.padded_logits());
        let x = visible_inputs.as_slice();
        ops.draw(
            &Draw { n_units: n_visible, inputs: x, beta: &beta, base, streams: draws, first_row },
            visible,
        );
    }
}

impl Annealed {
    /// log mean w at temperature k: the estimate of log Z_k - log Z_1, biased low.
    pub fn log_mean_weight(&self, k: usize) -> f64 {
        let chains = self.log_weights.len() / self.temperatures;
        log_sum_exp(self.column(k)) - (chains as f64).ln()
    }

    /// Standard error of [`Annealed::log_mean_weight`], sqrt(var w/S)/mean w, and effective sample size
    /// (sum w)^2/sum w^2.
    pub fn std_error_and_sample_size(&self, k: usize) -> (f64, f64) {
        let largest = self.column(k).fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = self.column(k).map(|w| (w - largest).exp()).collect();
        let n = weights.len() as f64;
        let mean = weights.iter().sum::<f64>() / n;
        let variance = weights.iter().map(|w| (w - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        let square = weights.iter().map(|w| w * w).sum::<f64>();
        ((variance / n).sqrt() / mean, (n * mean).powi(2) / square)
    }

    fn column(&self, k: usize) -> impl Iterator<Item = f64> + Clone {
        self.log_weights.iter().skip(k).step_by(self.temperatures).copied()
    }
}
