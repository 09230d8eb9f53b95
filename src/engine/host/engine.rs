//! [`Engine`] on the host: rows divided among threads and ranks.

use rayon::prelude::*;

use super::Host;
use super::moments::moments;
use super::walker::HostWalker;
use crate::context::{Context, Parts};
use crate::engine::{
    BetaGrid, BitMatrix, Engine, Layer, Matrix, Moments, Route, States, Walker, Workers, awake,
    padded, rows_per_task, rows_per_thread_for,
};
use crate::model::Parameters;
use crate::units::Variables;

/// Rows whose log f is computed by one task.
const TASK: usize = 256;

impl Host {
    /// Pre-activations of rows, by all threads; `out` [rows, stride].
    pub(super) fn inputs_of_rows(&self, layer: Layer, given: &[u64], out: &mut [f32]) {
        let (units, from) = (self.n_units(layer), self.n_units(layer.other()));
        let (words, stride) = (self.words(layer.other()), padded(units));
        let rows = given.len() / words.max(1);
        let task = rows_per_thread_for(rows, from * units);
        if task >= rows {
            return self.inputs_by(Workers::All, layer, given, out);
        }
        out.par_chunks_mut(task * stride)
            .zip(given.par_chunks(task * words))
            .for_each(|(out, given)| self.inputs_of(layer, given, out));
    }
}

impl Engine for Host {
    fn n_units(&self, layer: Layer) -> usize {
        match layer {
            Layer::Visible => self.weights.units(),
            Layer::Hidden => self.weights.columns(),
        }
    }

    fn variables(&self) -> &Variables {
        &self.variables
    }

    fn context(&self) -> &Context {
        &self.context
    }

    fn load(&mut self, parameters: &Parameters) -> bool {
        let same_size = self.n_units(Layer::Visible) == parameters.n_visible
            && self.n_units(Layer::Hidden) == parameters.n_hidden
            && self.variables == parameters.variables;
        if same_size {
            self.take(parameters);
        }
        same_size
    }

    fn inputs(&self, layer: Layer, given: &BitMatrix) -> Matrix {
        let mut out = Matrix::filled(given.rows(), self.n_units(layer), 0.0);
        self.inputs_of_rows(layer, given.words(), out.as_mut_slice());
        out
    }

    fn log_f(&self, visible: &BitMatrix) -> Vec<f64> {
        let (words, hidden) = (self.words(Layer::Visible), self.n_units(Layer::Hidden));
        let grid = BetaGrid::new(&[1.0]);
        let mut values = vec![0.0; visible.rows()];
        let parts = Parts::new(&self.context, visible.rows(), TASK);
        let own = parts.own().start * words..parts.own().end * words;
        let rows = visible.words()[own].par_chunks(TASK * words);
        let tasks = rows.zip(parts.of(&mut values, 1).par_chunks_mut(TASK));
        parts.share(|| {
            tasks.for_each(|(rows, values)| {
                let mut inputs = Matrix::filled(values.len(), hidden, 0.0);
                self.inputs_of(Layer::Hidden, rows, inputs.as_mut_slice());
                self.softplus_sums(hidden, inputs.as_slice(), &grid, values);
                for (value, row) in values.iter_mut().zip(rows.chunks_exact(words)) {
                    *value += self.visible_dot(row);
                }
            });
        });
        parts.gather([parts.rows(&mut values, 1)]);
        values
    }

    fn gibbs(&self, visible: &mut BitMatrix, sweeps: usize, seed: u64, step: u64) {
        let products = sweeps.max(1) * 2 * self.weights.units() * self.weights.columns();
        awake(visible.rows() * products, || {
            self.gibbs_awake(visible, sweeps, (seed, step), products);
        });
    }

    fn moments(&self, visible: &BitMatrix, weights: Option<&[f64]>) -> Moments {
        let n_hidden = self.n_units(Layer::Hidden);
        let mut inputs = Matrix::filled(visible.rows(), n_hidden, 0.0);
        let words = visible.words_per_row();
        let rows = visible.rows();
        let parts = Parts::new(&self.context, rows, rows_per_task(rows)).of_moments(rows);
        let own = &visible.words()[parts.own().start * words..parts.own().end * words];
        parts.share(|| {
            let inputs = parts.of(inputs.as_mut_slice(), padded(n_hidden));
            self.inputs_of_rows(Layer::Hidden, own, inputs);
        });
        moments(self, &parts, visible, inputs, weights)
    }

    /// The cached values are x(v), of this rank's own rows if ranks divide the work.
    fn moments_of_cached(
        &self,
        visible: &BitMatrix,
        cached: Matrix,
        weights: Option<&[f64]>,
    ) -> Moments {
        let parts = Parts::new(&self.context, visible.rows(), rows_per_task(visible.rows()));
        moments(self, &parts, visible, cached, weights)
    }

    fn walker<'a>(&'a self, route: Route<'a>, states: States<'a>) -> Box<dyn Walker + 'a> {
        Box::new(HostWalker::new(self, route, states))
    }

    fn cached(&self) -> usize {
        self.n_units(Layer::Hidden)
    }

    fn takes_all_rows(&self) -> bool {
        false
    }
}
