//! NumPy arrays [rows, columns].
//!
//! Integers and booleans are 0/1 or grey levels 0..=255. Floats are 0/1 or values in [0, 1], which are rounded to
//! the nearest of the 256 levels k / 255.

use std::path::Path;

use super::npy_header::{Kind, NpyHeader};
use crate::data::content::file_name;
use crate::data::limits::{Checked, check_shape};
use crate::data::{Dataset, Intensities, Values};
use crate::error::{Error, Result};

/// First bytes of an npy file.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";

/// A matrix from the bytes of an npy file.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Dataset> {
    let values = parse(bytes).map_err(|problem| Error::file(path, problem))?;
    Dataset::new(file_name(path), values, None, None)
}

fn parse(bytes: &[u8]) -> Checked<Values> {
    if !bytes.starts_with(MAGIC) {
        return Err("is not npy: the first bytes are not \\x93NUMPY".into());
    }
    let header = NpyHeader::parse(bytes)?;
    let [rows, columns] = header.shape[..] else {
        return Err(format!(
            "npy array has {} dimension(s), {}; 2 expected: reshape it to (rows, columns)",
            header.shape.len(),
            header.shape_text()
        ));
    };
    let data = header.data(bytes)?;
    check_shape(rows, columns, false)?;
    let (cells, NpyHeader { element, fortran_order, .. }) = (rows * columns, header);
    let value = |cell: usize| {
        let (row, column) = (cell / columns, cell % columns);
        let position = if fortran_order { column * rows + row } else { cell };
        element.value(&data[position * element.size..(position + 1) * element.size])
    };
    let largest = if element.kind == Kind::Float { 1.0 } else { 255.0 };
    let mut binary = true;
    for cell in 0..cells {
        let value = value(cell);
        if !(0.0..=largest).contains(&value) {
            let remedy =
                if element.kind == Kind::Float { "; divide grey levels by 255" } else { "" };
            return Err(format!(
                "row {}, column {}: {value} is outside 0..{largest}{remedy}",
                cell / columns + 1,
                cell % columns + 1
            ));
        }
        binary &= value == 0.0 || value == 1.0;
    }
    let scale = if binary { 1.0 } else { 255.0 / largest };
    let levels = (0..cells).map(|cell| (value(cell) * scale).round() as u8).collect();
    let values = if binary {
        Values::from_levels(columns, levels)
    } else {
        Intensities::new(columns, levels).map(Values::Intensity)
    };
    values.ok_or_else(|| "holds no whole rows".into())
}
