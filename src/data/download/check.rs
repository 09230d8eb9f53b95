//! Checks of a downloaded file.

use std::io::Read;
use std::path::Path;

use crate::data::{FileOptions, Input, read_bytes, sha256_hex};
use crate::error::{Error, Result};

/// Required content after decompression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check<'a> {
    /// A SHA-256 in hexadecimal of the bytes.
    Sha256(&'a str),
    /// A SHA-256 in hexadecimal of the lines without the white space at their ends, sorted by bytes, each followed by a
    /// newline: for text whose order of rows does not matter.
    SortedLines(&'a str),
    /// LIBSVM text of zeros and ones, of so many rows and columns: where no checksum is known. The largest index in the
    /// file may be smaller than `columns`, because the last columns can be all zero.
    Table {
        /// Rows, exactly.
        rows: usize,
        /// Columns, at most.
        columns: usize,
    },
}

impl Check<'_> {
    /// `None` if the content is right, else the problem. `path` is for messages; `bytes` as in [`super::RemoteFile`].
    ///
    /// Content may be larger than `bytes` only by line ends, so that reading stops soon on a wrong file.
    #[cfg_attr(
        not(feature = "download"),
        expect(dead_code, reason = "downloads are checked by it")
    )]
    pub(super) fn problem(
        &self,
        path: &Path,
        content: impl Read,
        bytes: u64,
    ) -> Result<Option<String>> {
        let limit = bytes.saturating_add(bytes / 8);
        let input = Input::of(path, content);
        let content = match input.and_then(|mut input| input.take(limit.saturating_add(1))) {
            Ok(content) if content.len() as u64 <= limit => content,
            Ok(_) => {
                return Ok(Some(format!("content is larger than the {bytes} bytes expected")));
            }
            Err(Error::File { problem, .. }) => return Ok(Some(problem)),
            Err(error) => return Err(error),
        };
        let (found, expected) = match self {
            Self::Table { rows, columns } => {
                return Ok(table_problem(path, content, *rows, *columns));
            }
            Self::Sha256(expected) => (sha256_hex([&content[..]]), expected),
            Self::SortedLines(expected) => {
                let text = content.strip_suffix(b"\n").unwrap_or(&content);
                let mut lines: Vec<_> =
                    text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end).collect();
                lines.sort_unstable();
                (sha256_hex(lines.into_iter().flat_map(|line| [line, b"\n"])), expected)
            }
        };
        Ok((found != **expected)
            .then(|| format!("content has SHA-256 {found}, expected {expected}")))
    }
}

/// The problem of a table.
fn table_problem(path: &Path, content: Vec<u8>, rows: usize, columns: usize) -> Option<String> {
    let options = FileOptions { columns: Some(columns), ..FileOptions::default() };
    match read_bytes(path, content, &options) {
        Ok(table) if table.rows() == rows => None,
        Ok(table) => Some(format!("content has {} rows, expected {rows}", table.rows())),
        Err(Error::File { problem, .. }) => Some(problem),
        Err(error) => Some(error.to_string()),
    }
}
