//! Knowledge about a model beside its parameters, and the rigorous bound that follows.

use std::collections::HashSet;

use serde::Serialize;

use crate::engine::{BitMatrix, Engine};
use crate::tempering::BaseDistribution;
use crate::tracking::mean_log_f;

/// Knowledge about a model beside its parameters.
#[derive(Clone, Copy, Default)]
pub struct Known<'a> {
    /// A product distribution near the model, such as the data's marginals.
    pub marginals: Option<&'a BaseDistribution>,
    /// Data rows, shape [N, M].
    pub rows: Option<&'a BitMatrix>,
    /// States that equilibrated chains of the model have visited, shape [N, M].
    pub states: Option<&'a BitMatrix>,
    /// A rigorous lower bound of log Z.
    pub bound: Option<Bound>,
    /// log Z and its standard error, from an audit or a tracker whose checks passed. With `states`, samples are drawn from chains that
    /// start at these, without a search for modes, or by annealing, if these find this value.
    pub audited: Option<(f64, f64)>,
}

/// A rigorous lower bound of log Z.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Bound {
    /// log sum f over distinct states of one layer, or the naive mean-field value, nats.
    pub value: f64,
    /// Number of states; `None` for mean field.
    pub states: Option<usize>,
}

impl Bound {
    /// The bound from the distinct rows of visible states, shape [N, M]; `None` without any.
    pub(crate) fn of_states(engine: &dyn Engine, visible: &BitMatrix) -> Option<Self> {
        let distinct: HashSet<&[u64]> = (0..visible.rows()).map(|row| visible.row(row)).collect();
        let value = mean_log_f(engine, visible).log_z_bound;
        value.is_finite().then_some(Self { value, states: Some(distinct.len()) })
    }

    /// Where it comes from.
    pub fn source(&self) -> String {
        match self.states {
            Some(states) => format!("the sum over {states} distinct states"),
            None => "naive mean field".into(),
        }
    }

    /// The higher one.
    pub fn or(self, other: Option<Self>) -> Self {
        other.filter(|other| other.value > self.value).unwrap_or(self)
    }
}
