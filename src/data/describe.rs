//! Description of a data set, as text and JSON.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::content::{hex, sha256_hex};
use super::{Dataset, Grouping, ImageShape, Values, find_variables};
use crate::engine::for_each_set_bit;
use crate::units::Variables;

/// Facts about a data set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Description {
    /// Name of the data set.
    pub name: String,
    /// `binary`, `plus-minus`, `categories`, `intensity`, `real` or `mixed`.
    pub kind: &'static str,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// Columns of real numbers, each of which counts twice in `columns`, and not in `density`.
    pub real_columns: usize,
    /// What the columns of a table of words and numbers are, in words.
    pub kinds: Option<String>,
    /// Height and width where rows are images.
    pub image: Option<ImageShape>,
    /// Mean of all cells, grey levels counted as level / 255.
    pub density: f64,
    /// Columns with the same value in every row: a model can learn only a bias from them, and nothing from real ones.
    pub constant_columns: usize,
    /// Number of different rows.
    pub distinct_rows: usize,
    /// Rows that are equal to an earlier one: rows - distinct rows.
    pub duplicate_rows: usize,
    /// The categorical variables that `data.groups` finds in these rows; `None` where all columns are bits.
    pub variables: Option<Grouping>,
    /// Number of rows of each label.
    pub labels: Option<BTreeMap<i64, usize>>,
    /// The column of a table that was taken for the labels because of its name.
    pub label_column: Option<String>,
    /// What is said of columns that are left out, because they have another value in every row.
    pub index: Option<String>,
    /// SHA-256 of the line `binary ROWS COLUMNS` (or `intensity ...`), a newline, and one byte a cell, row-major:
    /// 0 or 1, or the grey level; of real columns 0 twice, and the numbers behind the row. The same for the same cells whatever file format they came in; labels are left
    /// out. In Python: `sha256(f"binary {rows} {columns}\n".encode() + x.astype("uint8").tobytes())`.
    pub sha256: String,
}

/// Counts and checksums a data set. Cost: one pass over the cells, and a hash set over the rows.
pub fn describe(dataset: &Dataset) -> Description {
    let (rows, columns) = (dataset.rows(), dataset.columns());
    let (kind, sums, constant_columns, distinct_rows, variables) = match &dataset.values {
        Values::Binary(bits) => {
            let counts = bits.column_counts();
            let mut constant = counts.iter().filter(|&&n| n == 0 || n == rows as u64).count();
            for (_, real) in dataset.reals.iter().flat_map(Variables::reals) {
                let value = |row| real.value(bits.row(row));
                let varies = (1..rows).any(|row| value(row) != value(0));
                // Its two columns of bits are empty.
                constant = constant + usize::from(!varies) - 2;
            }
            let distinct = (0..rows).map(|row| bits.row(row)).collect::<HashSet<_>>().len();
            let variables = match &dataset.categories {
                Some(categories) => categories.variables(),
                None if dataset.plus_minus => Variables::PLUS_MINUS,
                None => dataset.reals.clone().unwrap_or_else(|| find_variables(bits)),
            };
            let kind = match dataset {
                Dataset { reals: Some(_), categories: Some(_), .. } => "mixed",
                Dataset { reals: Some(_), .. } => "real",
                Dataset { categories: Some(_), .. } => "categories",
                Dataset { plus_minus: true, .. } => "plus-minus",
                _ => "binary",
            };
            let variables = Grouping::of(&variables, &counts, rows);
            (kind, counts.iter().sum::<u64>() as f64, constant, distinct, variables)
        }
        Values::Intensity(grey) => {
            let sum: u64 = grey.levels().iter().map(|&level| u64::from(level)).sum();
            let level = |row: usize, column: usize| grey.row(row)[column];
            let alike = |&i: &usize| (1..rows).all(|row| level(row, i) == level(0, i));
            let constant = (0..columns).filter(alike).count();
            let distinct = (0..rows).map(|row| grey.row(row)).collect::<HashSet<_>>().len();
            ("intensity", sum as f64 / 255.0, constant, distinct, None)
        }
    };
    let labels = dataset.labels.as_ref().map(|labels| {
        labels.iter().fold(BTreeMap::new(), |mut counts, &label| {
            *counts.entry(label).or_default() += 1;
            counts
        })
    });
    let real_columns = dataset.reals.as_ref().map_or(0, |variables| variables.reals().count());
    Description {
        name: dataset.name.clone(),
        kind,
        rows,
        columns,
        real_columns,
        kinds: dataset.reals.as_ref().filter(|_| kind == "mixed").map(|it| it.kinds(columns)),
        image: dataset.image,
        density: sums / (rows as f64 * (columns - 2 * real_columns).max(1) as f64),
        constant_columns,
        distinct_rows,
        duplicate_rows: rows - distinct_rows,
        variables,
        labels,
        label_column: dataset.label_column.clone(),
        index: None,
        sha256: checksum(dataset),
    }
}

