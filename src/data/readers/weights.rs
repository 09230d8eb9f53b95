//! A file of row weights: an npy array of numbers, or text with a number on each line.

use std::path::Path;

use super::cells::is_record;
use super::encoding::weight;
use super::npy_header::{MAGIC, NpyHeader};
use crate::data::input::Input;
use crate::error::{Error, Result};

/// The weights in a file, plain or gzipped, in its order. Blank lines and those that begin with `#` are left out.
///
/// # Errors
/// A file that cannot be read, and text that is no number of at least 0, with its line.
pub(in crate::data) fn read_weights(path: &Path) -> Result<Vec<f64>> {
    let mut input = Input::open(path)?;
    let error = |problem: String| Error::file(path, problem);
    if input.head().starts_with(MAGIC) {
        let header = NpyHeader::read(&mut input)?.map_err(error)?;
        return header.numbers(&mut input)?.map_err(error);
    }
    let (mut weights, mut line, mut number) = (Vec::new(), Vec::new(), 1);
    while input.line(&mut line, number)? {
        if is_record(&line) {
            let found = weight(line.trim_ascii());
            weights.push(found.map_err(|problem| error(format!("line {number}: {problem}")))?);
        }
        number += 1;
    }
    Ok(weights)
}
