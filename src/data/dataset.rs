//! A data set: rows of binary or grey visible units, with labels and image shape if known.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::limits::check_shape;
use super::{Categories, check_weights};
use crate::engine::BitMatrix;
use crate::error::{Error, Result};
use crate::units::Variables;

/// Rows of visible units. Serialised without its cells and their names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Dataset {
    /// Its name: a file name, or the name of a generator.
    pub name: String,
    /// The cells, shape [rows, columns].
    #[serde(skip)]
    pub values: Values,
    /// One label a row, where the source has labels.
    pub labels: Option<Vec<i64>>,
    /// The column of a table that was taken for the labels because of its name, for messages.
    pub label_column: Option<String>,
    /// The number of rows that each row stands for, `[rows]`; `None` where each is one. Training rows alone are weighted.
    pub weights: Option<Vec<f64>>,
    /// Set where a row is an image in row-major order.
    pub image: Option<ImageShape>,
    /// Whether the cells are -1 and +1; `values` has 0 for -1.
    pub plus_minus: bool,
    /// The variables and states that the units stand for, in a table of categories.
    #[serde(skip)]
    pub categories: Option<Arc<Categories>>,
    /// Names of the columns, where a table without categories has a line of them; else empty.
    #[serde(default)]
    pub titles: Vec<String>,
    /// Its variables where some are real: the numbers of the states are those of the table until training rows give means and scales.
    #[serde(skip)]
    pub reals: Option<Variables>,
    /// The cells without a value, shape [rows, columns], if there are any; what `values` has there means nothing.
    #[serde(skip)]
    pub missing: Option<BitMatrix>,
}

/// Height and width of an image, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageShape {
    /// Rows of pixels.
    pub height: usize,
    /// Columns of pixels.
    pub width: usize,
}

/// The cells of a data set.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Zeros and ones.
    Binary(BitMatrix),
    /// Grey levels; a [`super::Binarizer`] makes them binary.
    Intensity(Intensities),
}

impl Default for Values {
    /// No cells.
    fn default() -> Self {
        Self::Binary(BitMatrix::zeros(0, 0))
    }
}

/// Grey levels 0..=255, shape [rows, columns]; the value of a cell is level / 255. One byte a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intensities {
    columns: usize,
    levels: Vec<u8>,
}

impl Intensities {
    /// Row-major levels; `None` if they are not whole rows of at least one column.
    pub fn new(columns: usize, levels: Vec<u8>) -> Option<Self> {
        (columns > 0 && levels.len().is_multiple_of(columns)).then_some(Self { columns, levels })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.levels.len() / self.columns
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// All levels, row after row.
    pub fn levels(&self) -> &[u8] {
        &self.levels
    }

    /// The levels of one row.
    pub fn row(&self, row: usize) -> &[u8] {
        &self.levels[row * self.columns..(row + 1) * self.columns]
    }
}

impl Values {
    /// Levels unchanged, or bits if every one of them is 0 or 1.
    pub(super) fn from_levels(columns: usize, levels: Vec<u8>) -> Option<Self> {
        let intensities = Intensities::new(columns, levels)?;
        if intensities.levels.iter().any(|&level| level > 1) {
            return Some(Self::Intensity(intensities));
        }
        let bits = BitMatrix::from_fn(intensities.rows(), columns, |i, j| {
            intensities.levels[i * columns + j] == 1
        });
        Some(Self::Binary(bits))
    }

    fn shape(&self) -> (usize, usize) {
        match self {
            Self::Binary(bits) => (bits.rows(), bits.columns()),
            Self::Intensity(intensities) => (intensities.rows(), intensities.columns()),
        }
    }
}

impl Dataset {
    /// Checks that there are rows, and that labels and image shape fit the values.
    pub fn new(
        name: impl Into<String>,
        values: Values,
        labels: Option<Vec<i64>>,
        image: Option<ImageShape>,
    ) -> Result<Self> {
        let name = name.into();
        let invalid = |problem: String| Error::Invalid(format!("data set `{name}`: {problem}"));
        let (rows, columns) = values.shape();
        check_shape(rows, columns, matches!(values, Values::Binary(_))).map_err(invalid)?;
        if let Some(labels) = labels.as_ref().filter(|labels| labels.len() != rows) {
            return Err(invalid(format!("{} labels for {rows} rows", labels.len())));
        }
        if let Some(ImageShape { height, width }) =
            image.filter(|image| image.height.checked_mul(image.width) != Some(columns))
        {
            return Err(invalid(format!(
                "images of {height} x {width} pixels, but rows of {columns} columns"
            )));
        }
        Ok(Self { name, values, labels, image, ..Self::default() })
    }

