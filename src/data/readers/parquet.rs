//! Parquet files as text tables: a line of names, then a row a line, which the reader of tables reads.

use std::io::{BufReader, Error as IoError, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use bytes::Bytes;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::record::reader::RowIter;

use super::encoding::is_value;
use crate::data::input::{Form, Input};
use crate::error::{Error, Result};

/// Columns with such names hold the index of pandas.
const INDEX: &str = "__index_level_";
const REMEDY: &str = "leave it out when you write the file";

/// The table in a file as lines of text, separated by commas.
pub(super) fn text<'a>(path: &'a Path, bytes: Vec<u8>) -> Result<Input<'a>> {
    let error =
        |problem: String| Error::file(path, format!("is not a sound Parquet file: {problem}"));
    let file = caught(|| SerializedFileReader::new(Bytes::from(bytes))).map_err(error)?;
    let fields = file.metadata().file_metadata().schema().get_fields();
    if let Some(nested) = fields.iter().find(|field| field.is_group()) {
        let problem = format!("column {:.32} is a list or a structure: {REMEDY}", nested.name());
        return Err(Error::file(path, problem));
    }
    let mut line = Vec::new();
    for name in fields.iter().map(|field| field.name()).filter(|name| !name.starts_with(INDEX)) {
        // A number as a name would be taken for a row.
        let column = if is_value(name.as_bytes()) { "column " } else { "" };
        quoted(&format!("{column}{name}"), &mut line);
    }
    end(&mut line);
    let rows = RowIter::from_file_into(Box::new(file));
    Input::new(path, BufReader::new(Lines { rows, row: 0, line, read: 0 }), Form::Plain)
}

/// Rows as they become text.
struct Lines {
    rows: RowIter<'static>,
    row: usize,
    line: Vec<u8>,
    /// Bytes of the line that were read.
    read: usize,
}

impl Read for Lines {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.read == self.line.len() {
            let next = caught(|| self.rows.next().transpose()).map_err(IoError::other)?;
            let Some(row) = next else { return Ok(0) };
            self.row += 1;
            self.read = 0;
            self.line.clear();
            for (name, field) in row.get_column_iter().filter(|(name, _)| !name.starts_with(INDEX))
            {
                let wrong = || {
                    let row = self.row;
                    IoError::other(format!(
                        "row {row}, column {name:.32}: {field:.32} is no integer, float, boolean or text on one line: {REMEDY}"
                    ))
                };
                cell(field, &mut self.line).ok_or_else(wrong)?;
            }
            end(&mut self.line);
        }
        let count = buffer.len().min(self.line.len() - self.read);
        buffer[..count].copy_from_slice(&self.line[self.read..self.read + count]);
        self.read += count;
        Ok(count)
    }
}

/// What the library finds wrong, which for some damaged files is a panic.
fn caught<T>(read: impl FnOnce() -> parquet::errors::Result<T>) -> std::result::Result<T, String> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(read) => read.map_err(|error| match error.to_string() {
            codec if codec.contains("Disabled feature") => {
                format!("{codec}: write it with compression \"snappy\", \"gzip\" or none")
            }
            other => other,
        }),
        Err(_) => Err("is damaged: write it again".into()),
    }
}

/// Adds a cell and the separator after it; `None` for what has no place in a table.
fn cell(field: &Field, line: &mut Vec<u8>) -> Option<()> {
    let number: &dyn std::fmt::Display = match field {
        Field::Null => &"",
        // As numbers: words beside the numbers of other columns would be two ways of writing bits.
        Field::Bool(x) => &u8::from(*x),
        Field::Byte(x) => x,
        Field::Short(x) => x,
        Field::Int(x) => x,
        Field::Long(x) => x,
        Field::UByte(x) => x,
        Field::UShort(x) => x,
        Field::UInt(x) => x,
        Field::ULong(x) => x,
        Field::Float(x) => x,
        Field::Double(x) => x,
        Field::Str(text) if !text.contains(['\n', '\r']) => {
            quoted(text, line);
            return Some(());
        }
        _ => return None,
    };
    write!(line, "{number},").ok()
}

fn quoted(text: &str, line: &mut Vec<u8>) {
    line.extend(format!("\"{}\",", text.replace('"', "\"\"")).into_bytes());
}

/// The last separator of a line becomes its end.
fn end(line: &mut Vec<u8>) {
    line.pop();
    line.push(b'\n');
}
