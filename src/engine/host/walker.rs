//! Chains on the path from a base distribution to the model, on the host.
//!
//! One sweep: h | v, k; from a mixture m | v, k; v | h, m, k. m is summed out of log f and drawn again in every sweep.

use super::math::exp_f32;
use super::{Host, selected_sum};
use crate::engine::random::Streams;
use crate::engine::{
    Base, BitMatrix, Draw, Engine, Halves, Layer, Matrix, MixtureBase, Route, States, SweepStreams,
    Walker, Workers, padded,
};

pub(super) struct HostWalker<'a> {
    host: &'a Host,
    route: Route<'a>,
    /// Its cached values are x(v).
    states: States<'a>,
    hidden: BitMatrix,
    /// Wh + c; allocated at first use, because an evaluation draws nothing.
    visible_inputs: Matrix,
    beta: Vec<f32>,
    /// (c - a).v, empty unless it is of the current states.
    of_visible: Vec<f64>,
    /// log p_m(v) of a mixture, [rows, stride of C]; empty unless they are of the current states.
    log_p: Vec<f32>,
}

impl<'a> HostWalker<'a> {
    pub fn new(host: &'a Host, route: Route<'a>, states: States<'a>) -> Self {
        let rows = states.visible.len() / host.words(Layer::Visible);
        Self {
            hidden: BitMatrix::zeros(rows, host.n_units(Layer::Hidden)),
            visible_inputs: Matrix::filled(0, 0, 0.0),
            beta: Vec::with_capacity(rows),
            of_visible: Vec::new(),
            log_p: Vec::new(),
            host,
            route,
            states,
        }
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

    fn see_components(&mut self, base: &MixtureBase) {
        if self.log_p.is_empty() {
            self.log_p.resize(self.hidden.rows() * base.stride(), 0.0);
            base.log_densities(self.states.visible, &mut self.log_p);
        }
    }

    fn set_beta(&mut self, at: &[u32]) {
        let betas = self.route.grid.betas();
        self.beta.clear();
        self.beta.extend(at.iter().map(|&k| betas[k as usize] as f32));
    }

    fn rows(&self) -> impl Iterator<Item = &[u64]> {
        self.states.visible.chunks_exact(self.host.words(Layer::Visible))
    }

    /// (c - a).v of a row; c.v for a mixture.
    fn of_visible(&self, row: &[u64]) -> f64 {
        let model = self.host.visible_dot(row);
        match self.route.base {
            Base::Product(base) => model - base.dot(row),
            Base::Mixture(_) => model,
        }
    }

    /// Makes `visible_inputs` beta (Wh + c) + (1 - beta) a_m, m chosen by p(m | v, beta), to be drawn from at `beta` = 1.
    fn mix_inputs(&mut self, base: &MixtureBase, streams: Streams) {
        self.see_components(base);
        let (rows, m) = (self.hidden.rows(), self.host.n_units(Layer::Visible));
        if self.visible_inputs.rows() != rows {
            self.visible_inputs = Matrix::filled(rows, m, 0.0);
        }
        let inputs = self.visible_inputs.as_mut_slice();
        self.host.inputs_of(Layer::Visible, self.hidden.words(), inputs);
        let rows = inputs.chunks_exact_mut(padded(m)).zip(self.log_p.chunks_exact(base.stride()));
        for (s, ((inputs, log_p), &beta)) in rows.zip(&self.beta).enumerate() {
            if beta < 1.0 {
                let uniform = streams.row(self.states.first_row + s as u32).uniform();
                let chosen = base.choose(log_p, f64::from(beta), uniform);
                let logits = base.components()[chosen].logits();
                for (x, a) in inputs[..m].iter_mut().zip(logits) {
                    *x = beta * *x + (1.0 - beta) * a;
                }
            }
        }
        self.beta.fill(1.0);
    }
}

impl Walker for HostWalker<'_> {
    fn log_f(&mut self, at: &[usize], out: &mut [f64]) {
        self.see_hidden();
        if let Base::Mixture(base) = self.route.base {
            self.see_components(base);
        }
        let grid = self.route.grid.at(at);
        self.host.softplus_sums(self.n_hidden(), self.states.cached, &grid, out);
        for (s, (row, out)) in self.rows().zip(out.chunks_exact_mut(at.len())).enumerate() {
            let model = self.host.visible_dot(row);
            match self.route.base {
                Base::Product(base) => {
                    let base = base.dot(row);
                    for (value, beta) in out.iter_mut().zip(grid.betas()) {
                        *value += beta * model + (1.0 - beta) * base;
                    }
                }
                Base::Mixture(base) => {
                    for (value, beta) in out.iter_mut().zip(grid.betas()) {
                        *value += beta * model;
                    }
                    base.add_tempered(&self.log_p[s * base.stride()..], grid.betas(), out);
                }
            }
        }
    }

