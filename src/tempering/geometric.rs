//! The geometric path from a product distribution to an RBM.
//!
//! log f_k(v) = beta_k c.v + (1 - beta_k) a.v + sum_j softplus(beta_k x_j(v)): the JOINT f(v, h) is tempered, so that
//! every temperature can be block-Gibbs sampled (algorithms.md, section 1).

use super::path::{Halves, States, SweepStreams, TemperedPath, Walker};
use super::{BaseDistribution, Ladder};
use crate::collective::Collective;
use crate::engine::host::selected_sum;
use crate::engine::random::Streams;
use crate::engine::{BitMatrix, Draw, Layer, Matrix, RbmOps, padded, words_per_row};

/// One model's tempered path.
#[derive(Clone, Copy)]
pub struct GeometricPath<'a> {
    /// The model's operations.
    pub engine: &'a dyn RbmOps,
    /// beta_k and r_k.
    pub ladder: &'a Ladder,
    /// p1(v).
    pub base: &'a BaseDistribution,
}

impl GeometricPath<'_> {
    /// Number of hidden units, J.
    pub fn n_hidden(&self) -> usize {
        self.engine.n_units(Layer::Hidden)
    }
}

impl TemperedPath for GeometricPath<'_> {
    fn ladder(&self) -> &Ladder {
        self.ladder
    }

    fn n_visible(&self) -> usize {
        self.engine.n_units(Layer::Visible)
    }

    fn log_z_base(&self) -> f64 {
        self.base.log_partition(self.n_hidden())
    }

    fn ranks(&self) -> &dyn Collective {
        self.engine.ranks()
    }

    fn sample_base(&self, rows: usize, seed: u64, step: u64) -> BitMatrix {
        self.base.sample(rows, seed, step)
    }

    fn notes(&self) -> usize {
        self.n_hidden()
    }

    fn walker<'a>(&'a self, states: States<'a>) -> Box<dyn Walker + 'a> {
        let rows = states.visible.len() / words_per_row(self.n_visible());
        Box::new(GeometricWalker {
            path: *self,
            drawer: Drawer::new(self.engine, rows, states.first_row),
            states,
            beta: Vec::with_capacity(rows),
            of_visible: Vec::new(),
        })
    }
}

/// Draws of both layers for some rows of an RBM.
pub(super) struct Drawer<'a> {
    engine: &'a dyn RbmOps,
    hidden: BitMatrix,
    pub visible_inputs: Matrix,
    first_row: u32,
}

impl<'a> Drawer<'a> {
    pub fn new(engine: &'a dyn RbmOps, rows: usize, first_row: u32) -> Self {
        let hidden = BitMatrix::zeros(rows, engine.n_units(Layer::Hidden));
        // Allocated at first use, because an evaluation draws nothing.
        Self { engine, hidden, visible_inputs: Matrix::filled(0, 0, 0.0), first_row }
    }

    /// h | x at `beta`; `visible_inputs` then computes Wh + c at its first call.
    pub fn hidden(&mut self, inputs: &[f32], beta: &[f32], streams: Streams) {
        let n_units = self.engine.n_units(Layer::Hidden);
        let first_row = self.first_row;
        let draw = Draw { n_units, inputs, beta, base: None, streams, first_row };
        self.engine.draw(&draw, self.hidden.words_mut());
    }

    /// Wh + c.
    pub fn look_back(&mut self) {
        let (rows, units) = (self.hidden.rows(), self.engine.n_units(Layer::Visible));
        if self.visible_inputs.rows() != rows {
            self.visible_inputs = Matrix::filled(rows, units, 0.0);
        }
        let out = self.visible_inputs.as_mut_slice();
        self.engine.inputs(Layer::Visible, self.hidden.words(), out);
    }

    /// v from `visible_inputs` at `beta`.
    pub fn visible(&self, beta: &[f32], base: Option<&[f32]>, streams: Streams, out: &mut [u64]) {
        let (n_units, first_row) = (self.engine.n_units(Layer::Visible), self.first_row);
        let inputs = self.visible_inputs.as_slice();
        self.engine.draw_visible(&Draw { n_units, inputs, beta, base, streams, first_row }, out);
    }
}

struct GeometricWalker<'a> {
    path: GeometricPath<'a>,
    /// Its notes are x(v).
    states: States<'a>,
    drawer: Drawer<'a>,
    beta: Vec<f32>,
    /// (c - a).v, empty unless it is of the current states.
    of_visible: Vec<f64>,
}

impl GeometricWalker<'_> {
    fn see_hidden(&mut self) {
        if !self.states.known {
            self.path.engine.inputs(Layer::Hidden, self.states.visible, self.states.notes);
            self.states.known = true;
        }
    }

    fn set_beta(&mut self, at: &[u32]) {
        let betas = self.path.ladder.betas();
        self.beta.clear();
        self.beta.extend(at.iter().map(|&k| betas[k as usize] as f32));
    }

    fn rows(&self) -> impl Iterator<Item = &[u64]> {
        self.states.visible.chunks_exact(words_per_row(self.path.n_visible()))
    }
}

