//! The composed reference: every operation of [`RbmOps`] from plain Burn tensor operations, on any device.
//!
//! Simple on purpose. Kernels are tested against it; it can also be used on devices without a kernel.

use burn::tensor::activation::{sigmoid, softplus};
use burn::tensor::{Device, Tensor, TensorData};

use super::host::uniform;
use super::matrix::padded;
use super::{BetaGrid, BitMatrix, Draw, Layer, Matrix, PADDING, RbmOps, words_per_row};
use crate::model::{Rbm, host};
use crate::units::Variables;

/// [`RbmOps`] composed of Burn tensor operations.
#[derive(Clone, Debug)]
pub struct Composed {
    rbm: Rbm,
    device: Device,
    variables: Variables,
}

impl Composed {
    /// For the parameters of `rbm`, on its device.
    pub fn new(rbm: &Rbm) -> Self {
        let variables = Variables::BITS;
        Self { rbm: rbm.clone(), device: rbm.weights.val().device(), variables }
    }

    /// The same, whose visible columns stand for `variables`.
    #[must_use]
    pub fn of(self, variables: Variables) -> Self {
        Self { variables, ..self }
    }

    fn states(&self, rows: usize, columns: usize, words: &[u64]) -> Tensor<2> {
        let per_row = words_per_row(columns);
        let mut values = Vec::with_capacity(rows * columns);
        for row in words.chunks_exact(per_row) {
            values.extend((0..columns).map(|j| (row[j / 64] >> (j % 64) & 1) as f32));
        }
        Tensor::from_data(TensorData::new(values, [rows, columns]), &self.device)
    }

    /// Rows without their padding as a tensor.
    fn dense(&self, columns: usize, values: &[f32]) -> Tensor<2> {
        let stride = padded(columns);
        let rows = values.len() / stride;
        let tight: Vec<f32> =
            values.chunks_exact(stride).flat_map(|row| row[..columns].iter().copied()).collect();
        Tensor::from_data(TensorData::new(tight, [rows, columns]), &self.device)
    }
}

impl RbmOps for Composed {
    fn n_units(&self, layer: Layer) -> usize {
        match layer {
            Layer::Visible => self.rbm.n_visible(),
            Layer::Hidden => self.rbm.n_hidden(),
        }
    }

    fn inputs(&self, layer: Layer, given: &[u64], out: &mut [f32]) {
        let units = self.n_units(layer.other());
        let rows = given.len() / words_per_row(units);
        let states = self.states(rows, units, given);
        let columns = self.n_units(layer);
        let values = host(match layer {
            Layer::Hidden => self.rbm.hidden_inputs(states),
            Layer::Visible => self.rbm.visible_inputs(states),
        });
        for (target, source) in
            out.chunks_exact_mut(padded(columns)).zip(values.chunks_exact(columns))
        {
            target[..columns].copy_from_slice(source);
            target[columns..].fill(PADDING);
        }
    }

    fn variables(&self) -> &Variables {
        &self.variables
    }

    fn draw(&self, draw: &Draw<'_>, out: &mut [u64]) {
        let Draw { n_units, inputs, beta, base, streams, first_row } = *draw;
        let rows = beta.len();
        let x = self.dense(n_units, inputs);
        let beta = Tensor::<2>::from_data(TensorData::new(beta.to_vec(), [rows, 1]), &self.device);
        let logits = match base {
            Some(base) => {
                let base = self.dense(n_units, base);
                x * beta.clone() + (beta.neg() + 1.0) * base
            }
            None => x * beta,
        };
        let mut uniforms = Vec::with_capacity(rows * n_units);
        for row in 0..rows {
            let stream = streams.row(first_row + row as u32);
            uniforms.extend((0..n_units).map(|unit| uniform(&stream, unit)));
        }
        let uniforms =
            Tensor::<2>::from_data(TensorData::new(uniforms, [rows, n_units]), &self.device);
        let ones = host(uniforms.lower(sigmoid(logits)).float());
        for (packed, row) in
            out.chunks_exact_mut(words_per_row(n_units)).zip(ones.chunks_exact(n_units))
        {
            packed.fill(0);
            for (j, _) in row.iter().enumerate().filter(|(_, one)| **one > 0.5) {
                packed[j / 64] |= 1 << (j % 64);
            }
        }
    }

    fn softplus_sums(&self, n_units: usize, inputs: &[f32], grid: &BetaGrid, out: &mut [f64]) {
        let x = self.dense(n_units, inputs);
        let n_betas = grid.betas().len();
        for (k, &beta) in grid.betas().iter().enumerate() {
            let values = host(softplus(x.clone() * beta as f32, 1.0));
            for (row, units) in values.chunks_exact(n_units).enumerate() {
                out[row * n_betas + k] = units.iter().map(|&y| f64::from(y)).sum();
            }
        }
    }

    fn visible_dot(&self, visible: &[u64]) -> f64 {
        let states = self.states(1, self.rbm.n_visible(), visible);
        let terms = host(states * self.rbm.visible_bias.val().unsqueeze());
        terms.iter().map(|&term| f64::from(term)).sum()
    }

    fn means(&self, n_units: usize, inputs: &mut [f32], weights: &[f32]) {
        let rows = weights.len();
        let w = Tensor::<2>::from_data(TensorData::new(weights.to_vec(), [rows, 1]), &self.device);
        let values = host(sigmoid(self.dense(n_units, inputs)) * w);
        for (target, source) in
            inputs.chunks_exact_mut(padded(n_units)).zip(values.chunks_exact(n_units))
        {
            target[..n_units].copy_from_slice(source);
            target[n_units..].fill(0.0);
        }
    }

    fn outer_products(&self, visible: &BitMatrix, hidden: &Matrix) -> Matrix {
        let v = self.states(visible.rows(), visible.columns(), visible.words());
        let h = self.dense(hidden.columns(), hidden.as_slice());
        let values = host(v.transpose().matmul(h));
        Matrix::from_rows(visible.columns(), hidden.columns(), &values, 0.0)
    }
}
