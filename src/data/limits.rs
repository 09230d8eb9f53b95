//! Limits that prevent a hostile or wrong file from using all memory.

use std::path::Path;

use crate::engine::words_per_row;
use crate::error::{Error, Result};
use crate::memory::check_memory;

/// Most bytes of a data file after decompression, and most bytes a data set may take in memory: 2 GiB.
pub(super) const MAX_BYTES: u64 = 2 << 30;

/// Longest line of a text file: one with the most columns allowed, and their names.
pub(super) const MAX_LINE: u64 = 16 << 20;

/// Bytes that packed rows may take beyond twice their cells: rows of very few columns are padded to many times their size.
const MAX_PADDING: u64 = 16 << 20;

/// Bytes below which free memory is not checked.
const LARGE: f64 = (16 << 20) as f64;

/// Most columns of a data set.
pub(super) const MAX_COLUMNS: usize = 1 << 20;

/// Most rows of a data set: random streams number rows with 32 bits.
pub(super) const MAX_ROWS: usize = u32::MAX as usize;

/// A value, or the problem; the caller adds the place.
pub(super) type Checked<T> = std::result::Result<T, String>;

/// Refuses shapes without cells and shapes beyond the limits; packed counts bits, not bytes.
pub(super) fn check_shape(rows: usize, columns: usize, packed: bool) -> Checked<()> {
    if rows == 0 || columns == 0 {
        return Err(format!("no data: {rows} rows of {columns} columns"));
    }
    if rows > MAX_ROWS || columns > MAX_COLUMNS {
        return Err(format!(
            "{rows} rows of {columns} columns; at most {MAX_ROWS} rows and {MAX_COLUMNS} columns are allowed"
        ));
    }
    let row_bytes = (if packed { 8 * words_per_row(columns) } else { columns }) as u64;
    let (bytes, cells) = (rows as u64 * row_bytes, rows as u64 * columns as u64);
    if packed && bytes > 2 * cells + MAX_PADDING {
        return Err(format!(
            "{rows} rows of {columns} columns: most of them are the same, and each takes {row_bytes} bytes; give fewer"
        ));
    }
    if bytes > MAX_BYTES {
        return Err(format!(
            "{rows} rows of {columns} columns would take more than {} GiB of memory",
            MAX_BYTES >> 30
        ));
    }
    Ok(())
}

/// Refuses rows of bits of which a run could not hold `copies` at a time.
pub(super) fn check_room(rows: usize, columns: usize, copies: f64) -> Checked<()> {
    let bytes = copies * 8.0 * rows as f64 * words_per_row(columns) as f64;
    if bytes < LARGE { Ok(()) } else { check_memory(bytes, &format!("{rows} rows")) }
}

/// [`check_shape`] for the content of a file.
pub(super) fn check_file_shape(
    path: &Path,
    rows: usize,
    columns: usize,
    packed: bool,
) -> Result<()> {
    check_shape(rows, columns, packed).map_err(|problem| Error::file(path, problem))
}
