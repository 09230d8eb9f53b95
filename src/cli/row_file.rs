//! A file with a line of numbers for each row of data.

use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Result, bail};

use super::output::may_write;
use crate::checkpoint::write_atomically;

/// Whether a file of this name can be written: its ending is known, and it is not there or may be overwritten.
pub fn check(path: &Path, force: bool) -> Result<()> {
    if !matches!(path.extension().and_then(|it| it.to_str()), Some("csv" | "npy")) {
        bail!("{}: the name must end in .csv or .npy", path.display());
    }
    may_write(path, force)
}

/// Writes numbers for each of `count` rows, and the split each row is from, as they come: CSV with a header and the split in front, or npy,
/// f64, [rows, columns].
pub fn write(
    path: &Path,
    columns: &[impl ToString],
    count: usize,
    rows: impl Iterator<Item = (&'static str, Vec<f64>)>,
) -> Result<()> {
    let columns: Vec<String> = columns.iter().map(ToString::to_string).collect();
    let npy = path.extension().is_some_and(|it| it == "npy");
    Ok(write_atomically(path, |file| {
        let mut file = BufWriter::new(file);
        if npy {
            // NumPy enhancement proposal 1: the header ends at a multiple of 64 bytes.
            let shape = format!("({count}, {})", columns.len());
            let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
            let length = (10 + header.len() + 1).next_multiple_of(64) - 10;
            file.write_all(b"\x93NUMPY\x01\x00")?;
            file.write_all(&(length as u16).to_le_bytes())?;
            writeln!(file, "{header:<width$}", width = length - 1)?;
        } else {
            writeln!(file, "split,{}", columns.join(","))?;
        }
        for (split, row) in rows {
            if npy {
                row.iter().try_for_each(|x| file.write_all(&x.to_le_bytes()))?;
            } else {
                let row: Vec<String> = row.iter().map(f64::to_string).collect();
                writeln!(file, "{split},{}", row.join(","))?;
            }
        }
        file.flush()
    })?)
}
