//! Products with the numbers of real variables: dense, in f32. Those with bits are `look_up`'s.

use rayon::prelude::*;

use super::instruction_set::for_every_instruction_set;
use super::{Host, InstructionSet};
use crate::engine::{BitMatrix, Draw, Layer, Matrix, Workers, fewest_tasks, words_per_row};
use crate::model::Parameters;
use crate::units::{Real, Variables};

/// Rows of one task.
const TASK: usize = 64;
/// Rows and terms that the kernel takes at a time: their sums stay in registers for all four terms.
const AT_ONCE: usize = 4;

/// The statistics of real variables that have weights, v and v^2, and these, f32 as they are.
#[derive(Clone, Debug)]
pub(super) struct RealWeights {
    /// A variable, and whether the statistic is its square.
    terms: Vec<(Real, bool)>,
    /// [terms, J].
    weights: Matrix,
}

impl RealWeights {
    pub fn of(parameters: &Parameters) -> Self {
        let Parameters { n_hidden, variables, .. } = parameters;
        let row = |i: usize| &parameters.weights[i * n_hidden..][..*n_hidden];
        let both = variables.reals().flat_map(|(i, real)| [(i, real, false), (i + 1, real, true)]);
        // Squares have weights in mixtures alone.
        let used: Vec<_> =
            both.filter(|(i, _, square)| !square || row(*i).iter().any(|w| *w != 0.0)).collect();
        let values: Vec<f32> = used.iter().flat_map(|(i, ..)| row(*i)).copied().collect();
        let weights = Matrix::from_rows(used.len(), *n_hidden, &values, 0.0);
        Self { terms: used.into_iter().map(|(_, real, square)| (real, square)).collect(), weights }
    }

    /// Adds t(v)'W to pre-activations of hidden units; `visible`: rows of `words` words.
    fn add(&self, set: InstructionSet, visible: &[u64], words: usize, out: &mut [f32]) {
        let value = |row: &[u64], (real, square): &(Real, bool)| {
            let v = real.value(row);
            if *square { v * v } else { v }
        };
        let rows = visible.chunks_exact(words);
        let values: Vec<f32> =
            rows.flat_map(|row| self.terms.iter().map(move |term| value(row, term))).collect();
        add_products(set, &values, self.terms.len(), self.weights.as_slice(), out);
    }
}

for_every_instruction_set! {
    /// out += x w with x [n, k], w [k, stride] and out [n, stride]; terms are added in their order.
    fn add_products(x: &[f32], k: usize, w: &[f32], out: &mut [f32]) = body
}

#[inline(always)]
fn body(x: &[f32], k: usize, w: &[f32], out: &mut [f32]) {
    if k == 0 || w.is_empty() {
        return;
    }
    let stride = w.len() / k;
    for (x, out) in x.chunks(AT_ONCE * k).zip(out.chunks_mut(AT_ONCE * stride)) {
        for (block, w) in w.chunks(AT_ONCE * stride).enumerate() {
            let first = block * AT_ONCE;
            for (x, out) in x.chunks_exact(k).zip(out.chunks_exact_mut(stride)) {
                let x = &x[first..k.min(first + AT_ONCE)];
                let mut rows = w.chunks_exact(stride);
                if let (&[a, b, c, d], Some(p), Some(q), Some(r), Some(s)) =
                    (x, rows.next(), rows.next(), rows.next(), rows.next())
                {
                    for ((((out, p), q), r), s) in out.iter_mut().zip(p).zip(q).zip(r).zip(s) {
                        *out = (((*out + a * p) + b * q) + c * r) + d * s;
                    }
                } else {
                    for (x, w) in x.iter().zip(w.chunks_exact(stride)) {
                        out.iter_mut().zip(w).for_each(|(out, w)| *out += x * w);
                    }
                }
            }
        }
    }
}

