//! A mixture of products of Bernoullis, fitted by expectation maximization.

use rand::RngExt;
use rayon::prelude::*;

use super::{Density, mean_log_likelihood, smoothed};
use crate::ops::random::{Purpose, Streams};
use crate::ops::{BitMatrix, for_each_set_bit};
use crate::progress;

/// Numbers of components that are tried, until twice as many are no better.
const COMPONENTS: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
/// Most iterations, and the gain in nats per row at which they end.
const ITERATIONS: usize = 100;
const SMALLEST_GAIN: f64 = 1e-4;
/// Fraction of the training rows that replaces validation rows.
const HELD_OUT: usize = 10;
/// Weight of a single row in a component's initial means; the rest is the mean of all rows.
const OF_A_ROW: f64 = 0.5;
/// Rows of a task: sums do not depend on the number of threads.
const TASK: usize = 256;

/// p(v) = sum_k pi_k prod_i p_ki^v_i (1 - p_ki)^(1 - v_i).
pub(super) struct BernoulliMixture {
    components: usize,
    /// log pi_k + sum_i log(1 - p_ki), shape `[K]`.
    offsets: Vec<f64>,
    /// logit p_ki, shape [M, K].
    logits: Vec<f64>,
}

/// Sums of responsibilities over rows.
struct Sums {
    log_likelihood: f64,
    /// Shape `[K]`.
    weights: Vec<f64>,
    /// Shape [M, K].
    ones: Vec<f64>,
}

impl BernoulliMixture {
    /// The one with the number of components that is best on validation rows, or on a tenth of the training rows.
    pub fn chosen(train: &BitMatrix, validation: Option<&BitMatrix>, seed: u64) -> Self {
        let held_out = |row: &usize| row.is_multiple_of(HELD_OUT);
        let some = |wanted| train.select((0..train.rows()).filter(|row| held_out(row) == wanted));
        let own =
            (validation.is_none() && train.rows() > HELD_OUT).then(|| (some(false), some(true)));
        let (fitted, judged) = match (&own, validation) {
            (Some((fitted, judged)), _) => (fitted, judged),
            (None, validation) => (train, validation.unwrap_or(train)),
        };
        let mut best: Option<(f64, Self)> = None;
        for (i, components) in COMPONENTS.into_iter().enumerate() {
            if components > fitted.rows() {
                break;
            }
            progress::at("mixtures of Bernoullis", i, COMPONENTS.len());
            let mixture = Self::fit(fitted, components, seed);
            let value = mean_log_likelihood(&mixture, judged).0;
            match &best {
                Some((best, _)) if value <= *best => break,
                _ => best = Some((value, mixture)),
            }
        }
        // There is at least one row, and so a mixture of one.
        best.map_or_else(|| Self::fit(train, 1, seed), |(_, mixture)| mixture)
    }

    /// Starts halfway between the means of all rows and rows drawn by seed.
    pub fn fit(train: &BitMatrix, components: usize, seed: u64) -> Self {
        let (rows, units) = (train.rows(), train.columns());
        let counts = train.column_counts();
        let mut draw = Streams::new(seed, Purpose::Choice, components as u64).row(0);
        let chosen: Vec<usize> = (0..components).map(|_| draw.random_range(0..rows)).collect();
        let mut means = vec![0.0; units * components];
        for (unit, means) in means.chunks_exact_mut(components).enumerate() {
            let all = smoothed(counts[unit] as f64, rows as f64);
            for (mean, row) in means.iter_mut().zip(&chosen) {
                let own = smoothed(f64::from(u8::from(train.get(*row, unit))), 1.0);
                *mean = OF_A_ROW * own + (1.0 - OF_A_ROW) * all;
            }
        }
        let mut mixture = Self::new(&vec![1.0 / components as f64; components], &means);
        let mut before = f64::NEG_INFINITY;
        for _ in 0..ITERATIONS {
            let sums = mixture.sums(train);
            mixture = sums.maximum(rows as f64);
            let now = sums.log_likelihood / rows as f64;
            if now - before < SMALLEST_GAIN {
                break;
            }
            before = now;
        }
        mixture
    }

