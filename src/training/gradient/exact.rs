//! The exact gradient: the model's moments by enumeration of the smaller layer.

use super::{Moments, NegativePhase, Now};
use crate::engine::Matrix;
use crate::error::Result;
use crate::model::exact;

/// Moments without an error, for models with a small layer.
pub struct Exact;

impl NegativePhase for Exact {
    fn moments(&mut self, now: Now<'_>) -> Result<Moments> {
        let parameters = &now.model.parameters;
        let exact::Moments { visible, hidden, products } = exact::moments(parameters)?;
        let products: Vec<f32> = products.into_iter().map(|x| x as f32).collect();
        let (rows, columns) = (visible.len(), hidden.len());
        Ok(Moments { visible, hidden, products: Matrix::from_rows(rows, columns, &products, 0.0) })
    }
}
