//! Data sets from arrays in memory: of Rust and ndarray, and bits.

use ndarray::{ArrayBase, Data, Ix2};

use super::readers::Levels;
use super::{Dataset, Values};
use crate::engine::BitMatrix;
use crate::error::{Error, Result};

/// Rows of cells in memory. Numbers 0 and 1, or -1 and +1, are units; other numbers in [0, 1] are grey levels, kept to 1/255.
pub trait Rows {
    /// The rows as a data set.
    ///
    /// # Errors
    /// No cells, rows of different lengths, or a cell outside [0, 1], unless all are -1 or +1.
    fn dataset(&self) -> Result<Dataset>;
}

/// Name of data sets from memory.
const NAME: &str = "memory";

impl Dataset {
    /// A data set of these rows, one slice a row.
    ///
    /// # Errors
    /// See [`Rows::dataset`].
    pub fn from_rows<T: Copy + Into<f64>, R: AsRef<[T]>>(rows: &[R]) -> Result<Self> {
        let columns = rows.first().map_or(0, |row| row.as_ref().len());
        if let Some(row) = rows.iter().position(|row| row.as_ref().len() != columns) {
            let found = rows[row].as_ref().len();
            return Err(Error::Mismatch(format!(
                "row {row} has {found} cells, the first one {columns}"
            )));
        }
        from_cells(columns, rows.iter().flat_map(|row| row.as_ref()).map(|&cell| cell.into()))
    }
}

pub(super) fn from_cells(columns: usize, cells: impl Iterator<Item = f64>) -> Result<Dataset> {
    let mut levels = Levels::new(None, Some(1.0));
    for x in cells {
        let cell = levels.grow(1).map_err(Error::TooLarge)?;
        levels.set(cell, x).map_err(|_| {
            let (row, column) = (cell / columns.max(1), cell % columns.max(1));
            Error::Invalid(format!(
                "row {row}, column {column} is {x}: cells are 0 or 1, or grey levels in between, or all of them are -1 or +1"
            ))
        })?;
    }
    let (values, plus_minus) = levels.finish(columns, false).map_err(Error::Invalid)?;
    Ok(Dataset { plus_minus, ..Dataset::new(NAME, values, None, None)? })
}

impl Rows for Dataset {
    fn dataset(&self) -> Result<Dataset> {
        Ok(self.clone())
    }
}

impl Rows for BitMatrix {
    fn dataset(&self) -> Result<Dataset> {
        Dataset::new(NAME, Values::Binary(self.clone()), None, None)
    }
}

impl<T: Copy + Into<f64>> Rows for Vec<Vec<T>> {
    fn dataset(&self) -> Result<Dataset> {
        Dataset::from_rows(self)
    }
}

impl<T: Copy + Into<f64>, const M: usize> Rows for Vec<[T; M]> {
    fn dataset(&self) -> Result<Dataset> {
        Dataset::from_rows(self)
    }
}

impl<S: Data<Elem: Copy + Into<f64>>> Rows for ArrayBase<S, Ix2> {
    fn dataset(&self) -> Result<Dataset> {
        from_cells(self.ncols(), self.iter().map(|&cell| cell.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_of_all_kinds_are_the_same_data() {
        let expected = BitMatrix::from_fn(3, 4, |row, column| (row + column) % 2 == 1);
        let cells: Vec<Vec<u8>> =
            (0..3).map(|i| (0..4).map(|j| ((i + j) % 2) as u8).collect()).collect();
        let flat: Vec<f32> = cells.iter().flatten().map(|&x| f32::from(x)).collect();
        let array = ndarray::Array2::from_shape_vec((3, 4), flat).unwrap();
        let all: [&dyn Rows; 4] = [&cells, &expected, &array, &array.view()];
        for rows in all {
            assert_eq!(rows.dataset().unwrap().values, Values::Binary(expected.clone()));
        }
    }

    #[test]
    fn grey_levels_stay_and_what_is_no_cell_is_named() {
        let grey = Dataset::from_rows::<f64, _>(&[[0.0, 0.5], [1.0, 0.2]]).unwrap();
        let Values::Intensity(levels) = grey.values else { panic!("binary") };
        assert_eq!(levels.levels(), [0, 128, 255, 51]);
        for (rows, expected) in [
            (vec![vec![0.0, 1.0], vec![f64::NAN, 1.0]], "row 1, column 0 is NaN"),
            (vec![vec![0.0, -1.0]], "row 0, column 1 is -1"),
            (vec![vec![0.0], vec![1.0, 0.0]], "row 1 has 2 cells, the first one 1"),
            (vec![], "no data"),
        ] {
            let message = Dataset::from_rows::<f64, _>(&rows).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
