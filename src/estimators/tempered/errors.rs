//! Standard errors between independent chains: samples of one chain are correlated, chains are not.

/// Standard error of an estimate from each chain's first-order contribution I_s to its error (influence), estimate - truth ~ sum_s I_s:
/// sqrt(S/(S - 1) sum_s (I_s - mean)^2).
pub(super) fn between_chains(influence: &[f64]) -> f64 {
    let n = influence.len() as f64;
    let mean = influence.iter().sum::<f64>() / n;
    let squares: f64 = influence.iter().map(|part| (part - mean).powi(2)).sum();
    (n / (n - 1.0) * squares).sqrt()
}

/// Delete-one-group jackknife: sqrt((G - 1)/G sum_g (y_g - mean)^2) of the estimates `without` each of G groups.
pub(super) fn jackknife(without: &[f64]) -> f64 {
    let n = without.len() as f64;
    let mean = without.iter().sum::<f64>() / n;
    let squares: f64 = without.iter().map(|y| (y - mean).powi(2)).sum();
    ((n - 1.0) / n * squares).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both are the textbook error for a plain mean. Without the S/(S - 1) or with G/(G - 1) they are not.
    #[test]
    fn errors_of_a_mean_are_the_textbook_ones() {
        let values = [1.0, 4.0, 2.0, 7.0, 3.5];
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let influence: Vec<f64> = values.iter().map(|x| (x - mean) / n).collect();
        let without: Vec<f64> = values.iter().map(|x| (n * mean - x) / (n - 1.0)).collect();
        let expected = (variance / n).sqrt();
        assert!((between_chains(&influence) - expected).abs() < 1e-12);
        assert!((jackknife(&without) - expected).abs() < 1e-12);
    }
}
