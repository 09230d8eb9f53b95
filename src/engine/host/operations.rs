//! One RBM in the layout of the kernels, and what they compute of some of its rows.

use rayon::prelude::*;

use super::accumulate::{accumulate, accumulate_and_draw};
use super::fixed_point::{FixedPoint, Sizes};
use super::packed_rows::PackedRows;
use super::reals::RealWeights;
use super::{InstructionSet, Shape, Tuning, means, selected_sum, softplus};
use crate::context::{Context, Parts};
use crate::engine::matrix::padded;
use crate::engine::{
    AS_AN_EXPONENTIAL, BetaGrid, BitMatrix, Draw, Layer, Matrix, PADDING, Workers, words_per_row,
};
use crate::model::Parameters;
use crate::units::Variables;

/// Fewest visible units of a task of outer products.
const UNITS_PER_TASK: usize = 64;

/// The engine in memory of this machine: fused kernels on packed states, for one set of parameters.
///
/// States are packed rows ([`BitMatrix`] words). Pre-activations are rows of a [`Matrix`] given as a slice with padding, `stride` floats a
/// row; padding holds [`PADDING`]. The methods of this file work on the rows they are given, in one thread (callers divide rows).
#[derive(Clone, Debug)]
pub struct Host {
    tuning: Tuning,
    pub(super) context: Context,
    /// W [M, J]: rows are summed for the inputs of hidden units.
    pub(super) weights: FixedPoint,
    /// W' [J, M]: rows are summed for the inputs of visible units.
    transposed: FixedPoint,
    visible_bias: Vec<f32>,
    hidden_bias: Vec<f32>,
    /// [`Parameters::log_offset`].
    offset: f64,
    pub(super) variables: Variables,
    pub(super) reals: RealWeights,
}

impl Host {
    /// Lays the parameters out for the kernel. Cost: one copy and one transpose of W as whole numbers.
    pub fn new(parameters: &Parameters) -> Self {
        Self::tuned(parameters, Tuning::of(parameters.n_visible, parameters.n_hidden))
    }

    /// As [`Host::new`], with an instruction set from [`InstructionSet::available`].
    pub fn with_instruction_set(parameters: &Parameters, set: InstructionSet) -> Self {
        Self::with_shape(parameters, set, Shape::USUAL)
    }

    /// As [`Host::with_instruction_set`], with products in the given shape.
    pub fn with_shape(parameters: &Parameters, set: InstructionSet, shape: Shape) -> Self {
        Self::tuned(parameters, Tuning::fixed(set, shape))
    }

    fn tuned(parameters: &Parameters, tuning: Tuning) -> Self {
        let (m, j) = (parameters.n_visible, parameters.n_hidden);
        let mut fused = Self {
            tuning,
            context: Context::none().clone(),
            weights: FixedPoint::zeros(m, j, tuning.hidden.set),
            transposed: FixedPoint::zeros(j, m, tuning.visible.set),
            visible_bias: vec![PADDING; padded(m)],
            hidden_bias: vec![PADDING; padded(j)],
            offset: 0.0,
            variables: parameters.variables.clone(),
            reals: RealWeights::of(parameters),
        };
        fused.take(parameters);
        fused
    }

    pub(super) fn take(&mut self, parameters: &Parameters) {
        let Parameters { weights, visible_bias, hidden_bias, .. } = parameters;
        let columns = parameters.n_hidden;
        let [of_visible, of_hidden] = Sizes::of(self.tuning.sums, weights, columns, columns);
        self.weights.copy(weights, columns, &of_hidden);
        self.transposed.copy_transposed(weights, &of_visible);
        self.visible_bias[..visible_bias.len()].copy_from_slice(visible_bias);
        self.hidden_bias[..hidden_bias.len()].copy_from_slice(hidden_bias);
        self.offset = parameters.log_offset();
        self.reals = RealWeights::of(parameters);
    }

    /// The same, its work divided among the ranks of a context and ended by it.
    #[must_use]
    pub fn within(self, context: Context) -> Self {
        Self { context, ..self }
    }

    pub(super) fn of_layer(&self, layer: Layer) -> (&FixedPoint, &[f32]) {
        match layer {
            Layer::Visible => (&self.transposed, &self.visible_bias),
            Layer::Hidden => (&self.weights, &self.hidden_bias),
        }
    }

    /// As [`Host::inputs_of`], by all threads where that is worthwhile: for rows that are too few to divide among them.
    pub(super) fn inputs_by(&self, workers: Workers, layer: Layer, given: &[u64], out: &mut [f32]) {
        let (matrix, bias) = self.of_layer(layer);
        let of_bits = |given: &[u64], out: &mut [f32]| {
            let rows = PackedRows::new(given, words_per_row(matrix.units()), bias, out);
            accumulate(self.tuning.product(layer), workers, matrix, rows);
        };
        match layer == Layer::Hidden && self.variables.has_reals() {
            true => self.add_reals(workers, given, out, of_bits),
            false => of_bits(given, out),
        }
    }

    /// Pre-activations of `layer` given packed rows of the other one: x = b + v'W for hidden, c + Wh for visible units.
    /// `out`: [rows, stride].
    pub fn inputs_of(&self, layer: Layer, given: &[u64], out: &mut [f32]) {
        self.inputs_by(Workers::One, layer, given, out);
    }

