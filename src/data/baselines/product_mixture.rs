//! A mixture of products of independent variables, fitted by expectation maximization.

use rand::RngExt;
use rayon::prelude::*;

use super::{Density, PSEUDO_COUNT, log_likelihoods};
use crate::context::progress::Progress;
use crate::engine::random::{Purpose, Streams};
use crate::engine::{BitMatrix, for_each_set_bit};
use crate::numerics::statistics::mean;
use crate::numerics::{Table, log_sum_exp};
use crate::units::Variables;

/// Most components; powers of two up to this are tried, until twice as many are no better.
pub const MOST_COMPONENTS: usize = 128;
/// Most iterations, and the gain in nats per row at which they end.
const ITERATIONS: usize = 100;
const SMALLEST_GAIN: f64 = 1e-4;
/// Fraction of the training rows that replaces validation rows.
const HELD_OUT: usize = 10;
/// Weight of a single row in a component's initial means; the rest is the mean of all rows.
const OF_A_ROW: f64 = 0.5;
/// Rows of a task: sums do not depend on the number of threads.
const TASK: usize = 256;

/// p(v) = sum_k pi_k exp(a_k.v - A(a_k)), of bits sum_k pi_k prod_i p_ki^v_i (1 - p_ki)^(1 - v_i).
pub(super) struct ProductMixture {
    /// log pi_k - A(a_k), shape `[K]`.
    offsets: Vec<f64>,
    /// a_ki, shape [M, K].
    logits: Table,
}

/// Sums of responsibilities over rows.
struct Sums {
    log_likelihood: f64,
    /// Shape `[K]`.
    weights: Vec<f64>,
    /// Shape [M, K].
    ones: Table,
}

impl ProductMixture {
    /// The one with the number of components that is best on validation rows, or on a tenth of the training rows.
    pub fn chosen(
        train: &BitMatrix,
        validation: Option<&BitMatrix>,
        variables: &Variables,
        most: usize,
        seed: u64,
        progress: &Progress,
    ) -> Self {
        let held_out = |row: &usize| row.is_multiple_of(HELD_OUT);
        let some = |wanted| train.select((0..train.rows()).filter(|row| held_out(row) == wanted));
        let own =
            (validation.is_none() && train.rows() > HELD_OUT).then(|| (some(false), some(true)));
        let (fitted, judged) = match (&own, validation) {
            (Some((fitted, judged)), _) => (fitted, judged),
            (None, validation) => (train, validation.unwrap_or(train)),
        };
        let mut best: Option<(f64, Self)> = None;
        let steps = 1 + most.min(fitted.rows()).max(1).ilog2() as usize;
        for i in 0..steps {
            let components = 1 << i;
            progress.at("mixtures of products", i, steps);
            let mixture = Self::fit(fitted, variables, components, seed);
            let value = mean(&log_likelihoods(&mixture, judged));
            match &best {
                Some((best, _)) if value <= *best => break,
                _ => best = Some((value, mixture)),
            }
        }
        // There is at least one row, and so a mixture of one.
        best.map_or_else(|| Self::fit(train, variables, 1, seed), |(_, mixture)| mixture)
    }

    /// Starts halfway between the means of all rows and rows drawn by seed.
    pub fn fit(train: &BitMatrix, variables: &Variables, components: usize, seed: u64) -> Self {
        let (rows, units) = (train.rows(), train.columns());
        let all = variables.smoothed(&train.column_counts(), rows, 0.5 * PSEUDO_COUNT);
        let mut draw = Streams::new(seed, Purpose::Choice, components as u64).row(0);
        let chosen: Vec<usize> = (0..components).map(|_| draw.random_range(0..rows)).collect();
        let mut means = Table::zeros(units, components);
        for (k, row) in chosen.into_iter().enumerate() {
            let counts: Vec<u64> = (0..units).map(|i| u64::from(train.get(row, i))).collect();
            let own = variables.smoothed(&counts, 1, 0.5 * PSEUDO_COUNT);
            for (means, (own, all)) in means.rows_mut().zip(own.iter().zip(&all)) {
                means[k] = OF_A_ROW * own + (1.0 - OF_A_ROW) * all;
            }
        }
        let mut mixture = Self::new(variables, &vec![1.0 / components as f64; components], &means);
        let mut before = f64::NEG_INFINITY;
        for _ in 0..ITERATIONS {
            let sums = mixture.sums(train);
            mixture = sums.maximum(rows as f64, variables);
            let now = sums.log_likelihood / rows as f64;
            if now - before < SMALLEST_GAIN {
                break;
            }
            before = now;
        }
        mixture
    }

