//! NumPy arrays [rows, columns].
//!
//! Integers and booleans are 0/1 or grey levels 0..=255. Floats are 0/1 or values in [0, 1], which are rounded to
//! the nearest of the 256 levels k / 255.

use std::path::Path;

use super::npy_header::{Kind, NpyHeader};
use crate::data::content::file_name;
use crate::data::input::Input;
use crate::data::limits::{Checked, check_shape};
use crate::data::{Dataset, Intensities, Values};
use crate::error::{Error, Result};

/// First bytes of an npy file.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";

/// A matrix from an npy file.
pub(super) fn read(path: &Path, input: &mut Input<'_>) -> Result<Dataset> {
    let values = parse(input)?.map_err(|problem| Error::file(path, problem))?;
    Dataset::new(file_name(path), values, None, None)
}

fn parse(input: &mut Input<'_>) -> Result<Checked<Values>> {
    if !input.head().starts_with(MAGIC) {
        return Ok(Err("is not npy: the first bytes are not \\x93NUMPY".into()));
    }
    let header = match NpyHeader::read(input)? {
        Ok(header) => header,
        Err(problem) => return Ok(Err(problem)),
    };
    let [rows, columns] = header.shape[..] else {
        return Ok(Err(format!(
            "npy array has {} dimension(s), {}; 2 expected: reshape it to (rows, columns)",
            header.shape.len(),
            header.shape_text()
        )));
    };
    let shape = check_shape(rows, columns, false);
    let mut levels = Levels { kind: header.element.kind, binary: true, levels: Vec::new() };
    let found = header.values(input, |value| {
        shape.clone()?;
        levels.push(value).map_err(|problem| {
            let cell = levels.levels.len();
            let (row, column) = match header.fortran_order {
                true => (cell % rows, cell / rows),
                false => (cell / columns, cell % columns),
            };
            format!("row {}, column {}: {problem}", row + 1, column + 1)
        })
    })?;
    let Levels { binary, levels, .. } = levels;
    Ok(found.and(shape).and_then(|()| {
        let levels = match header.fortran_order {
            true => (0..rows * columns).map(|i| levels[i % columns * rows + i / columns]).collect(),
            false => levels,
        };
        check_shape(rows, columns, binary)?;
        let values = if binary {
            Values::from_levels(columns, levels)
        } else {
            Intensities::new(columns, levels).map(Values::Intensity)
        };
        values.ok_or_else(|| "holds no whole rows".into())
    }))
}

/// Values as grey levels, in the order of the file.
struct Levels {
    kind: Kind,
    /// All values so far are 0 or 1, and so are the levels.
    binary: bool,
    levels: Vec<u8>,
}

impl Levels {
    fn push(&mut self, value: f64) -> Checked<()> {
        let (largest, remedy) = match self.kind {
            Kind::Bool => (1.0, ""),
            Kind::Unsigned | Kind::Signed => (255.0, ""),
            Kind::Float => (1.0, "; divide grey levels by 255"),
        };
        if !(0.0..=largest).contains(&value) {
            return Err(format!("{value} is outside 0..{largest}{remedy}"));
        }
        let scale = 255.0 / largest;
        if self.binary && value != 0.0 && value != 1.0 {
            self.binary = false;
            self.levels.iter_mut().for_each(|level| *level *= scale as u8);
        }
        self.levels.try_reserve(1).map_err(|_| "does not fit into the memory that is free")?;
        self.levels.push((value * if self.binary { 1.0 } else { scale }).round() as u8);
        Ok(())
    }
}