    /// Draws `layer` given packed rows of the other one; `draw`: without inputs. `inputs` has room for pre-activations where they are kept.
    pub(super) fn draw_given(
        &self,
        workers: Workers,
        layer: Layer,
        given: &[u64],
        draw: Draw<'_>,
        inputs: &mut Matrix,
        out: &mut [u64],
    ) {
        let (matrix, bias) = self.of_layer(layer);
        let bits = match layer {
            Layer::Hidden => !self.variables.has_reals(),
            Layer::Visible => self.variables.categorical().is_empty(),
        };
        if bits {
            let rows = PackedRows::without_output(given, words_per_row(matrix.units()), bias);
            let draws = (&draw, self.tuning.draws);
            if accumulate_and_draw(workers, matrix, &rows, draws, out) {
                return;
            }
        }
        if inputs.rows() != draw.beta.len() || inputs.columns() != draw.n_units {
            *inputs = Matrix::filled(draw.beta.len(), draw.n_units, 0.0);
        }
        self.inputs_by(workers, layer, given, inputs.as_mut_slice());
        let draw = Draw { inputs: inputs.as_slice(), ..draw };
        by_parts(workers, &draw, out, |draw, out| match layer {
            Layer::Hidden => self.draw(draw, out),
            Layer::Visible => self.draw_visible(draw, out),
        });
    }

    /// Draws rows of bits from Bernoulli(sigma(beta_s x_s + (1 - beta_s) a)) into packed rows.
    pub fn draw(&self, draw: &Draw<'_>, out: &mut [u64]) {
        draw.run(self.tuning.draws, out);
    }

    /// The same of visible states: natural parameters eta = beta_s x_s + (1 - beta_s) a of the variables.
    pub fn draw_visible(&self, draw: &Draw<'_>, out: &mut [u64]) {
        draw.run_visible(self.tuning.draws, &self.variables, out);
    }

    /// sum_j softplus(beta_k x_j) for every row and every beta_k: `out` is [rows, K], f64.
    pub fn softplus_sums(&self, n_units: usize, inputs: &[f32], grid: &BetaGrid, out: &mut [f64]) {
        softplus::softplus_sums(self.tuning.sums, n_units, inputs, grid, out);
    }

    /// c.v of one packed visible row, with the constant of units -1 and +1 ([`Parameters::log_offset`]).
    pub fn visible_dot(&self, visible: &[u64]) -> f64 {
        selected_sum(visible, &self.visible_bias)
            + self.variables.dot_of_reals(visible, &self.visible_bias)
            + self.offset
    }

    /// Replaces pre-activations by w_s sigma(x), `weights`: w, one a row. `inputs`: [rows, stride].
    pub fn means(&self, n_units: usize, inputs: &mut [f32], weights: &[f32]) {
        means::means(self.tuning.sums, padded(n_units), inputs, weights);
    }

    /// sum_s v_s h_s', shape [M, J], from packed visible rows and dense hidden rows (already weighted).
    /// Uses all threads and ranks; the result does not depend on their number.
    pub fn outer_products(&self, visible: &BitMatrix, hidden: &Matrix) -> Matrix {
        let mut out = self.outer_products_of_bits(visible, hidden);
        if self.variables.has_reals() {
            self.outer_products_of_reals(visible, hidden, &mut out);
        }
        out
    }

    fn outer_products_of_bits(&self, visible: &BitMatrix, hidden: &Matrix) -> Matrix {
        let transposed = visible.transposed();
        let (m, stride) = (visible.columns(), hidden.stride());
        let words = words_per_row(visible.rows());
        if words == 0 {
            return Matrix::filled(m, hidden.columns(), 0.0);
        }
        let start = vec![0.0; stride];
        let mut matrix = FixedPoint::zeros(hidden.rows(), hidden.columns(), self.tuning.hidden.set);
        let hidden_rows = hidden.as_slice();
        let sizes = Sizes::of_columns(self.tuning.sums, hidden_rows, hidden.columns(), stride);
        matrix.copy(hidden_rows, stride, &sizes);
        let product =
            |rows: PackedRows<'_>| accumulate(self.tuning.hidden, Workers::All, &matrix, rows);
        if self.context.ranks().size() == 1 {
            let given = transposed.words();
            // SAFETY: the product writes all columns of all rows.
            return unsafe {
                Matrix::written(m, hidden.columns(), |out| {
                    product(PackedRows::unwritten(given, words, &start, out));
                })
            };
        }
        let mut out = Matrix::filled(m, hidden.columns(), 0.0);
        // Ranks divide the visible units, so that nothing has to be added between them.
        let parts = Parts::new(&self.context, m, UNITS_PER_TASK).of_moments(hidden.rows());
        let own = parts.own();
        let given = &transposed.words()[own.start * words..own.end * words];
        parts.share(|| {
            let out = parts.of(out.as_mut_slice(), stride);
            product(PackedRows::new(given, words, &start, out));
        });
        parts.gather([parts.rows(out.as_mut_slice(), stride)]);
        out
    }
}

/// Some rows a thread; `part` draws them.
fn by_parts(
    workers: Workers,
    draw: &Draw<'_>,
    out: &mut [u64],
    part: impl Fn(&Draw<'_>, &mut [u64]) + Sync,
) {
    let rows = draw.beta.len();
    if rows == 0 {
        return;
    }
    let threads = workers.for_products(rows * draw.n_units * AS_AN_EXPONENTIAL);
    let task = rows.div_ceil(threads);
    let (stride, words) = (draw.inputs.len() / rows, out.len() / rows);
    let tasks = (
        draw.inputs.par_chunks(task * stride),
        draw.beta.par_chunks(task),
        out.par_chunks_mut(task * words),
    );
    tasks.into_par_iter().enumerate().for_each(|(i, (inputs, beta, out))| {
        let first_row = draw.first_row + (i * task) as u32;
        part(&Draw { inputs, beta, first_row, ..*draw }, out);
    });
}
