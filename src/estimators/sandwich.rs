//! log Z between two bounds: AIS from below, reverse AIS from above, and Bennett's estimate from both.
//!
//! The two annealing passes are each other's reversal, so that their log weights W (up) and U (down) obey
//! p_up(W) exp(W) = p_down(-W) Z/Z_1 (Crooks 1999) and Bennett's acceptance ratio applies (1976, eq. 12): D = log Z/Z_1 solves
//! sum_up s(W_i - D - m) = sum_down s(U_i + D + m), s the logistic function, m = log(S_up/S_down). Its standard error is that of
//! the root of an estimating equation: (S_up var s_up + S_down var s_down)/(sum s(1 - s))^2, nothing assumed about the overlap.

use std::time::Instant;

use super::ais::ais_with_weights;
use super::estimate::with_rounding;
use super::{Equilibrium, Estimate, Method, reverse_ais};
use crate::error::Result;
use crate::numerics::{MOST_ERRORS, sigmoid};
use crate::tempering::{TemperedPath, descend};
use crate::trust::{Doubt, Trust};

/// Largest distance of the two bounds, nats; beyond it, weights of the two passes hardly overlap.
const WIDEST: f64 = 4.0;
/// Fraction of all chains that should contribute to the balance.
const NEEDED: f64 = 0.05;

/// Both bounds and the value between them.
#[derive(Clone, Debug)]
pub struct Sandwich {
    /// AIS, low in expectation.
    pub lower: Estimate,
    /// Bennett's acceptance ratio of both passes.
    pub between: Estimate,
    /// Reverse AIS, high in expectation.
    pub upper: Estimate,
}

impl Sandwich {
    /// From the lower to the higher.
    pub fn estimates(self) -> [Estimate; 3] {
        [self.lower, self.between, self.upper]
    }
}

/// `chains` chains up a path and one down from each sample.
///
/// # Errors
/// Fewer than two chains or samples.
pub fn sandwich(
    path: &dyn TemperedPath,
    chains: usize,
    start: &Equilibrium,
    seed: u64,
) -> Result<Sandwich> {
    super::at_least_two_chains(chains.min(start.visible.rows()))?;
    let clock = Instant::now();
    let (lower, up) = ais_with_weights(path, chains, seed)?;
    let clock_down = Instant::now();
    let down = descend(path, &start.visible, seed);
    let upper = reverse_ais::of_weights(path, start, &down);
    let upper = Estimate { seconds: clock_down.elapsed().as_secs_f64(), ..upper };
    let balance = bennett(&up, &down);
    let gap = upper.value - lower.value;
    let apart = gap.abs() > WIDEST + MOST_ERRORS * lower.std_error.hypot(upper.std_error);
    let (effective, chains_of_both) = (balance.effective, up.len() + down.len());
    let overlap = (effective < NEEDED * chains_of_both as f64)
        .then_some(Doubt::LittleOverlap { effective, chains: chains_of_both });
    let value = path.log_z_base() + balance.log_ratio;
    let between = Estimate {
        effective_samples: Some(balance.effective),
        at_least: lower.at_least,
        gibbs_sweeps: lower.gibbs_sweeps + upper.gibbs_sweeps,
        seconds: clock.elapsed().as_secs_f64(),
        trust: start
            .trust
            .clone()
            .and(Trust::unless(apart.then_some(Doubt::BoundsApart { gap })))
            .and(Trust::unless(overlap)),
        ..Estimate::new(Method::AisBar, value, with_rounding(balance.std_error, value))
    }
    .checked();
    Ok(Sandwich { lower, between, upper })
}

/// A root of Bennett's equation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Balance {
    /// D = log Z/Z_1.
    pub log_ratio: f64,
    /// Its standard error for independent weights.
    pub std_error: f64,
    /// (sum s)^2/sum s^2 over both sets: the effective number of weights.
    pub effective: f64,
}

/// Bennett's acceptance ratio from log weights with E[exp W] = Z/Z_1 and E[exp U] = Z_1/Z, neither set empty.
pub fn bennett(up: &[f64], down: &[f64]) -> Balance {
    let shift = (up.len() as f64 / down.len() as f64).ln();
    let ups = |d: f64| up.iter().map(move |w| sigmoid(w - d - shift));
    let downs = |d: f64| down.iter().map(move |u| sigmoid(u + d + shift));
    // The left side falls and the right side rises with D. Below every W_i and -U_i the left is the larger one whatever m
    // (S_up s(-m) = S_down s(m)), above all of them the right.
    let all = || up.iter().copied().chain(down.iter().map(|u| -u));
    let mut low = all().fold(f64::INFINITY, f64::min);
    let mut high = all().fold(f64::NEG_INFINITY, f64::max);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if ups(middle).sum::<f64>() > downs(middle).sum::<f64>() {
            low = middle;
        } else {
            high = middle;
        }
    }
    let root = 0.5 * (low + high);
    let (ups, downs): (Vec<f64>, Vec<f64>) = (ups(root).collect(), downs(root).collect());
    let noise = |s: &[f64]| {
        let n = s.len() as f64;
        let mean = s.iter().sum::<f64>() / n;
        n * s.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0)
    };
    let both = || ups.iter().chain(&downs);
    let slope: f64 = both().map(|s| s * (1.0 - s)).sum();
    Balance {
        log_ratio: root,
        std_error: (noise(&ups) + noise(&downs)).sqrt() / slope,
        effective: both().sum::<f64>().powi(2) / both().map(|s| s * s).sum::<f64>(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::random::{Purpose, Streams};

    /// Normal work: W ~ N(D - v/2, v) and U ~ N(-D - v/2, v) obey Crooks' relation. 200 z-scores: their mean has standard
    /// deviation .07, their deviation .05. Tried: m = 0.
    #[test]
    fn bennett_is_right_within_its_error_for_normal_work() {
        let (truth, variance) = (3.0, 2.0f64);
        let scores: Vec<f64> = (0..200)
            .map(|seed| {
                let mut stream = Streams::new(seed, Purpose::TestSystem, 0).row(0);
                let mut normal = |mean: f64| mean + variance.sqrt() * stream.normal();
                let up: Vec<f64> = (0..300).map(|_| normal(truth - 0.5 * variance)).collect();
                let down: Vec<f64> = (0..100).map(|_| normal(-truth - 0.5 * variance)).collect();
                let found = bennett(&up, &down);
                (found.log_ratio - truth) / found.std_error
            })
            .collect();
        let mean = scores.iter().sum::<f64>() / 200.0;
        let deviation = (scores.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / 199.0).sqrt();
        assert!(mean.abs() < 0.3 && (0.8..1.2).contains(&deviation), "{mean} {deviation}");
    }
}
