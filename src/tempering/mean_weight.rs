//! The mean of importance weights, with its diagnostics.
//!
//! Chains from a mixture may start in strata: in each component as many as its share of them says. Then only the spread within the strata is an error
//! (stratified sampling, Cochran 1977, section 5.3): where each component is one of the model's modes, the modes' unequal masses are none. What follows is
//! said of one stratum; of several, of weights relative to their stratum's mean.
//!
//! The textbook error sqrt(var w/S)/mean w is computed from the sample itself. With skewed weights the sample often misses the few weights
//! that matter, and the error is too small exactly when the mean is too low. So it is multiplied by sqrt(S/effective S), which is 1 for
//! equal weights (an empirical rule: of 36 runs on three MNIST and bars models, 100 chains x 1000 temperatures, four were more than 4
//! textbook errors low with 31 to 44 effective chains and no other sign of it). It is at least that of a log-normal distribution with the
//! upper half's spread of log w, sqrt((e^(s^2) - 1)/S). The tail index is reported, by the generalised Pareto fit of Zhang and Stephens
//! (2009) to the largest weights, as in Pareto smoothed importance sampling (Vehtari et al. 2024).

use crate::numerics::log_sum_exp;

/// Upper quantile whose distance from the median gives the spread of log w: one standard deviation of a normal distribution.
const ONE_SIGMA: f64 = 0.841_345;
/// Largest variance of log w for the log-normal error: beyond it, no error bar is meaningful.
const MOST_VARIANCE: f64 = 10.0;
/// Fewest weights in a tail that is fitted.
const SMALLEST_TAIL: usize = 5;
/// Tail index of weights beyond which their mean converges too slowly for an error bar (Vehtari, Simpson, Gelman, Yao, Gabry 2024).
pub(crate) const HEAVIEST_TAIL: f64 = 0.7;

/// The mean of importance weights, with its diagnostics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanWeight {
    /// log mean w, biased low.
    pub log_mean: f64,
    /// Standard error of `log_mean`.
    pub std_error: f64,
    /// (sum w)^2/sum w^2; of several strata, S effective chains of one stratum would have the error that their own effective numbers give.
    pub effective: f64,
    /// Index k of the tail: moments of order 1/k and more are infinite. 0 if there are too few weights.
    pub tail: f64,
}

impl MeanWeight {
    /// Of weights given by their logarithms.
    pub fn of(log_weights: impl Iterator<Item = f64>) -> Self {
        Self::of_strata(vec![log_weights.collect()])
    }

    /// Of the log weights of each stratum, whose sizes are in proportion to their probabilities. One of a single chain counts with the next.
    pub fn of_strata(strata: Vec<Vec<f64>>) -> Self {
        let mut joined: Vec<Vec<f64>> = Vec::new();
        for stratum in strata {
            match joined.last_mut() {
                Some(last) if last.len() < 2 || stratum.len() < 2 => last.extend(stratum),
                _ => joined.push(stratum),
            }
        }
        let all = || joined.iter().flatten().copied();
        let n = all().count() as f64;
        let log_mean = log_sum_exp(all()) - n.ln();
        let strata: Vec<Stratum> = joined.iter().map(|weights| Stratum::of(weights)).collect();
        // Log weights relative to their stratum's mean, ascending, and the part of the sum that a chain of this stratum has on average.
        let mut sorted: Vec<(f64, f64)> = Vec::new();
        for (it, weights) in strata.iter().zip(&joined) {
            let part = (it.log_mean - log_mean).exp() / n;
            sorted.extend(weights.iter().map(|w| (w - it.log_mean, part)));
        }
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        // Each stratum's mean is that of its own weights, which are nearer to it than to the true one.
        let freedom = n / (n - strata.len() as f64 + 1.0);
        let log_normal = log_normal_variance(&sorted, freedom);
        let sorted: Vec<f64> = sorted.into_iter().map(|(w, _)| w).collect();
        let over_all = |of: &dyn Fn(&Stratum) -> f64| {
            let part =
                |it: &Stratum| (it.chains / n * (it.log_mean - log_mean).exp()).powi(2) * of(it);
            strata.iter().map(part).sum::<f64>()
        };
        let variance = over_all(&|it| it.variance.max(log_normal) / it.chains);
        Self {
            log_mean,
            std_error: variance.sqrt(),
            effective: 1.0 / over_all(&|it| 1.0 / it.effective),
            tail: tail_index(&sorted),
        }
    }
}

/// The weights of one stratum.
struct Stratum {
    chains: f64,
    log_mean: f64,
    /// Of a weight relative to the mean.
    variance: f64,
    effective: f64,
}

impl Stratum {
    fn of(log_weights: &[f64]) -> Self {
        let chains = log_weights.len() as f64;
        let log_mean = log_sum_exp(log_weights.iter().copied()) - chains.ln();
        let relative = || log_weights.iter().map(|w| (w - log_mean).exp());
        let spread = relative().map(|w| (w - 1.0).powi(2)).sum::<f64>() / (chains - 1.0).max(1.0);
        let effective = chains * chains / relative().map(|w| w * w).sum::<f64>();
        // The spread of skewed weights is estimated from few of them, and is mostly too small.
        Self { chains, log_mean, variance: spread * chains / effective, effective }
    }
}

