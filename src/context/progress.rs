//! Progress of a long computation: it is reported here, and a display reads it from another thread. Without a display nothing is stored
//! and almost nothing computed.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

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
    /// Reports the number of completed steps.
    pub fn at(&self, what: &'static str, done: usize, of: usize) {
        self.set(what, done, of, || None);
    }

    /// [`Progress::at`], with log Z so far, which is computed only if there is a display.
    pub fn at_log_z(
        &self,
        what: &'static str,
        done: usize,
        of: usize,
        log_z: impl FnOnce() -> f64,
    ) {
        self.set(what, done, of, || Some(log_z()));
    }

    /// Hides the progress of the parts of the work at hand, which run at the same time, until the value is dropped.
    pub fn alone(&self) -> Alone<'_> {
        self.alone.fetch_add(1, Ordering::Relaxed);
        Alone(self)
    }

    fn set(&self, what: &'static str, done: usize, of: usize, log_z: impl FnOnce() -> Option<f64>) {
        if self.alone.load(Ordering::Relaxed) == 0 {
            self.show(what, done, of, log_z);
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

/// While it exists, only its own progress is shown.
pub struct Alone<'a>(&'a Progress);

impl Alone<'_> {
    /// Reports the number of completed parts.
    pub fn at(&self, what: &'static str, done: usize, of: usize) {
        self.0.show(what, done, of, || None);
    }
}

impl Drop for Alone<'_> {
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
    outermost: Option<Arc<Progress>>,
}

impl AtWork {
    pub(super) fn begin(progress: &Arc<Progress>, name: String) -> Self {
        let mut current = lock(&progress.task);
        if current.is_some() {
            return Self { outermost: None };
        }
        *lock(&progress.now) = None;
        *current = Some((name, Instant::now()));
        drop(current);
        Self { outermost: Some(Arc::clone(progress)) }
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        if let Some(progress) = &self.outermost {
            *lock(&progress.task) = None;
        }
    }
}

/// While it exists, a computation reports its progress.
pub struct Watch(Arc<Progress>);

impl Watch {
    pub(super) fn new(progress: Arc<Progress>) -> Self {
        progress.watches.fetch_add(1, Ordering::Relaxed);
        Self(progress)
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
