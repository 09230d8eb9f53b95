//! A text table with its missing cells filled in, all else as it is.

use std::borrow::Cow;
use std::path::Path;

use super::FileOptions;
use super::cells::{BYTE_ORDER_MARK, Cells, find_separator, is_empty_row, is_record};
use super::encoding::{Encoding, is_missing, number, pointed};
use super::layout::{Layout, Role, is_header, names};
use crate::data::input::Input;
use crate::error::{Error, Result};

/// The text of a table, in which `value` gives that of each missing cell: its row, and its column among the units. `0` and `1` are written
/// as the other cells of a column of bits are: -1 and 1, false and true.
///
/// # Errors
/// A file that cannot be read, or whose columns [`super::load_file`] refuses.
pub fn refill(
    path: &Path,
    options: &FileOptions,
    mut value: impl FnMut(usize, usize) -> String,
) -> Result<Vec<u8>> {
    let mut input = Input::open(path)?;
    if input.head().starts_with(b"PAR1") {
        return Err(Error::file(
            path,
            "is a Parquet file, and filled cells are written into text tables: write .npy",
        ));
    }
    let separator = options.separator.unwrap_or_else(|| find_separator(input.head()));
    let text = input.rest()?;
    let all = || text.split_inclusive(|byte| matches!(byte, b'\n' | b'\r'));
    let is_row = |line| is_record(cells_of(line)) && !is_empty_row(cells_of(line), separator);
    // Empty rows at the end are no rows.
    let count = all().enumerate().filter(|(_, line)| is_row(line)).last().map_or(0, |(i, _)| i + 1);
    let lines = || all().take(count);
    let first = lines().map(cells_of).find(|record| is_record(record));
    let first = first.ok_or_else(|| Error::file(path, "has no rows"))?;
    let header = is_header(first, separator, options.grey);
    let titles = if header { names(first, separator) } else { Vec::new() };
    let layout = Layout::new(titles, Cells::of(first, separator).count(), options)
        .map_err(|problem| Error::file(path, problem))?;
    let unit = |(cell, role)| if let Role::Unit(unit) = role { Some((unit, cell)) } else { None };
    let units =
        |record| Cells::of(record, separator).zip(layout.roles.iter().copied()).filter_map(unit);

    // `None` for a column that holds more than bits.
    let mut encodings: Vec<_> = (0..layout.units).map(|_| Some(Encoding::default())).collect();
    let (mut decimal_commas, mut spelling) = (false, &b"true"[..]);
    let records = || lines().map(cells_of).filter(|record| is_record(record));
    for (unit, cell) in records().skip(usize::from(header)).flat_map(units) {
        decimal_commas |= matches!(pointed(cell, separator), Cow::Owned(_));
        if [&b"true"[..], b"false"].iter().any(|word| cell.eq_ignore_ascii_case(word)) {
            spelling = cell;
        }
        let known = encodings[unit].as_mut().filter(|_| !is_missing(cell));
        if known.is_some_and(|encoding| encoding.bit(cell, (0, 0)).is_err()) {
            encodings[unit] = None;
        }
    }
    let minus = encodings.iter().flatten().any(|encoding| encoding.words(false)[0] == "-1");
    // True and TRUE as other cells write them.
    let spelled = |word: &str| {
        let upper = |at: usize| spelling[at].is_ascii_uppercase();
        let end = if upper(1) { word.len() } else { usize::from(upper(0)) };
        word[..end].to_uppercase() + &word[end..]
    };
    let written = |unit: usize, text: String| match (&encodings[unit], text.as_str()) {
        (Some(encoding), "0") => spelled(encoding.words(minus)[0]),
        (Some(encoding), "1") => spelled(encoding.words(minus)[1]),
        _ if decimal_commas && number(text.as_bytes()).is_some() => text.replace('.', ","),
        _ => text,
    };

    let (mut out, mut row, mut below_header) = (Vec::with_capacity(text.len()), 0, !header);
    for line in lines() {
        let record = cells_of(line);
        let mut done = 0;
        if is_record(record) && std::mem::replace(&mut below_header, true) {
            for (unit, cell) in units(record).filter(|(_, cell)| is_missing(cell)) {
                // A cell is a part of its line.
                let start = (cell.as_ptr() as usize).saturating_sub(line.as_ptr() as usize);
                out.extend(&line[done..start]);
                out.extend(written(unit, value(row, unit)).into_bytes());
                done = start + cell.len();
            }
            row += 1;
        }
        out.extend(&line[done..]);
    }
    all().skip(count).for_each(|line| out.extend(line));
    Ok(out)
}

/// The cells of a line, without its end and a byte order mark.
fn cells_of(line: &[u8]) -> &[u8] {
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    line.strip_suffix(b"\n").or(line.strip_suffix(b"\r")).unwrap_or(line)
}
