//! Products with the numbers of real variables: dense, in f32. Those with bits are `look_up`'s.

use rayon::prelude::*;

use super::instruction_set::for_every_instruction_set;
use super::normals::{NORMALS, normals};
use super::{Host, InstructionSet};
use crate::engine::{BitMatrix, Draw, Layer, Matrix, Workers, fewest_tasks, words_per_row};
use crate::model::Parameters;
use crate::units::{Real, Variable, Variables};

/// Rows of one task.
const TASK: usize = 64;
/// Rows and columns that the kernel takes at a time: their sums stay in registers for all terms.
const AT_ONCE: usize = 6;
const LANES: usize = 16;

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
        let row = |i: usize| parameters.weights_of(i);
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
    for column in (0..stride).step_by(LANES) {
        for (x, out) in x.chunks(AT_ONCE * k).zip(out.chunks_mut(AT_ONCE * stride)) {
            if x.len() == AT_ONCE * k {
                tile::<AT_ONCE>(x, k, w, column, out);
            } else {
                let rows = x.chunks_exact(k).zip(out.chunks_exact_mut(stride));
                rows.for_each(|(x, out)| tile::<1>(x, k, w, column, out));
            }
        }
    }
}

/// The same of `N` rows and [`LANES`] columns from `column` on.
#[inline(always)]
fn tile<const N: usize>(x: &[f32], k: usize, w: &[f32], column: usize, out: &mut [f32]) {
    let stride = w.len() / k;
    let mut sums = [[0.0f32; LANES]; N];
    for (sum, out) in sums.iter_mut().zip(out.chunks_exact(stride)) {
        sum.copy_from_slice(&out[column..column + LANES]);
    }
    for (term, w) in w.chunks_exact(stride).enumerate() {
        let w: [f32; LANES] = std::array::from_fn(|i| w[column + i]);
        for (n, sum) in sums.iter_mut().enumerate() {
            let x = x[n * k + term];
            sum.iter_mut().zip(&w).for_each(|(sum, w)| *sum += x * w);
        }
    }
    for (sum, out) in sums.iter().zip(out.chunks_exact_mut(stride)) {
        out[column..column + LANES].copy_from_slice(sum);
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
        let fewest = fewest_tasks(visible.rows() * AT_ONCE * stride);
        let reals: Vec<(usize, Real)> = self.variables.reals().collect();
        let sums: Vec<Vec<f32>> = reals
            .par_chunks(AT_ONCE)
            .with_min_len(fewest)
            .map(|some| {
                let rows = || (0..visible.rows()).map(|row| visible.row(row));
                let x: Vec<f32> =
                    some.iter().flat_map(|(_, real)| rows().map(|row| real.value(row))).collect();
                let mut sums = vec![0.0; some.len() * stride];
                let set = InstructionSet::detect();
                add_products(set, &x, visible.rows(), hidden.as_slice(), &mut sums);
                sums
            })
            .collect();
        let sums = sums.iter().flat_map(|sums| sums.chunks_exact(stride));
        for ((first, _), sum) in reals.iter().zip(sums) {
            let row = out.row_mut(*first);
            row.copy_from_slice(&sum[..row.len()]);
        }
    }
}

