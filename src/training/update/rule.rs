//! What an update rule is.

use crate::checkpoint::{StateReader, StateWriter};
use crate::error::Result;
use crate::model::Parameters;

/// The gradient of the mean log-likelihood with respect to W, c and b (uphill): one number for each parameter.
pub type Gradient = Parameters;

/// A rule that turns gradients into steps, with its own memory.
pub trait UpdateRule: Send {
    /// One step uphill: `gradient` is that of the mean log-likelihood. A gradient that is not finite makes parameters that are
    /// not finite, for the caller to detect.
    fn step(&mut self, parameters: &mut Parameters, gradient: &Gradient, learning_rate: f64);

    /// Adds the memory to a checkpoint, under names that begin with `update.`.
    fn save(&self, state: &mut StateWriter);

    /// Takes the memory from a checkpoint; afterwards steps continue bit for bit.
    ///
    /// # Errors
    /// The checkpoint is of another rule or another model size.
    fn load(&mut self, state: &StateReader) -> Result<()>;
}
