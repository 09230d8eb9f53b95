//! How far a long computation is, for a person who waits for it.
//!
//! Annealing passes and sweeps lie below many layers that return plain values. So what runs says here how far it is, and
//! who watches reads it from another thread. Nothing is kept, and next to nothing done, where nobody watches.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
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

/// "annealing, 4500 of 10000 (45 %), log Z so far 1.234"
impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, done, of, log_z } = self;
        let share = 100.0 * *done as f64 / (*of).max(1) as f64;
        write!(f, "{what}, {done} of {of} ({share:.0} %)")?;
        log_z.map_or(Ok(()), |log_z| write!(f, ", log Z so far {log_z:.3}"))
    }
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
    let mut now = lock(&NOW);
    let fresh = |(since, stage): &(Instant, Stage)| stage.what == what && since.elapsed() < BETWEEN;
    if !now.as_ref().is_some_and(fresh) {
        *now = Some((Instant::now(), Stage { what, done, of, log_z: log_z() }));
    }
}

/// Whoever panicked with the lock left a whole value.
fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A computation that somebody waits for, by name, and how far it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// What it is, as in "initial rounds".
    pub name: String,
    /// When it began.
    pub since: Instant,
    /// Its stage, where it has told of one.
    pub stage: Option<Stage>,
}

static TASK: Mutex<Option<(String, Instant)>> = Mutex::new(None);

/// While it lives, its task is at work.
pub struct AtWork {
    outermost: bool,
}

/// Gives what follows a name to show, until the value is dropped. Within another task it is a part of that one.
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
        lock(&NOW).map(|(_, stage)| stage)
    }

    /// The task at work, if there is one.
    pub fn task(&self) -> Option<Task> {
        let (name, since) = lock(&TASK).clone()?;
        Some(Task { name, since, stage: self.now() })
    }

    /// Forgets the stage, as another computation begins.
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