impl Walker for GeometricWalker<'_> {
    fn log_f(&mut self, at: &[usize], out: &mut [f64]) {
        self.see_hidden();
        let GeometricPath { engine, base, ladder } = self.path;
        let grid = ladder.grid_at(at);
        engine.softplus_sums(self.path.n_hidden(), self.states.notes, &grid, out);
        for (row, out) in self.rows().zip(out.chunks_exact_mut(at.len())) {
            let (model, base) = (engine.visible_dot(row), base.dot(row));
            for (value, beta) in out.iter_mut().zip(grid.betas()) {
                *value += beta * model + (1.0 - beta) * base;
            }
        }
    }

    fn sweep(&mut self, at: &[u32], streams: &SweepStreams) {
        self.draw_hidden(at, streams);
        self.draw_visible(at, streams);
    }

    /// E = (c - a).v + sum_j x_j sigma(beta x_j), V = sum_j x_j^2 sigma (1 - sigma) (algorithms.md, section 5).
    fn slopes(&mut self, mean: &mut [f64], variance: &mut [f64]) {
        self.see_hidden();
        let (betas, n_hidden) = (self.path.ladder.betas(), self.path.n_hidden());
        let rows = self.rows().zip(self.states.notes.chunks_exact(padded(n_hidden)));
        let out = mean.chunks_exact_mut(betas.len()).zip(variance.chunks_exact_mut(betas.len()));
        for ((visible, x), (mean, variance)) in rows.zip(out) {
            let constant = self.path.engine.visible_dot(visible) - self.path.base.dot(visible);
            for ((mean, variance), &beta) in mean.iter_mut().zip(variance).zip(betas) {
                let (slope, spread) = hidden_slope(&x[..n_hidden], beta as f32);
                *mean = constant + slope;
                *variance = spread;
            }
        }
    }

    fn halves(&mut self) -> Option<&mut dyn Halves> {
        Some(self)
    }
}

impl Halves for GeometricWalker<'_> {
    fn draw_hidden(&mut self, at: &[u32], streams: &SweepStreams) {
        self.see_hidden();
        self.set_beta(at);
        self.drawer.hidden(self.states.notes, &self.beta, streams.hidden);
    }

    fn slopes_of_both(&mut self, out: &mut [f64]) {
        if self.of_visible.is_empty() {
            let GeometricPath { engine, base, .. } = self.path;
            let of_visible = self.rows().map(|v| engine.visible_dot(v) - base.dot(v));
            self.of_visible = of_visible.collect();
        }
        let x = self.states.notes.chunks_exact(padded(self.path.n_hidden()));
        for (s, ((out, x), of_visible)) in out.iter_mut().zip(x).zip(&self.of_visible).enumerate() {
            *out = of_visible + selected_sum(self.drawer.hidden.row(s), x);
        }
    }

    fn draw_visible(&mut self, at: &[u32], streams: &SweepStreams) {
        self.set_beta(at);
        self.drawer.look_back();
        let base = Some(self.path.base.padded_logits());
        self.drawer.visible(&self.beta, base, streams.visible, self.states.visible);
        self.states.known = false;
        self.of_visible.clear();
    }
}

/// sum_j x_j sigma(beta x_j) and sum_j x_j^2 sigma (1 - sigma), summed in f64 over blocks the compiler vectorises.
pub(super) fn hidden_slope(x: &[f32], beta: f32) -> (f64, f64) {
    const BLOCK: usize = 64;
    let (mut mean, mut variance) = (0.0, 0.0);
    for block in x.chunks(BLOCK) {
        let (mut first, mut second) = ([0.0f32; BLOCK], [0.0f32; BLOCK]);
        for ((first, second), &x) in first.iter_mut().zip(&mut second).zip(block) {
            let sigma = 1.0 / (1.0 + crate::engine::host::math::exp_f32(-beta * x));
            *first = x * sigma;
            *second = x * x * sigma * (1.0 - sigma);
        }
        mean += first.iter().map(|&x| f64::from(x)).sum::<f64>();
        variance += second.iter().map(|&x| f64::from(x)).sum::<f64>();
    }
    (mean, variance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Host;
    use crate::model::exact::log_partition;
    use crate::model::test_systems::gaussian_parameters;
    use crate::tempering::Prior;

    /// Units in another order give the same model: log f of states in that order is equal, to the precision of an f32 sum in another order;
    /// with the layers exchanged log Z is the same.
    #[test]
    fn the_order_of_units_and_of_layers_means_nothing() {
        let (m, j) = (70, 9);
        let parameters = gaussian_parameters(m, j, 0.4, 7);
        let mut permuted = parameters.clone();
        let from = |i: usize| (i * 11 + 3) % m;
        let logits: Vec<f32> = (0..m).map(|i| 0.1 * (i % 7) as f32 - 0.3).collect();
        let permuted_logits: Vec<f32> = (0..m).map(|i| logits[from(i)]).collect();
        for i in 0..m {
            permuted.visible_bias[i] = parameters.visible_bias[from(i)];
            let row = parameters.weights[from(i) * j..][..j].to_vec();
            permuted.weights[i * j..][..j].copy_from_slice(&row);
        }
        let ladder = Ladder::linear(5, &Prior::Uniform).unwrap();
        let bases = [&logits, &permuted_logits].map(|l| BaseDistribution::from_logits(l).unwrap());
        let visible = bases[0].sample(20, 1, 0);
        let moved = BitMatrix::from_fn(20, m, |row, i| {
            visible.row(row)[from(i) / 64] >> (from(i) % 64) & 1 == 1
        });
        let log_f = |parameters, base, visible: &BitMatrix| {
            GeometricPath { engine: &Host::new(parameters), ladder: &ladder, base }
                .evaluate(visible)
                .log_f
        };
        let one = log_f(&parameters, &bases[0], &visible);
        let other = log_f(&permuted, &bases[1], &moved);
        for (one, other) in one.as_slice().iter().zip(other.as_slice()) {
            assert!((one - other).abs() < 1e-4, "{one} {other}");
        }
        let log_z =
            [&parameters, &permuted, &parameters.transposed()].map(|p| log_partition(p).unwrap());
        assert!(log_z.iter().all(|other| (other - log_z[0]).abs() < 1e-9), "{log_z:?}");
    }
}
