//! Ranks that are threads of one process, for tests: the same calls as MPI's, without MPI.

use std::sync::{Arc, Barrier, Mutex};

use crate::collective::{Collective, Gathered, Ranks};
use crate::context::Context;

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

/// Runs `work` on as many ranks and returns the results.
pub fn on_ranks<T: Send>(size: usize, work: impl Fn(Context) -> T + Sync) -> Vec<T> {
    let shared =
        Arc::new(Shared { barrier: Barrier::new(size), given: Mutex::new(vec![Vec::new(); size]) });
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..size)
            .map(|rank| {
                let ranks: Ranks = Arc::new(Threads { rank, size, shared: Arc::clone(&shared) });
                let work = &work;
                scope.spawn(move || {
                    let _end = EndAll;
                    work(Context::default().among(ranks))
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
            let all = self.exchange(array.bytes[array.part(self.rank)].to_vec()).concat();
            assert_eq!(all.len(), array.bytes.len(), "every rank gives what belongs to it");
            array.bytes.copy_from_slice(&all);
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
