//! Chains on the path from a mixture, on the host.
//!
//! One sweep: h | v, k; m | v, k; v | h, m, k. m is summed out of log f and drawn again in every sweep.

use super::Host;
use super::geometric::{Drawer, hidden_slope};
use crate::engine::random::Streams;
use crate::engine::{BetaGrid, Engine, Layer, MixtureBase, States, SweepStreams, Walker, padded};

pub(super) struct MixtureWalker<'a> {
    host: &'a Host,
    grid: &'a BetaGrid,
    base: &'a MixtureBase,
    visible: &'a mut [u64],
    /// x(v), [rows, stride of J].
    inputs: &'a mut [f32],
    /// Whether they are of the current states.
    known: bool,
    /// log p_m(v), [rows, stride of C]; empty unless they are of the current states.
    log_p: Vec<f32>,
    first_row: u32,
    drawer: Drawer<'a>,
    beta: Vec<f32>,
    ones: Vec<f32>,
}

impl<'a> MixtureWalker<'a> {
    pub fn new(
        host: &'a Host,
        grid: &'a BetaGrid,
        base: &'a MixtureBase,
        states: States<'a>,
    ) -> Self {
        let States { visible, cached: inputs, first_row, known } = states;
        let rows = visible.len() / host.words(Layer::Visible);
        let drawer = Drawer::new(host, rows, first_row);
        let (beta, ones, log_p) = (vec![0.0; rows], vec![1.0; rows], Vec::new());
        Self { host, grid, base, visible, inputs, known, log_p, first_row, drawer, beta, ones }
    }

    fn n_visible(&self) -> usize {
        self.host.n_units(Layer::Visible)
    }

    fn n_hidden(&self) -> usize {
        self.host.n_units(Layer::Hidden)
    }

    fn see(&mut self) {
        if !self.known {
            self.host.inputs_of(Layer::Hidden, self.visible, self.inputs);
            self.known = true;
        }
        if self.log_p.is_empty() {
            self.log_p.resize(self.beta.len() * self.base.stride(), 0.0);
            self.base.log_densities(self.visible, &mut self.log_p);
        }
    }

    /// beta (Wh + c) + (1 - beta) a_m in place of Wh + c, m chosen by p(m | v, beta).
    fn add_components(&mut self, streams: Streams) {
        let m = self.n_visible();
        let base = self.base;
        let log_p = self.log_p.chunks_exact(base.stride());
        let rows = self.drawer.visible_inputs.as_mut_slice().chunks_exact_mut(padded(m));
        for (s, ((inputs, log_p), &beta)) in rows.zip(log_p).zip(&self.beta).enumerate() {
            if beta < 1.0 {
                let uniform = streams.row(self.first_row + s as u32).uniform();
                let chosen = base.choose(log_p, f64::from(beta), uniform);
                let logits = base.components()[chosen].logits();
                for (x, a) in inputs[..m].iter_mut().zip(logits) {
                    *x = beta * *x + (1.0 - beta) * a;
                }
            }
        }
    }
}

impl Walker for MixtureWalker<'_> {
    fn log_f(&mut self, at: &[usize], out: &mut [f64]) {
        self.see();
        let (host, base, grid) = (self.host, self.base, self.grid.at(at));
        host.softplus_sums(self.n_hidden(), self.inputs, &grid, out);
        let rows = self.visible.chunks_exact(host.words(Layer::Visible));
        let log_p = self.log_p.chunks_exact(base.stride());
        for ((row, log_p), out) in rows.zip(log_p).zip(out.chunks_exact_mut(at.len())) {
            let model = host.visible_dot(row);
            out.iter_mut().zip(grid.betas()).for_each(|(value, beta)| *value += beta * model);
            base.add_tempered(log_p, grid.betas(), out);
        }
    }

    fn sweep(&mut self, at: &[u32], streams: &SweepStreams) {
        self.see();
        let betas = self.grid.betas();
        self.beta.iter_mut().zip(at).for_each(|(beta, &k)| *beta = betas[k as usize] as f32);
        self.drawer.hidden(self.inputs, &self.beta, streams.hidden);
        self.drawer.look_back();
        self.add_components(streams.component);
        self.drawer.visible(&self.ones, None, streams.visible, self.visible);
        self.known = false;
        self.log_p.clear();
    }

    /// E = c.v + sum_j x_j sigma(beta x_j) - E[log p_m(v) | v, beta], V the sum of both variances.
    fn slopes(&mut self, mean: &mut [f64], variance: &mut [f64]) {
        self.see();
        let (host, base) = (self.host, self.base);
        let (betas, n_hidden) = (self.grid.betas(), self.n_hidden());
        let rows = self.visible.chunks_exact(host.words(Layer::Visible));
        let rows = rows.zip(self.inputs.chunks_exact(padded(n_hidden)));
        let rows = rows.zip(self.log_p.chunks_exact(base.stride()));
        let out = mean.chunks_exact_mut(betas.len()).zip(variance.chunks_exact_mut(betas.len()));
        for (((visible, x), log_p), (mean, variance)) in rows.zip(out) {
            let constant = host.visible_dot(visible);
            for ((mean, variance), &beta) in mean.iter_mut().zip(variance).zip(betas) {
                let (slope, spread) = hidden_slope(&x[..n_hidden], beta as f32);
                let (of_base, base_spread) = base.mean_and_variance(&log_p[..base.len()], beta);
                *mean = constant + slope - of_base;
                *variance = spread + base_spread;
            }
        }
    }
}
