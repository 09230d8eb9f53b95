//! Ranks of MPI.
//!
//! All calls come from the thread that began the session (FUNNELED); threads work inside of a rank between them. A rank that
//! panics ends the whole job: the others would wait for it for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::ThreadId;
use std::time::Instant;

use ::mpi::Count;
use ::mpi::Threading;
use ::mpi::collective::SystemOperation;
use ::mpi::datatype::PartitionMut;
use ::mpi::environment::Universe;
use ::mpi::topology::SimpleCommunicator;
use ::mpi::traits::{Communicator, CommunicatorCollectives, Equivalence, Root};

use super::{Collective, Traffic, Values, install};
use crate::error::{Error, Result};
use crate::interrupt;

/// Exit code of a job that a panic ended, as of any Rust program.
const PANICKED: i32 = 101;
/// Most elements of one call: MPI counts in i32.
const MOST: usize = Count::MAX as usize;

/// All ranks of the job.
#[derive(Debug)]
pub struct Mpi {
    rank: usize,
    size: usize,
    thread: ThreadId,
    nanoseconds: AtomicU64,
    bytes: AtomicU64,
    calls: AtomicU64,
}

/// MPI from its beginning to its end, which is when this is dropped.
pub struct Session {
    _universe: Universe,
    ranks: Arc<Mpi>,
}

impl Session {
    /// Begins MPI, once in a process and on its main thread, and makes its ranks those of this process.
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
            nanoseconds: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            calls: AtomicU64::new(0),
        });
        if ranks.size > 1 {
            interrupt::is_one_of_several();
            end_all_on_panic(ranks.rank);
            install(Arc::<Mpi>::clone(&ranks));
        }
        Ok(Self { _universe: universe, ranks })
    }

    /// All ranks.
    pub fn ranks(&self) -> &Mpi {
        &self.ranks
    }
}

/// The message as ever, then the end of all ranks.
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
    pub fn abort(&self, code: u8) -> ! {
        SimpleCommunicator::world().abort(i32::from(code))
    }

    /// Makes a call, `bytes` of which come from other ranks.
    fn call(&self, bytes: usize, call: impl FnOnce(&SimpleCommunicator)) {
        assert!(std::thread::current().id() == self.thread, "MPI is called from one thread alone");
        let start = Instant::now();
        call(&SimpleCommunicator::world());
        self.nanoseconds.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    fn gather<T: Equivalence + Copy>(&self, whole: &mut [T], ends: &[usize]) {
        let start = |rank: usize| if rank == 0 { 0 } else { ends[rank - 1] };
        let own = start(self.rank)..ends[self.rank];
        let bytes = (whole.len() - own.len()) * size_of::<T>();
        if whole.len() <= MOST {
            let own = whole[own].to_vec();
            let count = |rank| (ends[rank] - start(rank)) as Count;
            let counts: Vec<Count> = (0..self.size).map(count).collect();
            let starts: Vec<Count> = (0..self.size).map(|rank| start(rank) as Count).collect();
            let mut all = PartitionMut::new(whole, counts, starts);
            self.call(bytes, |world| world.all_gather_varcount_into(&own[..], &mut all));
            return;
        }
        for rank in 0..self.size {
            self.spread(rank, &mut whole[start(rank)..ends[rank]]);
        }
    }

    fn spread<T: Equivalence>(&self, from: usize, values: &mut [T]) {
        for piece in values.chunks_mut(MOST) {
            let bytes = if self.rank == from { 0 } else { size_of_val(piece) };
            self.call(bytes, |world| {
                world.process_at_rank(from as Count).broadcast_into(piece);
            });
        }
    }
}

impl Collective for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn all_gather(&self, whole: Values<'_>, ends: &[usize]) {
        match whole {
            Values::F32(values) => self.gather(values, ends),
            Values::F64(values) => self.gather(values, ends),
            Values::U32(values) => self.gather(values, ends),
            Values::U64(values) => self.gather(values, ends),
        }
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
        Traffic {
            seconds: 1e-9 * self.nanoseconds.load(Ordering::Relaxed) as f64,
            bytes: self.bytes.load(Ordering::Relaxed) as f64,
            calls: self.calls.load(Ordering::Relaxed),
        }
    }
}
