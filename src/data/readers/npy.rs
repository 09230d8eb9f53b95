//! NumPy arrays [rows, columns], or [rows, ...] in C order.
//!
//! Integers and booleans are 0/1, -1/+1 or grey levels 0..=255. Floats are 0/1, -1/+1 or values in [0, 1], which are rounded to
//! the nearest of the 256 levels k / 255.

use std::path::Path;

use super::FileOptions;
use super::levels::Levels;
use super::npy_header::{Kind, MAGIC, NpyHeader};
use crate::data::content::file_name;
use crate::data::input::Input;
use crate::data::limits::{Checked, check_shape};
use crate::data::{Dataset, Values};
use crate::error::{Error, Result};

/// A matrix from an npy file.
pub(super) fn read(path: &Path, input: &mut Input<'_>, options: &FileOptions) -> Result<Dataset> {
    if !input.head().starts_with(MAGIC) {
        return Err(Error::file(path, "is not npy: the first bytes are not \\x93NUMPY"));
    }
    let header = NpyHeader::read(input)?.map_err(|problem| Error::file(path, problem))?;
    matrix(path, &header, input, options)
}

/// The matrix that follows a header.
pub(super) fn matrix(
    path: &Path,
    header: &NpyHeader,
    input: &mut Input<'_>,
    options: &FileOptions,
) -> Result<Dataset> {
    // The axes of images become columns.
    let columns = header.shape.iter().skip(1).try_fold(1_usize, |all, &size| all.checked_mul(size));
    let joined = match (&header.shape[..], columns) {
        (&[rows, _, _, ..], Some(columns)) if !header.fortran_order => {
            Some(NpyHeader { shape: vec![rows, columns], ..*header })
        }
        _ => None,
    };
    let header = joined.as_ref().unwrap_or(header);
    if let (Some(variables), &[rows, columns]) = (&options.reals, &header.shape[..]) {
        let found = header.numbers(input)?;
        let mut cells = found.map_err(|problem| Error::file(path, problem))?;
        if header.fortran_order {
            cells = (0..rows * columns).map(|i| cells[i % columns * rows + i / columns]).collect();
        }
        return Dataset::of_numbers(&file_name(path), columns, &cells, variables, &[]);
    }
    let found = values(header, input, options.white)?;
    let (values, plus_minus) = found.map_err(|problem| Error::file(path, problem))?;
    Ok(Dataset { plus_minus, ..Dataset::new(file_name(path), values, None, None)? })
}

fn values(
    header: &NpyHeader,
    input: &mut Input<'_>,
    white: Option<f64>,
) -> Result<Checked<(Values, bool)>> {
    let [rows, columns] = header.shape[..] else {
        return Ok(Err(format!(
            "npy array has {} dimension(s), {}; 2 expected: reshape it to (rows, columns)",
            header.shape.len(),
            header.shape_text()
        )));
    };
    let shape = check_shape(rows, columns, false);
    let largest = match header.element.kind {
        Kind::Bool | Kind::Float => 1.0,
        Kind::Unsigned | Kind::Signed => 255.0,
    };
    let before = input.before();
    let mut levels = Levels::new(white, Some(largest));
    let found = header.values(input, |value| {
        shape.clone()?;
        let cell = levels.grow(1)?;
        levels.set(cell, value).map_err(|problem| {
            let (row, column) = match header.fortran_order {
                true => (cell % rows, cell / rows),
                false => (cell / columns, cell % columns),
            };
            format!("row {}, column {}: {problem}", before + row + 1, column + 1)
        })
    })?;
    Ok(found.and(shape).and_then(|()| levels.finish(columns, header.fortran_order)))
}
