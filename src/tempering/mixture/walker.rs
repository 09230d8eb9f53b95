//! Chains that anneal along the path from a mixture; m is summed out of the weights and drawn afresh in every sweep.

use super::path::{MixturePath, Scratch};
use crate::ops::random::{Purpose, Streams};
use crate::ops::{BetaGrid, BitMatrix, words_per_row};
use crate::tempering::{AnnealingPath, Ladder, Walker};

impl AnnealingPath for MixturePath<'_> {
    fn ladder(&self) -> &Ladder {
        self.ladder
    }

    fn n_visible(&self) -> usize {
        MixturePath::n_visible(self)
    }

    fn sample_base(&self, rows: usize, seed: u64, step: u64) -> BitMatrix {
        self.base.sample(rows, seed, step)
    }

    fn log_z_base(&self) -> f64 {
        MixturePath::log_z_base(self)
    }

    fn walker<'a>(&'a self, visible: &'a mut [u64], first_row: u32) -> Box<dyn Walker + 'a> {
        let rows = visible.len() / words_per_row(self.n_visible());
        let scratch = self.scratch(rows);
        let log_f = vec![0.0; rows * 2];
        Box::new(MixtureWalker { path: *self, visible, first_row, scratch, current: false, log_f })
    }
}

struct MixtureWalker<'a> {
    path: MixturePath<'a>,
    visible: &'a mut [u64],
    first_row: u32,
    /// x(v) and log p_m(v); serve the weights and the draws that follow.
    scratch: Scratch,
    current: bool,
    log_f: Vec<f64>,
}

impl MixtureWalker<'_> {
    fn see(&mut self) {
        if !self.current {
            self.path.look(self.visible, &mut self.scratch);
            self.current = true;
        }
    }
}

impl Walker for MixtureWalker<'_> {
    fn log_ratio(&mut self, from: usize, to: usize, out: &mut [f64]) {
        self.see();
        let betas = self.path.ladder.betas();
        // In ascending order whichever way the chain goes, so that both ways round alike.
        let (low, high) = (from.min(to), from.max(to));
        let grid = BetaGrid::new(&[betas[low], betas[high]]);
        let (inputs, log_p) = (self.scratch.inputs.as_slice(), self.scratch.log_p.as_slice());
        self.path.log_f(&grid, self.visible, inputs, log_p, &mut self.log_f);
        let sign = if from <= to { 1.0 } else { -1.0 };
        for (out, pair) in out.iter_mut().zip(self.log_f.chunks_exact(2)) {
            *out = sign * (pair[1] - pair[0]);
        }
    }

    fn sweep(&mut self, k: usize, hidden: Streams, visible: Streams) {
        self.see();
        let beta = vec![self.path.ladder.betas()[k] as f32; self.scratch.inputs.rows()];
        let components = hidden.with_purpose(match hidden.purpose() {
            Purpose::AnnealedHidden => Purpose::AnnealedComponent,
            _ => Purpose::DescendingComponent,
        });
        let first = self.first_row;
        let uniform = |row: usize| components.row(first + row as u32).uniform();
        let streams = (hidden, visible);
        self.path.move_rows(&mut self.scratch, self.visible, &beta, streams, first, uniform);
        self.current = false;
    }
}
