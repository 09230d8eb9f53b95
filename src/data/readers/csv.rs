//! Tables as text: one row a line, columns separated by commas, semicolons, tabs or spaces, with or without a line of
//! names on top; cells 0/1, -1/+1 or true/false, or categories.
//!
//! Cells become bits as they are read: a table of cells takes many times the memory of the file. Where a cell is a category, the file is
//! read again, by [`read_states`].

use std::ops::Range;
use std::path::Path;

use super::FileOptions;
use super::cells::{BYTE_ORDER_MARK, Cells, find_separator, is_record};
use super::encoding::{Encoding, is_category, is_missing};
use super::labels::Labels;
use super::layout::{Layout, Role, is_header, names};
use super::rows::GrowingRows;
use super::states::StateRows;
use crate::data::content::file_name;
use crate::data::input::Input;
use crate::data::limits::{Checked, MAX_COLUMNS, check_file_shape};
use crate::data::{Dataset, Separator, Values};
use crate::engine::BitMatrix;
use crate::error::{Error, Result};

/// A binary matrix, and the labels if the table has some; `None` where cells hold other values than those of bits, which [`read_states`] reads.
pub(super) fn read(
    path: &Path,
    input: &mut Input<'_>,
    options: &FileOptions,
) -> Result<Option<Dataset>> {
    if options.categories.is_some() {
        return Ok(None);
    }
    let mut table = Table::new(Units::Bits(GrowingRows::default(), Encoding::default()), options);
    if !table.fill(path, input)? {
        return Ok(None);
    }
    let Table { layout, units, labels, missing, .. } = table;
    let columns = layout.as_ref().map_or(0, |layout| layout.units);
    let Units::Bits(rows, _) = units else { return Ok(None) };
    check_file_shape(path, rows.len(), columns, true)?;
    let bits = rows.finish(columns).map_err(|problem| Error::file(path, problem))?;
    let cells = cells_of(&missing, bits.rows(), columns, |unit| unit..unit + 1);
    Ok(Some(Dataset { missing: cells, ..dataset(path, bits, layout, labels)? }))
}

/// The missing cells, (row, unit column of the table) each, as a matrix of units; `units`: those of a column.
fn cells_of(
    missing: &[(usize, usize)],
    rows: usize,
    columns: usize,
    units: impl Fn(usize) -> Range<usize>,
) -> Option<BitMatrix> {
    let mut cells = (!missing.is_empty()).then(|| BitMatrix::zeros(rows, columns))?;
    for &(row, column) in missing {
        units(column).for_each(|unit| cells.set(row, unit, true));
    }
    Some(cells)
}

/// The same of a table whose cells hold categories.
pub(super) fn read_states(
    path: &Path,
    input: &mut Input<'_>,
    options: &FileOptions,
) -> Result<Dataset> {
    let states = StateRows::new(options.categories.clone());
    let mut table = Table::new(Units::States(states), options);
    table.fill(path, input)?;
    let Table { mut layout, units, labels, header, missing, .. } = table;
    let (Units::States(rows), Some(found)) = (units, &mut layout) else {
        return Err(Error::file(path, "has no rows"));
    };
    let unit = |column: usize| match found.roles[column] {
        Role::Unit(unit) => Some((unit, header[column].as_slice())),
        _ => None,
    };
    if rows.know((0..header.len()).filter_map(unit)) {
        return Err(Error::file(
            path,
            "its first line looks like a row, not like the names of the columns: add a line of names on top",
        ));
    }
    check_file_shape(path, rows.len(), found.units, true)?;
    let (bits, categories) = rows.finish(found).map_err(|problem| Error::file(path, problem))?;
    let cells = cells_of(&missing, bits.rows(), bits.columns(), |column| categories.range(column));
    let dataset = dataset(path, bits, layout, labels)?;
    Ok(Dataset { categories: Some(categories), missing: cells, ..dataset })
}

