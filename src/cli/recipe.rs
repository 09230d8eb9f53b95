//! The argument of `ztrack train`: a built-in configuration, a configuration file, or a data file.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::data_file::suggestion;
use super::failure::mistake;
use super::run_folder::RunFolder;
use crate::config::{Config, Places, SHIPPED, Shipped, shipped};
use crate::data::{find_folder, is_there};
use crate::nearest::{meant, nearest};

/// Files of a folder that are compared with a misspelt name.
const MOST_FILES: usize = 1000;

/// Meaning of the argument of `ztrack train`.
pub enum Recipe {
    /// A built-in configuration.
    Shipped(&'static Shipped),
    /// A configuration file.
    File(PathBuf),
    /// A data file, or a data set by its name, and the data folder.
    Data { name: String, folder: PathBuf },
}

impl Recipe {
    /// Finds the meaning of an argument.
    ///
    /// # Errors
    /// An argument without a meaning; the message lists the possible ones.
    pub fn find(word: &Path, data_folder: Option<&Path>) -> Result<Self> {
        let name = word.to_string_lossy();
        if let Some(shipped) = shipped(&name).filter(|_| !word.is_file()) {
            return Ok(Self::Shipped(shipped));
        }
        if word.extension().is_some_and(|extension| extension == "toml") {
            if word.exists() {
                return Ok(Self::File(word.into()));
            }
            let known = word.file_stem().and_then(|stem| shipped(&stem.to_string_lossy()));
            let files = files_beside(word);
            let remedy = match (known, nearest(&name, files.iter().map(String::as_str))) {
                (Some(known), _) => {
                    format!("the one that is built in: ztrack train {}", known.name)
                }
                (None, Some(meant)) => format!("did you mean {meant}?"),
                (None, None) => "`ztrack config list` lists what is built in".into(),
            };
            return Err(mistake(&name, format!("is not there; {remedy}")));
        }
        if RunFolder::is_at(word) {
            return Err(mistake(
                &name,
                format!("is a run folder; resume it with: ztrack train --out {name} --resume"),
            ));
        }
        let folder = find_folder(data_folder);
        if name == "binarized-mnist" || is_there(word) || is_there(&folder.join(word)) {
            return Ok(Self::Data { name: name.into(), folder });
        }
        let names: Vec<_> = SHIPPED.iter().map(|shipped| shipped.name).collect();
        let mut files = files_beside(word);
        files.retain(|file| *file != name);
        let all = names.iter().copied().chain(files.iter().map(String::as_str));
        let meant = meant(&name, all);
        Err(mistake(
            &name,
            format!("is neither a file nor built in; built in are {}{meant}", names.join(", ")),
        ))
    }

    /// Name of the run folder below `runs`.
    pub fn run_name(&self) -> Result<PathBuf> {
        match self {
            Self::Shipped(shipped) => Ok(shipped.name.into()),
            Self::File(path) => file_stem(path),
            Self::Data { name, .. } => file_stem(Path::new(name)),
        }
    }

    /// The configuration with overrides, and the origin of its keys.
    pub fn config(&self, overrides: &[String]) -> Result<(Config, Places)> {
        match self {
            Self::Shipped(Shipped { name, text, .. }) => {
                Ok(Config::parse_named(text, &format!("built-in {name}"), overrides)?)
            }
            Self::File(path) => Ok(Config::load_with_places(path, overrides)?),
            Self::Data { name, folder } => {
                let text = suggestion(name, folder, overrides, &[])?;
                Ok(Config::parse_named(&text, &format!("suggested for {name}"), overrides)?)
            }
        }
    }
}

/// Paths of the files in the folder of a path, for "did you mean".
fn files_beside(path: &Path) -> Vec<String> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let here = if folder == Path::new("") { Path::new(".") } else { folder };
    let Ok(entries) = std::fs::read_dir(here) else { return Vec::new() };
    let names = entries.take(MOST_FILES).filter_map(|entry| entry.ok().map(|e| e.file_name()));
    names.map(|name| folder.join(name).to_string_lossy().into_owned()).collect()
}

fn file_stem(path: &Path) -> Result<PathBuf> {
    let stem = path.file_stem().with_context(|| format!("{} has no name", path.display()))?;
    let mut stem = PathBuf::from(stem);
    // rows.csv.gz is named rows, as rows.csv is.
    while stem.extension().is_some_and(|e| e == "csv" || e == "libsvm" || e == "npy") {
        stem.set_extension("");
    }
    Ok(stem)
}
