//! Gibbs chains at beta = 1.

use rayon::prelude::*;

use super::Host;
use crate::collective::Parts;
use crate::engine::{
    AS_AN_EXPONENTIAL, BitMatrix, Draw, Engine, Layer, Matrix, SweepStreams, Workers, awake,
    rows_per_task, rows_per_thread_for, words_per_row,
};

impl Host {
    /// `sweeps` sweeps h | v, v | h of all rows at beta = 1; see [`crate::engine::Engine::gibbs`].
    pub(super) fn gibbs_sweeps(
        &self,
        visible: &mut BitMatrix,
        sweeps: usize,
        seed: u64,
        step: u64,
    ) {
        let (n_visible, n_hidden) = (self.n_units(Layer::Visible), self.n_units(Layer::Hidden));
        let products = sweeps.max(1) * 2 * n_visible * n_hidden;
        awake(visible.rows() * products, || {
            self.gibbs_awake(visible, sweeps, (seed, step), products);
        });
    }

    fn gibbs_awake(
        &self,
        visible: &mut BitMatrix,
        sweeps: usize,
        (seed, first_step): (u64, u64),
        products: usize,
    ) {
        let (n_visible, n_hidden) = (self.n_units(Layer::Visible), self.n_units(Layer::Hidden));
        let task = rows_per_thread_for(visible.rows(), products);
        let words = words_per_row(n_visible);
        let parts = Parts::new(self.ranks(), visible.rows(), rows_per_task(visible.rows()));
        // A single task uses all threads for every step.
        let alone = task >= parts.own().len();
        let own = parts.of(visible.words_mut(), words);
        let run = |(i, visible): (usize, &mut [u64])| {
            let rows = visible.len() / words;
            let first = (parts.own().start + i * task) as u32;
            let beta = vec![1.0f32; rows];
            let mut hidden = BitMatrix::zeros(rows, n_hidden);
            let mut hidden_inputs = Matrix::filled(rows, n_hidden, 0.0);
            let mut visible_inputs = Matrix::filled(rows, n_visible, 0.0);
            for step in first_step..first_step + sweeps as u64 {
                let of_step = SweepStreams::gibbs(seed, step);
                let draw = |layer, inputs: &Matrix, out: &mut [u64]| {
                    let streams = match layer {
                        Layer::Hidden => of_step.hidden,
                        Layer::Visible => of_step.visible,
                    };
                    let inputs = inputs.as_slice();
                    let (n_units, base, first_row) = (self.n_units(layer), None, first);
                    let draw = Draw { n_units, inputs, beta: &beta, base, streams, first_row };
                    let part = |draw: &Draw<'_>, out: &mut [u64]| match layer {
                        Layer::Hidden => self.draw(draw, out),
                        Layer::Visible => self.draw_visible(draw, out),
                    };
                    if alone { by_all(&draw, out, part) } else { part(&draw, out) }
                };
                let inputs = |layer, given: &[u64], out: &mut Matrix| match alone {
                    true => self.inputs_by_all(layer, given, out.as_mut_slice()),
                    false => self.inputs_of(layer, given, out.as_mut_slice()),
                };
                inputs(Layer::Hidden, visible, &mut hidden_inputs);
                draw(Layer::Hidden, &hidden_inputs, hidden.words_mut());
                inputs(Layer::Visible, hidden.words(), &mut visible_inputs);
                draw(Layer::Visible, &visible_inputs, visible);
            }
        };
        parts.share(|| {
            own.par_chunks_mut(task * words).enumerate().for_each(run);
        });
        parts.gather([parts.rows(visible.words_mut(), words)]);
    }
}

/// Each row by itself, by all threads; `part` draws some of them.
fn by_all(draw: &Draw<'_>, out: &mut [u64], part: impl Fn(&Draw<'_>, &mut [u64]) + Sync) {
    let rows = draw.beta.len();
    let threads = Workers::All.for_products(rows * draw.n_units * AS_AN_EXPONENTIAL);
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