/// e^(s^2) - 1 with s the distance from the median to one sigma above, of ascending log weights with their parts of the sum; s^2 is multiplied by
/// `freedom`.
fn log_normal_variance(sorted: &[(f64, f64)], freedom: f64) -> f64 {
    if sorted.len() < 10 {
        return 0.0;
    }
    let at = |share: f64| {
        let mut sum = 0.0;
        let found = sorted.iter().find(|(_, part)| {
            sum += part;
            sum > share
        });
        found.or(sorted.last()).map_or(0.0, |(w, _)| *w)
    };
    let spread = at(ONE_SIGMA) - at(0.5);
    (spread * spread * freedom).min(MOST_VARIANCE).exp_m1()
}

/// k of the generalised Pareto distribution of the largest weights above the next one, ascending log weights.
fn tail_index(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    let size = (n / 5).min((3.0 * (n as f64).sqrt()) as usize);
    if size < SMALLEST_TAIL {
        return 0.0;
    }
    let (rest, tail) = sorted.split_at(n - size);
    let (largest, threshold) = (sorted[n - 1], rest[rest.len() - 1]);
    let excess = |w: &f64| (w - largest).exp() - (threshold - largest).exp();
    let x: Vec<f64> = tail.iter().map(excess).filter(|x| *x > 0.0).collect();
    if x.len() < SMALLEST_TAIL {
        return 0.0;
    }
    let m = x.len() as f64;
    // A posterior mean over a grid of theta = -k/sigma (Zhang and Stephens 2009, eqs. 3 to 7), k in the sign of a heavy tail.
    let grid = 20 + m.sqrt() as usize;
    let quartile = x[(m / 4.0 + 0.5) as usize - 1];
    let theta = |i: usize| {
        1.0 / x[x.len() - 1] + (1.0 - (grid as f64 / (i as f64 - 0.5)).sqrt()) / (3.0 * quartile)
    };
    let shape = |theta: f64| x.iter().map(|x| (-theta * x).ln_1p()).sum::<f64>() / m;
    let profile = |theta: f64| {
        let k = -shape(theta);
        m * ((theta / k).ln() + k - 1.0)
    };
    let thetas: Vec<f64> = (1..=grid).map(theta).collect();
    let profiles: Vec<f64> = thetas.iter().map(|t| profile(*t)).collect();
    let total = log_sum_exp(profiles.iter().copied().filter(|p| p.is_finite()));
    let pairs = thetas.iter().zip(&profiles).filter(|(_, p)| p.is_finite());
    let mean: f64 = pairs.map(|(theta, profile)| theta * (profile - total).exp()).sum();
    let k = shape(mean);
    // Shrunk towards 1/2 by ten observations, as Vehtari et al. do.
    if k.is_finite() { (m * k + 5.0) / (m + 10.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::random::{Purpose, Streams};

    /// Pareto weights w = u^-k have index k; 2000 of them know it to about .1. Uniform weights have a negative one.
    #[test]
    fn tail_indices_are_found() {
        let mut stream = Streams::new(1, Purpose::TestSystem, 0).row(0);
        for (index, low, high) in [(0.3, 0.1, 0.5), (1.0, 0.7, 1.3)] {
            let weights: Vec<f64> = (0..2000).map(|_| -index * stream.uniform().ln()).collect();
            let found = MeanWeight::of(weights.into_iter()).tail;
            assert!((low..high).contains(&found), "{index}: {found}");
        }
        let bounded: Vec<f64> = (0..2000).map(|_| stream.uniform().ln()).collect();
        assert!(MeanWeight::of(bounded.into_iter()).tail < 0.1);
        assert_eq!(MeanWeight::of([0.0; 100].into_iter()).tail, 0.0);
    }

    /// 300 means of 100 log-normal weights with sd(log w) = 1.5: with the textbook error 17 % are more than 2 errors low.
    #[test]
    fn errors_of_skewed_weights_hold() {
        let mut low = 0;
        for seed in 0..300 {
            let mut stream = Streams::new(seed, Purpose::TestSystem, 0).row(1);
            let weights: Vec<f64> = (0..100).map(|_| 1.5 * stream.normal() - 1.125).collect();
            let mean = MeanWeight::of(weights.into_iter());
            low += usize::from(mean.log_mean < -2.0 * mean.std_error);
        }
        assert!(low < 27, "{low} of 300");
    }

    /// Three strata of which the last has almost all the sum, as a mode of a model may: only the spread within them is an error. 300 means of 30, 1 and
    /// 9 weights; as independent ones they would have four times the error.
    #[test]
    fn strata_have_only_their_own_spread() {
        let (sizes, means) = ([30, 1, 9], [0.0_f64, 1.0, 6.0]);
        let parts =
            sizes.iter().zip(means).map(|(size, mean)| f64::from(*size) / 40.0 * mean.exp());
        let truth = parts.sum::<f64>().ln();
        let mut squares = 0.0;
        for seed in 0..300 {
            let mut stream = Streams::new(seed, Purpose::TestSystem, 0).row(2);
            let mut weights = |c: usize| means[c] + 0.4 * stream.normal() - 0.08;
            let strata: Vec<Vec<f64>> =
                (0..3).map(|c| (0..sizes[c]).map(|_| weights(c)).collect()).collect();
            let together = MeanWeight::of(strata.iter().flatten().copied());
            let found = MeanWeight::of_strata(strata);
            assert!(found.std_error < 0.4 * together.std_error, "{found:?} {together:?}");
            assert!((4.0..9.01).contains(&found.effective), "{found:?}");
            squares += ((found.log_mean - truth) / found.std_error).powi(2);
        }
        let rms = (squares / 300.0).sqrt();
        assert!((0.7..1.1).contains(&rms), "{rms}");
    }
}
