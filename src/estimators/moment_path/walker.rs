//! Chains between two RBMs: pre-activations are linear in the parameters, so both are evaluated and mixed.
//!
//! Cost: twice the matrix products of the geometric path.

use super::MomentPath;
use crate::engine::{
    BetaGrid, BitMatrix, Draw, Host, Layer, Matrix, States, SweepStreams, Walker, words_per_row,
};
use crate::tempering::{Ladder, TemperedPath};

impl TemperedPath for MomentPath<'_> {
    fn ladder(&self) -> &Ladder {
        self.ladder
    }

    fn n_visible(&self) -> usize {
        self.knots.base.logits().len()
    }

    fn sample_base(&self, rows: usize, seed: u64, step: u64) -> BitMatrix {
        self.knots.base.sample(rows, seed, step)
    }

    fn log_z_base(&self) -> f64 {
        self.knots.base.log_partition(self.knots.n_hidden)
    }

    fn walker<'a>(&'a self, states: States<'a>) -> Box<dyn Walker + 'a> {
        let (m, j) = (self.knots.base.logits().len(), self.knots.n_hidden);
        let rows = states.visible.len() / words_per_row(m);
        Box::new(MomentWalker {
            path: *self,
            hidden_inputs: Inputs::new(Layer::Hidden, rows, j),
            visible_inputs: Inputs::new(Layer::Visible, rows, m),
            hidden: BitMatrix::zeros(rows, j),
            one: BetaGrid::new(&[1.0]),
            sums: vec![0.0; rows],
            ones: vec![1.0; rows],
            states,
        })
    }
}

struct MomentWalker<'a> {
    path: MomentPath<'a>,
    states: States<'a>,
    hidden_inputs: Inputs,
    visible_inputs: Inputs,
    hidden: BitMatrix,
    one: BetaGrid,
    sums: Vec<f64>,
    ones: Vec<f32>,
}

/// Pre-activations of one layer under the two knots of a leg, and their mixture.
struct Inputs {
    layer: Layer,
    ends: [Matrix; 2],
    mixed: Matrix,
    /// The leg whose ends are evaluated at the current states.
    leg: Option<usize>,
}

impl Inputs {
    fn new(layer: Layer, rows: usize, units: usize) -> Self {
        let empty = || Matrix::filled(rows, units, 0.0);
        Self { layer, ends: [empty(), empty()], mixed: empty(), leg: None }
    }

    fn mix(&mut self, models: &[Host], (leg, share): (usize, f64), given: &[u64]) -> &[f32] {
        if self.leg != Some(leg) {
            for (end, model) in self.ends.iter_mut().zip(&models[leg..]) {
                model.inputs_of(self.layer, given, end.as_mut_slice());
            }
            self.leg = Some(leg);
        }
        let share = share as f32;
        let [from, to] = &self.ends;
        let ends = from.as_slice().iter().zip(to.as_slice());
        for (mixed, (from, to)) in self.mixed.as_mut_slice().iter_mut().zip(ends) {
            *mixed = (1.0 - share) * from + share * to;
        }
        self.mixed.as_slice()
    }
}

impl MomentWalker<'_> {
    /// One sweep of all rows at the same k.
    fn sweep_together(&mut self, k: usize, streams: &SweepStreams) {
        let place = self.path.place(k);
        let knots = self.path.knots;
        let draw = Draw {
            n_units: knots.n_hidden,
            inputs: self.hidden_inputs.mix(&knots.models, place, self.states.visible),
            beta: &self.ones,
            base: None,
            streams: streams.hidden,
            first_row: self.states.first_row,
        };
        knots.models[place.0].draw(&draw, self.hidden.words_mut());
        self.visible_inputs.leg = None;
        let draw = Draw {
            n_units: knots.base.logits().len(),
            inputs: self.visible_inputs.mix(&knots.models, place, self.hidden.words()),
            streams: streams.visible,
            ..draw
        };
        knots.models[place.0].draw(&draw, self.states.visible);
        self.hidden_inputs.leg = None;
    }
}

impl Walker for MomentWalker<'_> {
    fn log_f(&mut self, at: &[usize], out: &mut [f64]) {
        let models = &self.path.knots.models;
        let words = words_per_row(self.path.knots.base.logits().len());
        for (column, &k) in at.iter().enumerate() {
            let (leg, share) = self.path.place(k);
            let x = self.hidden_inputs.mix(models, (leg, share), self.states.visible);
            models[leg].softplus_sums(self.path.knots.n_hidden, x, &self.one, &mut self.sums);
            let rows = self.states.visible.chunks_exact(words).zip(&self.sums);
            for ((row, sum), out) in rows.zip(out.chunks_exact_mut(at.len())) {
                let linear = |model: &Host| model.visible_dot(row);
                let mixed = (1.0 - share) * linear(&models[leg]) + share * linear(&models[leg + 1]);
                out[column] = mixed + sum;
            }
        }
    }

    /// Rows at different temperatures have different models: each such group is drawn with all others, and keeps its own.
    fn sweep(&mut self, at: &[u32], streams: &SweepStreams) {
        let mut groups = at.to_vec();
        groups.sort_unstable();
        groups.dedup();
        if let [k] = groups[..] {
            return self.sweep_together(k as usize, streams);
        }
        let words = words_per_row(self.path.knots.base.logits().len());
        let before = self.states.visible.to_vec();
        let mut after = before.clone();
        for k in groups {
            self.states.visible.copy_from_slice(&before);
            self.sweep_together(k as usize, streams);
            let rows = self.states.visible.chunks_exact(words).zip(after.chunks_exact_mut(words));
            let own = rows.zip(at).filter(|(_, at)| **at == k);
            own.for_each(|((now, after), _)| after.copy_from_slice(now));
        }
        self.states.visible.copy_from_slice(&after);
    }
}
