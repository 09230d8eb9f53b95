//! Gibbs chains at beta = 1: the negative phase of contrastive divergence.

use rayon::prelude::*;

use crate::collective::Parts;
use crate::engine::random::{Purpose, Streams};
use crate::engine::{
    AS_AN_EXPONENTIAL, BitMatrix, Draw, Layer, Matrix, RbmOps, Workers, awake, words_per_row,
};
use crate::tempering::{rows_per_task, rows_per_thread_for};

/// Visible states and the position of their random streams.
#[derive(Clone, Debug, PartialEq)]
pub struct Particles {
    /// v, shape [particles, M].
    pub visible: BitMatrix,
    /// Seed of the random streams.
    pub seed: u64,
    /// Sweeps done so far.
    pub sweeps: u64,
}

impl Particles {
    /// `sweeps` sweeps h | v, v | h of all particles at beta = 1.
    pub fn sweep(&mut self, engine: &dyn RbmOps, sweeps: usize) {
        let (n_visible, n_hidden) = (engine.n_units(Layer::Visible), engine.n_units(Layer::Hidden));
        let products = sweeps.max(1) * 2 * n_visible * n_hidden;
        awake(self.visible.rows() * products, || self.sweep_awake(engine, sweeps, products));
    }

    fn sweep_awake(&mut self, engine: &dyn RbmOps, sweeps: usize, products: usize) {
        let (n_visible, n_hidden) = (engine.n_units(Layer::Visible), engine.n_units(Layer::Hidden));
        let task = rows_per_thread_for(self.visible.rows(), products);
        let words = words_per_row(n_visible);
        let (seed, first_step) = (self.seed, self.sweeps);
        let parts =
            Parts::new(engine.ranks(), self.visible.rows(), rows_per_task(self.visible.rows()));
        // A single task uses all threads for every step.
        let alone = task >= parts.own().len();
        let own = parts.of(self.visible.words_mut(), words);
        let run = |(i, visible): (usize, &mut [u64])| {
            let rows = visible.len() / words;
            let first = (parts.own().start + i * task) as u32;
            let beta = vec![1.0f32; rows];
            let mut hidden = BitMatrix::zeros(rows, n_hidden);
            let mut hidden_inputs = Matrix::filled(rows, n_hidden, 0.0);
            let mut visible_inputs = Matrix::filled(rows, n_visible, 0.0);
            for step in first_step..first_step + sweeps as u64 {
                let draw = |layer, inputs: &Matrix, out: &mut [u64]| {
                    let purpose = match layer {
                        Layer::Hidden => Purpose::ParticleHidden,
                        Layer::Visible => Purpose::ParticleVisible,
                    };
                    let (inputs, streams) = (inputs.as_slice(), Streams::new(seed, purpose, step));
                    let (n_units, base, first_row) = (engine.n_units(layer), None, first);
                    let draw = Draw { n_units, inputs, beta: &beta, base, streams, first_row };
                    let part = |draw: &Draw<'_>, out: &mut [u64]| match layer {
                        Layer::Hidden => engine.draw(draw, out),
                        Layer::Visible => engine.draw_visible(draw, out),
                    };
                    if alone { by_all(&draw, out, part) } else { part(&draw, out) }
                };
                let inputs = |layer, given: &[u64], out: &mut Matrix| match alone {
                    true => engine.inputs_by_all(layer, given, out.as_mut_slice()),
                    false => engine.inputs(layer, given, out.as_mut_slice()),
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
        parts.gather([parts.rows(self.visible.words_mut(), words)]);
        self.sweeps += sweeps as u64;
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
