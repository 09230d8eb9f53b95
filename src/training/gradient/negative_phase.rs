//! What every negative phase has to do: the model's moments in the gradient of the log-likelihood.

use super::Moments;
use crate::checkpoint::{StateReader, StateWriter};
use crate::error::Result;
use crate::ops::BitMatrix;
use crate::tempering::{BaseDistribution, Ladder};
use crate::tracking::{ChainTracker, Model};

/// Where a run stands when a gradient is due.
pub struct Now<'a> {
    /// The model the gradient is taken at.
    pub model: &'a Model,
    /// The minibatch, shape [rows, M]; its moments are the data's.
    pub batch: BitMatrix,
    /// Updates done.
    pub updates: u64,
    /// The tracker of log Z, whose chains may serve.
    pub tracker: &'a ChainTracker,
}

/// What tracking starts from, or goes on from after a resume.
#[derive(Clone, Copy)]
pub struct Start<'a> {
    /// The model the gradient is taken at.
    pub model: &'a Model,
    /// Inverse temperatures of tempered chains.
    pub ladder: &'a Ladder,
    /// Their distribution at beta = 0.
    pub base: &'a BaseDistribution,
}

/// The tempered chains whose weighted states are a gradient's negative phase.
pub enum Carriers<'a> {
    /// None: the negative phase is of another kind.
    None,
    /// Those of the tracker, which an evaluation must then leave as they are.
    Tracker,
    /// Chains of its own.
    Own(&'a ChainTracker),
}

/// Estimates the model's moments for the gradient; CD-k, PCD-k and tempered chains are such estimates.
///
/// Whatever is random in it is drawn from streams of a seed and a position ([`crate::ops::random`]), and what it remembers from
/// update to update is saved: then a resumed run gives the bytes of one that was never stopped.
pub trait NegativePhase: Send {
    /// `E[v]`, `E[h]`, `E[vh']` under the model.
    ///
    /// # Errors
    /// What makes the moments of this model impossible to have; it ends the run.
    fn moments(&mut self, now: Now<'_>) -> Result<Moments>;

    /// Tracking starts; to be called once, before the first moments are asked for.
    fn start(&mut self, _start: Start<'_>) {}

    /// The model has moved by one update.
    fn follow(&mut self, _new: &Model) {}

    /// States that follow the model at beta = 1, shape [particles, M]: the tracker compares its chains with them.
    fn particles(&self) -> Option<&BitMatrix> {
        None
    }

    /// The tempered chains it rests on.
    fn carriers(&self) -> Carriers<'_> {
        Carriers::None
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
