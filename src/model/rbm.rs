//! The restricted Boltzmann machine as a Burn module.
//!
//! log f(v, h) = c.v + v'Wh + b.h with v in {0,1}^M and h in {0,1}^J; W is [visible, hidden].

use burn::module::{Module, Param};
use burn::tensor::activation::{sigmoid, softplus};
use burn::tensor::{Device, Tensor, TensorData};

use super::Parameters;
use crate::engine::random::Streams;
use crate::error::Result;
use crate::units::Variables;

/// Sizes of a model and its random start.
///
/// ```
/// use burn::tensor::Device;
/// use ztrack::model::RbmConfig;
///
/// let rbm = RbmConfig::new(6, 3).init(&Device::default());
/// assert_eq!((rbm.n_visible(), rbm.n_hidden()), (6, 3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RbmConfig {
    /// Number of visible units, M.
    pub n_visible: usize,
    /// Number of hidden units, J.
    pub n_hidden: usize,
    /// Standard deviation of the weights; default .01.
    pub weight_scale: f64,
    /// Seed of the weights; default 0.
    pub seed: u64,
}

impl RbmConfig {
    /// A model of these sizes.
    pub fn new(n_visible: usize, n_hidden: usize) -> Self {
        Self { n_visible, n_hidden, weight_scale: 0.01, seed: 0 }
    }

    /// Normal weights and biases 0, on a device.
    pub fn init(&self, device: &Device) -> Rbm {
        let Self { n_visible, n_hidden, weight_scale, seed } = *self;
        Rbm::from_parameters(&Parameters::random(n_visible, n_hidden, weight_scale, seed), device)
    }
}

/// Weights and biases as Burn tensors on one device (burn-ndarray by default, burn-flex by choice).
///
/// Burn saves and loads it in its own format (`rbm.save_file("rbm.bpk")`, `rbm.try_load_file("rbm.bpk")`); through [`Rbm::parameters`]
/// it becomes a [`crate::checkpoint::ModelFile`], which the command reads.
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
        let Parameters { n_visible, n_hidden, weights, visible_bias, hidden_bias, .. } = parameters;
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
            variables: Variables::BITS,
        }
    }

    /// Inputs of the hidden units x_j = b_j + (v'W)_j, [rows, J], given visible states, [rows, M].
    pub fn hidden_inputs(&self, visible: Tensor<2>) -> Tensor<2> {
        visible.matmul(self.weights.val()) + self.hidden_bias.val().unsqueeze()
    }

    /// Inputs of the visible units c_i + (Wh)_i, [rows, M], given hidden states, [rows, J].
    pub fn visible_inputs(&self, hidden: Tensor<2>) -> Tensor<2> {
        hidden.matmul(self.weights.val().transpose()) + self.visible_bias.val().unsqueeze()
    }

    /// `E[h | v]`, [rows, J], given visible states, [rows, M].
    pub fn hidden_mean(&self, visible: Tensor<2>) -> Tensor<2> {
        sigmoid(self.hidden_inputs(visible))
    }

    /// `E[v | h]`, [rows, M], given hidden states, [rows, J].
    pub fn visible_mean(&self, hidden: Tensor<2>) -> Tensor<2> {
        sigmoid(self.visible_inputs(hidden))
    }

    /// h ~ p(h | v), [rows, J] of 0 and 1; row i draws from stream i.
    pub fn sample_hidden(&self, visible: Tensor<2>, streams: Streams) -> Tensor<2> {
        bernoulli(self.hidden_mean(visible), streams)
    }

    /// v ~ p(v | h), [rows, M] of 0 and 1; row i draws from stream i.
    pub fn sample_visible(&self, hidden: Tensor<2>, streams: Streams) -> Tensor<2> {
        bernoulli(self.visible_mean(hidden), streams)
    }

    /// log f(v) = c.v + sum_j softplus(x_j), nats, one for each row of `visible`, [rows, M]: log p(v) + log Z.
    pub fn log_f(&self, visible: Tensor<2>) -> Tensor<1> {
        let hidden_part = softplus(self.hidden_inputs(visible.clone()), 1.0).sum_dim(1);
        let visible_part = (visible * self.visible_bias.val().unsqueeze()).sum_dim(1);
        (hidden_part + visible_part).squeeze_dim(1)
    }

    /// F(v) = -log f(v), nats.
    pub fn free_energy(&self, visible: Tensor<2>) -> Tensor<1> {
        self.log_f(visible).neg()
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

impl Parameters {
    /// From Burn tensors of shapes [M, J], `[M]` and `[J]`.
    ///
    /// # Errors
    /// As [`Parameters::new`].
    pub fn from_tensors(
        weights: Tensor<2>,
        visible_bias: Tensor<1>,
        hidden_bias: Tensor<1>,
    ) -> Result<Self> {
        let [n_visible, n_hidden] = weights.dims();
        Self::new(n_visible, n_hidden, host(weights), host(visible_bias), host(hidden_bias))
    }
}

/// Values of a tensor in row-major order.
pub(crate) fn host<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    // The product with 1 is a buffer with one owner, which burn-ndarray passes on without a copy; a shared buffer it copies through an
    // iterator over indices, 50 times slower.
    let values = (tensor * 1.0).into_data().convert::<f32>().try_into_vec();
    values.expect("values just converted to f32 are f32")
}

