//! Gibbs chains at beta = 1.

use rayon::prelude::*;

use super::Host;
use crate::context::Parts;
use crate::engine::{
    BitMatrix, Draw, Engine, Layer, Matrix, SweepStreams, Workers, rows_per_task,
    rows_per_thread_for,
};

impl Host {
    /// `sweeps` sweeps h | v, v | h of all rows at beta = 1, so many products of a row in all, while other threads are awake.
    pub(super) fn gibbs_awake(
        &self,
        visible: &mut BitMatrix,
        sweeps: usize,
        (seed, first_step): (u64, u64),
        products: usize,
    ) {
        let (n_visible, n_hidden) = (self.n_units(Layer::Visible), self.n_units(Layer::Hidden));
        let task = rows_per_thread_for(visible.rows(), products);
        let words = self.words(Layer::Visible);
        let parts = Parts::new(&self.context, visible.rows(), rows_per_task(visible.rows()));
        // A single task uses all threads for every step.
        let alone = task >= parts.own().len();
        let own = parts.of(visible.words_mut(), words);
        let run = |(i, visible): (usize, &mut [u64])| {
            let rows = visible.len() / words;
            let first = (parts.own().start + i * task) as u32;
            let beta = vec![1.0f32; rows];
            let mut hidden = BitMatrix::zeros(rows, n_hidden);
            // Allocated where they are used.
            let mut inputs = [Matrix::filled(0, 0, 0.0), Matrix::filled(0, 0, 0.0)];
            let [hidden_inputs, visible_inputs] = &mut inputs;
            let workers = if alone { Workers::All } else { Workers::One };
            for step in first_step..first_step + sweeps as u64 {
                let streams = SweepStreams::gibbs(seed, step);
                let of_layer = |n_units, streams| Draw {
                    n_units,
                    inputs: &[],
                    beta: &beta,
                    base: None,
                    streams,
                    first_row: first,
                };
                let draw = of_layer(n_hidden, streams.hidden);
                let out = hidden.words_mut();
                self.draw_given(workers, Layer::Hidden, visible, draw, hidden_inputs, out);
                let draw = of_layer(n_visible, streams.visible);
                let given = hidden.words();
                self.draw_given(workers, Layer::Visible, given, draw, visible_inputs, visible);
            }
        };
        parts.share(|| {
            own.par_chunks_mut(task * words).enumerate().for_each(run);
        });
        parts.gather([parts.rows(visible.words_mut(), words)]);
    }
}
