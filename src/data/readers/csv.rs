//! Tables as text: one row a line, columns separated by commas, semicolons, tabs or spaces, with or without a line of
//! names on top; cells 0/1, -1/+1 or true/false, grey levels, or categories.
//!
//! Cells become bits as they are read: a table of cells takes many times the memory of the file. Where a cell is no bit, the file is read
//! again, by [`read_levels`] or [`read_states`].

use std::ops::Range;
use std::path::Path;

use super::FileOptions;
use super::cells::{BYTE_ORDER_MARK, Cells, find_separator, is_empty_row, is_record};
use super::encoding::{Encoding, is_category, is_glued, is_missing, level, pointed, weight};
use super::labels::Labels;
use super::layout::{Layout, Role, is_header, names};
use super::levels::Levels;
use super::missing::Missing;
use super::rows::GrowingRows;
use super::states::StateRows;
use crate::data::content::file_name;
use crate::data::input::Input;
use crate::data::limits::{Checked, MAX_COLUMNS, check_file_shape};
use crate::data::{Dataset, Separator, Values};
use crate::engine::BitMatrix;
use crate::error::{Error, Result};
use crate::units::Variables;

/// Bytes of empty rows that are kept until it is known whether they are the last.
const MOST_EMPTY: usize = 16 << 20;

/// A binary matrix, and the labels if the table has some; `None` where cells hold other values than those of bits, which the other two read.
pub(super) fn read(
    path: &Path,
    input: &mut Input<'_>,
    options: &FileOptions,
) -> Result<Option<Dataset>> {
    if options.categories.is_some() {
        return Ok(None);
    }
    let (mut rows, mut encoding) = (GrowingRows::default(), Encoding::default());
    let mut table = Table::new(options);
    if !table.fill(path, input, &mut Units::Bits(&mut rows, &mut encoding))? {
        return Ok(None);
    }
    let columns = table.layout.as_ref().map_or(0, |layout| layout.units);
    check_file_shape(path, rows.len(), columns, true)?;
    let bits = rows.finish(columns).map_err(|problem| Error::file(path, problem))?;
    let missing = table.missing_cells(columns, |unit| unit..unit + 1);
    let dataset = table.dataset(path, Values::Binary(bits))?;
    let plus_minus = encoding.words(false)[0] == "-1";
    Ok(Some(Dataset { plus_minus, missing, ..dataset }))
}

/// The same of a table whose cells hold grey levels.
pub(super) fn read_levels(
    path: &Path,
    input: &mut Input<'_>,
    options: &FileOptions,
) -> Result<Dataset> {
    let mut levels = Levels::new(options.white, None);
    let mut table = Table::new(options);
    table.fill(path, input, &mut Units::Grey(&mut levels))?;
    let columns = table.layout(path)?.units;
    let (values, plus_minus) =
        levels.finish(columns, false).map_err(|problem| Error::file(path, problem))?;
    let missing = table.missing_cells(columns, |unit| unit..unit + 1);
    Ok(Dataset { plus_minus, missing, ..table.dataset(path, values)? })
}

/// The same of a table of numbers, some of whose columns are real.
pub(super) fn read_numbers(
    path: &Path,
    input: &mut Input<'_>,
    options: &FileOptions,
    variables: &Variables,
) -> Result<Dataset> {
    let grey = FileOptions { grey: true, ..options.clone() };
    let mut cells = Vec::new();
    let mut table = Table::new(&grey);
    table.fill(path, input, &mut Units::Numbers(&mut cells))?;
    let columns = table.layout(path)?.units;
    let (name, missing) = (file_name(path), &table.missing.cells);
    let numbers = Dataset::of_numbers(&name, columns, &cells, variables, missing)?;
    let dataset = table.dataset(path, numbers.values)?;
    Ok(Dataset { missing: numbers.missing, reals: numbers.reals, ..dataset })
}

/// The same of a table whose cells hold categories, and numbers beside them where some columns are real.
pub(super) fn read_states(
    path: &Path,
    input: &mut Input<'_>,
    options: &FileOptions,
) -> Result<Dataset> {
    let mut rows = StateRows::new(options);
    let mut table = Table::new(options);
    table.fill(path, input, &mut Units::States(&mut rows))?;
    let layout = table.layout(path)?;
    let header = table.header.iter().flat_map(|record| Cells::of(record, table.separator));
    let names = layout.roles.iter().zip(header).filter_map(|(role, name)| match role {
        Role::Unit(unit) => Some((*unit, name)),
        _ => None,
    });
    if rows.know(names) {
        return Err(Error::file(
            path,
            "its first line looks like a row, not like the names of the columns: add a line of names on top",
        ));
    }
    check_file_shape(path, rows.len(), layout.units, true)?;
    let found = rows.finish(layout).map_err(|problem| Error::file(path, problem))?;
    let super::states::Units { bits, categories, reals } = found;
    let missing = table.missing_cells(bits.columns(), |column| categories.range(column));
    let dataset = table.dataset(path, Values::Binary(bits))?;
    Ok(Dataset { categories: Some(categories), titles: Vec::new(), missing, reals, ..dataset })
}

