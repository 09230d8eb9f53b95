//! What tests of estimators share: a base distribution, and moments of their scores.

// Several crates of tests use this, each a part of it.
#![allow(dead_code)]

use ztrack::tempering::BaseDistribution;

/// Logits that differ from unit to unit, as those of data do.
pub fn data_like(n_visible: usize) -> BaseDistribution {
    let logits: Vec<f32> = (0..n_visible).map(|i| ((i * 5) % 7) as f32 * 0.4 - 1.2).collect();
    BaseDistribution::from_logits(&logits).unwrap()
}

/// Mean and standard deviation.
pub fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let square = values.iter().map(|z| (z - mean).powi(2)).sum::<f64>();
    (mean, (square / (n - 1.0)).sqrt())
}
