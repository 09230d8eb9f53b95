//! Annealing passes up and down a path of densities: importance weights (Neal 2001).
//!
//! Up: v ~ p1; for k = 2..K: log w += log f_k(v) - log f_{k-1}(v) at the current v, then a sweep at k; E[w] = Z_K/Z_1.
//! (SCHEDULES Alg. 1 draws the start inside the loop, which would be a different and useless algorithm.)
//! Down: from given v; for k = K..2: a sweep at k, then log w += log f_{k-1}(v) - log f_k(v); with v ~ p_K, E[w] = Z_1/Z_K.
//! Both hold because a sweep (h | v, then v | h) leaves f_k(v) invariant and is its own reversal.
//!
//! Cost: one sweep and one evaluation of two log f a step and chain.

use rayon::prelude::*;

use super::MeanWeight;
use super::path::TemperedPath;
use crate::context::Parts;
use crate::engine::{
    BitMatrix, Matrix, States, SweepStreams, Walker, rows_per_task, rows_per_thread,
};
use crate::numerics::Table;

/// Which log weights an annealing pass returns.
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
    /// log w at the kept temperatures, shape [S, K] or [S, 1].
    pub log_weights: Table,
}

/// Anneals `chains` independent chains upwards; random streams are those of (seed, annealing, `first_step` + k).
pub fn anneal(
    path: &dyn TemperedPath,
    chains: usize,
    seed: u64,
    first_step: u64,
    keep: Keep,
) -> Annealed {
    anneal_from(path, path.sample_base(chains, seed, first_step), seed, first_step, keep)
}

/// The same from samples of the base, shape [S, M].
pub(crate) fn anneal_from(
    path: &dyn TemperedPath,
    mut visible: BitMatrix,
    seed: u64,
    first_step: u64,
    keep: Keep,
) -> Annealed {
    let k = path.ladder().len();
    let mut log_weights = Table::zeros(visible.rows(), if keep == Keep::All { k } else { 1 });
    let kept = log_weights.columns();
    each_task(path, &mut visible, &mut log_weights, |walker, weights, first| {
        let rows = weights.len() / kept;
        let (mut sums, mut ratio) = (vec![0.0; rows], Ratio::new(rows));
        for j in 1..k {
            if path.context().is_interrupted() {
                return;
            }
            if first {
                path.context().progress().at("annealing up", j, k - 1);
            }
            let ratios = ratio.of(walker, j - 1, j).zip(weights.chunks_mut(kept));
            for (sum, (ratio, row)) in sums.iter_mut().zip(ratios) {
                *sum += ratio;
                row[if keep == Keep::All { j } else { 0 }] = *sum;
            }
            let at = vec![j as u32; rows];
            walker.sweep(&at, &SweepStreams::ascending(seed, first_step + j as u64));
        }
    });
    Annealed { visible, log_weights }
}

/// Anneals chains downwards from given states, shape [S, M]; returns log w, shape `[S]`.
pub fn descend(path: &dyn TemperedPath, start: &BitMatrix, seed: u64) -> Vec<f64> {
    let mut visible = start.clone();
    let mut log_weights = Table::zeros(start.rows(), 1);
    each_task(path, &mut visible, &mut log_weights, |walker, weights, first| {
        let mut ratio = Ratio::new(weights.len());
        let k = path.ladder().len();
        for j in (1..k).rev() {
            if path.context().is_interrupted() {
                return;
            }
            if first {
                path.context().progress().at("annealing down", k - j, k - 1);
            }
            let at = vec![j as u32; weights.len()];
            walker.sweep(&at, &SweepStreams::descending(seed, j as u64));
            let ratios = ratio.of(walker, j - 1, j);
            weights.iter_mut().zip(ratios).for_each(|(weight, ratio)| *weight -= ratio);
        }
    });
    log_weights.as_slice().to_vec()
}

/// Space for log f_high(v) - log f_low(v) of some rows.
struct Ratio(Vec<f64>);

impl Ratio {
    fn new(rows: usize) -> Self {
        Self(vec![0.0; 2 * rows])
    }

    fn of(
        &mut self,
        walker: &mut dyn Walker,
        low: usize,
        high: usize,
    ) -> impl Iterator<Item = f64> {
        walker.log_f(&[low, high], &mut self.0);
        self.0.chunks_exact(2).map(|pair| pair[1] - pair[0])
    }
}

/// Rows of chains and of numbers, cut into tasks of a fixed size and processed in parallel; `work` gets the index of the first task of a
/// rank.
fn each_task(
    path: &dyn TemperedPath,
    visible: &mut BitMatrix,
    numbers: &mut Table,
    work: impl Fn(&mut dyn Walker, &mut [f64], bool) + Sync,
) {
    let task = path.rows_of_walker(visible.rows(), rows_per_thread(visible.rows()));
    let width = numbers.columns();
    let words = visible.words_per_row();
    let parts = Parts::new(path.context(), visible.rows(), rows_per_task(visible.rows()));
    let first = parts.own().start;
    let rows = parts.of(visible.words_mut(), words).par_chunks_mut(task * words);
    let rows = rows.zip(parts.of(numbers.as_mut_slice(), width).par_chunks_mut(task * width));
    parts.share(|| {
        rows.enumerate().for_each(|(i, (visible, numbers))| {
            let mut cached = Matrix::filled(numbers.len() / width, path.cached(), 0.0);
            let cached = cached.as_mut_slice();
            let first_row = (first + i * task) as u32;
            let states = States { visible, cached, first_row, known: false };
            let mut walker = path.walker(states);
            work(&mut *walker, numbers, i == 0);
            walker.store();
        });
    });
    let states = parts.rows(visible.words_mut(), words);
    parts.gather([states, parts.rows(numbers.as_mut_slice(), width)]);
}

impl Annealed {
    /// The weights at the `k`-th kept temperature.
    pub fn mean_weight(&self, k: usize) -> MeanWeight {
        MeanWeight::of(self.log_weights.column(k))
    }

    /// Of a pass that kept all weights, those of the chains before step `j`, relative to the largest, and what the step adds to log w.
    pub(super) fn increments(&self, j: usize) -> impl Iterator<Item = (f64, f64)> + Clone {
        let largest = self.log_weights.column(j - 1).fold(f64::NEG_INFINITY, f64::max);
        let rows = self.log_weights.rows();
        rows.map(move |row| ((row[j - 1] - largest).exp(), row[j] - row[j - 1]))
    }

    /// The weights at beta = 1.
    pub(crate) fn final_weights(&self) -> impl Iterator<Item = f64> + Clone {
        self.log_weights.last_column()
    }
}