fn dataset(
    path: &Path,
    bits: BitMatrix,
    layout: Option<Layout>,
    labels: Labels,
) -> Result<Dataset> {
    let layout = layout.filter(|layout| layout.labelled);
    let labels = layout.as_ref().map(|_| labels.finish());
    let label_column = layout.and_then(|layout| layout.guessed_label());
    let dataset = Dataset::new(file_name(path), Values::Binary(bits), labels, None)?;
    Ok(Dataset { label_column, ..dataset })
}

/// The units of the rows read so far.
enum Units {
    Bits(GrowingRows, Encoding),
    States(StateRows),
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
    /// The cells of the units in the line of names.
    header: Vec<Vec<u8>>,
    units: Units,
    labels: Labels,
    /// Row and unit column of the missing cells, where the caller allows them.
    missing: Vec<(usize, usize)>,
    rows: usize,
}

impl<'a> Table<'a> {
    fn new(units: Units, options: &'a FileOptions) -> Self {
        Self {
            options,
            separator: Separator::Comma,
            columns: None,
            names: Vec::new(),
            layout: None,
            header: Vec::new(),
            units,
            labels: Labels::default(),
            missing: Vec::new(),
            rows: 0,
        }
    }

    /// Reads all records; false where a cell holds no bit and the table may have categories.
    fn fill(&mut self, path: &Path, input: &mut Input<'_>) -> Result<bool> {
        let error = |problem: String| Error::file(path, problem);
        if matches!(input.head(), [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
            return Err(error("is text in UTF-16: save it as UTF-8".into()));
        }
        self.separator = self.options.separator.unwrap_or_else(|| find_separator(input.head()));
        let (mut line, mut number) = (Vec::new(), 1);
        while input.line(&mut line, number)? {
            let text = line.strip_prefix(BYTE_ORDER_MARK).filter(|_| number == 1).unwrap_or(&line);
            // Some programs end lines with carriage returns alone.
            for record in text.split(|&byte| byte == b'\r').filter(|record| is_record(record)) {
                let added = self.add(record, number);
                if !added.map_err(|problem| error(format!("line {number}{problem}")))? {
                    return Ok(false);
                }
            }
            number += 1;
        }
        Ok(true)
    }

    /// Adds a record; false where a cell holds no bit and the table may have categories. A problem begins with the text after the number of
    /// the line.
    fn add(&mut self, record: &[u8], line: usize) -> Checked<bool> {
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
            self.header = Cells::of(record, self.separator).map(<[u8]>::to_vec).collect();
            return Ok(true);
        }
        let layout = match &mut self.layout {
            Some(layout) => layout,
            none => {
                let names = std::mem::take(&mut self.names);
                let layout = Layout::new(names, count, self.options);
                none.insert(layout.map_err(|problem| format!(": {problem}"))?)
            }
        };
        // Files beside a table of bits, whose number of columns is given, are tables of bits.
        let only_bits = self.options.columns.is_some();
        let (mut bits, mut states) = match &mut self.units {
            Units::Bits(rows, encoding) => {
                let words = rows.push(layout.units).map_err(|problem| format!(": {problem}"))?;
                (Some((words, encoding)), None)
            }
            Units::States(rows) => {
                rows.begin(layout.units).map_err(|problem| format!(": {problem}"))?;
                (None, Some(rows))
            }
        };
        for (column, cell) in Cells::of(record, self.separator).enumerate() {
            let told = |problem| format!(", column {}: {problem}", layout.name(column));
            let place = (line, column + 1);
            match layout.roles[column] {
                Role::Unused => {}
                Role::Label => self.labels.push(cell).map_err(told)?,
                Role::Unit(unit) if self.options.missing && is_missing(cell) => {
                    self.missing.push((self.rows, unit));
                }
                Role::Unit(unit) => {
                    if let Some(rows) = &mut states {
                        rows.push(unit, cell, place).map_err(told)?;
                    } else if let Some((words, encoding)) = &mut bits {
                        if !only_bits && is_category(cell) {
                            return Ok(false);
                        }
                        let bit = encoding.bit(cell, place).map_err(told)?;
                        words[unit / 64] |= u64::from(bit) << (unit % 64);
                    }
                }
            }
        }
        self.rows += 1;
        Ok(true)
    }
}
