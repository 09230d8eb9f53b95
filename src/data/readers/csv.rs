//! Tables as text: one row a line, columns separated by commas, semicolons, tabs or spaces, with or without a line of
//! names on top; cells 0/1, -1/+1 or true/false.
//!
//! Cells become bits as they are read: a table of cells takes many times the memory of the file.

use std::path::Path;

use super::FileOptions;
use super::cells::{BYTE_ORDER_MARK, Cells, find_separator, is_record};
use super::encoding::Encoding;
use super::labels::Labels;
use super::layout::{Layout, Role, is_header, names};
use super::rows::GrowingRows;
use crate::data::content::file_name;
use crate::data::input::Input;
use crate::data::limits::{Checked, MAX_COLUMNS, check_file_shape};
use crate::data::{Dataset, Separator, Values};
use crate::error::{Error, Result};

/// A binary matrix, and the labels if the table has some.
pub(super) fn read(path: &Path, input: &mut Input<'_>, options: &FileOptions) -> Result<Dataset> {
    let error = |problem: String| Error::file(path, problem);
    if matches!(input.head(), [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
        return Err(error("is text in UTF-16: save it as UTF-8".into()));
    }
    let separator = options.separator.unwrap_or_else(|| find_separator(input.head()));
    let mut table = Table::new(separator, options);
    let (mut line, mut number) = (Vec::new(), 1);
    while input.line(&mut line, number)? {
        let text = line.strip_prefix(BYTE_ORDER_MARK).filter(|_| number == 1).unwrap_or(&line);
        // Some programs end lines with carriage returns alone.
        for record in text.split(|&byte| byte == b'\r').filter(|record| is_record(record)) {
            table
                .add(record, number)
                .map_err(|problem| error(format!("line {number}{problem}")))?;
        }
        number += 1;
    }
    let Table { layout, rows, labels, .. } = table;
    let units = layout.as_ref().map_or(0, |layout| layout.units);
    check_file_shape(path, rows.len(), units, true)?;
    let bits = rows.finish(units).map_err(error)?;
    let layout = layout.filter(|layout| layout.labelled);
    let labels = layout.as_ref().map(|_| labels.finish());
    let label_column = layout.and_then(|layout| layout.guessed_label());
    let dataset = Dataset::new(file_name(path), Values::Binary(bits), labels, None)?;
    Ok(Dataset { label_column, ..dataset })
}

/// The part of a table that was read so far.
struct Table<'a> {
    options: &'a FileOptions,
    separator: Separator,
    /// Columns of each record, once the first was seen.
    columns: Option<usize>,
    names: Vec<String>,
    /// Once the first record of data was seen.
    layout: Option<Layout>,
    encoding: Encoding,
    rows: GrowingRows,
    labels: Labels,
}

impl<'a> Table<'a> {
    fn new(separator: Separator, options: &'a FileOptions) -> Self {
        Self {
            options,
            separator,
            columns: None,
            names: Vec::new(),
            layout: None,
            encoding: Encoding::default(),
            rows: GrowingRows::default(),
            labels: Labels::default(),
        }
    }

    /// Adds a record; a problem begins with the text after the number of the line.
    fn add(&mut self, record: &[u8], line: usize) -> Checked<()> {
        let mut cells = Cells::of(record, self.separator);
        let count = cells.by_ref().count();
        if cells.open {
            return Err(": a quoted cell does not end on its line".into());
        }
        let first = self.columns.is_none();
        let expected = *self.columns.get_or_insert(count);
        if count != expected {
            return Err(format!(
                " has {count} columns, {expected} expected, as in the first; they are separated by {}s",
                self.separator.name()
            ));
        }
        if count > MAX_COLUMNS {
            return Err(format!(" has more than {MAX_COLUMNS} columns"));
        }
        if first && is_header(record, self.separator) {
            self.names = names(record, self.separator);
            return Ok(());
        }
        let layout = match &mut self.layout {
            Some(layout) => layout,
            none => {
                let names = std::mem::take(&mut self.names);
                let layout = Layout::new(names, count, self.options);
                none.insert(layout.map_err(|problem| format!(": {problem}"))?)
            }
        };
        let words = self.rows.push(layout.units).map_err(|problem| format!(": {problem}"))?;
        for (column, cell) in Cells::of(record, self.separator).enumerate() {
            let told = |problem| format!(", column {}: {problem}", layout.name(column));
            match layout.roles[column] {
                Role::Unused => {}
                Role::Label => self.labels.push(cell).map_err(told)?,
                Role::Unit(unit) => {
                    let bit = self.encoding.bit(cell, (line, column + 1)).map_err(told)?;
                    words[unit / 64] |= u64::from(bit) << (unit % 64);
                }
            }
        }
        Ok(())
    }
}
