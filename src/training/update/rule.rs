//! The interface of update rules.

use crate::checkpoint::{StateReader, StateWriter};
use crate::error::Result;
use crate::model::Parameters;

/// The gradient of the mean log-likelihood with respect to W, c and b (uphill): one number for each parameter.
pub type Gradient = Parameters;

impl Gradient {
    /// Subtracts `rate` times the weights of a model. Of units -1 and +1 these are J = W/4: with the steps of [`Centering`] that is W/16,
    /// and the biases follow, so that the fields stay.
    ///
    /// [`Centering`]: crate::training::gradient::Centering
    pub(crate) fn decay(&mut self, model: &Parameters, rate: f32) {
        let plus_minus = model.variables.is_plus_minus();
        let rate = if plus_minus { rate / 16.0 } else { rate };
        let Parameters { n_hidden, weights, visible_bias, hidden_bias, .. } = self;
        let rows = weights.chunks_exact_mut(*n_hidden).zip(model.weights.chunks_exact(*n_hidden));
        for ((row, of_model), c) in rows.zip(visible_bias) {
            for ((g, w), b) in row.iter_mut().zip(of_model).zip(hidden_bias.iter_mut()) {
                *g -= w * rate;
                if plus_minus {
                    *c += 0.5 * w * rate;
                    *b += 0.5 * w * rate;
                }
            }
        }
    }
}

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