/// What tables with real columns hold.
const NUMBERS: &str = "in a table of real numbers (data.variables) categories are columns of 0 and 1; data.variables = \"mixed\" (--set data.variables=mixed) takes columns of words as categories";

/// Where the units of the rows go.
enum Units<'a> {
    Bits(&'a mut GrowingRows, &'a mut Encoding),
    States(&'a mut StateRows),
    Grey(&'a mut Levels),
    Numbers(&'a mut Vec<f64>),
}

/// The part of a table that was read so far, beside its units.
struct Table<'a> {
    options: &'a FileOptions,
    separator: Separator,
    /// Columns of each record, once the first was seen.
    columns: Option<usize>,
    /// The line of names, if there is one.
    header: Option<Vec<u8>>,
    /// Once the first record of data was seen.
    layout: Option<Layout>,
    labels: Labels,
    weights: Vec<f64>,
    missing: Missing,
    rows: usize,
}

impl<'a> Table<'a> {
    fn new(options: &'a FileOptions) -> Self {
        Self {
            options,
            separator: Separator::Comma,
            columns: None,
            header: None,
            layout: None,
            labels: Labels::default(),
            weights: Vec::new(),
            missing: Missing::default(),
            rows: 0,
        }
    }

    /// Reads all records; false where a cell holds no bit and the table may have categories.
    fn fill(&mut self, path: &Path, input: &mut Input<'_>, units: &mut Units<'_>) -> Result<bool> {
        let error = |problem: String| Error::file(path, problem);
        if matches!(input.head(), [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
            return Err(error("is text in UTF-16: save it as UTF-8".into()));
        }
        self.separator = self.options.separator.unwrap_or_else(|| find_separator(input.head()));
        let (mut line, mut number) = (Vec::new(), 1 + input.before());
        // Lines of empty cells, which are rows if others follow.
        let (mut empty, mut held) = (Vec::new(), 0);
        while input.line(&mut line, number)? {
            let text = line.strip_prefix(BYTE_ORDER_MARK).filter(|_| number == 1).unwrap_or(&line);
            if self.rows > 0 && empty.len() < MOST_EMPTY && is_empty_row(text, self.separator) {
                empty.extend_from_slice(text);
                empty.push(b'\n');
                held += 1;
            } else {
                let lines = empty.split(|&byte| byte == b'\n').take(held).chain([text]);
                for (number, text) in (number - held..).zip(lines) {
                    // Some programs end lines with carriage returns alone.
                    let records = text.split(|&byte| byte == b'\r');
                    for record in records.filter(|record| is_record(record)) {
                        if !self.add(record, number, units).map_err(error)? {
                            return Ok(false);
                        }
                    }
                }
                empty.clear();
                held = 0;
            }
            number += 1;
        }
        let refused =
            self.layout.as_ref().map_or(Ok(()), |layout| self.missing.refuse(layout, self.rows));
        refused.map(|()| true).map_err(error)
    }

    /// Adds a record; false where a cell holds no bit and the table may have categories.
    fn add(&mut self, record: &[u8], line: usize, units: &mut Units<'_>) -> Checked<bool> {
        let at = |problem: &str| format!("line {line}{problem}");
        let mut cells = Cells::of(record, self.separator);
        let (count, last) =
            cells.by_ref().fold((0, &b""[..]), |(count, _), cell| (count + 1, cell));
        if cells.open {
            return Err(at(": a quoted cell does not end on its line"));
        }
        let numbers = self.options.reals.is_some() || self.options.mixed;
        if self.rows == 0 && count == 1 && !numbers && is_glued(last) {
            return Err(at(
                ": its zeros and ones are one cell: put a comma or a space between them",
            ));
        }
        let first = self.columns.is_none();
        let expected = *self.columns.get_or_insert(count);
        if count == expected + 1 && self.layout.is_none() && self.header.is_some() {
            let separator = self.separator.name();
            return Err(at(&match last.is_empty() {
                true => format!(
                    " ends with a {separator}, and so has one cell more than the line of names: delete the {separator} at the end of each line"
                ),
                false => " has one cell more than the line of names, as tables of R have with names of rows: write it with row.names=FALSE, or put a name for the first column on top".into(),
            }));
        }
        if count != expected {
            return Err(at(&format!(
                " has {count} columns, {expected} expected, as in the first; they are separated by {}s",
                self.separator.name()
            )));
        }
        if count > MAX_COLUMNS {
            return Err(at(&format!(" has more than {MAX_COLUMNS} columns")));
        }
        if first && is_header(record, self.separator, self.options.grey) {
            self.header = Some(record.to_vec());
            return Ok(true);
        }
        let layout = match &mut self.layout {
            Some(layout) => layout,
            none => {
                let names = self.header.as_ref().map(|record| names(record, self.separator));
                none.insert(Layout::new(names.unwrap_or_default(), count, self.options)?)
            }
        };
        // Files beside a table of bits, whose number of columns is given, are tables of bits.
        let only_bits = self.options.columns.is_some() && !self.options.grey;
        // Where the row begins among levels and numbers.
        let start = self.rows * layout.units;
        match units {
            Units::Bits(rows, _) => rows.push(layout.units).map(|_| ()),
            Units::States(rows) => rows.begin(layout.units),
            Units::Grey(levels) => levels.grow(layout.units).map(|_| ()),
            Units::Numbers(cells) => {
                cells.resize(start + layout.units, 0.0);
                Ok(())
            }
        }
        .map_err(|problem| at(&format!(": {problem}")))?;
        for (column, cell) in Cells::of(record, self.separator).enumerate() {
            let told = |problem| at(&format!(", column {}: {problem}", layout.name(column)));
            let place = (line, column + 1);
            let cell = &*pointed(cell, self.separator);
            match layout.roles[column] {
                Role::Unused => {}
                Role::Label => self.labels.push(cell).map_err(told)?,
                Role::Weight => self.weights.push(weight(cell).map_err(told)?),
                Role::Unit(unit) if is_missing(cell) => match self.options.missing {
                    true => self.missing.cells.push((self.rows, unit)),
                    false => self.missing.count(place),
                },
                Role::Unit(unit) => match units {
                    Units::Bits(..) if !only_bits && is_category(cell) => return Ok(false),
                    Units::Bits(rows, encoding) => {
                        let bit = encoding.bit(cell, place).map_err(told)?;
                        rows.last()[unit / 64] |= u64::from(bit) << (unit % 64);
                    }
                    Units::States(rows) => rows.push(unit, cell, place).map_err(told)?,
                    Units::Numbers(cells) => {
                        let number =
                            |_| format!("`{}` is no number: {NUMBERS}", cell.escape_ascii());
                        let text = std::str::from_utf8(cell).unwrap_or("");
                        cells[start + unit] = text.parse().map_err(number).map_err(told)?;
                    }
                    Units::Grey(levels) => {
                        let set = level(cell).and_then(|x| levels.set(start + unit, x));
                        set.map_err(told)?;
                    }
                },
            }
        }
        self.rows += 1;
        Ok(true)
    }

    /// How its columns are used.
    fn layout(&self, path: &Path) -> Result<&Layout> {
        self.layout.as_ref().ok_or_else(|| Error::file(path, "has no rows"))
    }

    /// The missing cells as a matrix of so many columns, if there are any; `units`: the columns of a unit column of the table.
    fn missing_cells(
        &self,
        columns: usize,
        units: impl Fn(usize) -> Range<usize>,
    ) -> Option<BitMatrix> {
        let missing = &self.missing.cells;
        let mut cells = (!missing.is_empty()).then(|| BitMatrix::zeros(self.rows, columns))?;
        for &(row, column) in missing {
            units(column).for_each(|unit| cells.set(row, unit, true));
        }
        Some(cells)
    }

    /// The rows as a data set with these values.
    fn dataset(self, path: &Path, values: Values) -> Result<Dataset> {
        let Self { labels, weights, layout: Some(layout), .. } = self else {
            return Err(Error::file(path, "has no rows"));
        };
        let labels = layout.roles.contains(&Role::Label).then(|| labels.finish());
        let dataset = Dataset::new(file_name(path), values, labels, None)?;
        let (label_column, titles) = (layout.guessed_label(), layout.unit_titles());
        let dataset = Dataset { label_column, titles, ..dataset };
        match layout.roles.contains(&Role::Weight) {
            true => dataset.weighted(weights),
            false => Ok(dataset),
        }
    }
}
