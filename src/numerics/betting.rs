//! A lower bound of a mean of weights, assuming only that they are independent and not negative.

use super::log_sum_exp;

/// Number of stakes, each smaller than the last by the square root of two, from everything down to half a percent.
const STAKES: i32 = 16;
/// Accuracy of the bound, nats.
const ACCURACY: f64 = 1e-3;
/// Nats below the logarithm of the sample mean beyond which a bound is useless.
const FARTHEST: f64 = 500.0;

/// Logarithm of a number that is at most the mean of the distribution of the weights, shape `[S]`, with probability 1 - `failure`; -infinity
/// if the weights give none. The wealth of a gambler who stakes the fraction l on each weight, prod_s (1 - l + l w_s/m), has at most mean 1
/// if the mean is m or less; the average over stakes exceeds 1/failure with at most the probability `failure` (Waudby-Smith and Ramdas
/// 2023, section 4).
pub fn betting_lower_bound(log_weights: &[f64], failure: f64) -> f64 {
    let mean = log_sum_exp(log_weights.iter().copied()) - (log_weights.len() as f64).ln();
    if !mean.is_finite() || log_weights.iter().any(|w| w.is_nan()) {
        return f64::NEG_INFINITY;
    }
    let rejected = |log_mean: f64| {
        let wealth = |stake: i32| {
            let stake = 2f64.powf(-f64::from(stake) / 2.0);
            log_weights
                .iter()
                .map(|w| (1.0 - stake + stake * (w - log_mean).exp()).ln())
                .sum::<f64>()
        };
        let average = log_sum_exp((0..STAKES).map(wealth)) - f64::from(STAKES).ln();
        average >= -failure.ln()
    };
    // Wealth falls as the mean grows, and at the sample mean no stake gains.
    let mut step = 0.25;
    while !rejected(mean - step) {
        step *= 2.0;
        if step > FARTHEST {
            return f64::NEG_INFINITY;
        }
    }
    let (mut low, mut high) = (mean - step, mean);
    while high - low > ACCURACY {
        let middle = 0.5 * (low + high);
        if rejected(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::random::{Purpose, Streams};

    fn log_normal(count: usize, spread: f64, seed: u64) -> Vec<f64> {
        let mut stream = Streams::new(seed, Purpose::TestSystem, 0).row(2);
        (0..count).map(|_| spread * stream.normal() - 0.5 * spread * spread).collect()
    }

    /// Weights of mean 1: of 1000 bounds at a level of 5 % at most 50 are above it, 85 with five standard deviations; and where weights are
    /// even they are of use: the figures of ../shared/reviews/algorithms.md, section 5, simulation D, at a level of .1 %.
    #[test]
    fn the_bound_holds_and_is_near() {
        for spread in [0.3, 1.0, 2.0] {
            let above = |seed| betting_lower_bound(&log_normal(30, spread, seed), 0.05) > 0.0;
            let wrong = (0..1000).filter(|seed| above(*seed)).count();
            assert!(wrong <= 85, "{spread}: {wrong} of 1000");
        }
        for (spread, gap) in [(0.3, 0.12), (1.0, 0.41), (2.0, 1.19)] {
            let bounds =
                (0..200).map(|seed| betting_lower_bound(&log_normal(100, spread, seed), 0.001));
            let mean = bounds.sum::<f64>() / 200.0;
            assert!((-1.25 * gap..-0.6 * gap).contains(&mean), "{spread}: {mean}, {gap}");
        }
    }

    #[test]
    fn what_gives_no_bound_says_so() {
        assert_eq!(betting_lower_bound(&[], 0.001), f64::NEG_INFINITY);
        assert_eq!(betting_lower_bound(&[0.0, f64::NAN], 0.001), f64::NEG_INFINITY);
        assert_eq!(betting_lower_bound(&[0.0, f64::INFINITY], 0.001), f64::NEG_INFINITY);
        // One weight loses ln(1000) and the average over stakes.
        let one = betting_lower_bound(&[0.0], 0.001);
        assert!((-10.0..-6.9).contains(&one), "{one}");
        assert!(betting_lower_bound(&[0.0; 100], 0.001) > -0.15);
    }
}