/// Draws rows of all variables, some of them real: normal numbers for these, and the numbers of the row's stream one after the other for
/// the others.
pub(super) fn draw_with_reals(
    set: InstructionSet,
    draw: &Draw<'_>,
    variables: &Variables,
    out: &mut [u64],
) {
    let reals: Vec<(usize, Real)> = variables.reals().collect();
    let others: Vec<Variable> = variables.of(draw.n_units).filter(|it| it.real.is_none()).collect();
    let mut numbers = vec![0.0; reals.len().next_multiple_of(NORMALS)];
    let (mut eta, mut own) = (vec![0.0f32; draw.n_units], Vec::new());
    let rows = out.chunks_exact_mut(variables.words(draw.n_units)).zip(draw.beta);
    for (row, (state, &beta)) in rows.enumerate() {
        let mut row = draw.row(row, beta);
        eta.iter_mut().zip(row.inputs).for_each(|(eta, x)| *eta = beta * x);
        if let Some(base) = row.base {
            eta.iter_mut().zip(base).for_each(|(eta, a)| *eta += (1.0 - beta) * a);
        }
        state[..words_per_row(draw.n_units)].fill(0);
        for variable in &others {
            own.clear();
            own.extend(eta[variable.range()].iter().map(|&x| f64::from(x)));
            variable.to_means(&mut own);
            let chosen = variable.draw(&own, row.stream.uniform());
            chosen.into_iter().for_each(|i| state[i / 64] |= 1 << (i % 64));
        }
        let (key, fixed) = row.stream.words();
        normals(set, key, fixed, &mut numbers);
        for ((first, real), normal) in reals.iter().zip(&numbers) {
            let variance = -0.5 / eta[first + 1];
            real.set(state, eta[*first] * variance + variance.sqrt() * normal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::random::{Purpose, Streams};
    use crate::engine::{Base, BaseDistribution, BetaGrid, Engine, Route, States, SweepStreams};
    use crate::model::exact::{self, log_partition_at, log_weights};
    use crate::model::test_systems::gaussian_parameters;

    /// Two bits, a one-hot variable and four real ones beside 5 hidden units.
    fn mixed() -> Parameters {
        let variables: Variables = "2*1+,3,3*real,real(2;0.5)".parse().unwrap();
        let mut model = gaussian_parameters(13, 5, 0.6, 3);
        for (first, _) in variables.reals() {
            model.visible_bias[first + 1] = -1.0 - 0.1 * first as f32;
            model.weights[(first + 1) * 5..][..5].fill(0.0);
        }
        model.of(variables).unwrap()
    }

    fn base() -> BaseDistribution {
        let variables = mixed().variables;
        BaseDistribution::from_column_counts(
            &[3, 5, 2, 4, 4, 0, 0, 0, 0, 0, 0, 0, 0],
            10,
            1.0,
            &variables,
        )
        .unwrap()
    }

    /// On every instruction set the same bits, and the formula in f64.
    #[test]
    fn products_are_those_of_the_formula() {
        let mut stream = Streams::new(1, Purpose::TestSystem, 0).row(0);
        for (n, k, stride) in [(1, 1, 32), (5, 3, 32), (9, 8, 64), (4, 13, 32)] {
            let mut numbers =
                |count: usize| -> Vec<f32> { (0..count).map(|_| stream.normal() as f32).collect() };
            let (x, w, start) = (numbers(n * k), numbers(k * stride), numbers(n * stride));
            let results: Vec<Vec<f32>> = InstructionSet::available()
                .into_iter()
                .map(|set| {
                    let mut out = start.clone();
                    add_products(set, &x, k, &w, &mut out);
                    out
                })
                .collect();
            assert!(results.iter().all(|it| *it == results[0]), "{n} {k}");
            for (i, found) in results[0].iter().enumerate() {
                let (row, j) = (i / stride, i % stride);
                let products =
                    (0..k).map(|t| f64::from(x[row * k + t]) * f64::from(w[t * stride + j]));
                let expected = f64::from(start[i]) + products.sum::<f64>();
                assert!((f64::from(*found) - expected).abs() < 1e-5, "{found} {expected}");
            }
        }
    }

    #[test]
    fn log_f_and_moments_are_those_of_the_formulas() {
        let model = mixed();
        let host = Host::new(&model);
        let rows = base().sample(200, 1, 0);
        for (fast, slow) in host.log_f(&rows).iter().zip(log_weights(&model, &rows).unwrap()) {
            assert!((fast - slow).abs() < 1e-4, "{fast} {slow}");
        }
        // Samples of the model by enumeration of the hidden layer have the model's moments.
        let rows = exact::samples(&model, 40_000, 5).unwrap();
        let (found, exact) = (host.moments(&rows, None), exact::moments(&model).unwrap());
        let even = vec![1.0 / 40_000.0; 40_000];
        let weighted = host.moments(&rows, Some(&even));
        let squares = model.variables.squares(13);
        for (i, square) in squares.iter().enumerate() {
            assert!((found.visible[i] - exact.visible[i]).abs() < 0.03, "{i}: {:?}", found.visible);
            assert!((found.visible[i] - weighted.visible[i]).abs() < 1e-9);
            for j in (0..5).filter(|_| !square) {
                let (found, exact) = (found.products.row(i)[j], exact.products[i * 5 + j]);
                assert!((f64::from(found) - exact).abs() < 0.03, "{i} {j}: {found} {exact}");
            }
        }
    }

    /// Chains from exact samples of the base reach the model and stay: moments after sweeps at beta = 1, and the mean of
    /// exp(log f - log f_base) along the path is Z/Z_1 by enumeration.
    #[test]
    fn sweeps_leave_the_path_invariant() {
        let (model, base) = (mixed(), base());
        let (host, n) = (Host::new(&model), 20_000);
        let betas = [0.0, 0.5, 1.0];
        let grid = BetaGrid::new(&betas);
        let route = Route { grid: &grid, base: Base::Product(&base) };
        let logits: Vec<f64> = base.logits().iter().map(|&a| f64::from(a)).collect();
        let log_z = betas.map(|beta| log_partition_at(&model, &logits, beta).unwrap());
        assert!((log_z[0] - base.log_partition(5)).abs() < 1e-9);
        let mut rows = base.sample(n, 2, 0);
        let mut cached = Matrix::filled(n, 5, 0.0);
        let states = States {
            visible: rows.words_mut(),
            cached: cached.as_mut_slice(),
            first_row: 0,
            known: false,
        };
        let mut walker = host.walker(route, states);
        for (k, temperature) in [1, 2].into_iter().enumerate() {
            for step in 0..30 {
                let streams = SweepStreams::tempered(7, 100 * temperature + step);
                walker.sweep(&vec![temperature as u32; n], &streams);
            }
            // E exp(log f_below - log f) = Z_below / Z.
            let mut log_f = vec![0.0; 3 * n];
            walker.log_f(&[0, 1, 2], &mut log_f);
            let ratios: Vec<f64> = log_f.chunks_exact(3).map(|f| (f[k] - f[k + 1]).exp()).collect();
            let mean = ratios.iter().sum::<f64>() / n as f64;
            let spread = ratios.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / n as f64;
            let expected = (log_z[k] - log_z[k + 1]).exp();
            let errors = (mean - expected) / (spread / n as f64).sqrt();
            assert!(errors.abs() < 4.5, "{temperature}: {mean} {expected}, {errors} errors");
        }
        walker.store();
        drop(walker);
        let (found, exact) = (host.moments(&rows, None), exact::moments(&model).unwrap());
        for i in 0..13 {
            let error = (exact.visible[i].abs().max(1.0) * 3.0 / (n as f64).sqrt()) * 4.5;
            assert!(
                (found.visible[i] - exact.visible[i]).abs() < error,
                "{i}: {:?} {:?}",
                found.visible,
                exact.visible
            );
        }
    }

    /// The sum over open columns and the integral over a real one.
    #[test]
    fn conditional_models_are_integrals_over_open_variables() {
        let model = mixed();
        let row = exact::samples(&model, 1, 3).unwrap();
        let (first, real) = model.variables.reals().nth(3).unwrap();
        let open = [1u64 << first | 1 << (first + 1), 0, 0];
        let conditional = model.conditional(row.row(0), &open).unwrap();
        let found =
            conditional.log_constant + exact::log_partition(&conditional.parameters).unwrap();
        let step = 0.01;
        let mut rows = row.select(vec![0; 2000]);
        (0..2000).for_each(|n| real.set(rows.row_mut(n), step * (n as f32 - 1000.0)));
        let values = log_weights(&model, &rows).unwrap();
        // dv in the table's own units.
        let integral = values.iter().map(|f| f.exp()).sum::<f64>() * f64::from(step) * real.scale;
        assert!((found - integral.ln()).abs() < 1e-4, "{found} {}", integral.ln());
    }
}
