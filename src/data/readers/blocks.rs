//! A file block by block, so that it may be larger than the memory.

use std::io::Cursor;
use std::path::Path;

use super::cells::{BYTE_ORDER_MARK, find_separator, is_empty_row, is_record};
use super::file::{Format, format_of, read_as};
use super::layout::is_header;
use super::npy_header::NpyHeader;
use super::{FileOptions, load_file, npy};
use crate::data::input::{Form, Input};
use crate::data::{Dataset, Values};
use crate::error::Error;

/// Bytes of a block.
const BLOCK: usize = 4 << 20;

/// Calls `use_it` with the rows of a file, block after block in their order; rows are those of [`load_file`], and at most 4 MiB of the
/// decompressed file are in memory at a time. Text tables of bits or of given categories, LIBSVM text with a given number of columns, and
/// npy arrays of bits are read in blocks; a file of another format is one block.
///
/// # Errors
/// As [`load_file`], grey levels in a table or an array, rows of 0/1 beside rows of -1/+1, and errors of `use_it`.
pub fn each_block<E: From<Error>>(
    path: &Path,
    options: &FileOptions,
    use_it: &mut dyn FnMut(Dataset) -> Result<(), E>,
) -> Result<(), E> {
    let mut input = Input::open(path)?.of_any_size();
    let mut minus = None;
    let mut checked = |dataset: Dataset| {
        let zeros = match &dataset.values {
            Values::Binary(bits) => bits.count_ones() < (bits.rows() * bits.columns()) as u64,
            Values::Intensity(_) => {
                let problem = "holds grey levels, and is too large to be read as a whole: write its rows as zeros and ones";
                return Err(Error::file(path, problem).into());
            }
        };
        // Rows of ones alone are of either kind.
        if zeros && dataset.categories.is_none() {
            let first = *minus.get_or_insert(dataset.plus_minus);
            if first != dataset.plus_minus {
                let problem = "holds rows of 0 and 1 beside rows of -1 and +1";
                return Err(Error::file(path, problem).into());
            }
        }
        use_it(dataset)
    };
    match format_of(path, input.head()) {
        Some(format @ (Format::Csv | Format::Libsvm)) => {
            let csv = matches!(format, Format::Csv);
            let separator = options.separator.unwrap_or_else(|| find_separator(input.head()));
            let separator = csv.then_some(separator);
            let options = FileOptions { separator, ..options.clone() };
            let mut text = Text::default();
            while let Some(before) = text.fill(&mut input, &options)? {
                let open =
                    || Ok(Input::new(path, Cursor::new(&text.block), Form::Plain)?.after(before));
                checked(read_as(format, path, &open, &options)?)?;
            }
            Ok(())
        }
        Some(Format::Npy) => {
            let header = NpyHeader::read(&mut input)?;
            let header = header.map_err(|problem| Error::file(path, problem))?;
            let (&[rows @ (1..), columns], false) = (&header.shape[..], header.fortran_order)
            else {
                return use_it(load_file(path, options)?);
            };
            let size = columns.saturating_mul(header.element.size);
            let each = (BLOCK / size.max(1)).max(1);
            for first in (0..rows).step_by(each) {
                let count = each.min(rows - first);
                let bytes = input.take(count as u64 * size as u64)?;
                if bytes.len() < count * size {
                    let problem = format!("ends before the last of the {rows} rows of its header");
                    return Err(Error::file(path, problem).into());
                }
                let block = NpyHeader { shape: vec![count, columns], ..header };
                let mut cells = Input::new(path, Cursor::new(&bytes), Form::Plain)?.after(first);
                checked(npy::matrix(path, &block, &mut cells, options)?)?;
            }
            match input.take(1)?.is_empty() {
                true => Ok(()),
                false => Err(Error::file(path, "holds more than its npy header says").into()),
            }
        }
        _ => use_it(load_file(path, options)?),
    }
}

/// The lines of a text that are read.
#[derive(Default)]
struct Text {
    /// Lines of a block, each with its end, after the line of names.
    block: Vec<u8>,
    /// The line of names with its end, if there is one.
    header: Vec<u8>,
    /// Whether the first record was seen, and with it whether it is a line of names.
    begun: bool,
    lines: usize,
}

