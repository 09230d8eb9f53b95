//! Progress of a long computation, for display.
//!
//! Annealing passes and sweeps are below many layers that return plain values. So they report their progress here, and a display reads it
//! from another thread. Without a display nothing is stored and almost nothing computed.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

static WATCHES: AtomicUsize = AtomicUsize::new(0);
/// Values of [`Alone`].
static ALONE: AtomicUsize = AtomicUsize::new(0);
static NOW: Mutex<Option<(Instant, Stage)>> = Mutex::new(None);

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

/// Reports the number of completed steps.
pub fn at(what: &'static str, done: usize, of: usize) {
    set(what, done, of, || None);
}

/// [`at`], with log Z so far, which is computed only if there is a display.
pub fn at_log_z(what: &'static str, done: usize, of: usize, log_z: impl FnOnce() -> f64) {
    set(what, done, of, || Some(log_z()));
}

/// While it exists, only its own progress is shown: of work whose parts run at the same time, and would report theirs.
pub struct Alone(());

impl Alone {
    /// Hides the progress of parts.
    pub fn start() -> Self {
        ALONE.fetch_add(1, Ordering::Relaxed);
        Self(())
    }

    /// Reports the number of completed parts.
    pub fn at(&self, what: &'static str, done: usize, of: usize) {
        show(what, done, of, || None);
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        ALONE.fetch_sub(1, Ordering::Relaxed);
    }
}

fn set(what: &'static str, done: usize, of: usize, log_z: impl FnOnce() -> Option<f64>) {
    if ALONE.load(Ordering::Relaxed) == 0 {
        show(what, done, of, log_z);
    }
}

fn show(what: &'static str, done: usize, of: usize, log_z: impl FnOnce() -> Option<f64>) {
    if WATCHES.load(Ordering::Relaxed) == 0 {
        return;
    }
    let mut now = lock(&NOW);
    let fresh = |(since, stage): &(Instant, Stage)| stage.what == what && since.elapsed() < BETWEEN;
    if !now.as_ref().is_some_and(fresh) {
        *now = Some((Instant::now(), Stage { what, done, of, log_z: log_z() }));
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

static TASK: Mutex<Option<(String, Instant)>> = Mutex::new(None);

/// While it exists, its task is running.
pub struct AtWork {
    outermost: bool,
}

/// Names the following work for the display, until the value is dropped. Within another task it is a part of that one.
pub fn task(name: impl Into<String>) -> AtWork {
    let mut current = lock(&TASK);
    let outermost = current.is_none();
    if outermost {
        *lock(&NOW) = None;
        *current = Some((name.into(), Instant::now()));
    }
    AtWork { outermost }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        if self.outermost {
            *lock(&TASK) = None;
        }
    }
}

/// While it exists, computations report their progress.
pub struct Watch(());

impl Watch {
    /// Starts watching.
    pub fn start() -> Self {
        WATCHES.fetch_add(1, Ordering::Relaxed);
        Self(())
    }

    /// The last stage reported since the last call of [`Watch::forget`].
    pub fn now(&self) -> Option<Stage> {
        lock(&NOW).map(|(_, stage)| stage)
    }

    /// The running task, if there is one.
    pub fn task(&self) -> Option<Task> {
        let (name, since) = lock(&TASK).clone()?;
        Some(Task { name, since, stage: self.now() })
    }

    /// Forgets the stage, when another computation begins.
    pub fn forget(&self) {
        *lock(&NOW) = None;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.forget();
        WATCHES.fetch_sub(1, Ordering::Relaxed);
    }
}
