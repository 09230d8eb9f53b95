//! Files whose names end in a number, in the order of their numbers.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Models or states of a folder, oldest checkpoint first: pre-training, then by the number of the update, which has eight digits or
/// more.
///
/// # Errors
/// [`Error::Io`] if the folder cannot be read.
pub fn sorted_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(Error::io("read folder", folder))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "state" || e == "safetensors"))
        .collect();
    let number = |path: &PathBuf| {
        let stem = path.file_stem()?.to_str()?;
        let (kind, digits) = stem.rsplit_once('-')?;
        Some((kind.to_owned(), digits.parse::<u64>().ok()?))
    };
    files.sort_by_cached_key(|path| (number(path), path.clone()));
    Ok(files)
}
