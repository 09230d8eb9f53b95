//! Ranks: processes that work on one run together, on one machine or on many.
//!
//! Every rank holds the whole run (parameters, optimizer, chains, filter, rows) and makes every step of it. Expensive work is divided:
//! sweeps, log f, moments and annealing of chains and rows are computed by the rank that owns them (`Parts`) and gathered by all, so that
//! all continue from the same bytes. Random streams are functions of a row's number and no sum is taken in another order than without
//! ranks, so a run has the same bytes on any number of them.
//!
//! Operations know their ranks ([`crate::engine::Engine::ranks`]), so code on top of them divides its work without further calls.
//! Operations made by [`crate::engine::Host::new`] have [`Solo`]: each rank computes all of them.

#[cfg(feature = "mpi-faults")]
pub(crate) mod faults;
mod launch;
#[cfg(feature = "mpi")]
mod mpi;
mod parts;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytemuck::{Pod, cast_slice_mut};
pub use launch::Launched;
#[cfg(feature = "mpi")]
pub use mpi::{Mpi, Session};
pub(crate) use parts::{Parts, for_moments};

/// Ranks that call the same functions in the same order, each from its main thread alone.
pub trait Collective: Debug + Send + Sync {
    /// Number of this rank, from 0.
    fn rank(&self) -> usize;

    /// Number of ranks, at least 1.
    fn size(&self) -> usize;

    /// Makes every rank's part of each array known to all. One call for several arrays, because each call has a fixed cost.
    fn all_gather(&self, arrays: &mut [Gathered<'_>]);

    /// The bytes of rank 0 for all ranks; `bytes` has the same length everywhere.
    fn broadcast(&self, bytes: &mut [u8]);

    /// Whether any rank says so.
    fn any(&self, flag: bool) -> bool;

    /// Time, bytes and calls of communication so far.
    fn traffic(&self) -> Traffic {
        Traffic::default()
    }
}

/// An array of numbers of which each rank has a part.
#[derive(Debug)]
pub struct Gathered<'a> {
    /// The bytes of the whole array, in its place the part of this rank.
    pub bytes: &'a mut [u8],
    /// Rank r has the bytes from `ends[r - 1]` (0 for the first) to `ends[r]`: `[size]`, ascending, the last one the length
    /// of the array.
    pub ends: Vec<usize>,
}

impl<'a> Gathered<'a> {
    /// Of the numbers of all ranks; `ends`: where those of each rank end.
    pub fn new<T: Pod>(whole: &'a mut [T], ends: impl Iterator<Item = usize>) -> Self {
        let ends = ends.map(|end| end * size_of::<T>()).collect();
        Self { bytes: cast_slice_mut(whole), ends }
    }

    /// The bytes of a rank.
    pub fn part(&self, rank: usize) -> Range<usize> {
        let start = if rank == 0 { 0 } else { self.ends[rank - 1] };
        start..self.ends[rank]
    }
}

/// Cost of communication.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Traffic {
    /// Seconds in calls, waiting for slower ranks included.
    pub seconds: f64,
    /// Bytes that came from other ranks.
    pub bytes: f64,
    /// Calls.
    pub calls: u64,
}

/// One rank, which computes everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Solo;

impl Collective for Solo {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn all_gather(&self, _arrays: &mut [Gathered<'_>]) {}

    fn broadcast(&self, _bytes: &mut [u8]) {}

    fn any(&self, flag: bool) -> bool {
        flag
    }
}

/// Ranks as they are handed around.
pub type Ranks = Arc<dyn Collective>;

static PROCESS: OnceLock<Ranks> = OnceLock::new();

thread_local! {
    static OWN: RefCell<Option<Ranks>> = const { RefCell::new(None) };
}

/// The ranks that divide the runs of this thread: those of [`with`], else those of the process, else [`Solo`].
pub fn current() -> Ranks {
    let own = OWN.with(|own| own.borrow().clone());
    own.or_else(|| PROCESS.get().cloned()).unwrap_or_else(|| Arc::new(Solo))
}

/// Runs `work` with other ranks for this thread.
pub fn with<T>(ranks: Ranks, work: impl FnOnce() -> T) -> T {
    struct Restore(Option<Ranks>);
    impl Drop for Restore {
        fn drop(&mut self) {
            OWN.with(|own| *own.borrow_mut() = self.0.take());
        }
    }
    let _restore = Restore(OWN.with(|own| own.borrow_mut().replace(ranks)));
    work()
}

/// The ranks of the whole process, once and for all.
#[cfg(feature = "mpi")]
fn install(ranks: Ranks) {
    // A second call would change nothing, and there is none: a session is begun once.
    let _ = PROCESS.set(ranks);
}

/// Bytes of rank 0, of any length, for all ranks; what the others give does not matter.
pub fn broadcast_bytes(ranks: &dyn Collective, bytes: Vec<u8>) -> Vec<u8> {
    if ranks.size() == 1 {
        return bytes;
    }
    let mut length = (bytes.len() as u64).to_le_bytes();
    ranks.broadcast(&mut length);
    let mut bytes = bytes;
    bytes.resize(u64::from_le_bytes(length) as usize, 0);
    ranks.broadcast(&mut bytes);
    bytes
}

/// One number of each rank, `[size]`.
pub fn gather_one(ranks: &dyn Collective, own: u64) -> Vec<u64> {
    let mut all = vec![own; ranks.size()];
    ranks.all_gather(&mut [Gathered::new(&mut all, 1..=ranks.size())]);
    all
}
