//! Ranks: processes that work on one run together, on one machine or on many.
//!
//! Every rank holds the whole run (parameters, optimizer, chains, filter, rows) and makes every step of it. Expensive work is divided:
//! sweeps, log f, moments and annealing of chains and rows are computed by the rank that owns them ([`crate::context`]) and gathered by all, so that
//! all continue from the same bytes. Random streams are functions of a row's number and no sum is taken in another order than without
//! ranks, so a run has the same bytes on any number of them.
//!
//! Engines know their ranks ([`crate::engine::Engine::context`]), so code on top of them divides its work without further calls.
//! Engines made by [`crate::engine::Host::new`] have [`Solo`]: each rank computes all of their work.

#[cfg(feature = "mpi-faults")]
pub(crate) mod faults;
mod launch;
#[cfg(feature = "mpi")]
mod mpi;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::on_ranks;

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::{Pod, cast_slice_mut};
pub use launch::Launched;
#[cfg(feature = "mpi")]
pub use mpi::{Mpi, Session};

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
