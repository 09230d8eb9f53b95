//! Ranks that are threads of one process, for tests: the same calls as MPI's, without MPI.

use std::ops::Range;
use std::sync::{Arc, Barrier, Mutex};

use crate::collective::{Collective, Gathered, Ranks, Values};

#[derive(Debug)]
struct Shared {
    barrier: Barrier,
    /// Output of each rank, as bytes.
    given: Mutex<Vec<Vec<u8>>>,
}

#[derive(Debug)]
struct Threads {
    rank: usize,
    size: usize,
    shared: Arc<Shared>,
}

/// Runs `work` on as many ranks, with the number of the rank, and returns the results.
pub fn on_ranks<T: Send>(size: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let shared =
        Arc::new(Shared { barrier: Barrier::new(size), given: Mutex::new(vec![Vec::new(); size]) });
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..size)
            .map(|rank| {
                let ranks: Ranks = Arc::new(Threads { rank, size, shared: Arc::clone(&shared) });
                let work = &work;
                scope.spawn(move || {
                    let _end = EndAll;
                    crate::collective::with(ranks, || work(rank))
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Ends the tests if a rank panics: the others would wait for it forever.
struct EndAll;

impl Drop for EndAll {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

impl Threads {
    /// What all ranks give at this call.
    fn exchange(&self, own: Vec<u8>) -> Vec<Vec<u8>> {
        self.shared.given.lock().unwrap()[self.rank] = own;
        self.shared.barrier.wait();
        let all = self.shared.given.lock().unwrap().clone();
        self.shared.barrier.wait();
        all
    }

    fn gather<T: Copy, const N: usize>(
        &self,
        whole: &mut [T],
        own: Range<usize>,
        to: fn(T) -> [u8; N],
        from: fn([u8; N]) -> T,
    ) {
        let all = self.exchange(whole[own].iter().flat_map(|x| to(*x)).collect()).concat();
        assert_eq!(all.len(), whole.len() * N, "every rank gives what belongs to it");
        for (x, bytes) in whole.iter_mut().zip(all.chunks_exact(N)) {
            *x = from(bytes.try_into().unwrap());
        }
    }
}

impl Collective for Threads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn all_gather(&self, arrays: &mut [Gathered<'_>]) {
        for array in arrays {
            assert_eq!(array.ends.len(), self.size);
            let own = array.part(self.rank);
            match &mut array.values {
                Values::F32(x) => self.gather(x, own, f32::to_le_bytes, f32::from_le_bytes),
                Values::F64(x) => self.gather(x, own, f64::to_le_bytes, f64::from_le_bytes),
                Values::U32(x) => self.gather(x, own, u32::to_le_bytes, u32::from_le_bytes),
                Values::U64(x) => self.gather(x, own, u64::to_le_bytes, u64::from_le_bytes),
            }
        }
    }

    fn broadcast(&self, bytes: &mut [u8]) {
        let all = self.exchange(bytes.to_vec());
        bytes.copy_from_slice(&all[0]);
    }

    fn any(&self, flag: bool) -> bool {
        self.exchange(vec![u8::from(flag)]).iter().any(|flag| flag[0] == 1)
    }
}