    /// From pi, shape `[K]`, and p, shape [M, K].
    fn new(variables: &Variables, shares: &[f64], means: &Table) -> Self {
        let (mut offsets, mut logits) = (Vec::new(), Table::zeros(means.len(), shares.len()));
        for (k, share) in shares.iter().enumerate() {
            let (natural, constant) = variables.natural(means.column(k).collect());
            offsets.push(share.ln() + constant);
            logits.rows_mut().zip(natural).for_each(|(row, a)| row[k] = a);
        }
        Self { offsets, logits }
    }

    /// Number of components.
    pub fn components(&self) -> usize {
        self.offsets.len()
    }

    /// log pi_k p_k(v) of each component; returns log p(v).
    fn log_joint(&self, row: &[u64], out: &mut Vec<f64>) -> f64 {
        out.clone_from(&self.offsets);
        for_each_set_bit(row, |unit| {
            out.iter_mut().zip(self.logits.row(unit)).for_each(|(sum, logit)| *sum += logit);
        });
        log_sum_exp(out.iter().copied())
    }

    /// The expectation step.
    fn sums(&self, train: &BitMatrix) -> Sums {
        let k = self.components();
        let starts: Vec<usize> = (0..train.rows()).step_by(TASK).collect();
        let task = |&start: &usize| {
            let mut sums = Sums::zeros(train.columns(), k);
            let mut log_p = Vec::new();
            for row in start..(start + TASK).min(train.rows()) {
                let row = train.row(row);
                let total = self.log_joint(row, &mut log_p);
                sums.log_likelihood += total;
                log_p.iter_mut().for_each(|log_p| *log_p = (*log_p - total).exp());
                sums.weights.iter_mut().zip(&log_p).for_each(|(sum, r)| *sum += r);
                for_each_set_bit(row, |unit| {
                    let ones = sums.ones.row_mut(unit);
                    ones.iter_mut().zip(&log_p).for_each(|(sum, r)| *sum += r);
                });
            }
            sums
        };
        // In groups, so that not all tasks' sums are held at once; added in order.
        let mut total = Sums::zeros(train.columns(), k);
        for group in starts.chunks(4 * rayon::current_num_threads()) {
            let parts: Vec<Sums> = group.par_iter().map(task).collect();
            parts.iter().for_each(|part| total.add(part));
        }
        total
    }
}

/// Groups of similar rows: components of a mixture of products that was fitted to some rows.
pub struct Groups(ProductMixture);

/// Most groups, and fewest rows a group on average.
const GROUPS: usize = 10;
const ROWS_A_GROUP: usize = 20;

impl Groups {
    /// Groups of these rows, at most ten.
    pub fn of(rows: &BitMatrix, variables: &Variables, seed: u64) -> Self {
        let count = (rows.rows() / ROWS_A_GROUP).clamp(1, GROUPS);
        Self(ProductMixture::fit(rows, variables, count, seed))
    }

    /// The share of some rows in each group; a row is divided by the probabilities of its groups.
    pub fn shares(&self, rows: &BitMatrix) -> Vec<f64> {
        self.0.sums(rows).weights.iter().map(|sum| sum / rows.rows() as f64).collect()
    }
}

impl Density for ProductMixture {
    fn log_probability(&self, row: &[u64]) -> f64 {
        self.log_joint(row, &mut Vec::with_capacity(self.components()))
    }
}

impl Sums {
    fn zeros(units: usize, components: usize) -> Self {
        Self {
            log_likelihood: 0.0,
            weights: vec![0.0; components],
            ones: Table::zeros(units, components),
        }
    }

