//! TensorBoard's usual histogram: bucket edges 1e-12 * 1.1^i up to 1e20 on both sides of zero.
//!
//! Edges and encoding as in TensorFlow's `lib/histogram/histogram.cc`: bucket i counts limit[i-1] <= x < limit[i], and
//! a run of empty buckets is stored as one. Cost: one binary search among 1550 edges a value.

use std::sync::LazyLock;

/// What TensorBoard stores of values.
pub(super) struct Histogram {
    pub min: f64,
    pub max: f64,
    /// Number of values.
    pub n: f64,
    pub sum: f64,
    pub sum_squares: f64,
    /// Upper edges of the buckets.
    pub limits: Vec<f64>,
    pub counts: Vec<f64>,
}

static LIMITS: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let mut positive = Vec::new();
    let mut edge = 1e-12;
    while edge < 1e20 {
        positive.push(edge);
        edge *= 1.1;
    }
    positive.push(f64::MAX);
    let negative = positive.iter().rev().map(|edge| -edge);
    negative.chain([0.0]).chain(positive.iter().copied()).collect()
});

/// Counts finite values; NaN and infinities are left out, so the count shows how many there were.
pub(super) fn histogram(values: &[f64]) -> Histogram {
    let mut counts = vec![0.0; LIMITS.len()];
    let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
    let (mut n, mut sum, mut sum_squares) = (0.0, 0.0, 0.0);
    for &value in values.iter().filter(|value| value.is_finite()) {
        let bucket = LIMITS.partition_point(|&limit| limit <= value);
        counts[bucket.min(LIMITS.len() - 1)] += 1.0;
        (min, max) = (min.min(value), max.max(value));
        n += 1.0;
        sum += value;
        sum_squares += value * value;
    }
    if n == 0.0 {
        (min, max) = (0.0, 0.0);
    }
    let (limits, counts) = collapse(&counts);
    Histogram { min, max, n, sum, sum_squares, limits, counts }
}

/// Drops all but the last of neighbouring empty buckets.
fn collapse(counts: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let empty_run_goes_on =
        |i: usize| counts[i] == 0.0 && counts.get(i + 1).is_some_and(|&next| next == 0.0);
    (0..counts.len()).filter(|&i| !empty_run_goes_on(i)).map(|i| (LIMITS[i], counts[i])).unzip()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_its_bucket() {
        let values = [-3.0, -0.5, -0.5, 0.0, 1e-20, 0.25, 7.0, 1e30, f64::NAN, f64::INFINITY];
        let histo = histogram(&values);
        assert_eq!((histo.n, histo.min, histo.max), (8.0, -3.0, 1e30));
        assert_eq!(histo.sum, values[..8].iter().sum::<f64>());
        let mut low = f64::NEG_INFINITY;
        for (&limit, &count) in histo.limits.iter().zip(&histo.counts) {
            let expected = values.iter().filter(|&&x| low <= x && x < limit).count();
            assert_eq!(count, expected as f64, "[{low}, {limit})");
            low = limit;
        }
        assert!(histo.counts.len() < 20, "empty runs are stored: {}", histo.counts.len());
    }

    #[test]
    fn no_values_make_an_empty_histogram() {
        let histo = histogram(&[f64::NAN]);
        assert_eq!((histo.n, histo.min, histo.max, histo.counts.len()), (0.0, 0.0, 0.0, 1));
    }
}
