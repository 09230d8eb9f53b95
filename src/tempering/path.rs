//! The geometric path from the base distribution to the model: log f_k(v) at all temperatures.
//!
//! log f_k(v) = beta_k c.v + (1 - beta_k) a.v + sum_j softplus(beta_k x_j(v)): the JOINT f(v, h) is tempered, so that
//! every temperature can be block-Gibbs sampled (algorithms.md, section 1).

use rayon::prelude::*;

use super::{BaseDistribution, Ladder};
use crate::ops::{BetaGrid, BitMatrix, Layer, Matrix, RbmOps, padded, words_per_row};

/// One model's tempered path.
#[derive(Clone, Copy)]
pub struct Path<'a> {
    /// The model's operations.
    pub ops: &'a dyn RbmOps,
    /// beta_k and r_k.
    pub ladder: &'a Ladder,
    /// p1(v).
    pub base: &'a BaseDistribution,
}

/// Fewest and most rows of a task: kernels prepare tables for each, which pays from some dozens of rows on, and what a task
/// works on should fit in a cache.
const TASK: (usize, usize) = (50, 256);

/// Rows handled by one task where sums are taken over tasks: fixed by their number alone, so that sums never depend on
/// threads.
pub(crate) fn rows_per_task(rows: usize) -> usize {
    rows.div_ceil(8).clamp(TASK.0, TASK.1)
}

/// Rows handled by one task where every row is by itself: kernels give a row the same bits in any company.
pub(crate) fn rows_per_thread(rows: usize) -> usize {
    rows.div_ceil(rayon::current_num_threads()).clamp(TASK.0, TASK.1)
}

impl Path<'_> {
    /// Number of visible units.
    pub fn n_visible(&self) -> usize {
        self.ops.n_units(Layer::Visible)
    }

    /// Number of hidden units.
    pub fn n_hidden(&self) -> usize {
        self.ops.n_units(Layer::Hidden)
    }

    /// log Z_1.
    pub fn log_z_base(&self) -> f64 {
        self.base.log_partition(self.n_hidden())
    }

    /// log f_k for packed visible rows whose hidden pre-activations are `inputs` [rows, stride]; `out` [rows, K].
    pub fn log_f(&self, visible: &[u64], inputs: &[f32], out: &mut [f64]) {
        log_f(self.ops, self.base, self.ladder.grid(), visible, inputs, out);
    }

    /// Hidden pre-activations and log f_k of every row, in parallel.
    pub fn evaluate(&self, visible: &BitMatrix) -> Evaluated {
        let (rows, temperatures) = (visible.rows(), self.ladder.len());
        let mut inputs = Matrix::filled(rows, self.n_hidden(), 0.0);
        let mut log_f = vec![0.0; rows * temperatures];
        let task = rows_per_thread(rows);
        let stride = padded(self.n_hidden());
        (
            visible.words().par_chunks(task * words_per_row(self.n_visible())),
            inputs.as_mut_slice().par_chunks_mut(task * stride),
            log_f.par_chunks_mut(task * temperatures),
        )
            .into_par_iter()
            .for_each(|(visible, inputs, log_f)| {
                self.ops.inputs(Layer::Hidden, visible, inputs);
                self.log_f(visible, inputs, log_f);
            });
        Evaluated { inputs, log_f }
    }

    /// log f_k of every row, [rows, K], in parallel: as [`Path::evaluate`], whose pre-activations are not needed.
    pub fn log_f_of(&self, visible: &BitMatrix) -> Vec<f64> {
        let (rows, temperatures) = (visible.rows(), self.ladder.len());
        let mut log_f = vec![0.0; rows * temperatures];
        let task = rows_per_thread(rows);
        let scratch = || Matrix::filled(task, self.n_hidden(), 0.0);
        visible
            .words()
            .par_chunks(task * words_per_row(self.n_visible()))
            .zip(log_f.par_chunks_mut(task * temperatures))
            .for_each_init(scratch, |inputs, (visible, log_f)| {
                let here = log_f.len() / temperatures * padded(self.n_hidden());
                let inputs = &mut inputs.as_mut_slice()[..here];
                self.ops.inputs(Layer::Hidden, visible, inputs);
                self.log_f(visible, inputs, log_f);
            });
        log_f
    }
}

/// Pre-activations and log f_k of a set of rows under one model.
#[derive(Clone, Debug)]
pub struct Evaluated {
    /// x(v), shape [rows, J].
    pub inputs: Matrix,
    /// log f_k(v), shape [rows, K], row-major.
    pub log_f: Vec<f64>,
}

/// log f at any inverse temperatures; `out` [rows, grid length].
pub(crate) fn log_f(
    ops: &dyn RbmOps,
    base: &BaseDistribution,
    grid: &BetaGrid,
    visible: &[u64],
    inputs: &[f32],
    out: &mut [f64],
) {
    ops.softplus_sums(ops.n_units(Layer::Hidden), inputs, grid, out);
    let words = words_per_row(ops.n_units(Layer::Visible));
    for (row, out) in visible.chunks_exact(words).zip(out.chunks_exact_mut(grid.betas().len())) {
        let (model, base) = (ops.visible_dot(row), base.dot(row));
        for (value, beta) in out.iter_mut().zip(grid.betas()) {
            *value += beta * model + (1.0 - beta) * base;
        }
    }
}
