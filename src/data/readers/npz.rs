//! NumPy archives: the only array in the file, or the one named `data`, `x` or `train`.

use std::io::{BufReader, Cursor, Read, Seek, SeekFrom};
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
    let mut archive = open_archive(path, Cursor::new(input.rest()?))?;
    let entry = choose(&archive).map_err(|problem| Error::file(path, problem))?;
    npy::read(path, &mut open_entry(&mut archive, &entry, path)?)
}

/// Bytes of the record at the end of an archive without its comment, and the most that a comment can have.
const END: (u64, u64) = (22, 0xffff);
/// Where the number of entries stands in it; this number if it stands elsewhere, in archives of more entries.
const ENTRIES: (usize, u16) = (10, 0xffff);

/// An archive in which every array has a name of its own: of two with one name, the reader would see the last.
pub(crate) fn open_archive<R: Read + Seek>(path: &Path, mut reader: R) -> Result<ZipArchive<R>> {
    let io = |source: std::io::Error| Error::file(path, format!("cannot be read: {source}"));
    let length = reader.seek(SeekFrom::End(0)).map_err(io)?;
    reader.seek(SeekFrom::Start(length.saturating_sub(END.0 + END.1))).map_err(io)?;
    let mut tail = Vec::new();
    reader.by_ref().take(END.0 + END.1).read_to_end(&mut tail).map_err(io)?;
    let end = tail.windows(4).rposition(|bytes| bytes == b"PK\x05\x06");
    let stored = end.and_then(|end| tail.get(end + ENTRIES.0..end + ENTRIES.0 + 2));
    let stored = stored.map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
    let archive = ZipArchive::new(reader).map_err(|source| {
        Error::file(path, format!("is not a sound npz ({source}): write it again"))
    })?;
    if stored.is_some_and(|n| n != ENTRIES.1 && usize::from(n) > archive.len()) {
        return Err(Error::file(path, "holds two arrays of one name: write it again"));
    }
    Ok(archive)
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
