//! Ending long computations at a signal.
//!
//! Sweeps and annealing passes lie below many layers that return plain values and have nothing to say about signals. So a
//! computation is left by unwinding with a private payload (no panic message, no hook; rayon carries it from its threads)
//! to the [`catch`] around it, which makes it [`Error::Interrupted`]. What it worked on must not be used after that.
//!
//! Nothing is interrupted outside of a [`permit`]: an ordinary update, say, is short, and ends as it should.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::error::{Error, Result};

static REQUESTED: AtomicBool = AtomicBool::new(false);
static PERMITS: AtomicUsize = AtomicUsize::new(0);

/// What unwinds.
struct Interruption;

/// The flag a signal handler sets, one for the process.
pub fn requested() -> &'static AtomicBool {
    &REQUESTED
}

/// While it lives, computations may be interrupted.
pub struct Permit(());

/// Allows interruptions until the permit is dropped; there must be a [`catch`] around it.
pub fn permit() -> Permit {
    PERMITS.fetch_add(1, Ordering::Relaxed);
    Permit(())
}

impl Drop for Permit {
    fn drop(&mut self) {
        PERMITS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A point where a permitted computation can be left: called between sweeps. Costs one load where nothing is asked for.
pub fn point() {
    if REQUESTED.load(Ordering::Relaxed) && PERMITS.load(Ordering::Relaxed) > 0 {
        resume_unwind(Box::new(Interruption));
    }
}

/// Runs `work`; [`Error::Interrupted`] where it was left at a [`point`]. Other panics go on.
///
/// # Errors
/// Those of `work`, and the interruption.
pub fn catch<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        if payload.is::<Interruption>() { Err(Error::Interrupted) } else { resume_unwind(payload) }
    })
}
