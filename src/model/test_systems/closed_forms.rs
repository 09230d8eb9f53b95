//! Models whose log Z is a formula: independent units, one hidden unit.

use super::TestSystem;
use crate::error::Result;
use crate::model::Parameters;
use crate::numerics::softplus;

/// Biases only: log Z = sum_i softplus(c_i) + sum_j softplus(b_j).
///
/// # Errors
/// No units in a layer, or a bias that is not finite.
pub fn independent_units(visible_bias: Vec<f32>, hidden_bias: Vec<f32>) -> Result<TestSystem> {
    let (n_visible, n_hidden) = (visible_bias.len(), hidden_bias.len());
    let log_partition =
        visible_bias.iter().chain(&hidden_bias).map(|&x| softplus(f64::from(x))).sum();
    let weights = vec![0.0; n_visible * n_hidden];
    let parameters = Parameters::new(n_visible, n_hidden, weights, visible_bias, hidden_bias)?;
    Ok(TestSystem { name: "independent units", parameters, log_partition })
}

/// One hidden unit: Z = prod_i (1 + exp(c_i)) + exp(b) prod_i (1 + exp(c_i + w_i)), a mixture of two products.
///
/// # Errors
/// Lengths of weights and visible biases differ or are zero, or a value is not finite.
pub fn one_hidden_unit(
    weights: Vec<f32>,
    visible_bias: Vec<f32>,
    hidden_bias: f32,
) -> Result<TestSystem> {
    let parameters =
        Parameters::new(visible_bias.len(), 1, weights, visible_bias, vec![hidden_bias])?;
    let c = || parameters.visible_bias.iter().map(|&c| f64::from(c));
    let off: f64 = c().map(softplus).sum();
    let with_weights = c().zip(&parameters.weights).map(|(c, &w)| softplus(c + f64::from(w)));
    let on = f64::from(hidden_bias) + with_weights.sum::<f64>();
    let log_partition = off.max(on) + (-(off - on).abs()).exp().ln_1p();
    Ok(TestSystem { name: "one hidden unit", parameters, log_partition })
}
