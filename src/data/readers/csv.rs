//! CSV of 0/1: one row a line, columns separated by commas, with or without a line of names on top.
//!
//! Cells become bits as they are read: a table of cells takes many times the memory of the file.

use std::path::Path;

use super::rows::Rows;
use crate::data::content::file_name;
use crate::data::input::Input;
use crate::data::limits::{MAX_COLUMNS, check_file_shape};
use crate::data::{Dataset, Values};
use crate::error::{Error, Result};

/// Longest cell that can be a number.
const LONGEST_NUMBER: usize = 64;
/// Characters of a cell shown in a message.
const SHOWN: usize = 32;
/// What some programs put before text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A binary matrix. The first line counts as names if none of its cells is a number.
pub(super) fn read(path: &Path, input: &mut Input<'_>) -> Result<Dataset> {
    let (mut rows, mut columns) = (Rows::default(), None);
    let (mut line, mut number) = (Vec::new(), 1);
    let mut first = true;
    while input.line(&mut line, number)? {
        let error = |problem: String| Error::file(path, format!("line {number}{problem}"));
        let text = line.strip_prefix(BYTE_ORDER_MARK).filter(|_| number == 1).unwrap_or(&line);
        for record in text.split(|&byte| byte == b'\r') {
            if record.trim_ascii().is_empty() {
                continue;
            }
            let mut cells = Cells::of(record);
            let (mut count, mut numbers) = (0, 0);
            for cell in cells.by_ref() {
                count += 1;
                numbers += usize::from(value(cell).is_some());
            }
            if cells.open {
                return Err(error(": a quoted cell does not end on its line".into()));
            }
            let expected = *columns.get_or_insert(count);
            if count != expected {
                return Err(error(format!(" has {count} columns, {expected} expected")));
            }
            if count > MAX_COLUMNS {
                return Err(error(format!(" has more than {MAX_COLUMNS} columns")));
            }
            if std::mem::take(&mut first) && numbers == 0 {
                continue;
            }
            let words = rows.push(count).map_err(|problem| error(format!(": {problem}")))?;
            for (column, cell) in Cells::of(record).enumerate() {
                let bit = match value(cell) {
                    Some(0.0) => 0,
                    Some(1.0) => 1,
                    _ => {
                        let cell: String =
                            String::from_utf8_lossy(cell).chars().take(SHOWN).collect();
                        let place = format!(", column {}: `{cell}` is neither 0 nor 1", column + 1);
                        return Err(error(place));
                    }
                };
                words[column / 64] |= bit << (column % 64);
            }
        }
        number += 1;
    }
    let columns = columns.unwrap_or(0);
    check_file_shape(path, rows.len(), columns, true)?;
    let bits = rows.finish(columns).map_err(|problem| Error::file(path, problem))?;
    Dataset::new(file_name(path), Values::Binary(bits), None, None)
}

/// The cells of a record, without the white space and the quotes around them.
struct Cells<'a> {
    rest: Option<&'a [u8]>,
    /// Whether the last cell began with a quote that no other closed.
    open: bool,
}

impl<'a> Cells<'a> {
    fn of(record: &'a [u8]) -> Self {
        Self { rest: Some(record), open: false }
    }
}

impl<'a> Iterator for Cells<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?.trim_ascii_start();
        let quoted = rest.first() == Some(&b'"');
        let mut inside = false;
        // A doubled quote inside quotes closes and opens again, which comes to the same.
        let end = rest.iter().position(|&byte| {
            inside ^= quoted && byte == b'"';
            byte == b',' && !inside
        });
        self.open = quoted && inside && end.is_none();
        let cell = rest[..end.unwrap_or(rest.len())].trim_ascii_end();
        self.rest = end.map(|end| &rest[end + 1..]);
        let unquoted = cell.strip_prefix(b"\"").and_then(|cell| cell.strip_suffix(b"\""));
        Some(unquoted.map_or(cell, <[u8]>::trim_ascii))
    }
}

fn value(cell: &[u8]) -> Option<f64> {
    match cell {
        b"0" => Some(0.0),
        b"1" => Some(1.0),
        long if long.len() > LONGEST_NUMBER => None,
        _ => std::str::from_utf8(cell).ok()?.parse().ok(),
    }
}
