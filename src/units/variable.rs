//! One variable: a bit, a categorical or a real variable.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::Real;
use super::real::VARIANCES;
use crate::numerics::{index_at, sigmoid, softplus};

/// A group of adjacent columns of which at most one is set, or the two columns of a real variable.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variable {
    /// Its first column.
    pub first: usize,
    /// Number of its columns, q.
    pub columns: usize,
    /// Whether "no column is set" is a state, with natural parameter 0 (i = 1).
    pub implicit: bool,
    /// Set where it is a real number.
    pub real: Option<Real>,
}

impl Variable {
    /// The bit of a column.
    pub fn bit(column: usize) -> Self {
        Self { first: column, columns: 1, implicit: true, real: None }
    }

    /// A real number whose mean and scale are not known.
    pub(crate) const REAL: Self =
        Self { first: 0, columns: 2, implicit: false, real: Some(Real::UNSEEN) };

    /// Whether it is a bit.
    pub(crate) fn is_bit(&self) -> bool {
        self.columns == 1
    }

    /// Its columns in a table: a real variable has one.
    pub(crate) fn table_columns(&self) -> usize {
        if self.real.is_some() { 1 } else { self.columns }
    }

    /// Its columns.
    pub fn range(&self) -> Range<usize> {
        self.first..self.first + self.columns
    }

    /// Number of its states, q + i; of a real variable that of its columns.
    pub fn states(&self) -> usize {
        self.columns + usize::from(self.implicit)
    }

    /// A(eta) of its natural parameters, shape `[q]`.
    pub fn log_partition(&self, eta: &[f64]) -> f64 {
        match self.real {
            Some(real) => return real.log_partition(eta),
            None if self.is_bit() => return softplus(eta[0]),
            None => {}
        }
        let largest = self.largest(eta);
        let odds = self.odds(largest);
        largest + (odds + eta.iter().map(|x| (x - largest).exp()).sum::<f64>()).ln()
    }

    /// Replaces its natural parameters by the means A'(eta) of its columns, shape `[q]`: of a real variable E v and E v^2, else
    /// probabilities.
    pub(crate) fn to_means(self, eta: &mut [f64]) {
        if self.real.is_some() {
            let (mean, variance) = Real::moments(eta);
            (eta[0], eta[1]) = (mean, mean * mean + variance);
            return;
        }
        if self.is_bit() {
            eta[0] = sigmoid(eta[0]);
            return;
        }
        let largest = self.largest(eta);
        let odds = self.odds(largest);
        eta.iter_mut().for_each(|x| *x = (*x - largest).exp());
        let total = odds + eta.iter().sum::<f64>();
        eta.iter_mut().for_each(|x| *x /= total);
    }

    /// The largest natural parameter; of the implicit state, if it has one, it is 0.
    pub(crate) fn largest(&self, eta: &[f64]) -> f64 {
        let start = if self.implicit { 0.0 } else { f64::NEG_INFINITY };
        eta.iter().copied().fold(start, f64::max)
    }

    /// exp(-largest) where there is an implicit state, else 0.
    fn odds(&self, largest: f64) -> f64 {
        if self.implicit { (-largest).exp() } else { 0.0 }
    }

    /// Raises probabilities below `least` to it, those of the implicit state too, and makes their sum 1 again; so a variance below
    /// [`VARIANCES`].
    pub(super) fn clamp(&self, means: &mut [f64], least: f64) {
        if self.real.is_some() {
            means[1] = means[1].max(means[0] * means[0] + VARIANCES[0]);
            return;
        }
        if self.is_bit() {
            means[0] = means[0].clamp(least, 1.0 - least);
            return;
        }
        let rest = 1.0 - means.iter().sum::<f64>();
        let rest = if self.implicit { rest.max(least) } else { 0.0 };
        means.iter_mut().for_each(|p| *p = p.max(least));
        let total = rest + means.iter().sum::<f64>();
        means.iter_mut().for_each(|p| *p /= total);
    }

    /// Replaces probabilities by natural parameters; -A(eta) of these.
    pub(super) fn to_natural(self, means: &mut [f64]) -> f64 {
        if let Some(real) = self.real {
            Real::to_natural(means);
            return -real.log_partition(means);
        }
        let rest = if self.implicit { 1.0 - means.iter().sum::<f64>() } else { 1.0 };
        means.iter_mut().for_each(|p| *p = (*p / rest).ln());
        rest.ln()
    }

    /// The column drawn by one uniform number from probabilities, shape `[q]`; `None` for the implicit state.
    pub(crate) fn draw(&self, means: &[f64], uniform: f64) -> Option<usize> {
        let last = (!self.implicit).then_some(self.columns - 1);
        index_at(means.iter().copied(), uniform).or(last).map(|column| self.first + column)
    }

    /// The column with the largest natural parameter; `None` where the implicit state has it.
    pub(super) fn likeliest(&self, eta: &[f64]) -> Option<usize> {
        let (mut best, mut column) = (if self.implicit { 0.0 } else { f64::NEG_INFINITY }, None);
        for (i, &x) in eta.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
            if x > best {
                (best, column) = (x, Some(self.first + i));
            }
        }
        column.or((!self.implicit).then_some(self.first))
    }
}

/// Columns counted from 1, as files and messages count them.
impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.columns {
            _ if self.real.is_some() => write!(f, "real variable at column {}", self.first + 1),
            1 => write!(f, "column {}", self.first + 1),
            _ => write!(f, "columns {} to {}", self.first + 1, self.first + self.columns),
        }
    }
}
