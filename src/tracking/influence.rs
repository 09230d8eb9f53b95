//! Error bars from the parts that independent chains (or families of related ones) have in an error.
//!
//! An error is the mean over S chains of their parts, which have mean zero; so its variance is their square sum over
//! S (S - 1), whatever the autocorrelation of a chain in time (RTS eq. 16 with parallel chains).

/// Variance of the error with these parts, shape `[S]`.
pub(super) fn variance(parts: &[f64]) -> f64 {
    covariance(parts, parts)
}

/// Covariance of two errors with these parts of the same chains, both of shape `[S]`.
pub(super) fn covariance(one: &[f64], other: &[f64]) -> f64 {
    let n = one.len() as f64;
    let sum: f64 = one.iter().zip(other).map(|(x, y)| x * y).sum();
    sum / (n * (n - 1.0).max(1.0))
}

/// Correlation of two errors over chains; 0 where one has no spread.
pub(super) fn correlation(one: &[f64], other: &[f64]) -> f64 {
    let scale = (variance(one) * variance(other)).sqrt();
    if scale > 0.0 { covariance(one, other) / scale } else { 0.0 }
}

/// How much of a new estimate to take beside an old one of the same chains so that the joint variance is smallest:
/// the minimum of (1 - g)^2 (old + lag) + g^2 new + 2 g (1 - g) covariance, in [0, 1]. `lag`: variance of the old one that
/// its chains' spread does not show.
pub(super) fn best_gain(old: &[f64], new: &[f64], lag: f64) -> f64 {
    let both = covariance(old, new);
    let (old, new) = (variance(old) + lag, variance(new));
    let total = old + new - 2.0 * both;
    if total > 0.0 { ((old - both) / total).clamp(0.0, 1.0) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gain_weighs_by_precision() {
        let (wide, narrow) = ([2.0, -2.0, 2.0, -2.0], [1.0, 1.0, -1.0, -1.0]);
        assert!((variance(&wide) - 16.0 / 12.0).abs() < 1e-12);
        assert_eq!(covariance(&wide, &narrow), 0.0);
        assert!((best_gain(&wide, &narrow, 0.0) - 0.8).abs() < 1e-12);
        assert!(best_gain(&wide, &narrow, 100.0) > 0.99);
        // The same parts in both: nothing is won by either, and a lag decides.
        assert_eq!(best_gain(&wide, &wide, 1.0), 1.0);
        assert!((correlation(&wide, &wide) - 1.0).abs() < 1e-12);
    }
}
