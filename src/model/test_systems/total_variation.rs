//! Distance of samples from an enumerated distribution.

/// Total variation between the histogram of `cells` and the probabilities `exact`, in units of its mean for as many
/// independent draws: E|c/n - p| = sqrt(2 p (1 - p)/(pi n)) for each cell. 1 up to noise where samples follow `exact`.
///
/// # Panics
/// A cell beyond `exact`.
pub fn total_variation(cells: impl IntoIterator<Item = usize>, exact: &[f64]) -> f64 {
    let mut counts = vec![0.0; exact.len()];
    cells.into_iter().for_each(|cell| counts[cell] += 1.0);
    let n: f64 = counts.iter().sum();
    let distance: f64 = counts.iter().zip(exact).map(|(c, p)| (c / n - p).abs()).sum();
    let mean: f64 =
        exact.iter().map(|p| (2.0 * p * (1.0 - p) / (std::f64::consts::PI * n)).sqrt()).sum();
    distance / mean
}
