//! Ranks of MPI.
//!
//! All calls come from the thread that began the session (FUNNELED); threads compute inside a rank between them. A rank that panics ends
//! the whole job, because the others would wait for it forever.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::Instant;

use ::mpi::Count;
use ::mpi::Threading;
use ::mpi::collective::SystemOperation;
use ::mpi::datatype::PartitionMut;
use ::mpi::environment::Universe;
use ::mpi::topology::SimpleCommunicator;
use ::mpi::traits::{Communicator, CommunicatorCollectives, Root};

use super::{Collective, Gathered, Traffic};
use crate::error::{Error, Result};

/// Exit code of a job that a panic ended, as of any Rust program.
const PANICKED: i32 = 101;
/// Most bytes of one call: MPI counts in i32.
const MOST: usize = Count::MAX as usize;

/// All ranks of the job.
#[derive(Debug)]
pub struct Mpi {
    rank: usize,
    size: usize,
    thread: ThreadId,
    traffic: Mutex<Traffic>,
}

/// MPI from its beginning to its end, which is when this is dropped.
pub struct Session {
    _universe: Universe,
    ranks: Arc<Mpi>,
}

impl Session {
    /// Begins MPI, once in a process and on its main thread.
    ///
    /// # Errors
    /// MPI was begun before, or its library does not allow threads beside the one that calls it.
    pub fn begin() -> Result<Self> {
        let invalid = |problem: &str| Error::Invalid(format!("MPI: {problem}"));
        let (universe, threading) = ::mpi::initialize_with_threading(Threading::Funneled)
            .ok_or_else(|| invalid("it was begun before in this process"))?;
        if threading < Threading::Funneled {
            return Err(invalid("this library does not allow a process to have threads"));
        }
        let world = universe.world();
        let ranks = Arc::new(Mpi {
            rank: world.rank() as usize,
            size: world.size() as usize,
            thread: std::thread::current().id(),
            traffic: Mutex::default(),
        });
        if ranks.size > 1 {
            end_all_on_panic(ranks.rank);
        }
        Ok(Self { _universe: universe, ranks })
    }

    /// All ranks.
    pub fn ranks(&self) -> &Arc<Mpi> {
        &self.ranks
    }
}

/// The usual message, then the end of all ranks.
fn end_all_on_panic(rank: usize) {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        eprintln!("rank {rank}:");
        usual(panic);
        SimpleCommunicator::world().abort(PANICKED);
    }));
}

impl Mpi {
    /// Ends all ranks at once.
    pub(crate) fn abort(&self, code: u8) -> ! {
        SimpleCommunicator::world().abort(i32::from(code))
    }

    /// Makes a call, `bytes` of which come from other ranks.
    fn call(&self, bytes: usize, call: impl FnOnce(&SimpleCommunicator)) {
        assert!(std::thread::current().id() == self.thread, "MPI is called from one thread alone");
        let start = Instant::now();
        call(&SimpleCommunicator::world());
        let mut traffic = self.traffic.lock().unwrap_or_else(PoisonError::into_inner);
        traffic.seconds += start.elapsed().as_secs_f64();
        traffic.bytes += bytes as f64;
        traffic.calls += 1;
    }

    fn spread(&self, from: usize, bytes: &mut [u8]) {
        for piece in bytes.chunks_mut(MOST) {
            let came = if self.rank == from { 0 } else { piece.len() };
            self.call(came, |world| {
                world.process_at_rank(from as Count).broadcast_into(piece);
            });
        }
    }
}

/// Bytes of a rank's parts.
fn bytes_of(arrays: &[Gathered<'_>], rank: usize) -> usize {
    arrays.iter().map(|array| array.part(rank).len()).sum()
}

/// Puts the parts of a rank where they belong.
fn unpack(arrays: &mut [Gathered<'_>], rank: usize, mut packed: &[u8]) {
    for array in arrays {
        let part = array.part(rank);
        let (own, rest) = packed.split_at(part.len());
        packed = rest;
        array.bytes[part].copy_from_slice(own);
    }
}

impl Collective for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn all_gather(&self, arrays: &mut [Gathered<'_>]) {
        // The parts of this rank in all arrays, one after the other.
        let own = arrays.iter().map(|array| &array.bytes[array.part(self.rank)]);
        let own = own.collect::<Vec<_>>().concat();
        let lengths: Vec<usize> = (0..self.size).map(|rank| bytes_of(arrays, rank)).collect();
        let total = lengths.iter().sum();
        let others = (0..self.size).filter(|rank| *rank != self.rank);
        if total > MOST {
            for (rank, length) in lengths.iter().enumerate() {
                let mut packed = if rank == self.rank { own.clone() } else { vec![0; *length] };
                self.spread(rank, &mut packed);
                unpack(arrays, rank, &packed);
            }
            return;
        }
        let mut all = vec![0u8; total];
        let starts = lengths.iter().scan(0, |next, length| {
            *next += length;
            Some((*next - length) as Count)
        });
        let starts: Vec<Count> = starts.collect();
        let counts: Vec<Count> = lengths.iter().map(|length| *length as Count).collect();
        let mut partition = PartitionMut::new(&mut all[..], counts, &starts[..]);
        self.call(total - own.len(), |world| {
            world.all_gather_varcount_into(&own[..], &mut partition);
        });
        others.for_each(|rank| {
            unpack(arrays, rank, &all[starts[rank] as usize..][..lengths[rank]]);
        });
    }

    fn broadcast(&self, bytes: &mut [u8]) {
        self.spread(0, bytes);
    }

    fn any(&self, flag: bool) -> bool {
        let (own, mut all) = (i32::from(flag), 0i32);
        self.call(size_of::<i32>(), |world| {
            world.all_reduce_into(&own, &mut all, SystemOperation::max());
        });
        all > 0
    }

    fn traffic(&self) -> Traffic {
        *self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
