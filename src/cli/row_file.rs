//! A file with a line of numbers for each row of data.

use std::path::Path;

use anyhow::{Context, Result, bail};
use ndarray::ArrayView2;
use ndarray_npy::WriteNpyExt;

use super::output::may_write;
use crate::checkpoint::write_bytes;

/// Numbers for each row, [rows, columns], and the split each row is from.
pub struct RowFile {
    columns: Vec<String>,
    splits: Vec<&'static str>,
    numbers: Vec<f64>,
}

/// Whether a file of this name can be written: its ending is known, and it is not there or may be overwritten.
pub fn check(path: &Path, force: bool) -> Result<()> {
    if !matches!(path.extension().and_then(|it| it.to_str()), Some("csv" | "npy")) {
        bail!("{}: the name must end in .csv or .npy", path.display());
    }
    may_write(path, force)
}

impl RowFile {
    /// An empty table with these columns.
    pub fn new(columns: &[impl ToString]) -> Self {
        let columns = columns.iter().map(ToString::to_string).collect();
        Self { columns, splits: Vec::new(), numbers: Vec::new() }
    }

    /// Adds rows of a split.
    pub fn extend(&mut self, split: &'static str, rows: impl Iterator<Item = Vec<f64>>) {
        for row in rows {
            self.splits.push(split);
            self.numbers.extend(row);
        }
    }

    /// Writes it: CSV with a header and the split in front, or npy, f64, [rows, columns].
    pub fn write(&self, path: &Path) -> Result<()> {
        let width = self.columns.len();
        let mut bytes = Vec::new();
        if path.extension().is_some_and(|it| it == "npy") {
            let array = ArrayView2::from_shape((self.splits.len(), width), &self.numbers)?;
            array.write_npy(&mut bytes).context("cannot encode the rows as npy")?;
        } else {
            bytes.extend(format!("split,{}\n", self.columns.join(",")).into_bytes());
            for (split, row) in self.splits.iter().zip(self.numbers.chunks_exact(width)) {
                let row: Vec<String> = row.iter().map(f64::to_string).collect();
                bytes.extend(format!("{split},{}\n", row.join(",")).into_bytes());
            }
        }
        Ok(write_bytes(path, &bytes)?)
    }
}
