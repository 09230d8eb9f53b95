//! Division of rows among ranks, and computations on one rank's own rows.

use std::ops::Range;

use super::{Collective, Gathered, Solo, Values};
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

    /// First task of a rank.
    fn first_task(&self, rank: usize) -> usize {
        self.tasks() * rank / self.ranks.size()
    }

    /// The tasks of this rank.
    pub(crate) fn own_tasks(&self) -> Range<usize> {
        self.first_task(self.ranks.rank())..self.first_task(self.ranks.rank() + 1)
    }

    /// The rows of this rank.
    pub fn own(&self) -> Range<usize> {
        let Range { start, end } = self.own_tasks();
        (start * self.task).min(self.rows)..(end * self.task).min(self.rows)
    }

    /// The part of this rank's rows in values of all rows, `width` per row.
    pub fn of<'b, T>(&self, whole: &'b mut [T], width: usize) -> &'b mut [T] {
        let Range { start, end } = self.own();
        &mut whole[start * width..end * width]
    }

    /// The part of this rank's tasks in values of all tasks, `width` per task.
    pub(crate) fn of_tasks<'b, T>(&self, whole: &'b mut [T], width: usize) -> &'b mut [T] {
        let Range { start, end } = self.own_tasks();
        &mut whole[start * width..end * width]
    }

    /// Numbers of all rows, `width` a row, to be gathered.
    pub fn rows<'b>(&self, whole: impl Into<Values<'b>>, width: usize) -> Gathered<'b> {
        let end = |rank| (self.first_task(rank + 1) * self.task).min(self.rows) * width;
        Gathered { values: whole.into(), ends: (0..self.ranks.size()).map(end).collect() }
    }

    /// Numbers of all tasks, `width` a task, to be gathered.
    pub(crate) fn tasks_of<'b>(&self, whole: impl Into<Values<'b>>, width: usize) -> Gathered<'b> {
        let end = |rank| self.first_task(rank + 1) * width;
        Gathered { values: whole.into(), ends: (0..self.ranks.size()).map(end).collect() }
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

impl<'a> From<&'a mut [f32]> for Values<'a> {
    fn from(values: &'a mut [f32]) -> Self {
        Self::F32(values)
    }
}

impl<'a> From<&'a mut [f64]> for Values<'a> {
    fn from(values: &'a mut [f64]) -> Self {
        Self::F64(values)
    }
}

impl<'a> From<&'a mut [u32]> for Values<'a> {
    fn from(values: &'a mut [u32]) -> Self {
        Self::U32(values)
    }
}

impl<'a> From<&'a mut [u64]> for Values<'a> {
    fn from(values: &'a mut [u64]) -> Self {
        Self::U64(values)
    }
}
