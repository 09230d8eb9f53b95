//! Division of rows among ranks, and computations on one rank's own rows.

use std::ops::Range;

use bytemuck::Pod;

use super::Context;
use crate::collective::{Collective, Gathered, Solo};

/// Fewest rows whose moments are divided: for fewer, gathering takes longer than the time saved.
const FEWEST_ROWS: usize = 512;

/// Rows divided among ranks in whole tasks: sums over tasks are the same for any number of ranks.
#[derive(Clone, Debug)]
pub struct Parts<'a> {
    context: &'a Context,
    ranks: &'a dyn Collective,
    rows: usize,
    task: usize,
}

impl<'a> Parts<'a> {
    /// `rows` rows in tasks of `task` rows each, the last one shorter if they do not divide evenly.
    pub fn new(context: &'a Context, rows: usize, task: usize) -> Self {
        Self { context, ranks: context.ranks(), rows, task: task.max(1) }
    }

    /// Not divided if the moments of so many rows are not worth it.
    #[must_use]
    pub fn of_moments(self, rows: usize) -> Self {
        if rows < FEWEST_ROWS { Self { ranks: &Solo, ..self } } else { self }
    }

    /// Number of tasks.
    pub fn tasks(&self) -> usize {
        self.rows.div_ceil(self.task)
    }

    /// The same division of the tasks themselves, for values of which each task has its own.
    pub(crate) fn of_tasks(&self) -> Self {
        Self { rows: self.tasks(), task: 1, ..*self }
    }

    /// First row of a rank.
    fn first_row(&self, rank: usize) -> usize {
        (self.tasks() * rank / self.ranks.size() * self.task).min(self.rows)
    }

    /// The rows of this rank.
    pub fn own(&self) -> Range<usize> {
        self.first_row(self.ranks.rank())..self.first_row(self.ranks.rank() + 1)
    }

    /// The part of this rank's rows in values of all rows, `width` per row.
    pub fn of<'b, T>(&self, whole: &'b mut [T], width: usize) -> &'b mut [T] {
        let Range { start, end } = self.own();
        &mut whole[start * width..end * width]
    }

    /// Numbers of all rows, `width` a row, to be gathered.
    pub fn rows<'b, T: Pod>(&self, whole: &'b mut [T], width: usize) -> Gathered<'b> {
        Gathered::new(whole, (1..=self.ranks.size()).map(|rank| self.first_row(rank) * width))
    }

    /// Receives the parts of the other ranks.
    pub fn gather<const N: usize>(&self, mut arrays: [Gathered<'_>; N]) {
        self.ranks.all_gather(&mut arrays);
    }

    /// Runs `work` for this rank's own rows; see [`Context::share`].
    pub fn share<T>(&self, work: impl FnOnce() -> T) -> T {
        self.context.share(self.ranks, work)
    }
}
