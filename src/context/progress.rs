//! Progress of a long computation, for display.
//!
//! Annealing passes and sweeps are below many layers that return plain values. So they report their progress here, and a display reads it
//! from another thread. Without a display nothing is stored and almost nothing computed.

use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::owner;

/// The progress of all work that is not a computation of its own.
static OF_PROCESS: Progress = Progress::new();

/// What a computation reports.
#[derive(Debug, Default)]
pub struct Progress {
    /// Values of [`Watch`].
    watches: AtomicUsize,
    /// Values of [`Alone`].
    alone: AtomicUsize,
    now: Mutex<Option<(Instant, Stage)>>,
    task: Mutex<Option<(String, Instant)>>,
}

/// Whose progress it is.
pub(super) enum Owner {
    Process,
    Computation(Arc<Progress>),
}

impl Deref for Owner {
    type Target = Progress;

    fn deref(&self) -> &Progress {
        match self {
            Self::Process => &OF_PROCESS,
            Self::Computation(progress) => progress,
        }
    }
}

/// Shortest time between two updates of the same stage, because values cost time.
const BETWEEN: Duration = Duration::from_millis(100);

/// A part of a computation, and its progress.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage {
    /// Its name.
    pub what: &'static str,
    /// Steps done.
    pub done: usize,
    /// Steps in total, or an upper limit.
    pub of: usize,
    /// log Z so far, if it is known.
    pub log_z: Option<f64>,
}

/// "annealing, 4500 of 10000 (45 %), log Z so far 1.234"
impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, done, of, log_z } = self;
        let share = 100.0 * *done as f64 / (*of).max(1) as f64;
        write!(f, "{what}, {done} of {of} ({share:.0} %)")?;
        log_z.map_or(Ok(()), |log_z| write!(f, ", log Z so far {log_z:.3}"))
    }
}

impl Progress {
    const fn new() -> Self {
        Self {
            watches: AtomicUsize::new(0),
            alone: AtomicUsize::new(0),
            now: Mutex::new(None),
            task: Mutex::new(None),
        }
    }

    fn show(
        &self,
        what: &'static str,
        done: usize,
        of: usize,
        log_z: impl FnOnce() -> Option<f64>,
    ) {
        if self.watches.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut now = lock(&self.now);
        let fresh =
            |(since, stage): &(Instant, Stage)| stage.what == what && since.elapsed() < BETWEEN;
        if !now.as_ref().is_some_and(fresh) {
            *now = Some((Instant::now(), Stage { what, done, of, log_z: log_z() }));
        }
    }
}

/// Reports the number of completed steps.
pub fn at(what: &'static str, done: usize, of: usize) {
    set(what, done, of, || None);
}

/// [`at`], with log Z so far, which is computed only if there is a display.
pub fn at_log_z(what: &'static str, done: usize, of: usize, log_z: impl FnOnce() -> f64) {
    set(what, done, of, || Some(log_z()));
}

fn set(what: &'static str, done: usize, of: usize, log_z: impl FnOnce() -> Option<f64>) {
    let progress = owner();
    if progress.alone.load(Ordering::Relaxed) == 0 {
        progress.show(what, done, of, log_z);
    }
}

/// While it exists, only its own progress is shown: of work whose parts run at the same time, and would report theirs.
pub struct Alone(Owner);

impl Alone {
    /// Hides the progress of parts.
    pub fn start() -> Self {
        let owner = owner();
        owner.alone.fetch_add(1, Ordering::Relaxed);
        Self(owner)
    }

    /// Reports the number of completed parts.
    pub fn at(&self, what: &'static str, done: usize, of: usize) {
        self.0.show(what, done, of, || None);
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        self.0.alone.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The value is complete even if a thread panicked with the lock.
pub(crate) fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A named long computation, and its progress.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Its name, as in "initial rounds".
    pub name: String,
    /// Its start.
    pub since: Instant,
    /// Its stage, if it has reported one.
    pub stage: Option<Stage>,
}

/// While it exists, its task is running.
pub struct AtWork {
    outermost: Option<Owner>,
}

/// Names the following work for the display, until the value is dropped. Within another task it is a part of that one.
pub fn task(name: impl Into<String>) -> AtWork {
    let owner = owner();
    let mut current = lock(&owner.task);
    if current.is_some() {
        return AtWork { outermost: None };
    }
    *lock(&owner.now) = None;
    *current = Some((name.into(), Instant::now()));
    drop(current);
    AtWork { outermost: Some(owner) }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        if let Some(owner) = &self.outermost {
            *lock(&owner.task) = None;
        }
    }
}

/// While it exists, computations report their progress.
pub struct Watch(Owner);

impl Watch {
    /// Starts watching the work of this thread's context.
    pub fn start() -> Self {
        Self::of(owner())
    }

    pub(super) fn of(owner: Owner) -> Self {
        owner.watches.fetch_add(1, Ordering::Relaxed);
        Self(owner)
    }

    /// The last stage reported since the last call of [`Watch::forget`].
    pub fn now(&self) -> Option<Stage> {
        lock(&self.0.now).map(|(_, stage)| stage)
    }

    /// The running task, if there is one.
    pub fn task(&self) -> Option<Task> {
        let (name, since) = lock(&self.0.task).clone()?;
        Some(Task { name, since, stage: self.now() })
    }

    /// Forgets the stage, when another computation begins.
    pub fn forget(&self) {
        *lock(&self.0.now) = None;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.forget();
        self.0.watches.fetch_sub(1, Ordering::Relaxed);
    }
}