/// Zeros and ones with these probabilities, [rows, units].
fn bernoulli(probabilities: Tensor<2>, streams: Streams) -> Tensor<2> {
    let [rows, units] = probabilities.dims();
    let mut uniforms = Vec::with_capacity(rows * units);
    for row in 0..rows {
        let mut stream = streams.row(row as u32);
        uniforms.extend((0..units).map(|_| stream.uniform() as f32));
    }
    let device = probabilities.device();
    let uniforms = Tensor::<2>::from_data(TensorData::new(uniforms, [rows, units]), &device);
    uniforms.lower(probabilities).float()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::random::Purpose;
    use crate::model::exact::log_partition;
    use crate::model::test_systems::gaussian_parameters;

    fn all_states(units: usize, device: &Device) -> Tensor<2> {
        let rows = 1 << units;
        let bits =
            (0..rows * units).map(|i| f32::from(u8::from((i / units) >> (i % units) & 1 == 1)));
        let bits: Vec<f32> = bits.collect();
        Tensor::from_data(TensorData::new(bits, [rows, units]), device)
    }

    #[test]
    fn free_energies_of_all_states_add_up_to_log_z() {
        let (parameters, device) = (gaussian_parameters(8, 5, 0.7, 3), Device::default());
        let rbm = Rbm::from_parameters(&parameters, &device);
        let free_energies = host(rbm.free_energy(all_states(8, &device)));
        let z: f64 = free_energies.iter().map(|f| (-f64::from(*f)).exp()).sum();
        // 256 values of f32, each good to 1e-6 or so.
        assert!((z.ln() - log_partition(&parameters).unwrap()).abs() < 1e-5);
    }

    /// By Burn's own file, and its parameters to the other form and back.
    #[test]
    fn records_of_burn_hold_the_model() {
        let (device, folder) = (Device::default(), tempfile::tempdir().unwrap());
        let parameters = gaussian_parameters(7, 4, 0.7, 5);
        let path = folder.path().join("rbm.bpk");
        Rbm::from_parameters(&parameters, &device).save_file(&path).unwrap();
        let other = RbmConfig { seed: 9, ..RbmConfig::new(7, 4) }.init(&device);
        assert_eq!(other.try_load_file(&path).unwrap().parameters(), parameters);
        let small = RbmConfig::new(6, 4).init(&device);
        assert!(small.try_load_file(&path).is_err(), "a model of another size");
    }

    #[test]
    fn drawn_units_have_their_means() {
        let device = Device::default();
        let rbm = RbmConfig { weight_scale: 1.0, seed: 2, ..RbmConfig::new(6, 4) }.init(&device);
        let visible = Tensor::<2>::ones([4000, 6], &device);
        let means = host(rbm.hidden_mean(Tensor::<2>::ones([1, 6], &device)));
        let drawn = rbm.sample_hidden(visible, Streams::new(1, Purpose::SampleHidden, 0));
        let found = host(drawn.mean_dim(0));
        for (mean, found) in means.iter().zip(found) {
            // Five standard errors of a share among 4000.
            let error = (mean * (1.0 - mean) / 4000.0).sqrt();
            assert!((mean - found).abs() < 5.0 * error + 1e-6, "{found} instead of {mean}");
        }
    }
}