    /// The same with a weight for each row.
    ///
    /// # Errors
    /// See [`check_weights`].
    pub fn weighted(self, weights: Vec<f64>) -> Result<Self> {
        check_weights(&weights, self.rows())?;
        Ok(Self { weights: Some(weights), ..self })
    }

    /// Whether every cell is 1.
    pub(crate) fn is_all_ones(&self) -> bool {
        let cells = self.rows() as u64 * self.columns() as u64;
        matches!(&self.values, Values::Binary(bits) if bits.count_ones() == cells)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.values.shape().0
    }

    /// Number of columns (visible units).
    pub fn columns(&self) -> usize {
        self.values.shape().1
    }

    /// A data set of the given rows, in the given order. Panics on a row that is not there.
    pub fn select(&self, rows: &[usize]) -> Self {
        let values = match &self.values {
            Values::Binary(bits) => Values::Binary(bits.select(rows.iter().copied())),
            Values::Intensity(intensities) => {
                let mut levels = Vec::with_capacity(rows.len() * intensities.columns);
                rows.iter().for_each(|&row| levels.extend_from_slice(intensities.row(row)));
                Values::Intensity(Intensities { columns: intensities.columns, levels })
            }
        };
        let labels = |all: &Vec<i64>| rows.iter().map(|&row| all[row]).collect();
        let weights = |all: &Vec<f64>| rows.iter().map(|&row| all[row]).collect();
        Self {
            name: self.name.clone(),
            values,
            labels: self.labels.as_ref().map(labels),
            label_column: self.label_column.clone(),
            weights: self.weights.as_ref().map(weights),
            image: self.image,
            plus_minus: self.plus_minus,
            categories: self.categories.clone(),
            titles: self.titles.clone(),
            missing: self.missing.as_ref().map(|cells| cells.select(rows.iter().copied())),
            reals: self.reals.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grey() -> Dataset {
        let levels = Values::from_levels(2, vec![0, 255, 7, 1, 2, 3]).unwrap();
        Dataset::new("grey", levels, Some(vec![4, 5, 6]), None).unwrap()
    }

    #[test]
    fn levels_of_zero_and_one_are_binary() {
        let values = Values::from_levels(3, vec![0, 1, 1, 1, 0, 0]).unwrap();
        assert_eq!(values, Values::Binary(BitMatrix::from_fn(2, 3, |i, j| (i == 0) != (j == 0))));
        assert!(matches!(grey().values, Values::Intensity(_)));
    }

    #[test]
    fn selected_rows_keep_their_labels() {
        let selected = grey().select(&[2, 0]);
        assert_eq!(selected.labels, Some(vec![6, 4]));
        let Values::Intensity(levels) = &selected.values else { panic!("binary") };
        assert_eq!(levels.levels(), [2, 3, 0, 255]);
        assert_eq!((selected.rows(), selected.columns()), (2, 2));
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let values = || grey().values;
        let image = |height, width| Some(ImageShape { height, width });
        for (result, expected) in [
            (Dataset::new("x", values(), Some(vec![1]), None), "1 labels for 3 rows"),
            (Dataset::new("x", values(), None, image(2, 2)), "2 x 2 pixels"),
            (Dataset::new("x", values(), None, image(usize::MAX, 2)), "pixels"),
            (Dataset::new("x", Values::Binary(BitMatrix::zeros(0, 2)), None, None), "no data"),
        ] {
            let message = result.unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
