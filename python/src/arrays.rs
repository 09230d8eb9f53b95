//! Bytes of numpy arrays as the library's arrays.

use pyo3::prelude::*;
use ztrack::data::{Dataset, Values};
use ztrack::model::plus_minus::Couplings;
use ztrack::units::Variables;
use ztrack::{BitMatrix, Error, Parameters, Result};

use super::errors::exception;

/// Little-endian f32 values.
fn floats(bytes: &[u8]) -> Vec<f32> {
    let value = |four: &[u8]| f32::from_le_bytes([four[0], four[1], four[2], four[3]]);
    bytes.chunks_exact(4).map(value).collect()
}

/// A model from W [M, J], c `[M]` and b `[J]`, f32 in C order, and what its visible columns stand for; of units -1 and +1 from their
/// couplings and fields.
pub fn parameters(
    weights: &[u8],
    visible_bias: &[u8],
    hidden_bias: &[u8],
    variables: &Variables,
) -> Result<Parameters> {
    let (m, j) = (visible_bias.len() / 4, hidden_bias.len() / 4);
    let arrays = Parameters::new(m, j, floats(weights), floats(visible_bias), floats(hidden_bias))?;
    match variables.is_plus_minus() {
        true => Couplings::of_arrays(&arrays).model(),
        false => arrays.of(variables.clone()),
    }
}

/// The arrays that [`parameters`] takes, as bytes.
pub fn model_bytes(model: &Parameters) -> [Vec<u8>; 3] {
    let own = model.couplings();
    [own.weights, own.visible_bias, own.hidden_bias]
        .map(|values| bytes(&values.iter().map(|&x| x as f32).collect::<Vec<_>>()))
}

/// Numbers as bytes.
pub fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Rows of zeros and ones, one byte a cell, C order.
pub fn bits(cells: &[u8], columns: usize) -> Result<BitMatrix> {
    if columns == 0 || !cells.len().is_multiple_of(columns) {
        return Err(Error::Invalid(format!("{} cells are no rows of {columns}", cells.len())));
    }
    let rows = cells.len() / columns;
    Ok(BitMatrix::from_fn(rows, columns, |row, column| cells[row * columns + column] != 0))
}

/// A table of f64 cells, some of whose columns are real.
pub fn table(cells: &[u8], columns: usize, variables: &Variables) -> Result<Dataset> {
    let number = |eight: &[u8]| f64::from_le_bytes(eight.try_into().unwrap_or_default());
    let numbers: Vec<f64> = cells.chunks_exact(8).map(number).collect();
    Dataset::of_numbers("data", columns, &numbers, variables, &[])
}

/// Rows of `columns` cells: one byte of zero or one each, f64 where variables are real.
pub fn rows(cells: &[u8], columns: usize, variables: &Variables) -> Result<BitMatrix> {
    if !variables.has_reals() {
        return bits(cells, columns);
    }
    match table(cells, columns, variables)?.values {
        Values::Binary(rows) => Ok(rows),
        Values::Intensity(_) => Err(Error::Invalid("these rows have grey levels".into())),
    }
}

/// Columns of a table of rows of `visible` columns: a real variable has one.
pub fn table_columns(visible: usize, variables: &Variables) -> usize {
    visible - variables.reals().count()
}

/// The cells that [`rows`] takes.
pub fn cells(rows: &BitMatrix, variables: &Variables) -> Vec<u8> {
    let all = 0..rows.rows();
    if variables.has_reals() {
        let numbers = all.flat_map(|row| variables.cells(rows.row(row), rows.columns()));
        return numbers.flat_map(f64::to_le_bytes).collect();
    }
    let cell = |row: usize| (0..rows.columns()).map(move |column| u8::from(rows.get(row, column)));
    all.flat_map(cell).collect()
}

/// Refuses an array of this many bytes where they are not free.
#[pyfunction]
pub fn check_memory(py: Python<'_>, bytes: f64, what: &str) -> PyResult<()> {
    let fits = ztrack::tempering::check_memory(bytes, what);
    fits.map_err(|problem| exception(py, &Error::TooLarge(problem)))
}
