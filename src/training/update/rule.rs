//! The interface of update rules.

use crate::checkpoint::{StateReader, StateWriter};
use crate::error::Result;
use crate::model::Parameters;

/// The gradient of the mean log-likelihood with respect to W, c and b (uphill): one number for each parameter.
pub type Gradient = Parameters;

/// A rule that turns gradients into steps, with its own state.
pub trait UpdateRule: Send {
    /// One step uphill: `gradient` is that of the mean log-likelihood. A gradient that is not finite gives parameters that are not finite,
    /// which the caller detects.
    fn step(&mut self, parameters: &mut Parameters, gradient: &Gradient, learning_rate: f64);

    /// Adds the state to a checkpoint, under names that begin with `update.`.
    fn save(&self, state: &mut StateWriter);

    /// Restores the state from a checkpoint; steps then continue bit for bit.
    ///
    /// # Errors
    /// The checkpoint is of another rule or another model size.
    fn load(&mut self, state: &StateReader) -> Result<()>;
}
