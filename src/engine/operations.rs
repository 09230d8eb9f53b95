//! The narrow trait of all algorithms. Every kernel has a property test against [`super::Composed`].

use super::host::{InstructionSet, draw_categorical};
use super::random::Streams;
use super::{BetaGrid, Matrix};
use crate::collective::{Collective, Solo};
use crate::model::Parameters;
use crate::units::{Variable, Variables};

/// One of the two layers of an RBM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// The M visible units.
    Visible,
    /// The J hidden units.
    Hidden,
}

impl Layer {
    /// The other layer.
    pub fn other(self) -> Self {
        match self {
            Self::Visible => Self::Hidden,
            Self::Hidden => Self::Visible,
        }
    }
}

/// Value of padding in [`Matrix`] rows of pre-activations: sigmoid and log(1 + exp) of it are zero at any beta > 0.
pub const PADDING: f32 = -1e30;

/// Rows of states to draw.
#[derive(Clone, Copy, Debug)]
pub struct Draw<'a> {
    /// Number of units in a row.
    pub n_units: usize,
    /// Pre-activations x, [rows, padded stride].
    pub inputs: &'a [f32],
    /// Inverse temperatures beta_s, `[rows]`.
    pub beta: &'a [f32],
    /// Base logits a, [padded stride]; 0 without.
    pub base: Option<&'a [f32]>,
    /// Row `s` uses stream `first_row + s`; which of its numbers decides a unit is fixed (`host::draw_row::uniform`).
    pub streams: Streams,
    /// Stream of the first row.
    pub first_row: u32,
}

/// The operations of one RBM with fixed parameters, over rows of chains, particles or data.
///
/// States are packed rows ([`super::BitMatrix`] words). Pre-activations are rows of a [`Matrix`] given as a slice with
/// padding, `stride` floats a row; padding holds [`PADDING`]. Calls work on the rows they are given, in one thread
/// (callers split rows over threads); results for a row never depend on the other rows.
pub trait RbmOps: Send + Sync {
    /// Number of units of a layer.
    fn n_units(&self, layer: Layer) -> usize;

    /// The ranks that divide the work on rows of these operations; every one of them makes the same calls.
    fn ranks(&self) -> &dyn Collective {
        &Solo
    }

    /// Replaces the parameters without new memory; `false`, without a change, if that is not possible.
    fn reload(&mut self, _parameters: &Parameters) -> bool {
        false
    }

    /// Pre-activations of `layer` given packed rows of the other one: x = b + v'W for hidden, c + Wh for visible units.
    /// `out`: [rows, stride].
    fn inputs(&self, layer: Layer, given: &[u64], out: &mut [f32]);

    /// As [`RbmOps::inputs`], by all threads: for rows that are too few to divide among them.
    fn inputs_by_all(&self, layer: Layer, given: &[u64], out: &mut [f32]) {
        self.inputs(layer, given, out);
    }

    /// What the visible columns stand for.
    fn variables(&self) -> &Variables;

    /// Draws rows of bits from Bernoulli(sigma(beta_s x_s + (1 - beta_s) a)) into packed rows.
    fn draw(&self, draw: &Draw<'_>, out: &mut [u64]);

    /// The same of visible states: natural parameters eta = beta_s x_s + (1 - beta_s) a of the variables.
    fn draw_visible(&self, draw: &Draw<'_>, out: &mut [u64]) {
        let variables = self.variables().categorical();
        if variables.is_empty() || variables.iter().any(Variable::is_bit) {
            self.draw(draw, out);
        }
        draw_categorical(InstructionSet::detect(), draw, variables, out);
    }

    /// sum_j softplus(beta_k x_j) for every row and every beta_k: `out` is [rows, K], f64.
    fn softplus_sums(&self, n_units: usize, inputs: &[f32], grid: &BetaGrid, out: &mut [f64]);

    /// c.v of one packed visible row.
    fn visible_dot(&self, visible: &[u64]) -> f64;

    /// Replaces pre-activations by w_s sigma(x), `weights`: w, one a row. `inputs`: [rows, stride].
    fn means(&self, n_units: usize, inputs: &mut [f32], weights: &[f32]);

    /// sum_s v_s h_s', shape [M, J], from packed visible rows and dense hidden rows (already weighted).
    /// Uses all threads and ranks; the result does not depend on their number.
    fn outer_products(&self, visible: &super::BitMatrix, hidden: &Matrix) -> Matrix;
}
