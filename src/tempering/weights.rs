//! Weights of samples: normalisation, effective number, resampling.

use crate::numerics::log_sum_exp;

/// w_s = exp(log w_s)/sum, from log-weights of any common size; both of shape `[S]`.
pub fn normalised(log_weights: &[f64]) -> Vec<f64> {
    let total = log_sum_exp(log_weights.iter().copied());
    log_weights.iter().map(|weight| (weight - total).exp()).collect()
}

/// (sum w)^2/sum w^2: the number of samples of equal weight with the same information.
pub fn effective_number(weights: &[f64]) -> f64 {
    let sum: f64 = weights.iter().sum();
    let squares: f64 = weights.iter().map(|w| w * w).sum();
    if squares > 0.0 { sum * sum / squares } else { 0.0 }
}

/// Systematic resampling (Kitagawa 1996): indices of the samples that replace the places 0..`places`, in ascending order, sample s about
/// `places` w_s times. `weights` sum to 1; `u` is uniform in [0, 1).
pub fn systematic(weights: &[f64], places: usize, u: f64) -> Vec<usize> {
    let mut taken = Vec::with_capacity(places);
    let (mut s, mut sum) = (0, weights.first().copied().unwrap_or(0.0));
    for place in 0..places {
        let at = (place as f64 + u) / places as f64;
        // With rounding the sum of all weights may be slightly below 1.
        while at >= sum && s + 1 < weights.len() {
            s += 1;
            sum += weights[s];
        }
        taken.push(s);
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_normalised_and_counted() {
        let weights = normalised(&[700.0, 700.0, 700.0 + 2f64.ln(), f64::NEG_INFINITY]);
        assert!(
            weights.iter().zip([0.25, 0.25, 0.5, 0.0]).all(|(w, right)| (w - right).abs() < 1e-12)
        );
        assert!((effective_number(&weights) - 1.0 / 0.375).abs() < 1e-12);
        assert_eq!(effective_number(&[1.0; 7]), 7.0);
    }

    /// Every sample comes floor or ceil of S w times, and S w times in the mean over u.
    #[test]
    fn resampling_keeps_expectations() {
        let weights = [0.05, 0.4, 0.0, 0.3, 0.25];
        let mut counts = [0usize; 5];
        let draws = 1000;
        for i in 0..draws {
            let taken = systematic(&weights, 5, (f64::from(i) + 0.5) / f64::from(draws));
            for (s, w) in weights.iter().enumerate() {
                let times = taken.iter().filter(|t| **t == s).count();
                assert!((times as f64 - 5.0 * w).abs() < 1.0, "{s}: {times}");
                counts[s] += times;
            }
        }
        for (count, w) in counts.iter().zip(weights) {
            assert!((*count as f64 / f64::from(draws) - 5.0 * w).abs() < 2e-3);
        }
    }
}
