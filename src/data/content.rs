//! The bytes of a file, decompressed where needed, within a limit.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use sha2::{Digest, Sha256};

use super::limits::MAX_BYTES;
use crate::error::{Error, Result};

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Reads a whole file; gzip is told by its magic bytes, not by its name. Memory grows with the bytes that really
/// come, never with a size a header claims.
pub(super) fn read_content(path: &Path) -> Result<Vec<u8>> {
    let bytes = read_limited(path, MAX_BYTES)?;
    match bytes {
        Some(bytes) => Ok(bytes),
        None => Err(Error::file(
            path,
            format!("holds more than {} GiB, the limit for data files", MAX_BYTES >> 30),
        )),
    }
}

/// Like [`read_content`], but `None` where the content is larger than `limit` bytes.
pub(super) fn read_limited(path: &Path, limit: u64) -> Result<Option<Vec<u8>>> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(Error::file(path, "is a folder, not a data file"));
    }
    let mut bytes = Vec::new();
    let mut raw = BufReader::new(file);
    raw.by_ref().take(2).read_to_end(&mut bytes).map_err(Error::io("read", path))?;
    if bytes == GZIP_MAGIC {
        let compressed = BufReader::new(GZIP_MAGIC.as_slice().chain(raw));
        bytes.clear();
        MultiGzDecoder::new(compressed)
            .take(limit.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|source| Error::file(path, gzip_problem(&source)))?;
    } else {
        raw.take(limit.saturating_add(1).saturating_sub(2))
            .read_to_end(&mut bytes)
            .map_err(Error::io("read", path))?;
    }
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

fn gzip_problem(source: &std::io::Error) -> String {
    let what = match source.kind() {
        std::io::ErrorKind::UnexpectedEof => "truncated",
        _ => "damaged",
    };
    format!("gzip data is {what} ({source}); get the file again")
}

/// SHA-256 in hexadecimal.
pub(super) fn sha256_hex<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hasher = Sha256::new();
    parts.into_iter().for_each(|part| hasher.update(part));
    hex(hasher)
}

/// A finished digest in hexadecimal.
pub(super) fn hex(hasher: Sha256) -> String {
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The file name, for people.
pub(super) fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into())
}
