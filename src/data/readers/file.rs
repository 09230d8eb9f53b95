//! The reader of a file: by content, and by name if the content is not specific.

use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

use super::cells::{BYTE_ORDER_MARK, Cells, find_separator, first_records, is_record};
use super::encoding::{is_glued, is_value};
use super::layout::{Layout, is_header, names};
use super::npz::{Part, array_of};
use super::{Index, csv, fasta, idx, libsvm, npy, npy_header, npz};
use crate::data::input::{Form, Input};
use crate::data::{Alphabet, Categories, Column, Dataset, Separator};
use crate::error::{Error, Result};
use crate::units::Variables;

/// `data.variables` of tables in which each column is what its cells show: bits, categories or real numbers.
pub const MIXED: &str = "mixed";

/// Options of the caller.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileOptions {
    /// Number of columns of the file. LIBSVM text needs it if the last columns can be all zero; without it, the largest index in the file
    /// counts.
    pub columns: Option<usize>,
    /// Allowed labels, if the file has labels.
    pub labels: Option<RangeInclusive<i64>>,
    /// The column of a text table that holds the labels; without it, the one named `label`, `class` or `target`.
    pub label: Option<Column>,
    /// The columns of a text table that become units, in this order; without it, all but the labels.
    pub chosen: Option<Vec<Column>>,
    /// Names of the columns of the training rows, if they have some: in a table with names, its columns are found by these, or it is refused.
    pub titles: Vec<String>,
    /// The separator of the columns of a text table; by default, that of its first lines.
    pub separator: Option<Separator>,
    /// The column of a text table that holds the weights of the rows; [`load`](crate::data::load_as) also takes the path of a file of weights.
    pub weights: Option<Column>,
    /// The alphabet of sequences; by default, the one their letters show.
    pub alphabet: Option<Alphabet>,
    /// Whether the numbers of a table are grey levels, which are binarized later.
    pub grey: bool,
    /// The grey level that is white; by default, 255 where levels are whole numbers and 1 where they are fractions.
    pub white: Option<f64>,
    /// Whether the columns of a table get one more state, [`UNSEEN`](crate::data::UNSEEN), for values that this file does not have.
    pub unseen: bool,
    /// The states of the columns of a text table, as the training rows have them; by default, those of the file.
    pub categories: Option<Arc<Categories>>,
    /// Whether cells of a text table may be missing (empty, NA, ?): [`Dataset::missing`].
    pub missing: bool,
    /// What the columns stand for, where some are real: cells are numbers then ([`Dataset::of_numbers`]), unless there are categories.
    pub reals: Option<Variables>,
    /// Whether columns of a text table are real where their numbers are many or do not repeat ([`MIXED`]).
    pub mixed: bool,
    /// The array of an npz file, which a path may also name after a colon; by default, the only one or the one named as `part`.
    pub array: Option<String>,
    /// The part of the data that is read.
    pub part: Part,
}

/// Reads a data file: IDX, npy, npz, LIBSVM text, a text table (CSV), Parquet (with the feature `parquet`) or aligned sequences (FASTA,
/// A3M), each plain or gzipped. `file.npz:array` is an array of an npz file.
///
/// A table of 0/1 (or -1/+1, true/false) has a unit a column. Where cells hold other values, each column is a categorical variable with a
/// state, a one-hot unit, for each of its values.
///
/// Labels of IDX images come from the label file beside them, where there is one (see `datasets/README.md`).
///
/// # Errors
/// [`Error::Io`] where the file cannot be read, [`Error::File`] with the place and the remedy where its content is
/// not sound.
pub fn load_file(path: &Path, options: &FileOptions) -> Result<Dataset> {
    if let (file, Some(array)) = array_of(path) {
        return load_file(&file, &FileOptions { array: Some(array), ..options.clone() });
    }
    let mut dataset = read(path, &|| Input::open(path), options)?;
    if dataset.labels.is_none() && dataset.image.is_some() {
        dataset.labels = idx::labels_beside(path, dataset.rows(), options)?;
    }
    Ok(dataset)
}

