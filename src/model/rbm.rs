//! The restricted Boltzmann machine as a Burn module.
//!
//! log f(v, h) = c.v + v'Wh + b.h with v in {0,1}^M and h in {0,1}^J; W is [visible, hidden].

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorData};

use super::Parameters;

/// Weights and biases as Burn tensors on one device (burn-ndarray by default, burn-flex by choice).
#[derive(Module, Debug)]
pub struct Rbm {
    /// W, shape [M, J].
    pub weights: Param<Tensor<2>>,
    /// c, shape `[M]`.
    pub visible_bias: Param<Tensor<1>>,
    /// b, shape `[J]`.
    pub hidden_bias: Param<Tensor<1>>,
}

impl Rbm {
    /// Moves host parameters to a device.
    pub fn from_parameters(parameters: &Parameters, device: &Device) -> Self {
        let Parameters { n_visible, n_hidden, weights, visible_bias, hidden_bias } = parameters;
        Self::from_tensors(
            Tensor::from_data(TensorData::new(weights.clone(), [*n_visible, *n_hidden]), device),
            Tensor::from_data(TensorData::new(visible_bias.clone(), [*n_visible]), device),
            Tensor::from_data(TensorData::new(hidden_bias.clone(), [*n_hidden]), device),
        )
    }

    /// From tensors of shapes [M, J], `[M]` and `[J]`.
    pub fn from_tensors(
        weights: Tensor<2>,
        visible_bias: Tensor<1>,
        hidden_bias: Tensor<1>,
    ) -> Self {
        Self {
            weights: Param::from_tensor(weights),
            visible_bias: Param::from_tensor(visible_bias),
            hidden_bias: Param::from_tensor(hidden_bias),
        }
    }

    /// Copies the parameters to the host.
    pub fn parameters(&self) -> Parameters {
        let [n_visible, n_hidden] = self.weights.val().dims();
        Parameters {
            n_visible,
            n_hidden,
            weights: host(self.weights.val()),
            visible_bias: host(self.visible_bias.val()),
            hidden_bias: host(self.hidden_bias.val()),
        }
    }

    /// Number of visible units, M.
    pub fn n_visible(&self) -> usize {
        self.weights.val().dims()[0]
    }

    /// Number of hidden units, J.
    pub fn n_hidden(&self) -> usize {
        self.weights.val().dims()[1]
    }
}

/// Values of a tensor in row-major order.
pub(crate) fn host<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    // The product with 1 is a buffer nobody else holds, which burn-ndarray hands over as it is; a shared buffer it
    // copies through an iterator over indices, 50 times slower.
    (tensor * 1.0).into_data().convert::<f32>().try_into_vec().unwrap_or_default()
}
