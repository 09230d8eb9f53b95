//! A file with a line of numbers for each row of data.

use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::{Result, bail};

use super::output::may_write;
use crate::checkpoint::{WriteSeek, write_atomically};
use crate::data::npy_header;

/// Whether a file of this name can be written: its ending is known, and it is not there or may be overwritten.
pub fn check(path: &Path, force: bool) -> Result<()> {
    if !matches!(path.extension().and_then(|it| it.to_str()), Some("csv" | "npy")) {
        bail!("{}: the name must end in .csv or .npy", path.display());
    }
    may_write(path, force)
}

/// The file as it is written.
pub struct RowFile<'a> {
    file: BufWriter<&'a mut dyn WriteSeek>,
    npy: bool,
    columns: usize,
    rows: u64,
}

/// Writes numbers for each row, and the split each row is from, as `fill` adds them: CSV with a header and the split in front, or npy, f64,
/// [rows, columns]. Returns the number of rows.
pub fn write(
    path: &Path,
    columns: &[impl ToString],
    fill: impl FnOnce(&mut RowFile<'_>) -> Result<()>,
) -> Result<u64> {
    let names: Vec<String> = columns.iter().map(ToString::to_string).collect();
    let npy = path.extension().is_some_and(|it| it == "npy");
    let (mut rows, mut failed) = (0, None);
    let written = write_atomically(path, |file| {
        let mut out = RowFile { file: BufWriter::new(file), npy, columns: names.len(), rows: 0 };
        if npy {
            out.header()?;
        } else {
            writeln!(out.file, "split,{}", names.join(","))?;
        }
        if let Err(error) = fill(&mut out) {
            // One of writing is that of this file.
            return Err(error.downcast().unwrap_or_else(|error| {
                failed = Some(error);
                io::Error::other("its rows failed")
            }));
        }
        if npy {
            out.file.seek(SeekFrom::Start(0))?;
            out.header()?;
        }
        rows = out.rows;
        out.file.flush()
    });
    failed.map_or(Ok(()), Err)?;
    written?;
    Ok(rows)
}

impl RowFile<'_> {
    /// Adds a row.
    pub fn add(&mut self, split: &str, row: &[f64]) -> io::Result<()> {
        self.rows += 1;
        if self.npy {
            return row.iter().try_for_each(|x| self.file.write_all(&x.to_le_bytes()));
        }
        let row: Vec<String> = row.iter().map(f64::to_string).collect();
        writeln!(self.file, "{split},{}", row.join(","))
    }

    /// The header of an array; as long for any number of rows.
    fn header(&mut self) -> io::Result<()> {
        self.file.write_all(&npy_header("<f8", &[self.rows as usize, self.columns]))
    }
}
