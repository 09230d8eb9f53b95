//! NumPy archives: the only array in the file, or the one named `data`, `x` or `train`.

use std::io::{Cursor, Read, Seek};
use std::path::Path;

use zip::ZipArchive;

use super::npy;
use crate::data::Dataset;
use crate::data::limits::{Checked, MAX_BYTES};
use crate::error::{Error, Result};

const NAMES: [&str; 3] = ["data", "x", "train"];

/// A matrix from the bytes of an npz file.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Dataset> {
    let damaged =
        |source: &dyn std::fmt::Display| Error::file(path, format!("is not a sound npz: {source}"));
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|source| damaged(&source))?;
    let entry = choose(&archive).map_err(|problem| Error::file(path, problem))?;
    let array = read_entry(&mut archive, &entry).map_err(|problem| Error::file(path, problem))?;
    npy::read(path, &array)
}

/// The decompressed bytes of an entry; memory grows with what really comes, up to the limit.
pub(crate) fn read_entry<R: Read + Seek>(
    archive: &mut ZipArchive<R>,
    entry: &str,
) -> Checked<Vec<u8>> {
    let damaged = |source: &dyn std::fmt::Display| format!("is not a sound npz: {source}");
    let mut bytes = Vec::new();
    let content = archive.by_name(entry).map_err(|source| damaged(&source))?;
    content.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|source| damaged(&source))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("array holds more than {} GiB, the limit", MAX_BYTES >> 30));
    }
    Ok(bytes)
}

fn choose<R: Read + Seek>(archive: &ZipArchive<R>) -> Checked<String> {
    let names: Vec<_> = archive.file_names().collect();
    let stem = |name: &str| name.strip_suffix(".npy").unwrap_or(name).to_ascii_lowercase();
    if let [only] = names[..] {
        return Ok(only.into());
    }
    if let Some(name) =
        NAMES.iter().find_map(|wanted| names.iter().find(|name| stem(name) == *wanted))
    {
        return Ok((*name).into());
    }
    if names.is_empty() {
        return Err("npz holds no arrays".into());
    }
    let listed: Vec<_> = names.iter().take(10).map(|name| stem(name)).collect();
    Err(format!(
        "npz holds {} arrays ({}{}) and none is named `data`, `x` or `train`; keep or name one so",
        names.len(),
        listed.join(", "),
        if names.len() > listed.len() { ", ..." } else { "" }
    ))
}
