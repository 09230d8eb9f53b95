//! RBMs with random normal weights and biases, with log Z by enumeration.

use super::TestSystem;
use crate::engine::random::{Purpose, Streams};
use crate::error::Result;
use crate::model::{Parameters, exact};
use crate::units::Variables;

/// Gaussian weights and biases (see [`gaussian_parameters`]) with log Z by enumeration.
///
/// # Errors
/// The smaller layer is too large for [`exact::log_partition`].
pub fn gaussian(n_visible: usize, n_hidden: usize, scale: f64, seed: u64) -> Result<TestSystem> {
    let parameters = gaussian_parameters(n_visible, n_hidden, scale, seed);
    let log_partition = exact::log_partition(&parameters)?;
    Ok(TestSystem { name: "Gaussian weights", parameters, log_partition })
}

/// Independent normal weights and biases of standard deviation `scale`, a function of the seed alone.
pub fn gaussian_parameters(n_visible: usize, n_hidden: usize, scale: f64, seed: u64) -> Parameters {
    let streams = Streams::new(seed, Purpose::TestSystem, 0);
    let normals = |row, count| {
        let mut stream = streams.row(row);
        (0..count).map(|_| (scale * stream.normal()) as f32).collect::<Vec<f32>>()
    };
    Parameters {
        variables: Variables::BITS,
        n_visible,
        n_hidden,
        weights: normals(0, n_visible * n_hidden),
        visible_bias: normals(1, n_visible),
        hidden_bias: normals(2, n_hidden),
    }
}
