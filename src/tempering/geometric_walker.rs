//! Chains on the geometric path from the base distribution to an RBM.

use super::path::log_f;
use super::{AnnealingPath, Ladder, Path, Walker};
use crate::ops::random::Streams;
use crate::ops::{BetaGrid, BitMatrix, Draw, Layer, Matrix, words_per_row};

impl AnnealingPath for Path<'_> {
    fn ladder(&self) -> &Ladder {
        self.ladder
    }

    fn n_visible(&self) -> usize {
        Path::n_visible(self)
    }

    fn sample_base(&self, rows: usize, seed: u64, step: u64) -> BitMatrix {
        self.base.sample(rows, seed, step)
    }

    fn log_z_base(&self) -> f64 {
        Path::log_z_base(self)
    }

    fn walker<'a>(&'a self, visible: &'a mut [u64], first_row: u32) -> Box<dyn Walker + 'a> {
        let rows = visible.len() / words_per_row(self.n_visible());
        Box::new(GeometricWalker {
            path: *self,
            inputs: Matrix::filled(rows, self.n_hidden(), 0.0),
            inputs_are_current: false,
            visible_inputs: Matrix::filled(rows, self.n_visible(), 0.0),
            hidden: BitMatrix::zeros(rows, self.n_hidden()),
            log_f: vec![0.0; rows * 2],
            visible,
            first_row,
        })
    }
}

struct GeometricWalker<'a> {
    path: Path<'a>,
    visible: &'a mut [u64],
    first_row: u32,
    /// x(v); serves the weights and the draw of h that follows.
    inputs: Matrix,
    inputs_are_current: bool,
    visible_inputs: Matrix,
    hidden: BitMatrix,
    log_f: Vec<f64>,
}

impl GeometricWalker<'_> {
    fn see_hidden(&mut self) {
        if !self.inputs_are_current {
            self.path.ops.inputs(Layer::Hidden, self.visible, self.inputs.as_mut_slice());
            self.inputs_are_current = true;
        }
    }
}

impl Walker for GeometricWalker<'_> {
    fn log_ratio(&mut self, from: usize, to: usize, out: &mut [f64]) {
        self.see_hidden();
        let Path { ops, base, ladder } = self.path;
        // In ascending order whichever way the chain goes, so that both ways round alike.
        let (low, high) = (from.min(to), from.max(to));
        let grid = BetaGrid::new(&[ladder.betas()[low], ladder.betas()[high]]);
        log_f(ops, base, &grid, self.visible, self.inputs.as_slice(), &mut self.log_f);
        let sign = if from <= to { 1.0 } else { -1.0 };
        for (out, pair) in out.iter_mut().zip(self.log_f.chunks_exact(2)) {
            *out = sign * (pair[1] - pair[0]);
        }
    }

    fn sweep(&mut self, k: usize, hidden: Streams, visible: Streams) {
        self.see_hidden();
        let Path { ops, base, ladder } = self.path;
        let beta = vec![ladder.betas()[k] as f32; self.inputs.rows()];
        let draw = Draw {
            n_units: self.path.n_hidden(),
            inputs: self.inputs.as_slice(),
            beta: &beta,
            base: None,
            streams: hidden,
            first_row: self.first_row,
        };
        ops.draw(&draw, self.hidden.words_mut());
        ops.inputs(Layer::Visible, self.hidden.words(), self.visible_inputs.as_mut_slice());
        let draw = Draw {
            n_units: self.path.n_visible(),
            inputs: self.visible_inputs.as_slice(),
            base: Some(base.padded_logits()),
            streams: visible,
            ..draw
        };
        ops.draw(&draw, self.visible);
        self.inputs_are_current = false;
    }
}