    /// From pi, shape `[K]`, and p, shape [M, K].
    fn new(shares: &[f64], means: &[f64]) -> Self {
        let mut offsets: Vec<f64> = shares.iter().map(|share| share.ln()).collect();
        for row in means.chunks_exact(shares.len()) {
            offsets.iter_mut().zip(row).for_each(|(offset, p)| *offset += (-p).ln_1p());
        }
        let logits = means.iter().map(|p| p.ln() - (-p).ln_1p()).collect();
        Self { components: shares.len(), offsets, logits }
    }

    /// Number of components.
    pub fn components(&self) -> usize {
        self.components
    }

    /// log pi_k p_k(v) of each component; returns log p(v).
    fn log_joint(&self, row: &[u64], out: &mut Vec<f64>) -> f64 {
        out.clone_from(&self.offsets);
        for_each_set_bit(row, |unit| {
            let logits = &self.logits[unit * self.components..][..self.components];
            out.iter_mut().zip(logits).for_each(|(sum, logit)| *sum += logit);
        });
        let most = out.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        most + out.iter().map(|log_p| (log_p - most).exp()).sum::<f64>().ln()
    }

    /// The expectation step.
    fn sums(&self, train: &BitMatrix) -> Sums {
        let k = self.components;
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
                    let ones = &mut sums.ones[unit * k..][..k];
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

impl Density for BernoulliMixture {
    fn log_probability(&self, row: &[u64]) -> f64 {
        self.log_joint(row, &mut Vec::with_capacity(self.components))
    }
}

impl Sums {
    fn zeros(units: usize, components: usize) -> Self {
        Self {
            log_likelihood: 0.0,
            weights: vec![0.0; components],
            ones: vec![0.0; units * components],
        }
    }

    fn add(&mut self, other: &Self) {
        self.log_likelihood += other.log_likelihood;
        self.weights.iter_mut().zip(&other.weights).for_each(|(a, b)| *a += b);
        self.ones.iter_mut().zip(&other.ones).for_each(|(a, b)| *a += b);
    }

    /// The maximization step, with the pseudo-counts of a unit in every component.
    fn maximum(&self, rows: f64) -> BernoulliMixture {
        let k = self.weights.len();
        let shares: Vec<f64> = self.weights.iter().map(|w| (w + 1.0) / (rows + k as f64)).collect();
        let of = |(i, ones): (usize, &f64)| smoothed(*ones, self.weights[i % k].max(*ones));
        let means: Vec<f64> = self.ones.iter().enumerate().map(of).collect();
        BernoulliMixture::new(&shares, &means)
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
        let mut mixture = BernoulliMixture::fit(&train, 1, 0);
        assert_eq!(mixture.components(), 1);
        let start: Vec<f64> = (0..30).map(|i| 0.3 + 0.4 * f64::from(i % 7) / 7.0).collect();
        mixture = BernoulliMixture::new(&[0.2, 0.3, 0.5], &start);
        let mut before = f64::NEG_INFINITY;
        for _ in 0..30 {
            let sums = mixture.sums(&train);
            // Half a count each for on and off, one count for each component.
            let log_sigmoid = |x: f64| -(-x).exp().ln_1p();
            let units: f64 =
                mixture.logits.iter().map(|&x| 0.5 * (log_sigmoid(x) + log_sigmoid(-x))).sum();
            let shares: f64 = (0..3)
                .map(|k| {
                    let off = mixture.logits.iter().skip(k).step_by(3);
                    mixture.offsets[k] - off.map(|&x| log_sigmoid(-x)).sum::<f64>()
                })
                .sum();
            let objective = sums.log_likelihood + units + shares;
            assert!(objective > before - 1e-9, "{objective} after {before}");
            before = objective;
            mixture = sums.maximum(200.0);
        }
    }

    /// One component is independent sites.
    #[test]
    fn one_component_is_independent_sites() {
        let train = two_patterns(300, 9, 6);
        let one = mean_log_likelihood(&BernoulliMixture::fit(&train, 1, 3), &train);
        let sites = mean_log_likelihood(&Independent::fit(&train), &train);
        assert!((one.0 - sites.0).abs() < 1e-9 && (one.1 - sites.1).abs() < 1e-9);
    }
}
