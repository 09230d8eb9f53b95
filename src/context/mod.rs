//! What a computation shares with whoever started it: a flag that ends it, and its progress.
//!
//! Sweeps and annealing passes are below many layers that return plain values. So they find the context by their thread: one of
//! [`Context::run`] has threads of its own, all other work has the context of the process, which signals end and the display shows.

pub mod interrupt;
pub mod progress;

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};
use progress::{Progress, Watch};

thread_local! {
    /// The context of this thread; `None`: that of the process.
    static OWN: RefCell<Option<Context>> = const { RefCell::new(None) };
}

/// A computation of its own: for programs that run several at a time.
#[derive(Clone, Debug, Default)]
pub struct Context {
    cancelled: Arc<AtomicBool>,
    progress: Arc<Progress>,
}

impl Context {
    /// Runs `work` on threads of its own. It needs no [`interrupt::permit`].
    ///
    /// # Errors
    /// Those of `work`, [`Error::Interrupted`] after [`Context::cancel`], and a system without threads.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        let own = self.clone();
        let own = move |_| OWN.with(|of_thread| *of_thread.borrow_mut() = Some(own.clone()));
        let pool = rayon::ThreadPoolBuilder::new().start_handler(own).build();
        let pool =
            pool.map_err(|error| Error::Invalid(format!("cannot start threads: {error}")))?;
        interrupt::catch(|| pool.install(work))
    }

    /// Ends the work of [`Context::run`] within a sweep, and nothing else.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Its progress, from now on.
    pub fn watch(&self) -> Watch {
        Watch::of(progress::Owner::Computation(Arc::clone(&self.progress)))
    }
}

/// Whether the computation of this thread is one of its own that was cancelled.
fn is_own_cancelled() -> bool {
    OWN.with(|own| own.borrow().as_ref().is_some_and(Context::is_cancelled))
}

/// Where the progress of this thread belongs.
fn owner() -> progress::Owner {
    OWN.with(|own| match own.borrow().as_ref() {
        Some(context) => progress::Owner::Computation(Arc::clone(&context.progress)),
        None => progress::Owner::Process,
    })
}