    fn sweep(&mut self, at: &[u32], streams: &SweepStreams) {
        self.draw_hidden(at, streams);
        self.draw_visible(at, streams);
    }

    /// E = (c - a).v + sum_j x_j sigma(beta x_j), V = sum_j x_j^2 sigma (1 - sigma) (algorithms.md, section 5); for a mixture with
    /// E[log p_m(v) | v, beta] in place of a.v, and its variance added.
    fn slopes(&mut self, mean: &mut [f64], variance: &mut [f64]) {
        self.see_hidden();
        if let Base::Mixture(base) = self.route.base {
            self.see_components(base);
        }
        let (betas, n_hidden) = (self.route.grid.betas(), self.n_hidden());
        let rows = self.rows().zip(self.states.cached.chunks_exact(padded(n_hidden)));
        let out = mean.chunks_exact_mut(betas.len()).zip(variance.chunks_exact_mut(betas.len()));
        for (s, ((visible, x), (mean, variance))) in rows.zip(out).enumerate() {
            let constant = self.of_visible(visible);
            for ((mean, variance), &beta) in mean.iter_mut().zip(variance).zip(betas) {
                let (slope, spread) = hidden_slope(&x[..n_hidden], beta as f32);
                let (of_base, base_spread) = match self.route.base {
                    Base::Product(_) => (0.0, 0.0),
                    Base::Mixture(base) => {
                        let log_p = &self.log_p[s * base.stride()..][..base.len()];
                        base.mean_and_variance(log_p, beta)
                    }
                };
                *mean = constant + slope - of_base;
                *variance = spread + base_spread;
            }
        }
    }

    fn halves(&mut self) -> Option<&mut dyn Halves> {
        matches!(self.route.base, Base::Product(_)).then_some(self)
    }
}

impl Halves for HostWalker<'_> {
    fn draw_hidden(&mut self, at: &[u32], streams: &SweepStreams) {
        self.see_hidden();
        self.set_beta(at);
        let draw = Draw {
            n_units: self.n_hidden(),
            inputs: self.states.cached,
            beta: &self.beta,
            base: None,
            streams: streams.hidden,
            first_row: self.states.first_row,
        };
        self.host.draw(&draw, self.hidden.words_mut());
    }

    fn slopes_of_both(&mut self, out: &mut [f64]) {
        if self.of_visible.is_empty() {
            self.of_visible = self.rows().map(|row| self.of_visible(row)).collect();
        }
        let x = self.states.cached.chunks_exact(padded(self.n_hidden()));
        for (s, ((out, x), of_visible)) in out.iter_mut().zip(x).zip(&self.of_visible).enumerate() {
            *out = of_visible + selected_sum(self.hidden.row(s), x);
        }
    }

    fn draw_visible(&mut self, at: &[u32], streams: &SweepStreams) {
        self.set_beta(at);
        if let Base::Mixture(base) = self.route.base {
            self.mix_inputs(base, streams.component);
        }
        let draw = Draw {
            n_units: self.host.n_units(Layer::Visible),
            inputs: &[],
            beta: &self.beta,
            base: None,
            streams: streams.visible,
            first_row: self.states.first_row,
        };
        let out = &mut *self.states.visible;
        match self.route.base {
            Base::Product(base) => {
                let draw = Draw { base: Some(base.padded_logits()), ..draw };
                let (given, inputs) = (self.hidden.words(), &mut self.visible_inputs);
                self.host.draw_given(Workers::One, Layer::Visible, given, draw, inputs, out);
            }
            Base::Mixture(_) => {
                let draw = Draw { inputs: self.visible_inputs.as_slice(), ..draw };
                self.host.draw_visible(&draw, out);
            }
        }
        self.states.known = false;
        self.of_visible.clear();
        self.log_p.clear();
    }
}

/// sum_j x_j sigma(beta x_j) and sum_j x_j^2 sigma (1 - sigma), summed in f64 over blocks the compiler vectorises.
fn hidden_slope(x: &[f32], beta: f32) -> (f64, f64) {
    const BLOCK: usize = 64;
    let (mut mean, mut variance) = (0.0, 0.0);
    for block in x.chunks(BLOCK) {
        let (mut first, mut second) = ([0.0f32; BLOCK], [0.0f32; BLOCK]);
        for ((first, second), &x) in first.iter_mut().zip(&mut second).zip(block) {
            let sigma = 1.0 / (1.0 + exp_f32(-beta * x));
            *first = x * sigma;
            *second = x * x * sigma * (1.0 - sigma);
        }
        mean += first.iter().map(|&x| f64::from(x)).sum::<f64>();
        variance += second.iter().map(|&x| f64::from(x)).sum::<f64>();
    }
    (mean, variance)
}
