//! log f_k(v) on the path from a mixture to a model, at any inverse temperatures.

use super::MixtureBase;
use crate::ops::random::Streams;
use crate::ops::{BetaGrid, BitMatrix, Draw, Layer, Matrix, RbmOps, padded, words_per_row};
use crate::tempering::Ladder;

/// One model's path from a mixture.
#[derive(Clone, Copy)]
pub struct MixturePath<'a> {
    /// The model's operations.
    pub ops: &'a dyn RbmOps,
    /// beta_k and r_k.
    pub ladder: &'a Ladder,
    /// p1(v).
    pub base: &'a MixtureBase,
}

/// What is computed of the visible states of some chains, and room for their next sweep.
pub(super) struct Scratch {
    /// x(v), [rows, stride of J].
    pub inputs: Matrix,
    /// log p_m(v), [rows, stride of C].
    pub log_p: Matrix,
    hidden: BitMatrix,
    visible_inputs: Matrix,
}

impl MixturePath<'_> {
    /// Number of visible units.
    pub fn n_visible(&self) -> usize {
        self.ops.n_units(Layer::Visible)
    }

    /// Number of hidden units.
    pub fn n_hidden(&self) -> usize {
        self.ops.n_units(Layer::Hidden)
    }

    /// log Z_1 = J log 2.
    pub fn log_z_base(&self) -> f64 {
        self.n_hidden() as f64 * std::f64::consts::LN_2
    }

    pub(super) fn scratch(&self, rows: usize) -> Scratch {
        Scratch {
            inputs: Matrix::filled(rows, self.n_hidden(), 0.0),
            log_p: Matrix::filled(rows, self.base.len(), 0.0),
            hidden: BitMatrix::zeros(rows, self.n_hidden()),
            visible_inputs: Matrix::filled(rows, self.n_visible(), 0.0),
        }
    }

    /// Pre-activations and component densities of packed rows.
    pub(super) fn look(&self, visible: &[u64], scratch: &mut Scratch) {
        self.ops.inputs(Layer::Hidden, visible, scratch.inputs.as_mut_slice());
        self.base.log_densities(visible, scratch.log_p.as_mut_slice());
    }

    /// log f at the inverse temperatures of `grid` of rows that were looked at; `out` [rows, grid length].
    pub(super) fn log_f(
        &self,
        grid: &BetaGrid,
        visible: &[u64],
        inputs: &[f32],
        log_p: &[f32],
        out: &mut [f64],
    ) {
        self.ops.softplus_sums(self.n_hidden(), inputs, grid, out);
        let rows = visible.chunks_exact(words_per_row(self.n_visible()));
        let log_p = log_p.chunks_exact(self.base.stride());
        for ((row, log_p), out) in rows.zip(log_p).zip(out.chunks_exact_mut(grid.betas().len())) {
            let model = self.ops.visible_dot(row);
            out.iter_mut().zip(grid.betas()).for_each(|(value, beta)| *value += beta * model);
            self.base.add_tempered(log_p, grid.betas(), out);
        }
    }

    /// h | v, k, then m | v, k, then v | h, k, m for every row, at inverse temperatures `beta` [rows]; `uniform` chooses m.
    pub(super) fn move_rows(
        &self,
        scratch: &mut Scratch,
        visible: &mut [u64],
        beta: &[f32],
        (hidden_streams, visible_streams): (Streams, Streams),
        first_row: u32,
        uniform: impl Fn(usize) -> f64,
    ) {
        let (m, j) = (self.n_visible(), self.n_hidden());
        let draw = Draw {
            n_units: j,
            inputs: scratch.inputs.as_slice(),
            beta,
            base: None,
            streams: hidden_streams,
            first_row,
        };
        self.ops.draw(&draw, scratch.hidden.words_mut());
        self.ops.inputs(
            Layer::Visible,
            scratch.hidden.words(),
            scratch.visible_inputs.as_mut_slice(),
        );
        // beta (Wh + c) + (1 - beta) a_m, then drawn at inverse temperature 1.
        let stride = padded(m);
        let log_p = scratch.log_p.as_slice().chunks_exact(self.base.stride());
        let rows = scratch.visible_inputs.as_mut_slice().chunks_exact_mut(stride);
        for (s, ((inputs, log_p), &beta)) in rows.zip(log_p).zip(beta).enumerate() {
            if beta < 1.0 {
                let chosen = self.base.choose(log_p, f64::from(beta), uniform(s));
                let logits = self.base.components()[chosen].logits();
                for (x, a) in inputs[..m].iter_mut().zip(logits) {
                    *x = beta * *x + (1.0 - beta) * a;
                }
            }
        }
        let ones = vec![1.0; beta.len()];
        let draw = Draw {
            n_units: m,
            inputs: scratch.visible_inputs.as_slice(),
            beta: &ones,
            streams: visible_streams,
            ..draw
        };
        self.ops.draw(&draw, visible);
    }
}
