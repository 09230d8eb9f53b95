//! What the columns of the visible layer mean: the exponential families of its variables.
//!
//! A [`Variable`] is a group of adjacent columns of which at most one is set. A bit is the group of one column; a categorical variable has
//! several. States of every kind stay packed bits, so the products with the weights are the same for all.
//!
//! With natural parameters eta, one for each column, p(v | h) = exp(eta.v - A(eta)) and A is the sum over variables of
//!
//! A_g(eta) = log(i_g + sum_{a in g} exp eta_a),   i_g = 1 where "no column is set" is a state, else 0.
//!
//! A bit has i = 1, so its A is softplus. A [`Real`] variable has two columns, for v and v^2, and its number lies behind the columns of a
//! state. Along a tempered path eta = beta (c + W h) + (1 - beta) a for every kind.

mod real;
mod real_columns;
mod text;
mod variable;
mod variables;

pub use real::Real;
pub(crate) use real::square_biases;
pub(crate) use text::counted;
pub use variable::Variable;
pub use variables::Variables;
