//! Whole files in memory, within a limit: `/dev/zero`, or a data set given as a configuration, would use all memory.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use crate::error::{Error, Result};

/// Bytes per read.
const CHUNK: usize = 1 << 16;

/// Reads a file of at most `limit` bytes; `what` ends the message, as in "is too long for a configuration".
///
/// # Errors
/// [`Error::Io`] if it cannot be read, [`Error::File`] beyond the limit or if memory is short.
pub fn read_file(path: &Path, limit: u64, what: &str) -> Result<Vec<u8>> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let too_long =
        || Error::file(path, format!("is too long for {what}: {limit} bytes are allowed"));
    if length > limit {
        return Err(too_long());
    }
    let bytes = read_up_to(file, limit.saturating_add(1)).map_err(Error::io("read", path))?;
    if bytes.len() as u64 > limit { Err(too_long()) } else { Ok(bytes) }
}

/// [`read_file`] of text.
///
/// # Errors
/// As [`read_file`], and [`Error::File`] if it is not text.
pub fn read_text(path: &Path, limit: u64, what: &str) -> Result<String> {
    let bytes = read_file(path, limit, what)?;
    String::from_utf8(bytes).map_err(|_| Error::file(path, format!("is not text, so not {what}")))
}

/// At most `limit` bytes. Memory grows with the bytes received; a lack of memory is an error.
///
/// # Errors
/// Those of the reader, and [`ErrorKind::OutOfMemory`].
pub fn read_up_to(mut reader: impl Read, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let start = bytes.len();
        let room = (limit - start as u64).min(CHUNK as u64) as usize;
        bytes.try_reserve(room)?;
        bytes.resize(start + room, 0);
        let count = match reader.read(&mut bytes[start..]) {
            Err(error) if error.kind() == ErrorKind::Interrupted => 0,
            Ok(0) => {
                bytes.truncate(start);
                return Ok(bytes);
            }
            count => count?,
        };
        bytes.truncate(start + count);
    }
}