impl Host {
    /// Words of a packed state of a layer.
    pub(super) fn words(&self, layer: Layer) -> usize {
        match layer {
            Layer::Visible => self.variables.words(self.weights.units()),
            Layer::Hidden => words_per_row(self.weights.columns()),
        }
    }

    /// Pre-activations of hidden units given states with real variables: `of_bits` writes the part of the bits.
    pub(super) fn add_reals(
        &self,
        workers: Workers,
        given: &[u64],
        out: &mut [f32],
        of_bits: impl FnOnce(&[u64], &mut [f32]),
    ) {
        let (words, head) = (self.words(Layer::Visible), words_per_row(self.weights.units()));
        let rows = given.len() / words;
        if self.variables.counts(self.weights.units()) == (0, 0) {
            let bias = self.of_layer(Layer::Hidden).1;
            out.chunks_exact_mut(bias.len()).for_each(|out| out.copy_from_slice(bias));
        } else {
            let heads = given.chunks_exact(words).flat_map(|row| row[..head].iter().copied());
            of_bits(&heads.collect::<Vec<u64>>(), out);
        }
        let stride = out.len() / rows.max(1);
        let products = rows * self.reals.terms.len() * stride;
        let fewest = if workers == Workers::All { fewest_tasks(products) } else { usize::MAX };
        given
            .par_chunks(TASK * words)
            .zip(out.par_chunks_mut((TASK * stride).max(1)))
            .with_min_len(fewest)
            .for_each(|(given, out)| self.reals.add(InstructionSet::detect(), given, words, out));
    }

    /// Writes sum_s v_s h_s' of real variables into their rows of `out`, [M, J].
    pub(super) fn outer_products_of_reals(
        &self,
        visible: &BitMatrix,
        hidden: &Matrix,
        out: &mut Matrix,
    ) {
        let stride = hidden.stride();
        let fewest = fewest_tasks(visible.rows() * self.reals.terms.len() * stride);
        let reals: Vec<(usize, Real)> = self.variables.reals().collect();
        let sums: Vec<Vec<f32>> = reals
            .par_iter()
            .with_min_len(fewest)
            .map(|(_, real)| {
                let x: Vec<f32> =
                    (0..visible.rows()).map(|row| real.value(visible.row(row))).collect();
                let mut sum = vec![0.0; stride];
                let set = InstructionSet::detect();
                add_products(set, &x, x.len(), hidden.as_slice(), &mut sum);
                sum
            })
            .collect();
        for ((first, _), sum) in reals.iter().zip(sums) {
            let row = out.row_mut(*first);
            row.copy_from_slice(&sum[..row.len()]);
        }
    }

    /// Writes the weighted means of v and v^2 of real variables into `means`, `[M]`.
    pub(super) fn means_of_reals(
        &self,
        visible: &BitMatrix,
        weights: Option<&[f64]>,
        means: &mut [f64],
    ) {
        let even = 1.0 / visible.rows().max(1) as f64;
        for row in 0..visible.rows() {
            let weight = weights.map_or(even, |weights| weights[row]);
            for (first, real) in self.variables.reals() {
                let v = f64::from(real.value(visible.row(row)));
                means[first] += weight * v;
                means[first + 1] += weight * v * v;
            }
        }
    }
}

/// Draws rows of all variables, some of them real: the numbers of a row's stream one after the other.
pub(super) fn draw_with_reals(draw: &Draw<'_>, variables: &Variables, out: &mut [u64]) {
    let rows = out.chunks_exact_mut(variables.words(draw.n_units)).zip(draw.beta);
    for (row, (state, &beta)) in rows.enumerate() {
        let row = draw.row(row, beta);
        let eta = |i: usize| {
            let base = row.base.map_or(0.0, |a| f64::from(1.0 - beta) * f64::from(a[i]));
            f64::from(beta) * f64::from(row.inputs[i]) + base
        };
        let means = variables.means((0..draw.n_units).map(eta));
        let mut stream = row.stream;
        variables.draw(&means, || stream.uniform(), state);
    }
}