/// See [`Description::sha256`].
pub fn checksum(dataset: &Dataset) -> String {
    let head = |kind| format!("{kind} {} {}\n", dataset.rows(), dataset.columns());
    match &dataset.values {
        Values::Intensity(grey) => sha256_hex([head("intensity").as_bytes(), grey.levels()]),
        Values::Binary(bits) => {
            let mut hasher = Sha256::new();
            hasher.update(head("binary").as_bytes());
            let mut cells = vec![0; bits.columns()];
            for row in 0..bits.rows() {
                cells.fill(0);
                for_each_set_bit(bits.columns_of(row), |column| cells[column] = 1);
                hasher.update(&cells);
                for word in &bits.row(row)[bits.columns_of(row).len()..] {
                    hasher.update(word.to_le_bytes());
                }
            }
            hex(hasher)
        }
    }
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.name)?;
        let note = match self.kind {
            "plus-minus" => " (cells of -1 and +1; data.variables = \"bits\" for units of 0 and 1)",
            _ => "",
        };
        writeln!(f, "  kind              {}{note}", self.kind)?;
        writeln!(f, "  rows              {}", self.rows)?;
        let count = (self.columns - self.real_columns).to_string();
        write!(f, "  columns           {}", self.kinds.as_ref().unwrap_or(&count))?;
        if let Some(ImageShape { height, width }) = self.image {
            write!(f, " (images of {height} x {width})")?;
        }
        match self.real_columns {
            0 => writeln!(f, "\n  density           {:.6}", self.density)?,
            _ if self.kinds.is_some() => writeln!(f)?,
            real => writeln!(f, ", {real} of them real numbers")?,
        }
        writeln!(f, "  constant columns  {}", self.constant_columns)?;
        writeln!(f, "  distinct rows     {}", self.distinct_rows)?;
        writeln!(f, "  duplicate rows    {}", self.duplicate_rows)?;
        if let Some(variables) = &self.variables {
            writeln!(f, "  variables         {variables}")?;
        }
        if let Some(labels) = &self.labels {
            let shown = 20;
            let counts: Vec<_> =
                labels.iter().take(shown).map(|(l, n)| format!("{l}: {n}")).collect();
            let more = labels.len().saturating_sub(shown);
            let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
            let from = match &self.label_column {
                Some(column) => format!(" (column {column}, by its name)"),
                None => String::new(),
            };
            writeln!(f, "  labels            {}{rest}{from}", counts.join(", "))?;
        }
        if let Some(index) = &self.index {
            writeln!(f, "  left out          {index}")?;
        }
        write!(f, "  sha256            {}", self.sha256)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    use crate::data::{FileOptions, Intensities, read_bytes};
    use crate::engine::BitMatrix;

    #[test]
    fn counts_of_a_small_binary_set_are_right() {
        // Rows 110, 110, 010: column 1 always one, column 2 always zero.
        let bits = BitMatrix::from_fn(3, 3, |i, j| j == 1 || (j == 0 && i < 2));
        let labels = Some(vec![2, 2, 1]);
        let data = Dataset::new("small", Values::Binary(bits), labels, None).unwrap();
        let found = describe(&data);
        assert_eq!((found.rows, found.columns, found.kind), (3, 3, "binary"));
        assert_eq!((found.distinct_rows, found.duplicate_rows), (2, 1));
        assert_eq!(found.constant_columns, 2);
        assert!((found.density - 5.0 / 9.0).abs() < 1e-15);
        assert_eq!(found.labels, Some(BTreeMap::from([(1, 1), (2, 2)])));
        // printf 'binary 3 3\n\1\1\0\1\1\0\0\1\0' | sha256sum
        assert_eq!(
            found.sha256,
            "7cb8fa5224e2b871e000e786363671f0054451b190011c5a04120e127389cfae"
        );
        let text = found.to_string();
        assert!(
            text.contains("density           0.555556") && text.contains("1: 1, 2: 2"),
            "{text}"
        );
    }

    /// Two real columns, of which one is constant, a constant bit and words.
    #[test]
    fn columns_of_words_and_numbers_are_counted() {
        let text = b"x,y,b,w\n1.5,2,1,u\n3.5,2,1,v\n9,2,1,u\n".to_vec();
        let real = "2*real,1+".parse().ok();
        let options = FileOptions { mixed: true, ..FileOptions::default() };
        let found = describe(&read_bytes(Path::new("t.csv"), text, &options).unwrap());
        assert_eq!((found.kind, found.constant_columns, found.real_columns), ("mixed", 2, 2));
        assert!(found.to_string().contains("2 real numbers, 1 categorical variable, 1 bit"));
        let numbers = [1.5, 2.0, 1.0, 3.5, 2.0, 0.0];
        let data = Dataset::of_numbers("n", 3, &numbers, &Option::unwrap(real), &[]).unwrap();
        let found = describe(&data);
        assert_eq!((found.kind, found.constant_columns, found.real_columns), ("real", 1, 2));
        let words = read_bytes(Path::new("w.csv"), b"a,w\n1,u\n0,v\n".to_vec(), &options).unwrap();
        assert_eq!(describe(&words).kind, "categories");
    }

    #[test]
    fn grey_levels_count_in_units_of_255() {
        let levels = Intensities::new(2, vec![255, 51, 0, 51]).unwrap();
        let image = Some(ImageShape { height: 1, width: 2 });
        let data = Dataset::new("grey", Values::Intensity(levels), None, image).unwrap();
        let found = describe(&data);
        assert!((found.density - (1.0 + 0.2 + 0.2) / 4.0).abs() < 1e-15);
        assert_eq!((found.constant_columns, found.distinct_rows, found.kind), (1, 2, "intensity"));
    }
}
