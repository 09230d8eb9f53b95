//! CSV of 0/1: one row a line, columns separated by commas, with or without a line of names on top.

use std::path::Path;

use crate::data::content::file_name;
use crate::data::limits::{MAX_COLUMNS, check_file_shape};
use crate::data::{Dataset, Values};
use crate::error::{Error, Result};
use crate::ops::{BitMatrix, words_per_row};

/// A binary matrix. The first line counts as names if none of its cells is a number.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Dataset> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(bytes);
    let (mut rows, mut columns, mut words) = (0, None, Vec::new());
    let mut record = csv::ByteRecord::new();
    let mut first = true;
    loop {
        match reader.read_byte_record(&mut record) {
            Ok(true) => {}
            Ok(false) => break,
            Err(source) => return Err(Error::file(path, format!("is not CSV: {source}"))),
        }
        let line = record.position().map_or(0, csv::Position::line);
        let error = |problem: String| Error::file(path, format!("line {line}{problem}"));
        let names = std::mem::take(&mut first) && record.iter().all(|cell| number(cell).is_none());
        let expected = *columns.get_or_insert(record.len());
        if record.len() != expected {
            return Err(error(format!(" has {} columns, {expected} expected", record.len())));
        }
        if expected > MAX_COLUMNS {
            return Err(error(format!(" has more than {MAX_COLUMNS} columns")));
        }
        if names {
            continue;
        }
        let start = words.len();
        words.resize(start + words_per_row(expected), 0u64);
        for (column, cell) in record.iter().enumerate() {
            let bit = match number(cell) {
                Some(0.0) => 0,
                Some(1.0) => 1,
                _ => {
                    let cell: String = String::from_utf8_lossy(cell).chars().take(32).collect();
                    let place = format!(", column {}: `{cell}` is neither 0 nor 1", column + 1);
                    return Err(error(place));
                }
            };
            words[start + column / 64] |= bit << (column % 64);
        }
        rows += 1;
    }
    let columns = columns.unwrap_or(0);
    check_file_shape(path, rows, columns, true)?;
    let bits = BitMatrix::from_words(rows, columns, words)
        .ok_or_else(|| Error::file(path, "has rows of different lengths"))?;
    Dataset::new(file_name(path), Values::Binary(bits), None, None)
}

fn number(cell: &[u8]) -> Option<f64> {
    match cell {
        b"0" => Some(0.0),
        b"1" => Some(1.0),
        _ => std::str::from_utf8(cell).ok()?.parse().ok(),
    }
}
