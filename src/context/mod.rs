//! What a computation is given by whoever starts it: the device and the ranks that do the work, a flag that ends it, and its progress.
//!
//! A [`Context`] is handed down: engines have the one they were made in ([`crate::engine::Engine::context`]), and with them everything
//! that is computed by engines.

mod device;
mod parts;
pub mod progress;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

pub use device::Device;
pub(crate) use parts::Parts;

use crate::collective::{Collective, Ranks, Solo};
use crate::error::{Error, Result};
use progress::{AtWork, Progress, Watch};

/// Of computations that were given none: on the host, by one rank, and nobody ends them.
static NONE: LazyLock<Context> = LazyLock::new(Context::default);

/// The surroundings of a computation. Clones share the flag and the progress.
#[derive(Clone, Debug)]
pub struct Context {
    device: Device,
    ranks: Ranks,
    end: Arc<End>,
    progress: Arc<Progress>,
}

/// Whether and where a computation is to end.
#[derive(Debug, Default)]
struct End {
    cancelled: AtomicBool,
    /// Values of [`Context::permit`] in use.
    permits: AtomicUsize,
    /// Calls of [`Context::share`] at work, in which no other rank waits.
    shares: AtomicUsize,
    /// Whether a part of the work was left out.
    left: AtomicBool,
    /// The number of questions so far, and that at which it is cancelled, if it is not 0.
    #[cfg(test)]
    asked: [AtomicUsize; 2],
}

/// Counts for as long as it exists.
pub(crate) struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Default for Context {
    fn default() -> Self {
        Self::from(Device::default())
    }
}

impl From<Device> for Context {
    fn from(device: Device) -> Self {
        Self { device, ranks: Arc::new(Solo), end: Arc::default(), progress: Arc::default() }
    }
}

impl From<&Device> for Context {
    fn from(device: &Device) -> Self {
        device.clone().into()
    }
}

impl From<&Self> for Context {
    fn from(context: &Self) -> Self {
        context.clone()
    }
}

impl Context {
    /// That of computations that were given none.
    pub(crate) fn none() -> &'static Self {
        &NONE
    }

    /// The same on another device.
    #[must_use]
    pub fn on(self, device: Device) -> Self {
        Self { device, ..self }
    }

    /// The same, its work divided among ranks; every one of them makes the same calls.
    #[must_use]
    pub fn among(self, ranks: Ranks) -> Self {
        Self { ranks, ..self }
    }

    /// The same without the other ranks, which do not take part.
    #[must_use]
    pub fn alone(&self) -> Self {
        self.clone().among(Arc::new(Solo))
    }

    /// For work that every rank does in full: where there are others nothing ends it, because they would wait for this rank.
    #[cfg(feature = "burn")]
    pub(crate) fn undivided(&self) -> Self {
        let end = if self.ranks.size() > 1 { Arc::default() } else { Arc::clone(&self.end) };
        Self { end, ..self.alone() }
    }

    /// Where models are computed.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The ranks that divide the work.
    pub fn ranks(&self) -> &dyn Collective {
        self.ranks.as_ref()
    }

    /// Ends the computation within a sweep, where it may be interrupted.
    pub fn cancel(&self) {
        self.end.cancelled.store(true, Ordering::Relaxed);
    }

    /// Takes [`Context::cancel`] back, for the next computation.
    pub fn renew(&self) {
        self.end.cancelled.store(false, Ordering::Relaxed);
        self.end.left.store(false, Ordering::Relaxed);
    }

    /// Whether it was cancelled on any of its ranks, all of which ask.
    pub(crate) fn is_cancelled_anywhere(&self) -> bool {
        self.ranks.any(self.is_cancelled())
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.end.cancelled.load(Ordering::Relaxed)
    }

    /// While the value exists, the computation may be interrupted: after [`Context::cancel`] loops over sweeps and steps of annealing end
    /// early, and what follows computes values that mean nothing. [`Context::check`] says so afterwards.
    pub(crate) fn permit(&self) -> Counted<'_> {
        Counted::new(&self.end.permits)
    }

    /// To be called after work with a [`Context::permit`].
    ///
    /// # Errors
    /// [`Error::Interrupted`] if a part of the work was left out.
    pub(crate) fn check(&self) -> Result<()> {
        let End { permits, left, .. } = &*self.end;
        // Whoever is around it is told too.
        let inside = permits.load(Ordering::Relaxed) > 0;
        let left =
            if inside { left.load(Ordering::Relaxed) } else { left.swap(false, Ordering::Relaxed) };
        if left { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Runs `work`, which may be interrupted.
    ///
    /// # Errors
    /// Those of `work`; [`Error::Interrupted`] if a part of it was left out.
    pub fn interruptible<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let permit = self.permit();
        let done = work();
        drop(permit);
        self.check().and(done)
    }

    /// Whether a loop is to end here, because the computation was cancelled and may be interrupted. To be asked between sweeps. Where ranks
    /// divide the work, it ends only in the work of one rank: all of them leave the same loops, and none waits for another.
    pub fn is_interrupted(&self) -> bool {
        let end = &*self.end;
        if end.permits.load(Ordering::Relaxed) == 0 {
            return false;
        }
        #[cfg(test)]
        self.count();
        let by_itself = || self.ranks.size() == 1 || end.shares.load(Ordering::Relaxed) > 0;
        if self.is_cancelled() && by_itself() {
            end.left.store(true, Ordering::Relaxed);
        }
        end.left.load(Ordering::Relaxed)
    }

    /// [`Context::is_interrupted`] as an error, to leave a loop by.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub(crate) fn go_on(&self) -> Result<()> {
        if self.is_interrupted() { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Runs this rank's part of a computation. If it was cancelled on one rank and may be interrupted, all leave it.
    fn share<T>(&self, ranks: &dyn Collective, work: impl FnOnce() -> T) -> T {
        if ranks.size() == 1 {
            return work();
        }
        let end = &*self.end;
        let share = Counted::new(&end.shares);
        let done = work();
        drop(share);
        if end.permits.load(Ordering::Relaxed) > 0 && ranks.any(self.is_cancelled()) {
            end.left.store(true, Ordering::Relaxed);
        }
        done
    }

    /// How far it is, for a display.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Names the following work for the display, until the value is dropped. Within another task it is a part of that one.
    pub fn task(&self, name: impl Into<String>) -> AtWork {
        AtWork::begin(&self.progress, name.into())
    }

    /// Its progress, from now on.
    pub fn watch(&self) -> Watch {
        Watch::new(Arc::clone(&self.progress))
    }
}
