//! A path from a mixture of product distributions to the model.
//!
//! With components p_m(v) = prod_i Bernoulli(sigma(a_mi)) and their shares pi_m,
//!
//! ```text
//! log f_k(v, h, m) = beta_k log f(v, h) + log pi_m + (1 - beta_k) log p_m(v)
//! log f_k(v)       = beta_k c.v + sum_j softplus(beta_k x_j(v)) + log sum_m pi_m p_m(v)^(1 - beta_k)
//! ```
//!
//! At beta = 0 this is the mixture (log Z_1 = J log 2), at beta = 1 the model, for any components. A product distribution covers one mode
//! of a model that has several, and chains from it rarely find the others; here a chain that reaches beta = 0 from one mode can return to
//! any other. Every conditional distribution is as simple as on the geometric path: m | v, k is a softmax of C numbers, and given m the
//! visible units have the base logits a_m.
//!
//! Cost: C numbers log p_m(v) and K C multiplications a state, beside the J inputs and K J softplus of the model.

mod fit;

pub use super::MixturePath;
pub use crate::engine::MixtureBase;
pub(crate) use fit::{BROAD_COMPONENTS, DEFENSIVE, REVISITED, TEMPER, of_components, with_broad};
pub use fit::{WeightedRows, fit, fit_rows};
