//! [`RbmOps`] on host memory.

use rayon::prelude::*;

use super::{InstructionSet, accumulate, draw, softplus};
use crate::model::Parameters;
use crate::ops::matrix::padded;
use crate::ops::random::Streams;
use crate::ops::{
    BetaGrid, BitMatrix, Layer, Matrix, PADDING, RbmOps, for_each_set_bit, words_per_row,
};

/// The fused CPU kernel for one set of parameters.
#[derive(Clone, Debug)]
pub struct Fused {
    set: InstructionSet,
    /// W [M, J]: rows are summed for the inputs of hidden units.
    weights: Matrix,
    /// W' [J, M]: rows are summed for the inputs of visible units.
    transposed: Matrix,
    visible_bias: Vec<f32>,
    hidden_bias: Vec<f32>,
}

impl Fused {
    /// Lays the parameters out for the kernel. Cost: one copy and one transpose of W.
    pub fn new(parameters: &Parameters) -> Self {
        Self::with_instruction_set(parameters, InstructionSet::detect())
    }

    /// As [`Fused::new`], with an instruction set from [`InstructionSet::available`].
    pub fn with_instruction_set(parameters: &Parameters, set: InstructionSet) -> Self {
        let Parameters { n_visible, n_hidden, weights, visible_bias, hidden_bias } = parameters;
        let mut transposed = Matrix::filled(*n_hidden, *n_visible, 0.0);
        let stride = transposed.stride();
        let target = transposed.as_mut_slice();
        // Blocks of 16 columns: the 16 rows written to stay in the L1 cache.
        for first in (0..*n_hidden).step_by(16) {
            for i in 0..*n_visible {
                for j in first..(first + 16).min(*n_hidden) {
                    target[j * stride + i] = weights[i * n_hidden + j];
                }
            }
        }
        let bias = |values: &[f32]| {
            let mut bias = values.to_vec();
            bias.resize(padded(values.len()), PADDING);
            bias
        };
        Self {
            set,
            weights: Matrix::from_rows(*n_visible, *n_hidden, weights, 0.0),
            transposed,
            visible_bias: bias(visible_bias),
            hidden_bias: bias(hidden_bias),
        }
    }
}

impl RbmOps for Fused {
    fn n_units(&self, layer: Layer) -> usize {
        match layer {
            Layer::Visible => self.weights.rows(),
            Layer::Hidden => self.weights.columns(),
        }
    }

    fn inputs(&self, layer: Layer, given: &[u64], out: &mut [f32]) {
        let (matrix, bias) = match layer {
            Layer::Visible => (&self.transposed, &self.visible_bias),
            Layer::Hidden => (&self.weights, &self.hidden_bias),
        };
        for row in out.chunks_exact_mut(bias.len()) {
            row.copy_from_slice(bias);
        }
        let units = matrix.rows();
        accumulate::accumulate(self.set, units, given, matrix.as_slice(), bias.len(), out);
    }

    fn draw(
        &self,
        n_units: usize,
        inputs: &[f32],
        beta: &[f32],
        base: Option<&[f32]>,
        streams: Streams,
        first_row: u32,
        out: &mut [u64],
    ) {
        let stride = padded(n_units);
        draw::draw(self.set, n_units, stride, inputs, beta, base, streams, first_row, out);
    }

    fn softplus_sums(&self, n_units: usize, inputs: &[f32], grid: &BetaGrid, out: &mut [f64]) {
        softplus::softplus_sums(self.set, n_units, padded(n_units), inputs, grid, out);
    }

    fn visible_dot(&self, visible: &[u64]) -> f64 {
        let mut sum = 0.0;
        for_each_set_bit(visible, |i| sum += f64::from(self.visible_bias[i]));
        sum
    }

    fn outer_products(&self, visible: &BitMatrix, hidden: &Matrix) -> Matrix {
        /// Rows of the result per task.
        const ROWS: usize = 16;
        let transposed = visible.transposed();
        let mut out = Matrix::filled(visible.columns(), hidden.columns(), 0.0);
        let stride = out.stride();
        let words = words_per_row(visible.rows());
        if words == 0 {
            return out;
        }
        out.as_mut_slice()
            .par_chunks_mut(ROWS * stride)
            .zip(transposed.words().par_chunks(ROWS * words))
            .for_each(|(out, bits)| {
                let samples = visible.rows();
                accumulate::accumulate(self.set, samples, bits, hidden.as_slice(), stride, out);
            });
        out
    }
}