/// Reads a data file from bytes, already decompressed; `path` gives the name and serves for messages.
pub fn read_bytes(path: &Path, bytes: Vec<u8>, options: &FileOptions) -> Result<Dataset> {
    let open = || Input::new(path, std::io::Cursor::new(&bytes[..]), Form::Plain);
    read(path, &open, options)
}

/// `open` opens the file, a second time if it is a table of other cells than bits.
fn read<'a>(
    path: &Path,
    open: &dyn Fn() -> Result<Input<'a>>,
    options: &FileOptions,
) -> Result<Dataset> {
    let input = open()?;
    if input.head().is_empty() {
        return Err(Error::file(path, "is empty"));
    }
    let Some(format) = format_of(path, input.head()) else {
        return Err(Error::file(
            path,
            "is in no known format; IDX (MNIST), npy, npz, LIBSVM text, text tables (CSV), Parquet and aligned sequences (FASTA, A3M) are read, plain or gzipped",
        ));
    };
    read_as(format, path, open, options)
}

/// The same of a file of a known format.
pub(super) fn read_as<'a>(
    format: Format,
    path: &Path,
    open: &dyn Fn() -> Result<Input<'a>>,
    options: &FileOptions,
) -> Result<Dataset> {
    if !matches!(format, Format::Csv) {
        let table = matches!(format, Format::Parquet);
        let arrays = matches!(format, Format::Npy | Format::Npz);
        let given = [
            ("`separator`", options.separator.is_some()),
            ("`label`", options.label.is_some() && !table),
            ("`columns`", options.chosen.is_some() && !table),
            ("a column of weights", options.weights.is_some() && !table),
            ("`white`", options.white.is_some() && !table && !arrays),
        ];
        if let Some((option, _)) = given.into_iter().find(|(_, given)| *given) {
            let problem = format!("{option} is for text tables such as CSV, which this is not");
            return Err(Error::file(path, problem));
        }
    }
    if options.reals.is_some()
        && !matches!(format, Format::Csv | Format::Npy | Format::Npz | Format::Parquet)
    {
        let problem = "real variables (data.variables) are read from text tables such as CSV, Parquet and numpy arrays, which this is not";
        return Err(Error::file(path, problem));
    }
    if options.mixed && !matches!(format, Format::Csv | Format::Parquet) {
        let problem = "data.variables = \"mixed\" is for text tables such as CSV and for Parquet, which this is not; real numbers of an array are read by \"real\"";
        return Err(Error::file(path, problem));
    }
    let dataset = match format {
        Format::Idx => idx::read(path, &mut open()?),
        Format::Npy => npy::read(path, &mut open()?, options),
        Format::Npz => npz::read(path, &mut open()?, options),
        Format::Libsvm => libsvm::read(path, &mut open()?, options),
        Format::Fasta => fasta::read(path, &mut open()?, options),
        Format::Csv => table(path, open, options),
        #[cfg(feature = "parquet")]
        Format::Parquet => {
            let text = || super::parquet::text(path, open()?.rest()?);
            table(path, &text, &with_commas(options))
        }
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => Err(Error::file(
            path,
            "is a Parquet file, which this build does not read: install with `--features parquet`, or write it as CSV, in Python pandas.read_parquet(\"x.parquet\").to_csv(\"x.csv\", index=False)",
        )),
    }?;
    match options.columns {
        Some(columns) if columns != dataset.columns() => {
            Err(Error::file(path, format!("has {} columns, {columns} expected", dataset.columns())))
        }
        _ => Ok(dataset),
    }
}

/// A text table: bits, else grey levels where they are expected, else categories.
fn table<'a>(
    path: &Path,
    open: &dyn Fn() -> Result<Input<'a>>,
    options: &FileOptions,
) -> Result<Dataset> {
    let index = || match Index::find(&mut open()?, options)? {
        Some(index) => Err(Error::file(path, index.text())),
        None => Ok(()),
    };
    if let (Some(variables), None) = (&options.reals, &options.categories) {
        index()?;
        return csv::read_numbers(path, &mut open()?, options, variables);
    }
    match csv::read(path, &mut open()?, options)? {
        Some(dataset) => Ok(dataset),
        None if options.grey => csv::read_levels(path, &mut open()?, options),
        None => {
            index()?;
            csv::read_states(path, &mut open()?, options)
        }
    }
}

