//! Gibbs chains at beta = 1: the negative phase of contrastive divergence.

use rayon::prelude::*;

use crate::collective::Parts;
use crate::ops::random::{Purpose, Streams};
use crate::ops::{BitMatrix, Draw, Layer, Matrix, RbmOps, words_per_row};
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
    pub fn sweep(&mut self, ops: &dyn RbmOps, sweeps: usize) {
        let (n_visible, n_hidden) = (ops.n_units(Layer::Visible), ops.n_units(Layer::Hidden));
        let products = sweeps.max(1) * 2 * n_visible * n_hidden;
        let task = rows_per_thread_for(self.visible.rows(), products);
        let words = words_per_row(n_visible);
        let (seed, first_step) = (self.seed, self.sweeps);
        let parts =
            Parts::new(ops.ranks(), self.visible.rows(), rows_per_task(self.visible.rows()));
        let own = parts.of(self.visible.words_mut(), words);
        let run = |(i, visible): (usize, &mut [u64])| {
            let rows = visible.len() / words;
            let first = (parts.own().start + i * task) as u32;
            let beta = vec![1.0f32; rows];
            let mut hidden = BitMatrix::zeros(rows, n_hidden);
            let mut hidden_inputs = Matrix::filled(rows, n_hidden, 0.0);
            let mut visible_inputs = Matrix::filled(rows, n_visible, 0.0);
            for step in first_step..first_step + sweeps as u64 {
                let draw = |n_units, inputs: &Matrix, purpose, out: &mut [u64]| {
                    let (inputs, streams) = (inputs.as_slice(), Streams::new(seed, purpose, step));
                    let base = None;
                    let first_row = first;
                    ops.draw(&Draw { n_units, inputs, beta: &beta, base, streams, first_row }, out);
                };
                ops.inputs(Layer::Hidden, visible, hidden_inputs.as_mut_slice());
                draw(n_hidden, &hidden_inputs, Purpose::ParticleHidden, hidden.words_mut());
                ops.inputs(Layer::Visible, hidden.words(), visible_inputs.as_mut_slice());
                draw(n_visible, &visible_inputs, Purpose::ParticleVisible, visible);
            }
        };
        parts.share(|| {
            own.par_chunks_mut(task * words).enumerate().for_each(run);
        });
        parts.gather([parts.rows(self.visible.words_mut(), words)]);
        self.sweeps += sweeps as u64;
    }
}
