//! NumPy archives: the only array in the file, or the one named `data`, `x` or `train`.

use std::io::{BufReader, Cursor, Read, Seek};
use std::path::Path;

use zip::ZipArchive;

use super::npy;
use crate::data::Dataset;
use crate::data::input::{Form, Input};
use crate::data::limits::Checked;
use crate::error::{Error, Result};

const NAMES: [&str; 3] = ["data", "x", "train"];

/// A matrix from an npz file. The archive itself is held in memory, since its directory is at its end; the array in it
/// is read as it is decompressed.
pub(super) fn read(path: &Path, input: &mut Input<'_>) -> Result<Dataset> {
    let mut archive = ZipArchive::new(Cursor::new(input.rest()?))
        .map_err(|source| Error::file(path, format!("is not a sound npz: {source}")))?;
    let entry = choose(&archive).map_err(|problem| Error::file(path, problem))?;
    npy::read(path, &mut open_entry(&mut archive, &entry, path)?)
}

/// An entry of an archive as a stream.
pub(crate) fn open_entry<'a, R: Read + Seek>(
    archive: &'a mut ZipArchive<R>,
    entry: &str,
    path: &'a Path,
) -> Result<Input<'a>> {
    let content = archive
        .by_name(entry)
        .map_err(|source| Error::file(path, format!("is not a sound npz: {source}")))?;
    Input::new(path, BufReader::new(content), Form::Npz)
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
