//! What is known of a model beside its parameters, and what follows for sure.

use serde::Serialize;

use crate::ops::BitMatrix;
use crate::tempering::BaseDistribution;

/// What is known of a model beside its parameters.
#[derive(Clone, Copy, Default)]
pub struct Known<'a> {
    /// A product distribution near the model, such as the data's marginals.
    pub marginals: Option<&'a BaseDistribution>,
    /// Data rows, shape [N, M].
    pub rows: Option<&'a BitMatrix>,
}

/// A lower bound of log Z that holds for sure.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Bound {
    /// log sum f over distinct states of one layer, nats.
    pub value: f64,
    /// Number of states.
    pub states: usize,
}
