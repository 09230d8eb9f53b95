//! How far a long computation is, for a person who waits for it.
//!
//! Annealing passes and sweeps lie below many layers that return plain values. So what runs says here how far it is, and
//! who watches reads it from another thread. Nothing is kept, and next to nothing done, where nobody watches.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

static WATCHES: AtomicUsize = AtomicUsize::new(0);
static NOW: Mutex<Option<(Instant, Stage)>> = Mutex::new(None);

/// Least time between two looks at the same stage: values cost something, and nobody reads faster.
const BETWEEN: Duration = Duration::from_millis(100);

/// A part of a computation, and how far it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage {
    /// What is done, for people.
    pub what: &'static str,
    /// Steps done.
    pub done: usize,
    /// Steps in all, or the most there may be.
    pub of: usize,
    /// log Z so far, where it is known.
    pub log_z: Option<f64>,
}

/// Says that so many steps of so many are done.
pub fn at(what: &'static str, done: usize, of: usize) {
    set(what, done, of, || None);
}

/// [`at`], with log Z so far, which is computed only for who looks.
pub fn at_log_z(what: &'static str, done: usize, of: usize, log_z: impl FnOnce() -> f64) {
    set(what, done, of, || Some(log_z()));
}

fn set(what: &'static str, done: usize, of: usize, log_z: impl FnOnce() -> Option<f64>) {
    if WATCHES.load(Ordering::Relaxed) == 0 {
        return;
    }
    // Whoever panicked with the lock left a whole value.
    let mut now = NOW.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let fresh = |(since, stage): &(Instant, Stage)| stage.what == what && since.elapsed() < BETWEEN;
    if !now.as_ref().is_some_and(fresh) {
        *now = Some((Instant::now(), Stage { what, done, of, log_z: log_z() }));
    }
}

/// While it lives, computations say how far they are.
pub struct Watch(());

impl Watch {
    /// Watches from now on.
    pub fn start() -> Self {
        WATCHES.fetch_add(1, Ordering::Relaxed);
        Self(())
    }

    /// The stage that spoke last since the last call of [`Watch::forget`].
    pub fn now(&self) -> Option<Stage> {
        NOW.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).map(|(_, stage)| stage)
    }

    /// Forgets the stage, as another computation begins.
    pub fn forget(&self) {
        *NOW.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = None;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.forget();
        WATCHES.fetch_sub(1, Ordering::Relaxed);
    }
}
