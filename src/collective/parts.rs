//! Division of rows among ranks, and computations on one rank's own rows.

use std::ops::Range;

use bytemuck::Pod;

use super::{Collective, Gathered, Solo};
use crate::context::interrupt;

/// Fewest rows whose moments are divided: for fewer, gathering takes longer than the time saved.
const FEWEST_ROWS: usize = 512;

/// The ranks, if dividing the moments of so many rows is worthwhile; one rank else.
pub fn for_moments(ranks: &dyn Collective, rows: usize) -> &dyn Collective {
    if rows < FEWEST_ROWS { &Solo } else { ranks }
}

/// Rows divided among ranks in whole tasks: sums over tasks are the same for any number of ranks.
#[derive(Clone, Debug)]
pub struct Parts<'a> {
    ranks: &'a dyn Collective,
    rows: usize,
    task: usize,
}

impl<'a> Parts<'a> {
    /// `rows` rows in tasks of `task` rows each, the last one shorter if they do not divide evenly.
    pub fn new(ranks: &'a dyn Collective, rows: usize, task: usize) -> Self {
        Self { ranks, rows, task: task.max(1) }
    }

    /// Number of tasks.
    pub fn tasks(&self) -> usize {
        self.rows.div_ceil(self.task)
    }

    /// The same division of the tasks themselves, for values of which each task has its own.
    pub(crate) fn of_tasks(&self) -> Self {
        Self::new(self.ranks, self.tasks(), 1)
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

    /// Runs `work` for this rank's own rows; see [`share`].
    pub fn share<T>(&self, work: impl FnOnce() -> T) -> T {
        share(self.ranks, work)
    }
}

/// Runs this rank's part of a computation. A signal on any rank ends it on all of them at the same place, if it may end at all
/// ([`interrupt::permit`]); if a single rank ended, the others would wait forever.
pub fn share<T>(ranks: &dyn Collective, work: impl FnOnce() -> T) -> T {
    if ranks.size() == 1 {
        return work();
    }
    let done = interrupt::locally(work);
    if interrupt::permitted_here() && ranks.any(done.is_none() || interrupt::is_requested()) {
        interrupt::leave();
    }
    // Without a permit nothing is interrupted.
    done.unwrap_or_else(|| interrupt::leave())
}