    fn add(&mut self, other: &Self) {
        self.log_likelihood += other.log_likelihood;
        self.weights.iter_mut().zip(&other.weights).for_each(|(a, b)| *a += b);
        self.ones.add(1.0, &other.ones);
    }

    /// The maximization step, with the pseudo-counts of a unit in every component.
    fn maximum(&self, rows: f64, variables: &Variables) -> ProductMixture {
        let k = self.weights.len();
        let shares: Vec<f64> = self.weights.iter().map(|w| (w + 1.0) / (rows + k as f64)).collect();
        let mut means = Table::zeros(self.ones.len(), k);
        for variable in variables.of(means.len()) {
            let states = 0.5 * PSEUDO_COUNT * variable.states() as f64;
            for (unit, k) in variable.range().flat_map(|unit| (0..k).map(move |k| (unit, k))) {
                // Rounding must not bring the sum of a variable's means above 1.
                let own = variable.range().map(|i| self.ones.row(i)[k]).sum::<f64>();
                let ones = self.ones.row(unit)[k];
                let all = self.weights[k].max(own);
                means.row_mut(unit)[k] = (ones + 0.5 * PSEUDO_COUNT) / (all + states);
            }
        }
        ProductMixture::new(variables, &shares, &means)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::baselines::Independent;
    use crate::data::baselines::tests::two_patterns;

    /// Each step raises the likelihood and the logs of the pseudo-counts' prior together.
    #[test]
    fn steps_of_expectation_maximization_climb() {
        let train = two_patterns(200, 10, 5);
        let mut mixture = ProductMixture::fit(&train, &Variables::BITS, 1, 0);
        assert_eq!(mixture.components(), 1);
        let start = (0..30).map(|i| 0.3 + 0.4 * f64::from(i % 7) / 7.0).collect();
        let start = Table::from_numbers(3, start);
        mixture = ProductMixture::new(&Variables::BITS, &[0.2, 0.3, 0.5], &start);
        let mut before = f64::NEG_INFINITY;
        for _ in 0..30 {
            let sums = mixture.sums(&train);
            // Half a count each for on and off, one count for each component.
            let log_sigmoid = |x: f64| -(-x).exp().ln_1p();
            let logits = mixture.logits.as_slice().iter();
            let units: f64 = logits.map(|&x| 0.5 * (log_sigmoid(x) + log_sigmoid(-x))).sum();
            let shares: f64 = (0..3)
                .map(|k| {
                    let off = mixture.logits.column(k);
                    mixture.offsets[k] - off.map(|x| log_sigmoid(-x)).sum::<f64>()
                })
                .sum();
            let objective = sums.log_likelihood + units + shares;
            assert!(objective > before - 1e-9, "{objective} after {before}");
            before = objective;
            mixture = sums.maximum(200.0, &Variables::BITS);
        }
    }

    /// Two kinds of rows, one of them three times as often in other rows.
    #[test]
    fn shares_of_groups_are_those_of_the_kinds() {
        let kinds = |odd: usize| {
            BitMatrix::from_fn(400, 12, |row, unit| {
                let kind = row % odd == 0;
                kind == (unit < 6) && !(row * 5 + unit * 3).is_multiple_of(17)
            })
        };
        let groups = Groups::of(&kinds(2), &Variables::BITS, 1);
        let joined = |rows: &BitMatrix| groups.shares(rows);
        let (even, few) = (joined(&kinds(2)), joined(&kinds(4)));
        assert!((even.iter().sum::<f64>() - 1.0).abs() < 1e-9 && even.len() == 10);
        // Groups of the first kind lose half of their rows.
        let lost: f64 = even.iter().zip(&few).map(|(a, b)| (a - b).max(0.0)).sum();
        assert!((lost - 0.25).abs() < 0.02, "{lost}: {even:?} {few:?}");
    }

    /// One component is independent sites.
    #[test]
    fn one_component_is_independent_sites() {
        let train = two_patterns(300, 9, 6);
        let one =
            mean(&log_likelihoods(&ProductMixture::fit(&train, &Variables::BITS, 1, 3), &train));
        let sites = mean(&log_likelihoods(&Independent::fit(&train, &Variables::BITS), &train));
        assert!((one - sites).abs() < 1e-9);
    }
}
