//! The interface of negative phases: the model's moments in the gradient of the log-likelihood.

use std::sync::Arc;

use super::Moments;
use crate::checkpoint::{StateReader, StateWriter};
use crate::engine::BitMatrix;
use crate::error::Result;
use crate::tempering::mixture::MixtureBase;
use crate::tracking::{ChainTracker, Model, Start};

/// The state of a run when a gradient is due.
pub struct Now<'a> {
    /// The model of the gradient.
    pub model: &'a Model,
    /// The minibatch, shape [rows, M]; its moments are the data's.
    pub batch: BitMatrix,
    /// Updates done.
    pub updates: u64,
    /// The tracker of log Z, whose chains may be used; `None` in a run that tracks nothing.
    pub tracker: Option<&'a ChainTracker>,
}

/// Estimates the model's moments for the gradient; CD-k, PCD-k and tempered chains are such estimates.
///
/// Its random numbers come from streams of a seed and a position ([`crate::engine::random`]), and its state between updates is saved. So a
/// resumed run gives the same bytes as an uninterrupted one.
pub trait NegativePhase: Send {
    /// `E[v]`, `E[h]`, `E[vh']` under the model.
    ///
    /// # Errors
    /// If the moments of this model cannot be computed; the run ends.
    fn moments(&mut self, now: Now<'_>) -> Result<Moments>;

    /// Tracking starts; to be called once, before the first moments.
    fn start(&mut self, _start: Start<'_>) {}

    /// The model has moved by one update.
    fn follow(&mut self, _new: &Model) {}

    /// Whether [`Self::mend`] does something.
    fn mends(&self) -> bool {
        false
    }

    /// The training fails: this phase no longer represents the model, and does what it can about that.
    fn mend(&mut self, _start: Start<'_>) {}

    /// Chains from the marginals of the data have found a part of the model that those from a mixture miss: what relies on the latter takes
    /// such chains too.
    fn widen(&mut self, _start: Start<'_>) {}

    /// Chains from the mixture have missed a part of the model that those from another mixture, `base`, reach: what relies on the former takes the
    /// latter.
    fn renew(&mut self, _start: Start<'_>, _base: &Arc<MixtureBase>) {}

    /// Begins anew at a model that is near the distribution of the training rows, of which these are representative, shape [N, M]. Called in
    /// place of [`Self::start`], or later.
    fn restart(&mut self, start: Start<'_>, _rows: &BitMatrix) {
        self.start(start);
    }

    /// States that follow the model at beta = 1, shape [particles, M]: the tracker compares its chains with them.
    fn particles(&self) -> Option<&BitMatrix> {
        None
    }

    /// Tempered chains of its own whose weighted states it is.
    fn chains(&self) -> Option<&ChainTracker> {
        None
    }

    /// Whether it is the weighted states of the tracker's chains, which an evaluation must then not change.
    fn is_of_tracker(&self) -> bool {
        false
    }

    /// Writes what it remembers.
    fn save(&self, _state: &mut StateWriter) {}

    /// Reads what [`Self::save`] wrote; `start`: the model of the checkpoint, where tracking had started.
    ///
    /// # Errors
    /// A state of another configuration.
    fn load(&mut self, _state: &StateReader, _start: Option<Start<'_>>) -> Result<()> {
        Ok(())
    }
}
