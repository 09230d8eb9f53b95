//! LIBSVM text (Chang and Lin 2011): `label index:value index:value ...`, indices from 1, zeros left out.

use std::path::Path;

use super::FileOptions;
use super::encoding::shown;
use super::rows::GrowingRows;
use crate::data::content::file_name;
use crate::data::input::Input;
use crate::data::limits::{Checked, MAX_COLUMNS, check_file_shape};
use crate::data::{Dataset, Values};
use crate::error::{Error, Result};

/// Bytes the rows of a file may take beyond twice the file.
const ALLOWANCE: u64 = 32 << 20;
/// Rows between two checks of their memory.
const LOOK: usize = 1 << 16;

/// Rows of values 0 and 1 with integer labels. Blank lines and everything after `#` are ignored. Rows become bits as they are read, and
/// become wider if the number of columns is not known.
pub(super) fn read(path: &Path, input: &mut Input<'_>, options: &FileOptions) -> Result<Dataset> {
    let limit = options.columns.unwrap_or(MAX_COLUMNS);
    let (mut rows, mut labels) = (GrowingRows::default(), Vec::new());
    let (mut line, mut ones) = (Vec::new(), Vec::new());
    let (mut largest, mut number) = (0, 1 + input.before());
    while input.line(&mut line, number)? {
        let here = number;
        number += 1;
        let error = |problem| Error::file(path, format!("line {here}: {problem}"));
        let text = std::str::from_utf8(&line).map_err(|_| error("is not text".into()))?;
        let text = text.split('#').next().unwrap_or_default();
        let mut fields = text.split_ascii_whitespace();
        let Some(label) = fields.next() else { continue };
        labels.push(parse_label(label, options).map_err(error)?);
        let mut previous = 0;
        ones.clear();
        for field in fields {
            let (index, is_one) = parse_feature(field, previous, limit).map_err(error)?;
            if is_one {
                ones.push(index - 1);
            }
            previous = index;
        }
        largest = largest.max(previous);
        let width = options.columns.unwrap_or(0).max(previous).max(1);
        let words = rows.push(width).map_err(error)?;
        ones.iter().for_each(|column| words[column / 64] |= 1 << (column % 64));
        // Rows of some bytes each, of which a compressed file can hold any number.
        let taken = 8 * (rows.len() + labels.len()) as u64;
        if rows.len().is_multiple_of(LOOK) && taken > 2 * input.received() + ALLOWANCE {
            let problem = format!(
                "the first {} rows take far more memory than the file: are these rows of data?",
                rows.len()
            );
            return Err(error(problem));
        }
    }
    let columns = options.columns.unwrap_or(largest);
    check_file_shape(path, labels.len(), columns, true)?;
    let bits = rows.finish(columns).map_err(|problem| Error::file(path, problem))?;
    Dataset::new(file_name(path), Values::Binary(bits), Some(labels), None)
}

fn parse_label(label: &str, options: &FileOptions) -> Checked<i64> {
    let label = label
        .parse()
        .map_err(|_| format!("label `{}` is not an integer", shown(label.as_bytes())))?;
    match &options.labels {
        Some(allowed) if !allowed.contains(&label) => {
            Err(format!("label {label} is outside {}..{}", allowed.start(), allowed.end()))
        }
        _ => Ok(label),
    }
}

/// Index, and whether the value is one.
fn parse_feature(field: &str, previous: usize, limit: usize) -> Checked<(usize, bool)> {
    let (index, value) = field
        .split_once(':')
        .ok_or_else(|| format!("`{}` is not index:value", shown(field.as_bytes())))?;
    let index: usize = index.parse().map_err(|_| {
        format!("feature index `{}` is not a whole number from 1 on", shown(index.as_bytes()))
    })?;
    if index == 0 || index > limit {
        return Err(format!("feature index {index} is outside 1..{limit}"));
    }
    if index <= previous {
        return Err(format!("feature index {index} after {previous}; indices must ascend"));
    }
    match value.parse::<f64>() {
        Ok(1.0) => Ok((index, true)),
        Ok(0.0) => Ok((index, false)),
        _ => Err(format!(
            "value `{}` of feature {index} is neither 0 nor 1",
            shown(value.as_bytes())
        )),
    }
}
