//! LIBSVM text (Chang and Lin 2011): `label index:value index:value ...`, indices from 1, zeros left out.

use std::path::Path;

use super::FileOptions;
use crate::data::content::file_name;
use crate::data::limits::{Checked, MAX_COLUMNS, check_file_shape};
use crate::data::{Dataset, Values};
use crate::error::{Error, Result};
use crate::ops::BitMatrix;

/// Rows of values 0 and 1 with integer labels. Blank lines and everything after `#` are passed over.
pub(super) fn read(path: &Path, bytes: &[u8], options: &FileOptions) -> Result<Dataset> {
    let limit = options.columns.unwrap_or(MAX_COLUMNS);
    let (mut labels, mut ends, mut ones) = (Vec::new(), Vec::new(), Vec::new());
    let mut largest = 0;
    for (number, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        let error = |problem| Error::file(path, format!("line {}: {problem}", number + 1));
        let line = std::str::from_utf8(line).map_err(|_| error("is not text".into()))?;
        let line = line.split('#').next().unwrap_or_default();
        let mut fields = line.split_ascii_whitespace();
        let Some(label) = fields.next() else { continue };
        labels.push(parse_label(label, options).map_err(error)?);
        let mut previous = 0;
        for field in fields {
            let (index, is_one) = parse_feature(field, previous, limit).map_err(error)?;
            if is_one {
                ones.push(index as u32 - 1);
            }
            previous = index;
        }
        largest = largest.max(previous);
        ends.push(ones.len());
    }
    let columns = options.columns.unwrap_or(largest);
    check_file_shape(path, labels.len(), columns, true)?;
    let mut bits = BitMatrix::zeros(labels.len(), columns);
    let mut start = 0;
    for (row, end) in ends.into_iter().enumerate() {
        ones[start..end].iter().for_each(|&column| bits.set(row, column as usize, true));
        start = end;
    }
    Dataset::new(file_name(path), Values::Binary(bits), Some(labels), None)
}

fn parse_label(label: &str, options: &FileOptions) -> Checked<i64> {
    let label = label.parse().map_err(|_| format!("label `{label}` is not an integer"))?;
    match &options.labels {
        Some(allowed) if !allowed.contains(&label) => {
            Err(format!("label {label} is outside {}..{}", allowed.start(), allowed.end()))
        }
        _ => Ok(label),
    }
}

/// Index, and whether the value is one.
fn parse_feature(field: &str, previous: usize, limit: usize) -> Checked<(usize, bool)> {
    let (index, value) =
        field.split_once(':').ok_or_else(|| format!("`{field}` is not index:value"))?;
    let index: usize = index
        .parse()
        .map_err(|_| format!("feature index `{index}` is not a whole number from 1 on"))?;
    if index == 0 || index > limit {
        return Err(format!("feature index {index} is outside 1..{limit}"));
    }
    if index <= previous {
        return Err(format!("feature index {index} after {previous}; indices must ascend"));
    }
    match value.parse::<f64>() {
        Ok(1.0) => Ok((index, true)),
        Ok(0.0) => Ok((index, false)),
        _ => Err(format!("value `{value}` of feature {index} is neither 0 nor 1")),
    }
}