impl Text {
    /// Fills the next block; the number of lines of the file before it, and `None` after the last one.
    fn fill(
        &mut self,
        input: &mut Input<'_>,
        options: &FileOptions,
    ) -> crate::Result<Option<usize>> {
        self.block.clear();
        self.block.extend_from_slice(&self.header);
        let (before, mut line, first) = (self.lines, Vec::new(), !self.begun);
        let (mut records, mut empty) = (0, false);
        // Empty rows are rows if others follow.
        while (self.block.len() < BLOCK || empty) && input.line(&mut line, self.lines + 1)? {
            self.lines += 1;
            self.block.extend_from_slice(&line);
            self.block.push(b'\n');
            let record = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line);
            if !is_record(record) {
                continue;
            }
            records += 1;
            empty = options.separator.is_some_and(|it| is_empty_row(record, it));
            if !std::mem::replace(&mut self.begun, true)
                && options.separator.is_some_and(|it| is_header(record, it, options.grey))
            {
                self.header = [record, b"\n"].concat();
            }
        }
        // The reader says what is wrong with a file without rows.
        let names = usize::from(!first && !self.header.is_empty());
        Ok((records > 0 || (first && self.lines > 0)).then(|| before - names))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::BitMatrix;

    fn blocks(path: &Path, options: &FileOptions) -> Result<Vec<Dataset>, Error> {
        let mut all = Vec::new();
        each_block(path, options, &mut |dataset| {
            all.push(dataset);
            Ok::<(), Error>(())
        })?;
        Ok(all)
    }

    /// A table of 40 MiB with names, the same as LIBSVM text and as an array: the rows of the whole file, in blocks.
    #[test]
    fn blocks_are_the_rows_of_the_file() {
        use std::fmt::Write;
        let folder = tempfile::tempdir().unwrap();
        let (rows, columns) = (40_000, 500);
        let on = |row: usize, i: usize| (row * 31 + i * i) % 7 < 3;
        let (mut csv, mut svm) = ("\u{feff}".to_string(), String::new());
        let names: Vec<String> = (0..columns).map(|i| format!("x{i}")).collect();
        writeln!(csv, "{}", names.join(",")).unwrap();
        let mut npy = b"\x93NUMPY\x01\x00\x46\x00".to_vec();
        let header =
            format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
        npy.extend(format!("{header:<69}\n").bytes());
        for row in 0..rows {
            let cells: Vec<&str> =
                (0..columns).map(|i| if on(row, i) { "1" } else { "0" }).collect();
            writeln!(csv, "{}", cells.join(",")).unwrap();
            svm.push('1');
            (0..columns).filter(|&i| on(row, i)).for_each(|i| write!(svm, " {}:1", i + 1).unwrap());
            svm.push('\n');
            npy.extend((0..columns).map(|i| u8::from(on(row, i))));
        }
        let options = FileOptions { columns: Some(columns), ..FileOptions::default() };
        for (name, bytes) in
            [("a.csv", csv.into_bytes()), ("a.svm", svm.into_bytes()), ("a.npy", npy)]
        {
            let path = folder.path().join(name);
            std::fs::write(&path, &bytes).unwrap();
            let found = blocks(&path, &options).unwrap();
            assert!(found.len() > 1, "{name}");
            let of = |dataset: &Dataset| match &dataset.values {
                Values::Binary(bits) => bits.clone(),
                Values::Intensity(_) => panic!("grey levels"),
            };
            let all = found.iter().map(of).reduce(|all, more| all.followed_by(&more)).unwrap();
            assert_eq!(all, BitMatrix::from_fn(rows, columns, on), "{name}");
            // A mistake in the last row is told with its place in the file.
            let mut broken = bytes;
            let end = broken.len() - if name == "a.npy" { 1 } else { 2 };
            broken[end] = 7 + if name == "a.npy" { 0 } else { b'0' };
            std::fs::write(&path, &broken).unwrap();
            let message = blocks(&path, &options).unwrap_err().to_string();
            let place = match name {
                "a.csv" => "line 40001, column 500",
                "a.svm" => "line 40000: value `7`",
                _ => "grey levels",
            };
            assert!(message.contains(place), "{message}");
        }
    }

    #[test]
    fn rows_of_both_kinds_in_one_file_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let [low, high] = ["0,1\n", "-1,1\n"].map(|row| row.repeat(BLOCK / 4));
        let options = FileOptions { columns: Some(2), ..FileOptions::default() };
        std::fs::write(&path, format!("{low}{high}")).unwrap();
        let message = blocks(&path, &options).unwrap_err().to_string();
        assert!(message.contains("0 and 1 beside rows of -1 and +1"), "{message}");
    }
}
