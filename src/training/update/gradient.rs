//! One tensor for each parameter: gradients, and the memories of update rules.

use burn::tensor::{Device, Tensor, TensorData};

use crate::checkpoint::{StateReader, StateWriter};
use crate::error::Result;
use crate::model::{Rbm, host};

/// The gradient of the mean log-likelihood with respect to W, c and b (uphill).
#[derive(Clone, Debug)]
pub struct Gradient {
    /// d/dW, shape [M, J].
    pub weights: Tensor<2>,
    /// d/dc, shape `[M]`.
    pub visible_bias: Tensor<1>,
    /// d/db, shape `[J]`.
    pub hidden_bias: Tensor<1>,
}

impl Gradient {
    /// All zeros.
    pub fn zeros(n_visible: usize, n_hidden: usize, device: &Device) -> Self {
        Self {
            weights: Tensor::zeros([n_visible, n_hidden], device),
            visible_bias: Tensor::zeros([n_visible], device),
            hidden_bias: Tensor::zeros([n_hidden], device),
        }
    }

    pub(super) fn save(&self, name: &str, state: &mut StateWriter) {
        let [n_visible, n_hidden] = self.weights.dims();
        let field = |field| format!("update.{name}.{field}");
        state
            .f32s(&field("weights"), &[n_visible, n_hidden], &host(self.weights.clone()))
            .f32s(&field("visible_bias"), &[n_visible], &host(self.visible_bias.clone()))
            .f32s(&field("hidden_bias"), &[n_hidden], &host(self.hidden_bias.clone()));
    }

    /// Reads what [`Self::save`] wrote; size and device are those of `self`.
    pub(super) fn load(&mut self, name: &str, state: &StateReader) -> Result<()> {
        let device = self.weights.device();
        let [n_visible, n_hidden] = self.weights.dims();
        let field = |field| format!("update.{name}.{field}");
        let weights = state.f32s(&field("weights"), &[n_visible, n_hidden])?;
        let visible_bias = state.f32s(&field("visible_bias"), &[n_visible])?;
        let hidden_bias = state.f32s(&field("hidden_bias"), &[n_hidden])?;
        *self = Self {
            weights: Tensor::from_data(TensorData::new(weights, [n_visible, n_hidden]), &device),
            visible_bias: Tensor::from_data(TensorData::new(visible_bias, [n_visible]), &device),
            hidden_bias: Tensor::from_data(TensorData::new(hidden_bias, [n_hidden]), &device),
        };
        Ok(())
    }
}

/// The model moved by a step in each parameter.
pub(super) fn moved(rbm: Rbm, step: Gradient) -> Rbm {
    Rbm {
        weights: rbm.weights.map(|w| w + step.weights),
        visible_bias: rbm.visible_bias.map(|c| c + step.visible_bias),
        hidden_bias: rbm.hidden_bias.map(|b| b + step.hidden_bias),
    }
}
