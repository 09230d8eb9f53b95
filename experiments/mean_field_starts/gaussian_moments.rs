//! MEAN-FIELD's GWGM recipe (section IV, 1): "Gaussian weights with Gaussian moments", 20 visible and 180 hidden units in the paper, units in
//! {0, 1}, T = 1. The weights of one model are normal, and so are their mean and their standard deviation from model to model.

use ztrack::Result;
use ztrack::engine::random::{Purpose, Streams};
use ztrack::model::test_systems::TestSystem;
use ztrack::model::{Parameters, exact};

/// Mean and standard deviation of the mean of a model's weights (GWGM).
const MEAN: (f64, f64) = (-10.0, 10.0);
/// Mean and standard deviation of the standard deviation of a model's weights (GWGM).
const DEVIATION: (f64, f64) = (20.0, 10.0);

/// GWGM: weights, visible and hidden biases all drawn from N(mu, sigma), with mu from N(-10, 10) and sigma from
/// N(20, 10), both redrawn from model to model. log Z by enumeration; it is hundreds to hundreds of thousands of nats.
///
/// The sign of a drawn sigma does not matter, since the normal distribution is symmetric; the paper does not say.
///
/// # Errors
/// The smaller layer is too large for [`exact::log_partition`].
pub fn gaussian_moments(n_visible: usize, n_hidden: usize, seed: u64) -> Result<TestSystem> {
    let mut stream = Streams::new(seed, Purpose::TestSystem, 0).row(3);
    let mean = MEAN.0 + MEAN.1 * stream.normal();
    let deviation = DEVIATION.0 + DEVIATION.1 * stream.normal();
    let streams = Streams::new(seed, Purpose::TestSystem, 0);
    let normals = |row, count: usize| {
        let mut stream = streams.row(row);
        (0..count).map(|_| (mean + deviation * stream.normal()) as f32).collect::<Vec<f32>>()
    };
    let (weights, visible) = (normals(0, n_visible * n_hidden), normals(1, n_visible));
    let parameters = Parameters::new(n_visible, n_hidden, weights, visible, normals(2, n_hidden))?;
    let log_partition = exact::log_partition(&parameters)?;
    Ok(TestSystem { name: "GWGM", parameters, log_partition })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The moments of the recipe over 400 models of 1060 parameters: standard errors .5 for each. The recipe's
    /// two numbers of the mean or of the standard deviation exchanged fail here.
    #[test]
    fn moments_of_the_moments_are_those_of_the_recipe() {
        let models = 400.0f64;
        let (mut means, mut deviations) = (Vec::new(), Vec::new());
        for seed in 0..models as u64 {
            let weights = gaussian_moments(5, 200, seed).unwrap().parameters.weights;
            let n = weights.len() as f64;
            let mean = weights.iter().map(|&w| f64::from(w)).sum::<f64>() / n;
            let square = weights.iter().map(|&w| (f64::from(w) - mean).powi(2)).sum::<f64>() / n;
            means.push(mean);
            deviations.push(square.sqrt());
        }
        // E|N(20, 10)| = 20.17, its deviation 9.66.
        for (values, (mean, deviation)) in [(means, (-10.0, 10.0)), (deviations, (20.17, 9.66))] {
            let found = values.iter().sum::<f64>() / models;
            let square = values.iter().map(|x| (x - found).powi(2)).sum::<f64>() / models;
            let error = deviation / models.sqrt();
            assert!((found - mean).abs() < 4.0 * error, "{found}, not {mean}");
            assert!((square.sqrt() - deviation).abs() < 4.0 * error, "{square}, not {deviation}^2");
        }
    }
}
