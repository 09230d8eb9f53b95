//! Ending long computations at a signal.
//!
//! Sweeps and annealing passes are below many layers that return plain values and do not handle signals. So a computation is left by
//! unwinding with a private payload (no panic message, no hook; rayon carries it from its threads) to the [`catch`] around it, which
//! returns [`Error::Interrupted`]. The values of that computation must not be used after that.
//!
//! Nothing is interrupted outside of a [`permit`]: an ordinary update is short and is completed.

use std::cell::Cell;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::error::{Error, Result};

static REQUESTED: AtomicBool = AtomicBool::new(false);
static PERMITS: AtomicUsize = AtomicUsize::new(0);
/// Whether this process is one of several that work together, and its current work of its own.
static ONE_OF_SEVERAL: AtomicBool = AtomicBool::new(false);
static LOCAL: AtomicUsize = AtomicUsize::new(0);

/// The payload of the unwinding.
struct Interruption;

/// The flag a signal handler sets, one for the process.
pub fn requested() -> &'static AtomicBool {
    &REQUESTED
}

/// While it exists, computations may be interrupted.
pub struct Permit(PhantomData<*const ()>);

thread_local! {
    /// Permits given on this thread.
    static HERE: Cell<usize> = const { Cell::new(0) };
}

/// Allows interruptions until the permit is dropped; there must be a [`catch`] around it.
pub fn permit() -> Permit {
    PERMITS.fetch_add(1, Ordering::Relaxed);
    HERE.with(|here| here.set(here.get() + 1));
    Permit(PhantomData)
}

impl Drop for Permit {
    fn drop(&mut self) {
        PERMITS.fetch_sub(1, Ordering::Relaxed);
        HERE.with(|here| here.set(here.get() - 1));
    }
}

/// After this call a signal ends only work inside of [`locally`], because other processes wait for this one.
#[cfg(feature = "mpi")]
pub(crate) fn is_one_of_several() {
    ONE_OF_SEVERAL.store(true, Ordering::Relaxed);
}

/// Whether this thread has a permit; equal on all ranks, which run the same program.
pub(crate) fn permitted_here() -> bool {
    HERE.with(|here| here.get() > 0)
}

/// Whether a signal has arrived.
pub(crate) fn is_requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// Leaves the computation, up to the [`catch`] around it.
pub(crate) fn leave() -> ! {
    resume_unwind(Box::new(Interruption))
}

/// Work during which no other process waits; `None` if it was left at a [`point`].
pub(crate) fn locally<T>(work: impl FnOnce() -> T) -> Option<T> {
    struct Local;
    impl Drop for Local {
        fn drop(&mut self) {
            LOCAL.fetch_sub(1, Ordering::Relaxed);
        }
    }
    LOCAL.fetch_add(1, Ordering::Relaxed);
    let _local = Local;
    catch(|| Ok(work())).ok()
}

/// A point at which a permitted computation can be left: called between sweeps. Costs two loads outside of permits.
pub fn point() {
    if super::is_own_cancelled() {
        leave();
    }
    if is_requested() && PERMITS.load(Ordering::Relaxed) > 0 {
        let others_wait =
            ONE_OF_SEVERAL.load(Ordering::Relaxed) && LOCAL.load(Ordering::Relaxed) == 0;
        if !others_wait {
            leave();
        }
    }
}

/// Runs `work`; [`Error::Interrupted`] if it was left at a [`point`]. Other panics continue.
///
/// # Errors
/// Those of `work`, and the interruption.
pub fn catch<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        if payload.is::<Interruption>() { Err(Error::Interrupted) } else { resume_unwind(payload) }
    })
}
