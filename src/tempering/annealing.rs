//! Annealing passes up and down a path of densities: importance weights (Neal 2001).
//!
//! Up: v ~ p1; for k = 2..K: log w += log f_k(v) - log f_{k-1}(v) at the current v, then a sweep at k; E[w] = Z_K/Z_1.
//! (SCHEDULES Alg. 1 draws the start inside the loop, which would be a different and useless algorithm.)
//! Down: from given v; for k = K..2: a sweep at k, then log w += log f_{k-1}(v) - log f_k(v); with v ~ p_K, E[w] = Z_1/Z_K.
//! Both hold because a sweep (h | v, then v | h) leaves f_k(v) invariant and is its own reversal.
//!
//! Cost: one sweep and one evaluation of two log f a step and chain.

use rayon::prelude::*;

use super::path::rows_per_thread;
use super::{Ladder, MeanWeight};
use crate::interrupt;
use crate::ops::random::{Purpose, Streams};
use crate::ops::{BitMatrix, words_per_row};
use crate::progress;

/// Unnormalised densities f_1, ..., f_K of v, the first normalised exactly, each with a sweep that leaves it invariant.
pub trait AnnealingPath: Sync {
    /// beta_k.
    fn ladder(&self) -> &Ladder;

    /// Number of visible units, M.
    fn n_visible(&self) -> usize;

    /// Independent exact samples of p1(v), one per row.
    fn sample_base(&self, rows: usize, seed: u64, step: u64) -> BitMatrix;

    /// log Z_1.
    fn log_z_base(&self) -> f64;

    /// Takes charge of packed rows of states; their random streams are those of rows `first_row` and on.
    fn walker<'a>(&'a self, visible: &'a mut [u64], first_row: u32) -> Box<dyn Walker + 'a>;
}

/// Some chains on their way along a path.
pub trait Walker {
    /// log f_to(v) - log f_from(v) of each row, in nats.
    fn log_ratio(&mut self, from: usize, to: usize, out: &mut [f64]);

    /// One sweep h | v, v | h at index `k`.
    fn sweep(&mut self, k: usize, hidden: Streams, visible: Streams);
}

/// Which log weights an annealing pass hands back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Those at every temperature.
    All,
    /// Those at the last one, for long ladders.
    Last,
}

/// Chains after an annealing pass up.
#[derive(Clone, Debug)]
pub struct Annealed {
    /// Final states at beta = 1, shape [S, M].
    pub visible: BitMatrix,
    /// log w at the temperatures kept, shape [S, K] or [S, 1].
    pub log_weights: Vec<f64>,
    kept: usize,
}

/// Anneals `chains` independent chains upwards; random streams are those of (seed, annealing, `first_step` + k).
pub fn anneal(
    path: &dyn AnnealingPath,
    chains: usize,
    seed: u64,
    first_step: u64,
    keep: Keep,
) -> Annealed {
    let k = path.ladder().len();
    let kept = if keep == Keep::All { k } else { 1 };
    let mut visible = path.sample_base(chains, seed, first_step);
    let mut log_weights = vec![0.0; chains * kept];
    each_task(&mut visible, &mut log_weights, kept, |rows, weights, first_row| {
        let mut walker = path.walker(rows, first_row);
        let mut sums = vec![0.0; weights.len() / kept];
        let mut ratio = sums.clone();
        for j in 1..k {
            interrupt::point();
            if first_row == 0 {
                progress::at("annealing up", j, k - 1);
            }
            walker.log_ratio(j - 1, j, &mut ratio);
            for ((sum, ratio), row) in sums.iter_mut().zip(&ratio).zip(weights.chunks_mut(kept)) {
                *sum += ratio;
                row[if keep == Keep::All { j } else { 0 }] = *sum;
            }
            let streams = |purpose| Streams::new(seed, purpose, first_step + j as u64);
            walker.sweep(j, streams(Purpose::AnnealedHidden), streams(Purpose::AnnealedVisible));
        }
    });
    Annealed { visible, log_weights, kept }
}

/// Anneals chains downwards from given states, shape [S, M]; returns log w, shape `[S]`.
pub fn descend(path: &dyn AnnealingPath, start: &BitMatrix, seed: u64) -> Vec<f64> {
    let mut visible = start.clone();
    let mut log_weights = vec![0.0; start.rows()];
    each_task(&mut visible, &mut log_weights, 1, |rows, weights, first_row| {
        let mut walker = path.walker(rows, first_row);
        let mut ratio = vec![0.0; weights.len()];
        let k = path.ladder().len();
        for j in (1..k).rev() {
            interrupt::point();
            if first_row == 0 {
                progress::at("annealing down", k - j, k - 1);
            }
            let streams = |purpose| Streams::new(seed, purpose, j as u64);
            walker.sweep(
                j,
                streams(Purpose::DescendingHidden),
                streams(Purpose::DescendingVisible),
            );
            walker.log_ratio(j, j - 1, &mut ratio);
            weights.iter_mut().zip(&ratio).for_each(|(weight, ratio)| *weight += ratio);
        }
    });
    log_weights
}

/// Rows of chains and of `width` numbers each, cut into tasks of a fixed size and worked on in parallel.
fn each_task(
    visible: &mut BitMatrix,
    numbers: &mut [f64],
    width: usize,
    work: impl Fn(&mut [u64], &mut [f64], u32) + Sync,
) {
    let task = rows_per_thread(visible.rows());
    let words = words_per_row(visible.columns());
    visible
        .words_mut()
        .par_chunks_mut(task * words)
        .zip(numbers.par_chunks_mut(task * width))
        .enumerate()
        .for_each(|(i, (visible, numbers))| work(visible, numbers, (i * task) as u32));
}

impl Annealed {
    /// The weights at the `k`-th temperature kept.
    pub fn mean_weight(&self, k: usize) -> MeanWeight {
        MeanWeight::of(self.log_weights.iter().skip(k).step_by(self.kept).copied())
    }

    /// The weights at beta = 1.
    pub fn final_weights(&self) -> impl Iterator<Item = f64> + Clone {
        self.log_weights.iter().skip(self.kept - 1).step_by(self.kept).copied()
    }
}
