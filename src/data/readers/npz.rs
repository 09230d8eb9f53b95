//! NumPy archives: the array after a colon (`file.npz:array`), the only array in the file, or the one named as the part of the data.

use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use zip::ZipArchive;

use super::{FileOptions, npy};
use crate::data::Dataset;
use crate::data::content::file_name;
use crate::data::input::{Form, Input};
use crate::data::limits::Checked;
use crate::error::{Error, Result};

/// A part of the data; an npz file with several arrays has an array of that name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// Rows to train on.
    #[default]
    Train,
    /// Rows that decide when to stop.
    Validation,
    /// Rows that are used once, at the end.
    Test,
}

impl Part {
    /// Names of its array, in small letters.
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Train => &["train", "x_train", "train_data"],
            Self::Validation => &["validation", "valid", "val", "x_valid", "x_val", "valid_data"],
            Self::Test => &["test", "x_test", "test_data"],
        }
    }
}

/// Names of the array of a file that has no parts.
const WHOLE: &[&str] = &["data", "x"];

/// A path, and the array that is named after a colon: `file.npz:array`.
pub(crate) fn array_of(path: &Path) -> (PathBuf, Option<String>) {
    let text = path.to_string_lossy();
    match text.rsplit_once(':') {
        Some((file, array)) if is_npz(Path::new(file)) && !path.exists() => {
            (file.into(), Some(array.into()))
        }
        _ => (path.into(), None),
    }
}

/// Whether there is a file of rows at a path, an array of it after a colon or not.
pub fn is_there(path: &Path) -> bool {
    array_of(path).0.is_file()
}

fn is_npz(path: &Path) -> bool {
    path.extension().is_some_and(|end| end.eq_ignore_ascii_case("npz"))
}

/// Whether a file is an npz archive with an array of a part's name.
pub(crate) fn has_part(path: &Path, part: Part) -> Result<bool> {
    if !is_npz(path) {
        return Ok(false);
    }
    let archive = open_archive(path, File::open(path).map_err(Error::io("read", path))?)?;
    Ok(named(&archive, part.names()).is_some())
}

/// A matrix from an npz file. The archive itself is held in memory, since its directory is at its end; the array in it
/// is read as it is decompressed.
pub(super) fn read(path: &Path, input: &mut Input<'_>, options: &FileOptions) -> Result<Dataset> {
    let mut archive = open_archive(path, Cursor::new(input.rest()?))?;
    let entry = choose(&archive, options).map_err(|problem| Error::file(path, problem))?;
    let several = archive.len() > 1;
    let named = |file: String| if several { format!("{file}:{}", stem(&entry)) } else { file };
    let place = PathBuf::from(named(path.display().to_string()));
    let dataset = npy::read(&place, &mut open_entry(&mut archive, &entry, &place)?, options)?;
    Ok(Dataset { name: named(file_name(path)), ..dataset })
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

/// The name of an array.
fn stem(entry: &str) -> &str {
    entry.strip_suffix(".npy").unwrap_or(entry)
}

/// The entry of the first of some names, in letters of either case.
fn named<R: Read + Seek>(archive: &ZipArchive<R>, names: &[&str]) -> Option<String> {
    let entry = |name: &&str| archive.file_names().find(|it| stem(it).eq_ignore_ascii_case(name));
    names.iter().find_map(entry).map(String::from)
}

fn choose<R: Read + Seek>(archive: &ZipArchive<R>, options: &FileOptions) -> Checked<String> {
    let names: Vec<_> = archive.file_names().collect();
    let listed: Vec<_> = names.iter().take(10).map(|name| stem(name)).collect();
    let listed = listed.join(", ") + if names.len() > 10 { ", ..." } else { "" };
    if let Some(array) = &options.array {
        let found = names.iter().find(|name| stem(name) == array);
        return found
            .map(|name| String::from(*name))
            .ok_or_else(|| format!("has no array `{array}`; it has {listed}"));
    }
    if names.iter().any(|name| name.starts_with("xl/") || *name == "content.xml") {
        return Err("is a spreadsheet (Excel or OpenDocument): save its table as CSV".into());
    }
    let arrays: Vec<&str> = names.into_iter().filter(|name| name.ends_with(".npy")).collect();
    match arrays[..] {
        [] => {
            return Err("npz holds no arrays: numpy.savez(\"x.npz\", train=rows) writes one".into());
        }
        [only] => return Ok(only.into()),
        _ => {}
    }
    let wanted = options.part.names();
    named(archive, &[wanted, WHOLE].concat()).ok_or_else(|| {
        format!(
            "npz holds {} arrays ({listed}) and none is named `data`, `x` or `{}`: name one after a colon, as in my.npz:{}",
            arrays.len(),
            wanted[0],
            stem(arrays[0])
        )
    })
}
