//! Whole files in memory, within a limit: `/dev/zero`, or a data set given as a configuration, would use all memory.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

use crate::error::{Error, Result};
use crate::memory::check_memory;

/// Bytes per read.
const CHUNK: usize = 1 << 16;
/// Longest line of a log, in bytes.
const LINE: u64 = 1 << 20;

/// Reads a text of at most `limit` bytes; `what` ends the message, as in "is too long for a configuration".
///
/// # Errors
/// [`Error::Io`] if it cannot be read, [`Error::File`] beyond the limit, where memory ends or where it is not text.
pub fn read_text(path: &Path, limit: u64, what: &str) -> Result<String> {
    text(path, read(path, File::open(path).map_err(Error::io("open", path))?, limit, what)?, what)
}

/// [`read_file_of_run`] of text.
///
/// # Errors
/// As [`read_file_of_run`], and [`Error::File`] where it is not text.
pub fn read_text_of_run(path: &Path, limit: u64, what: &str) -> Result<Option<String>> {
    read_file_of_run(path, limit, what)?.map(|bytes| text(path, bytes, what)).transpose()
}

/// Reads a file of a run of at most `limit` bytes; `None` where there is none.
///
/// # Errors
/// As [`open_regular`], and [`Error::File`] beyond the limit or where memory ends.
pub fn read_file_of_run(path: &Path, limit: u64, what: &str) -> Result<Option<Vec<u8>>> {
    open_regular(path)?.map(|file| read(path, file, limit, what)).transpose()
}

/// Opens a file of a run; `None` where there is none.
///
/// # Errors
/// [`Error::File`] for what is not a regular file: a pipe may never have a writer, and a device never ends. [`Error::Io`] if it cannot
/// be opened.
pub fn open_regular(path: &Path) -> Result<Option<File>> {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Ok(found) if !found.is_file() => Err(Error::file(path, "is not a regular file: delete it")),
        _ => File::open(path).map(Some).map_err(Error::io("open", path)),
    }
}

fn read(path: &Path, file: File, limit: u64, what: &str) -> Result<Vec<u8>> {
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let too_long =
        || Error::file(path, format!("is too long for {what}: {limit} bytes are allowed"));
    if length > limit {
        return Err(too_long());
    }
    check_memory(length as f64, "its bytes")
        .map_err(|problem| Error::file(path, format!("is too large: {problem}")))?;
    let bytes = read_up_to(file, limit.saturating_add(1)).map_err(Error::io("read", path))?;
    if bytes.len() as u64 > limit { Err(too_long()) } else { Ok(bytes) }
}

fn text(path: &Path, bytes: Vec<u8>, what: &str) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| Error::file(path, format!("is not text, so not {what}")))
}

/// Calls `visit` with every line of a log, its number from 1 and its line end included; returns whether there is a file. A last line
/// without its end, which a kill can leave, is left out.
///
/// # Errors
/// Those of `visit` and [`open_regular`], and [`Error::File`] for a line of more than a mebibyte.
pub fn each_line(path: &Path, mut visit: impl FnMut(usize, &[u8]) -> Result<()>) -> Result<bool> {
    let Some(file) = open_regular(path)? else { return Ok(false) };
    let mut reader = BufReader::with_capacity(CHUNK, file);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let count = reader.by_ref().take(LINE).read_until(b'\n', &mut line);
        let count = count.map_err(Error::io("read", path))?;
        if line.ends_with(b"\n") {
            visit(number, &line)?;
        } else if count as u64 == LINE {
            return Err(Error::file(path, format!("line {number} has more than {LINE} bytes")));
        } else {
            break;
        }
    }
    Ok(true)
}

/// At most `limit` bytes. Memory grows with the bytes received; a lack of memory is an error.
///
/// # Errors
/// Those of the reader, and [`ErrorKind::OutOfMemory`].
pub fn read_up_to(reader: impl Read, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_and_have_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let lines = |path: &Path| {
            let mut found = Vec::new();
            let there = each_line(path, |number, line| {
                found.push((number, line.len()));
                Ok(())
            });
            there.map(|there| (there, found))
        };
        assert_eq!(lines(&path).unwrap(), (false, vec![]));
        std::fs::write(&path, "a\nbc\nto").unwrap();
        assert_eq!(lines(&path).unwrap(), (true, vec![(1, 2), (2, 3)]));
        std::fs::write(&path, "a\n".to_owned() + &"b".repeat(LINE as usize)).unwrap();
        assert!(lines(&path).unwrap_err().to_string().contains("line 2 has more than"));
        assert!(lines(folder.path()).unwrap_err().to_string().contains("not a regular file"));
    }
}
