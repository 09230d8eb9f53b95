//! log f_k(v) on the path from a mixture to a model, and the walkers on it.
//!
//! One sweep: h | v, k; m | v, k; v | h, m, k. m is summed out of log f and drawn again in every sweep.

use super::MixtureBase;
use crate::collective::Collective;
use crate::engine::random::Streams;
use crate::engine::{BitMatrix, Layer, RbmOps, padded, words_per_row};
use crate::tempering::geometric::{Drawer, hidden_slope};
use crate::tempering::{Ladder, States, SweepStreams, TemperedPath, Walker};

/// One model's path from a mixture.
#[derive(Clone, Copy)]
pub struct MixturePath<'a> {
    /// The model's operations.
    pub engine: &'a dyn RbmOps,
    /// beta_k and r_k.
    pub ladder: &'a Ladder,
    /// p1(v).
    pub base: &'a MixtureBase,
}

impl MixturePath<'_> {
    fn n_hidden(&self) -> usize {
        self.engine.n_units(Layer::Hidden)
    }
}

impl TemperedPath for MixturePath<'_> {
    fn ladder(&self) -> &Ladder {
        self.ladder
    }

    fn n_visible(&self) -> usize {
        self.engine.n_units(Layer::Visible)
    }

    /// J log 2.
    fn log_z_base(&self) -> f64 {
        self.n_hidden() as f64 * std::f64::consts::LN_2
    }

    fn ranks(&self) -> &dyn Collective {
        self.engine.ranks()
    }

    fn sample_base(&self, rows: usize, seed: u64, step: u64) -> BitMatrix {
        self.base.sample(rows, seed, step)
    }

    /// x(v) alone: notes are kept row by row, and may be handed to a walker of other rows.
    fn notes(&self) -> usize {
        self.n_hidden()
    }

    fn walker<'a>(&'a self, states: States<'a>) -> Box<dyn Walker + 'a> {
        let States { visible, notes: inputs, first_row, known } = states;
        let rows = visible.len() / words_per_row(self.n_visible());
        let drawer = Drawer::new(self.engine, rows, first_row);
        let beta = vec![0.0; rows];
        let ones = vec![1.0; rows];
        Box::new(MixtureWalker {
            path: *self,
            visible,
            inputs,
            log_p: Vec::new(),
            known,
            first_row,
            drawer,
            beta,
            ones,
        })
    }
}

struct MixtureWalker<'a> {
    path: MixturePath<'a>,
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

impl MixtureWalker<'_> {
    fn see(&mut self) {
        if !self.known {
            self.path.engine.inputs(Layer::Hidden, self.visible, self.inputs);
            self.known = true;
        }
        if self.log_p.is_empty() {
            self.log_p.resize(self.beta.len() * self.path.base.stride(), 0.0);
            self.path.base.log_densities(self.visible, &mut self.log_p);
        }
    }

    /// beta (Wh + c) + (1 - beta) a_m in place of Wh + c, m chosen by p(m | v, beta).
    fn add_components(&mut self, streams: Streams) {
        let m = self.path.n_visible();
        let base = self.path.base;
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
        let MixturePath { engine, ladder, base } = self.path;
        let grid = ladder.grid_at(at);
        engine.softplus_sums(self.path.n_hidden(), self.inputs, &grid, out);
        let rows = self.visible.chunks_exact(words_per_row(self.path.n_visible()));
        let log_p = self.log_p.chunks_exact(base.stride());
        for ((row, log_p), out) in rows.zip(log_p).zip(out.chunks_exact_mut(at.len())) {
            let model = engine.visible_dot(row);
            out.iter_mut().zip(grid.betas()).for_each(|(value, beta)| *value += beta * model);
            base.add_tempered(log_p, grid.betas(), out);
        }
    }

    fn sweep(&mut self, at: &[u32], streams: &SweepStreams) {
        self.see();
        let betas = self.path.ladder.betas();
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
        let MixturePath { engine, ladder, base } = self.path;
        let (betas, n_hidden) = (ladder.betas(), self.path.n_hidden());
        let rows = self.visible.chunks_exact(words_per_row(self.path.n_visible()));
        let rows = rows.zip(self.inputs.chunks_exact(padded(n_hidden)));
        let rows = rows.zip(self.log_p.chunks_exact(base.stride()));
        let out = mean.chunks_exact_mut(betas.len()).zip(variance.chunks_exact_mut(betas.len()));
        for (((visible, x), log_p), (mean, variance)) in rows.zip(out) {
            let constant = engine.visible_dot(visible);
            for ((mean, variance), &beta) in mean.iter_mut().zip(variance).zip(betas) {
                let (slope, spread) = hidden_slope(&x[..n_hidden], beta as f32);
                let (of_base, base_spread) = base.mean_and_variance(&log_p[..base.len()], beta);
                *mean = constant + slope - of_base;
                *variance = spread + base_spread;
            }
        }
    }
}
