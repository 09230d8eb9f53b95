//! The interface between models and all code that runs chains: a list of unnormalised densities f_1, ..., f_K over binary states v, of
//! which f_1 is normalised and sampled exactly.
//!
//! Initial rounds, RTS, adaptive weights, annealing and the tracker use nothing else of a model. A [`Walker`] handles some dozens of rows
//! of a task, so that calls through the interface are few and each is enough work for a kernel.

use rayon::prelude::*;

use super::Ladder;
use super::simulated::Slopes;
use crate::collective::{Collective, Parts, Solo};
use crate::engine::random::{Purpose, Streams};
use crate::engine::{BitMatrix, Matrix, padded, words_per_row, worth_threads};
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
    fn notes(&self) -> usize {
        1
    }

    /// A walker for some rows.
    fn walker<'a>(&'a self, states: States<'a>) -> Box<dyn Walker + 'a>;

    /// The ranks that divide the work on chains of this path.
    fn ranks(&self) -> &dyn Collective {
        &Solo
    }

    /// The cached values of states, and log f_k of them at all temperatures. The cached values are those of this rank's own rows, which are
    /// the same in every call with the same number of rows; the others are zeros.
    fn evaluate(&self, visible: &BitMatrix) -> Evaluated {
        self.evaluate_at(visible, &self.ladder().indices())
    }

    /// The same at the temperatures k of `at` alone.
    fn evaluate_at(&self, visible: &BitMatrix, at: &[usize]) -> Evaluated {
        let (rows, task) = (visible.rows(), rows_per_thread(visible.rows()));
        let parts = Parts::new(self.ranks(), rows, rows_per_task(rows));
        let (words, noted) = (words_per_row(self.n_visible()), padded(self.notes()));
        let mut inputs = Matrix::filled(rows, self.notes(), 0.0);
        let mut log_f = Table::zeros(rows, at.len());
        let mut visible = visible.clone();
        parts.share(|| {
            (
                parts.of(visible.words_mut(), words).par_chunks_mut(task * words),
                parts.of(inputs.as_mut_slice(), noted).par_chunks_mut(task * noted),
                parts.of(log_f.as_mut_slice(), at.len()).par_chunks_mut(task * at.len()),
            )
                .into_par_iter()
                .for_each(|(visible, notes, log_f)| {
                    let states = States { visible, notes, first_row: 0, known: false };
                    self.walker(states).log_f(at, log_f);
                });
        });
        parts.gather([parts.rows(log_f.as_mut_slice(), at.len())]);
        Evaluated { inputs, log_f }
    }

    /// Slopes of states, [S, K]; see [`Walker::slopes`].
    fn slopes(&self, visible: &BitMatrix) -> Slopes {
        let (rows, k) = (visible.rows(), self.ladder().len());
        let mut slopes = Slopes { mean: Table::zeros(rows, k), variance: Table::zeros(rows, k) };
        let mut visible = visible.clone();
        let parts = Parts::new(self.ranks(), rows, rows_per_task(rows));
        let words = words_per_row(self.n_visible());
        parts.share(|| {
            (
                parts.of(visible.words_mut(), words).par_chunks_mut(words),
                parts.of(slopes.mean.as_mut_slice(), k).par_chunks_mut(k),
                parts.of(slopes.variance.as_mut_slice(), k).par_chunks_mut(k),
            )
                .into_par_iter()
                .for_each(|(visible, mean, variance)| {
                    let mut notes = Matrix::filled(1, self.notes(), 0.0);
                    let notes = notes.as_mut_slice();
                    let states = States { visible, notes, first_row: 0, known: false };
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

    fn notes(&self) -> usize {
        (**self).notes()
    }

    fn walker<'a>(&'a self, states: States<'a>) -> Box<dyn Walker + 'a> {
        (**self).walker(states)
    }

    fn ranks(&self) -> &dyn Collective {
        (**self).ranks()
    }
}

/// Rows of chains of one task.
pub struct States<'a> {
    /// v, packed.
    pub visible: &'a mut [u64],
    /// [`TemperedPath::notes`] numbers per row, rounded up to whole panels ([`padded`]), in the walker's own order.
    pub notes: &'a mut [f32],
    /// Number of the first row: row i takes the random stream of row `first_row` + i.
    pub first_row: u32,
    /// Whether the cached values are of these states.
    pub known: bool,
}

/// Some chains moving along a path.
pub trait Walker {
    /// log f_k(v) of each row at the temperatures k of `at`, different and ascending; `out` [rows, length of `at`].
    fn log_f(&mut self, at: &[usize], out: &mut [f64]);

    /// One sweep of every row, which leaves f_k(v) invariant at its own k of `at`, `[rows]`.
    fn sweep(&mut self, at: &[u32], streams: &SweepStreams);

    /// d/dbeta log f_beta(v) at every temperature, and its own derivative; both [rows, K]. NaN if the path has none.
    fn slopes(&mut self, mean: &mut [f64], variance: &mut [f64]) {
        mean.fill(f64::NAN);
        variance.fill(f64::NAN);
    }

    /// The two halves of a sweep, for paths with hidden units on which log f(v, h) is linear in beta.
    fn halves(&mut self) -> Option<&mut dyn Halves> {
        None
    }
}

/// The halves of a sweep, between which the inverse temperature can be redrawn by the hidden units as well.
pub trait Halves {
    /// h | v at each row's k of `at`.
    fn draw_hidden(&mut self, at: &[u32], streams: &SweepStreams);

    /// d/dbeta log f_beta(v, h) of each row, `[rows]`.
    fn slopes_of_both(&mut self, out: &mut [f64]);

    /// v | h at each row's k of `at`.
    fn draw_visible(&mut self, at: &[u32], streams: &SweepStreams);
}

/// The random streams of one sweep; streams of different kinds of sweeps, and of different steps, are independent.
#[derive(Clone, Copy)]
pub struct SweepStreams {
    /// For the variables between v and the next v.
    pub hidden: Streams,
    /// For v.
    pub visible: Streams,
    /// For other draws of a sweep, such as a component of a mixture.
    pub component: Streams,
}

impl SweepStreams {
    /// Of tempered chains.
    pub fn tempered(seed: u64, step: u64) -> Self {
        use Purpose::{TemperedComponent, TemperedHidden, TemperedVisible};
        Self::new(seed, step, [TemperedHidden, TemperedVisible, TemperedComponent])
    }

    /// Of annealing upwards.
    pub(super) fn ascending(seed: u64, step: u64) -> Self {
        use Purpose::{AnnealedComponent, AnnealedHidden, AnnealedVisible};
        Self::new(seed, step, [AnnealedHidden, AnnealedVisible, AnnealedComponent])
    }

    /// Of annealing downwards.
    pub(super) fn descending(seed: u64, step: u64) -> Self {
        use Purpose::{DescendingComponent, DescendingHidden, DescendingVisible};
        Self::new(seed, step, [DescendingHidden, DescendingVisible, DescendingComponent])
    }

    fn new(seed: u64, step: u64, purposes: [Purpose; 3]) -> Self {
        let [hidden, visible, component] =
            purposes.map(|purpose| Streams::new(seed, purpose, step));
        Self { hidden, visible, component }
    }
}

/// Values of a set of states under one model.
#[derive(Clone, Debug)]
pub struct Evaluated {
    /// Cached values, [S, [`TemperedPath::notes`]]: of an RBM's geometric path x(v), [S, J]. Only those of this rank's rows if ranks divide
    /// the work, because the array is large, and the same rank continues with these rows.
    pub inputs: Matrix,
    /// log f_k(v), [S, K].
    pub log_f: Table,
}

impl Evaluated {
    /// For no states.
    pub(super) fn nothing() -> Self {
        Self { inputs: Matrix::filled(0, 0, 0.0), log_f: Table::default() }
    }
}

/// Fewest and most rows of a task: kernels prepare tables for each, which is worthwhile from some dozens of rows on, and the data of a task
/// should fit in a cache.
const TASK: (usize, usize) = (50, 256);

/// Rows of one task if sums are taken over tasks: determined by the number of rows alone, so that sums do not depend on threads.
pub(crate) fn rows_per_task(rows: usize) -> usize {
    rows.div_ceil(8).clamp(TASK.0, TASK.1)
}

/// Most rows of a task if rows are independent. On Zen 3 (512 KB L2, 784 x 500 and 784 x 2000, `benches/peers/run.py`) a sweep takes .98
/// and .87 of the time with 256, because half as many tables are made; with 2048 1.1 and 1.3.
const MOST_BY_THEMSELVES: usize = 512;

/// Rows of one task if rows are independent: kernels give a row the same bits whatever the other rows are.
pub(crate) fn rows_per_thread(rows: usize) -> usize {
    even_tasks(rows, rayon::current_num_threads())
}

/// Equal tasks for all threads: a few remaining rows would need tables of their own and one thread's time.
fn even_tasks(rows: usize, threads: usize) -> usize {
    let share = rows.div_ceil(threads).max(1);
    share.div_ceil(share.div_ceil(MOST_BY_THEMSELVES)).max(TASK.0)
}

/// Fewest rows of a task if the alternative is [`crate::engine::RbmOps::inputs_by_all`]: tables cost as much as three dozen rows.
const FEWEST_DEALT: usize = 128;

/// [`rows_per_thread`], or all rows if they are too few to divide among threads.
pub(crate) fn rows_per_thread_for(rows: usize, products_a_row: usize) -> usize {
    let enough = rows >= FEWEST_DEALT * rayon::current_num_threads();
    if enough && worth_threads(rows.saturating_mul(products_a_row)) {
        rows_per_thread(rows)
    } else {
        rows.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_share_rows_evenly() {
        for rows in [0, 1, 49, 50, 100, 513, 530, 1000, 1100, 2000, 10_000] {
            for threads in [1, 2, 3, 8] {
                let task = even_tasks(rows, threads);
                assert!((TASK.0..=MOST_BY_THEMSELVES).contains(&task), "{rows}, {threads}: {task}");
                // The same number of tasks for each thread, the last one nearly as large, unless all have the smallest size.
                let tasks = rows.div_ceil(task);
                let last = rows - tasks.saturating_sub(1) * task;
                let even = tasks.is_multiple_of(threads) && last + tasks >= task;
                assert!(
                    even || task == TASK.0,
                    "{rows} rows, {threads} threads: {tasks} of {task}"
                );
            }
        }
    }
}