/// The text of a table in a file, and how it is read; `None` for a file of another format.
pub(super) fn open_table<'a>(
    path: &'a Path,
    options: &FileOptions,
) -> Result<Option<(Input<'a>, FileOptions)>> {
    if array_of(path).1.is_some() {
        return Ok(None);
    }
    let input = Input::open(path)?;
    match format_of(path, input.head()) {
        Some(Format::Csv) => Ok(Some((input, options.clone()))),
        #[cfg(feature = "parquet")]
        Some(Format::Parquet) => {
            let text = super::parquet::text(path, { input }.rest()?)?;
            Ok(Some((text, with_commas(options))))
        }
        _ => Ok(None),
    }
}

/// Whether a file is a text table with the columns that are chosen, so many of them.
///
/// # Errors
/// A file that cannot be read.
pub fn has_columns(path: &Path, options: &FileOptions, units: usize) -> Result<bool> {
    let Some((mut input, options)) = open_table(path, options)? else { return Ok(false) };
    let separator = options.separator.unwrap_or_else(|| find_separator(input.head()));
    let mut line = Vec::new();
    while input.line(&mut line, 1)? {
        let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line);
        if let Some(record) = line.split(|&byte| byte == b'\r').find(|record| is_record(record)) {
            let header = is_header(record, separator, options.grey);
            let names = if header { names(record, separator) } else { Vec::new() };
            let layout = Layout::new(names, Cells::of(record, separator).count(), &options);
            return Ok(layout.is_ok_and(|layout| layout.units == units));
        }
    }
    Ok(false)
}

/// The same for text that commas separate.
#[cfg(feature = "parquet")]
fn with_commas(options: &FileOptions) -> FileOptions {
    FileOptions { separator: Some(Separator::Comma), ..options.clone() }
}

#[derive(Clone, Copy)]
pub(super) enum Format {
    Parquet,
    Idx,
    Npy,
    Npz,
    Libsvm,
    Csv,
    Fasta,
}

/// The format of a file that begins with `head`.
pub(super) fn format_of(path: &Path, head: &[u8]) -> Option<Format> {
    if head.starts_with(npy_header::MAGIC) {
        return Some(Format::Npy);
    } else if head.starts_with(b"PK") {
        return Some(Format::Npz);
    } else if head.starts_with(b"PAR1") {
        return Some(Format::Parquet);
    } else if head.starts_with(&[0, 0]) {
        return Some(Format::Idx);
    }
    // The name decides next, so that a damaged file is read by the reader that can say what is wrong with it.
    let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "npy" => return Some(Format::Npy),
        "npz" => return Some(Format::Npz),
        "csv" | "tsv" | "tab" => return Some(Format::Csv),
        "libsvm" | "svm" | "svmlight" => return Some(Format::Libsvm),
        "idx" => return Some(Format::Idx),
        "fasta" | "fa" | "fas" | "afa" | "fna" | "faa" | "a3m" => return Some(Format::Fasta),
        _ if name.ends_with("ubyte") => return Some(Format::Idx),
        _ => {}
    }
    if head.contains(&0) {
        return None;
    }
    if head.starts_with(b">") {
        return Some(Format::Fasta);
    }
    let mut records = first_records(head);
    let first = records.clone().next()?;
    if first.contains(&b',') {
        return Some(Format::Csv);
    } else if first.contains(&b':') {
        return Some(Format::Libsvm);
    }
    let words = |record: &[u8]| {
        record.split(u8::is_ascii_whitespace).any(|word| is_value(word) || is_glued(word))
    };
    let table = first.iter().any(|byte| matches!(byte, b';' | b'\t')) || records.any(words);
    table.then_some(Format::Csv)
}
