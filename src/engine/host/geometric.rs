//! Chains on the path from a product distribution, on the host.

use super::{Host, selected_sum};
use crate::engine::random::Streams;
use crate::engine::{
    BaseDistribution, BetaGrid, BitMatrix, Draw, Engine, Halves, Layer, Matrix, States,
    SweepStreams, Walker, Workers, padded,
};

/// Draws of both layers for some rows of an RBM.
pub(super) struct Drawer<'a> {
    host: &'a Host,
    hidden: BitMatrix,
    pub visible_inputs: Matrix,
    first_row: u32,
}

impl<'a> Drawer<'a> {
    pub fn new(host: &'a Host, rows: usize, first_row: u32) -> Self {
        let hidden = BitMatrix::zeros(rows, host.n_units(Layer::Hidden));
        // Allocated at first use, because an evaluation draws nothing.
        Self { host, hidden, visible_inputs: Matrix::filled(0, 0, 0.0), first_row }
    }

    /// h | x at `beta`; `visible_inputs` then computes Wh + c at its first call.
    pub fn hidden(&mut self, inputs: &[f32], beta: &[f32], streams: Streams) {
        let n_units = self.host.n_units(Layer::Hidden);
        let first_row = self.first_row;
        let draw = Draw { n_units, inputs, beta, base: None, streams, first_row };
        self.host.draw(&draw, self.hidden.words_mut());
    }

    /// v from Wh + c at `beta`.
    pub fn visible_given_hidden(
        &mut self,
        beta: &[f32],
        base: Option<&[f32]>,
        streams: Streams,
        out: &mut [u64],
    ) {
        let (n_units, first_row) = (self.host.n_units(Layer::Visible), self.first_row);
        let draw = Draw { n_units, inputs: &[], beta, base, streams, first_row };
        let (given, inputs) = (self.hidden.words(), &mut self.visible_inputs);
        self.host.draw_given(Workers::One, Layer::Visible, given, draw, inputs, out);
    }

    /// Wh + c.
    pub fn look_back(&mut self) {
        let (rows, units) = (self.hidden.rows(), self.host.n_units(Layer::Visible));
        if self.visible_inputs.rows() != rows {
            self.visible_inputs = Matrix::filled(rows, units, 0.0);
        }
        let out = self.visible_inputs.as_mut_slice();
        self.host.inputs_of(Layer::Visible, self.hidden.words(), out);
    }

    /// v from `visible_inputs` at `beta`.
    pub fn visible(&self, beta: &[f32], base: Option<&[f32]>, streams: Streams, out: &mut [u64]) {
        let (n_units, first_row) = (self.host.n_units(Layer::Visible), self.first_row);
        let inputs = self.visible_inputs.as_slice();
        self.host.draw_visible(&Draw { n_units, inputs, beta, base, streams, first_row }, out);
    }
}

pub(super) struct GeometricWalker<'a> {
    host: &'a Host,
    grid: &'a BetaGrid,
    base: &'a BaseDistribution,
    /// Its cached values are x(v).
    states: States<'a>,
    drawer: Drawer<'a>,
    beta: Vec<f32>,
    /// (c - a).v, empty unless it is of the current states.
    of_visible: Vec<f64>,
}

impl<'a> GeometricWalker<'a> {
    pub fn new(
        host: &'a Host,
        grid: &'a BetaGrid,
        base: &'a BaseDistribution,
        states: States<'a>,
    ) -> Self {
        let rows = states.visible.len() / host.words(Layer::Visible);
        let drawer = Drawer::new(host, rows, states.first_row);
        let (beta, of_visible) = (Vec::with_capacity(rows), Vec::new());
        Self { host, grid, base, drawer, states, beta, of_visible }
    }

    fn n_hidden(&self) -> usize {
        self.host.n_units(Layer::Hidden)
    }

    fn see_hidden(&mut self) {
        if !self.states.known {
            self.host.inputs_of(Layer::Hidden, self.states.visible, self.states.cached);
            self.states.known = true;
        }
    }

    fn set_beta(&mut self, at: &[u32]) {
        let betas = self.grid.betas();
        self.beta.clear();
        self.beta.extend(at.iter().map(|&k| betas[k as usize] as f32));
    }

    fn rows(&self) -> impl Iterator<Item = &[u64]> {
        self.states.visible.chunks_exact(self.host.words(Layer::Visible))
    }
}

impl Walker for GeometricWalker<'_> {
    fn log_f(&mut self, at: &[usize], out: &mut [f64]) {
        self.see_hidden();
        let grid = self.grid.at(at);
        self.host.softplus_sums(self.n_hidden(), self.states.cached, &grid, out);
        for (row, out) in self.rows().zip(out.chunks_exact_mut(at.len())) {
            let (model, base) = (self.host.visible_dot(row), self.base.dot(row));
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
        let (betas, n_hidden) = (self.grid.betas(), self.n_hidden());
        let rows = self.rows().zip(self.states.cached.chunks_exact(padded(n_hidden)));
        let out = mean.chunks_exact_mut(betas.len()).zip(variance.chunks_exact_mut(betas.len()));
        for ((visible, x), (mean, variance)) in rows.zip(out) {
            let constant = self.host.visible_dot(visible) - self.base.dot(visible);
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
        self.drawer.hidden(self.states.cached, &self.beta, streams.hidden);
    }

    fn slopes_of_both(&mut self, out: &mut [f64]) {
        if self.of_visible.is_empty() {
            let of_visible = self.rows().map(|v| self.host.visible_dot(v) - self.base.dot(v));
            self.of_visible = of_visible.collect();
        }
        let x = self.states.cached.chunks_exact(padded(self.n_hidden()));
        for (s, ((out, x), of_visible)) in out.iter_mut().zip(x).zip(&self.of_visible).enumerate() {
            *out = of_visible + selected_sum(self.drawer.hidden.row(s), x);
        }
    }

    fn draw_visible(&mut self, at: &[u32], streams: &SweepStreams) {
        self.set_beta(at);
        let base = Some(self.base.padded_logits());
        self.drawer.visible_given_hidden(&self.beta, base, streams.visible, self.states.visible);
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
