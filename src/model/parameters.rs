//! The parameters of an RBM as plain host arrays: what kernels, files and enumeration read.

use burn::tensor::Tensor;

use super::host;
use crate::error::{Error, Result};
use crate::ops::random::{Purpose, Streams};

/// Weights and biases on the host, f32, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// Number of visible units, M.
    pub n_visible: usize,
    /// Number of hidden units, J.
    pub n_hidden: usize,
    /// W, shape [M, J], row-major.
    pub weights: Vec<f32>,
    /// c, shape `[M]`.
    pub visible_bias: Vec<f32>,
    /// b, shape `[J]`.
    pub hidden_bias: Vec<f32>,
}

impl Parameters {
    /// Checks that shapes agree and every value is finite.
    pub fn new(
        n_visible: usize,
        n_hidden: usize,
        weights: Vec<f32>,
        visible_bias: Vec<f32>,
        hidden_bias: Vec<f32>,
    ) -> Result<Self> {
        if n_visible == 0 || n_hidden == 0 {
            return Err(Error::Invalid(format!(
                "an RBM needs at least one visible and one hidden unit, got {n_visible} and {n_hidden}"
            )));
        }
        let lengths = [
            ("weights", weights.len(), n_visible * n_hidden),
            ("visible_bias", visible_bias.len(), n_visible),
            ("hidden_bias", hidden_bias.len(), n_hidden),
        ];
        for (name, found, expected) in lengths {
            if found != expected {
                return Err(Error::Invalid(format!(
                    "`{name}` has {found} values, {expected} expected for {n_visible} visible and {n_hidden} hidden units"
                )));
            }
        }
        let parameters = Self { n_visible, n_hidden, weights, visible_bias, hidden_bias };
        match parameters.not_finite() {
            Some(name) => Err(Error::Invalid(format!("`{name}` contains NaN or infinity"))),
            None => Ok(parameters),
        }
    }

    /// From weights that lie the other way round, [J, M], as scikit-learn (`components_`) and torch.nn.Linear keep them;
    /// `transposed().weights` are these again.
    ///
    /// # Errors
    /// As [`Parameters::new`].
    pub fn from_hidden_major(
        n_visible: usize,
        n_hidden: usize,
        weights: Vec<f32>,
        visible_bias: Vec<f32>,
        hidden_bias: Vec<f32>,
    ) -> Result<Self> {
        // The same model with its layers exchanged, exchanged.
        Ok(Self::new(n_hidden, n_visible, weights, hidden_bias, visible_bias)?.transposed())
    }

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

    /// All zeros: log Z = (M + J) log 2.
    pub fn zeros(n_visible: usize, n_hidden: usize) -> Self {
        Self {
            n_visible,
            n_hidden,
            weights: vec![0.0; n_visible * n_hidden],
            visible_bias: vec![0.0; n_visible],
            hidden_bias: vec![0.0; n_hidden],
        }
    }

    /// Weights drawn from a normal distribution around 0 with standard deviation `weight_scale`, biases 0.
    pub fn random(n_visible: usize, n_hidden: usize, weight_scale: f64, seed: u64) -> Self {
        let mut parameters = Self::zeros(n_visible, n_hidden);
        let streams = Streams::new(seed, Purpose::Weights, 0);
        for (i, row) in parameters.weights.chunks_exact_mut(n_hidden).enumerate() {
            let mut stream = streams.row(i as u32);
            row.iter_mut().for_each(|w| *w = (weight_scale * stream.normal()) as f32);
        }
        parameters
    }

    /// The same model with its layers exchanged: W transposed, biases swapped. log Z is the same.
    pub fn transposed(&self) -> Self {
        let mut weights = Vec::with_capacity(self.weights.len());
        for j in 0..self.n_hidden {
            weights.extend((0..self.n_visible).map(|i| self.weights[i * self.n_hidden + j]));
        }
        Self {
            n_visible: self.n_hidden,
            n_hidden: self.n_visible,
            weights,
            visible_bias: self.hidden_bias.clone(),
            hidden_bias: self.visible_bias.clone(),
        }
    }

    /// The name of a parameter that holds NaN or infinity, if there is one.
    pub fn not_finite(&self) -> Option<&'static str> {
        [
            ("weights", &self.weights),
            ("visible_bias", &self.visible_bias),
            ("hidden_bias", &self.hidden_bias),
        ]
        .into_iter()
        // Without an early end, so that the compiler vectorises.
        .find(|(_, values)| !values.iter().fold(true, |finite, x| finite & x.is_finite()))
        .map(|(name, _)| name)
    }
}
