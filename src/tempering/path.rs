//! The interface between models and all code that runs chains: a list of unnormalised densities f_1, ..., f_K over binary states v, of
//! which f_1 is normalised and sampled exactly.
//!
//! Initial rounds, RTS, adaptive weights, annealing and the tracker use nothing else of a model. A [`Walker`] handles the rows
//! of a task, so that calls through the interface are few and each is enough work for a kernel.

use rayon::prelude::*;

use super::Ladder;
use super::simulated::Slopes;
use crate::context::{Context, Parts};
use crate::engine::{BitMatrix, Matrix, States, Walker, padded, rows_per_task, rows_per_thread};
use crate::numerics::Table;

/// Densities f_k(v), each with a sweep that leaves it invariant and is its own reversal.
pub trait TemperedPath: Sync {
    /// beta_k and r_k.
    fn ladder(&self) -> &Ladder;

    /// Number of binary units of a state, M.
    fn n_visible(&self) -> usize;

    /// log Z_1, exact.
    fn log_z_base(&self) -> f64;

    /// Independent exact samples of f_1, one per row.
    fn sample_base(&self, rows: usize, seed: u64, step: u64) -> BitMatrix;

    /// Number of f32 values that a walker caches for a state, such as its pre-activations; at least 1.
    fn cached(&self) -> usize {
        1
    }

    /// Whether a walker takes all rows, as those of engines on another device do, and not the rows of a task.
    fn takes_all_rows(&self) -> bool {
        false
    }

    /// Rows of one walker out of `rows`; `own` where tasks are divided.
    fn rows_of_walker(&self, rows: usize, own: usize) -> usize {
        if self.takes_all_rows() { rows.max(1) } else { own }
    }

    /// A walker for some rows.
    fn walker<'a>(&'a self, states: States<'a>) -> Box<dyn Walker + 'a>;

    /// The ranks that divide the work on chains of this path, the flag that ends it, its progress.
    fn context(&self) -> &Context {
        Context::none()
    }

    /// The cached values of states, and log f_k of them at all temperatures. The cached values are those of this rank's own rows, which are
    /// the same in every call with the same number of rows; the others are zeros.
    fn evaluate(&self, visible: &BitMatrix) -> Evaluated {
        self.evaluate_at(visible, &self.ladder().indices())
    }

    /// The same at the temperatures k of `at` alone.
    fn evaluate_at(&self, visible: &BitMatrix, at: &[usize]) -> Evaluated {
        let rows = visible.rows();
        let task = self.rows_of_walker(rows, rows_per_thread(rows));
        let parts = Parts::new(self.context(), rows, rows_per_task(rows));
        let (words, cached_stride) = (visible.words_per_row(), padded(self.cached()));
        let mut cached = Matrix::filled(rows, self.cached(), 0.0);
        let mut log_f = Table::zeros(rows, at.len());
        let mut visible = visible.clone();
        parts.share(|| {
            (
                parts.of(visible.words_mut(), words).par_chunks_mut(task * words),
                parts.of(cached.as_mut_slice(), cached_stride).par_chunks_mut(task * cached_stride),
                parts.of(log_f.as_mut_slice(), at.len()).par_chunks_mut(task * at.len()),
            )
                .into_par_iter()
                .for_each(|(visible, cached, log_f)| {
                    let states = States { visible, cached, first_row: 0, known: false };
                    self.walker(states).log_f(at, log_f);
                });
        });
        parts.gather([parts.rows(log_f.as_mut_slice(), at.len())]);
        Evaluated { cached, log_f }
    }

    /// Slopes of states, [S, K]; see [`Walker::slopes`].
    fn slopes(&self, visible: &BitMatrix) -> Slopes {
        let (rows, k) = (visible.rows(), self.ladder().len());
        let mut slopes = Slopes { mean: Table::zeros(rows, k), variance: Table::zeros(rows, k) };
        let mut visible = visible.clone();
        let parts = Parts::new(self.context(), rows, rows_per_task(rows));
        let (words, task) = (visible.words_per_row(), self.rows_of_walker(rows, 1));
        parts.share(|| {
            (
                parts.of(visible.words_mut(), words).par_chunks_mut(task * words),
                parts.of(slopes.mean.as_mut_slice(), k).par_chunks_mut(task * k),
                parts.of(slopes.variance.as_mut_slice(), k).par_chunks_mut(task * k),
            )
                .into_par_iter()
                .for_each(|(visible, mean, variance)| {
                    let mut cached = Matrix::filled(mean.len() / k, self.cached(), 0.0);
                    let cached = cached.as_mut_slice();
                    let states = States { visible, cached, first_row: 0, known: false };
                    self.walker(states).slopes(mean, variance);
                });
        });
        let mean = parts.rows(slopes.mean.as_mut_slice(), k);
        parts.gather([mean, parts.rows(slopes.variance.as_mut_slice(), k)]);
        slopes
    }
}

impl<P: TemperedPath + ?Sized> TemperedPath for &P {
    fn ladder(&self) -> &Ladder {
        (**self).ladder()
    }

    fn n_visible(&self) -> usize {
        (**self).n_visible()
    }

    fn log_z_base(&self) -> f64 {
        (**self).log_z_base()
    }

    fn sample_base(&self, rows: usize, seed: u64, step: u64) -> BitMatrix {
        (**self).sample_base(rows, seed, step)
    }

    fn cached(&self) -> usize {
        (**self).cached()
    }

    fn takes_all_rows(&self) -> bool {
        (**self).takes_all_rows()
    }

    fn walker<'a>(&'a self, states: States<'a>) -> Box<dyn Walker + 'a> {
        (**self).walker(states)
    }

    fn context(&self) -> &Context {
        (**self).context()
    }
}

/// Values of a set of states under one model.
#[derive(Clone, Debug)]
pub struct Evaluated {
    /// Cached values, [S, [`TemperedPath::cached`]]: of an RBM's geometric path x(v), [S, J]. Only those of this rank's rows if ranks divide
    /// the work, because the array is large, and the same rank continues with these rows.
    pub cached: Matrix,
    /// log f_k(v), [S, K].
    pub log_f: Table,
}

impl Evaluated {
    /// For no states.
    pub(super) fn nothing() -> Self {
        Self { cached: Matrix::filled(0, 0, 0.0), log_f: Table::default() }
    }
}
