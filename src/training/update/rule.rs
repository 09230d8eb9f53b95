//! The interface of update rules.

use rayon::prelude::*;

use crate::checkpoint::{StateReader, StateWriter};
use crate::engine::{AS_A_NUMBER, NUMBERS_PER_TASK, fewest_tasks};
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
        let fewest = fewest_tasks(weights.len() * AS_A_NUMBER);
        let of_model = model.weights.par_chunks(NUMBERS_PER_TASK);
        let tasks = weights.par_chunks_mut(NUMBERS_PER_TASK).zip(of_model);
        tasks.with_min_len(fewest).for_each(|(own, of_model)| {
            own.iter_mut().zip(of_model).for_each(|(g, w)| *g -= w * rate);
        });
        if plus_minus {
            for (row, c) in model.weights.chunks_exact(*n_hidden).zip(visible_bias) {
                for (w, b) in row.iter().zip(hidden_bias.iter_mut()) {
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
