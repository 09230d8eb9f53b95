//! What a downloaded file must hold.

use std::path::Path;

use crate::data::content::{read_limited, sha256_hex};
use crate::error::{Error, Result};

/// A SHA-256 in hexadecimal of the content after decompression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check<'a> {
    /// Of the bytes.
    Sha256(&'a str),
    /// Of the lines without the white space at their ends, sorted by bytes, each followed by a newline: for text
    /// whose order of rows does not matter.
    SortedLines(&'a str),
}

impl Check<'_> {
    /// `None` where the file's content is right, else what is wrong with it.
    ///
    /// Content may be larger than `bytes` only by line ends, so that reading stops soon on a wrong file.
    #[cfg_attr(
        not(feature = "download"),
        expect(dead_code, reason = "downloads are checked by it")
    )]
    pub(super) fn problem(&self, path: &Path, bytes: u64) -> Result<Option<String>> {
        let content = match read_limited(path, bytes.saturating_add(bytes / 8)) {
            Ok(Some(content)) => content,
            Ok(None) => {
                return Ok(Some(format!("content is larger than the {bytes} bytes expected")));
            }
            Err(Error::File { problem, .. }) => return Ok(Some(problem)),
            Err(error) => return Err(error),
        };
        let (found, expected) = match self {
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
