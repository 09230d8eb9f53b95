//! Sources of data: the known data sets, generators, or files.

use std::ffi::OsString;
use std::ops::Bound::{Excluded, Unbounded};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::generators::{BarsAndStripes, DnaLike};
use super::readers::{array_of, is_there};
use super::{Column, Columns, Separator};
use crate::error::{Error, Result};
use crate::keys::{choice, section};
use crate::nearest::meant;

/// Environment variable with the data folder.
const FOLDER_VARIABLE: &str = "ZTRACK_DATA";
const DEFAULT_FOLDER: &str = "datasets";

choice! {
    /// A source of training data.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub enum Source by "name" {
        /// Generated pictures.
        BarsAndStripes(BarsAndStripes) = "bars-and-stripes",
        /// Generated sequences, similar to dna.
        DnaLike(DnaLike) = "dna-like",
        /// Statlog DNA from `FOLDER/dna`: train, validation and test.
        Dna {} = "dna",
        /// MNIST from `FOLDER/mnist`: train and test.
        Mnist {} = "mnist",
        /// The fixed binarization of MNIST from `FOLDER/binarized_mnist`: train, validation and test.
        BinarizedMnist {} = "binarized-mnist",
        /// Files; see [`super::load_file`]. A relative path that is not there is looked for in the data folder.
        Files(Files) = "files",
    }
}

section! {
    /// Data files with the same columns.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct Files {
        /// File of the training rows; a relative path that is not there is looked for in the data folder. `my.npz:rows` is the array `rows`
        /// of an npz file; of one with several arrays those named train, validation and test are taken.
        train: PathBuf => example("\"my.csv\"");
        /// File of the validation rows.
        #[serde(skip_serializing_if = "Option::is_none")]
        validation: Option<PathBuf> = None => otherwise("none; see `data.validation_fraction`").example("\"validation.csv\"");
        /// File of the test rows.
        #[serde(skip_serializing_if = "Option::is_none")]
        test: Option<PathBuf> = None => otherwise("none; see `data.test_fraction`").example("\"test.csv\"");
        /// The number of columns, needed for LIBSVM text whose last columns can be all zero; or which columns of a table are units, by
        /// name, number (from 1) or range.
        #[serde(skip_serializing_if = "Option::is_none")]
        columns: Option<Columns> = None => otherwise("all columns").unit("columns").example("[\"a\", 3, \"5-9\"]");
        /// The column of a table that holds labels, which are no units.
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<Column> = None
            => otherwise("the column named label, class or target, if there is one").example("\"class\"");
        /// What separates the columns of a table.
        #[serde(skip_serializing_if = "Option::is_none")]
        separator: Option<Separator> = None => otherwise("what the first lines tell").example("\"semicolon\"");
        /// The number that is white, where cells are grey levels: they are divided by it. Goes with data.binarization.
        #[serde(skip_serializing_if = "Option::is_none")]
        white: Option<f64> = None => range((Excluded(0.0), Unbounded)).otherwise("255 where cells are whole numbers, 1 where they are fractions").example("16");
    }
}

impl Source {
    /// Names of the data sets that are known, generated ones last.
    pub const NAMES: [&str; 5] =
        ["dna", "mnist", "binarized-mnist", "bars-and-stripes", "dna-like"];

    /// A data set by its name, generators with their default settings.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "dna" => Self::Dna {},
            "mnist" => Self::Mnist {},
            "binarized-mnist" => Self::BinarizedMnist {},
            "bars-and-stripes" => Self::BarsAndStripes(BarsAndStripes::default()),
            "dna-like" => Self::DnaLike(DnaLike::default()),
            _ => return None,
        })
    }
}

/// The data folder: the one given, else that of the environment variable ZTRACK_DATA, else `datasets`.
pub fn find_folder(explicit: Option<&Path>) -> PathBuf {
    choose_folder(explicit, std::env::var_os(FOLDER_VARIABLE))
}

fn choose_folder(explicit: Option<&Path>, variable: Option<OsString>) -> PathBuf {
    explicit
        .map(Path::to_path_buf)
        .or_else(|| variable.filter(|value| !value.is_empty()).map(PathBuf::from))
        .unwrap_or_else(|| DEFAULT_FOLDER.into())
}

/// The source of a word: `dna`, `mnist`, `binarized-mnist`, `bars-and-stripes` or `dna-like` (generators with their default settings), else
/// the path of a data file, unchanged or in the data folder.
///
/// # Errors
/// [`Error::Unknown`] for a word that is neither.
pub fn resolve_name(name_or_path: &str, folder: &Path) -> Result<Source> {
    if let Some(source) = Source::named(name_or_path) {
        return Ok(source);
    }
    let train = locate(Path::new(name_or_path), folder);
    if !is_there(&train) {
        return Err(Error::Unknown(format!(
            "`{name_or_path}` is neither a data file nor one of {} (looked for here and in the data folder {}){}",
            Source::NAMES.join(", "),
            folder.display(),
            meant(name_or_path, Source::NAMES)
        )));
    }
    Ok(Source::Files(Files { train, ..Files::default() }))
}

/// A path unchanged if it exists, else in the data folder if it exists there, else unchanged.
pub(super) fn locate(path: &Path, folder: &Path) -> PathBuf {
    let inside = folder.join(path);
    let exists = |path: &Path| array_of(path).0.exists();
    if !exists(path) && exists(&inside) { inside } else { path.to_path_buf() }
}

/// A file of a known data set, plain or gzipped.
pub(super) fn find_file(folder: &Path, set: &str, set_folder: &str, file: &str) -> Result<PathBuf> {
    let path = folder.join(set_folder).join(file);
    let zipped = folder.join(set_folder).join(format!("{file}.gz"));
    if path.is_file() {
        return Ok(path);
    } else if zipped.is_file() {
        return Ok(zipped);
    }
    let remedy = match super::download::is_known(set) {
        true => format!("`ztrack data fetch {set}` gets it"),
        false => "datasets/README.md says where it comes from".to_string(),
    };
    Err(Error::file(
        path,
        format!(
            "is missing (so is {file}.gz): {remedy}; the data folder is set by `data.folder`, `--data-folder` or {FOLDER_VARIABLE}"
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_the_first_that_is_set() {
        let explicit = Path::new("given");
        let variable = || Some(OsString::from("variable"));
        for (explicit, variable, expected) in [
            (Some(explicit), variable(), "given"),
            (None, variable(), "variable"),
            (None, Some(OsString::new()), "datasets"),
            (None, None, "datasets"),
        ] {
            assert_eq!(choose_folder(explicit, variable), Path::new(expected));
        }
    }

    #[test]
    fn names_and_paths_are_resolved() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("mine.csv"), "0,1\n").unwrap();
        let resolve = |name| resolve_name(name, folder.path());
        assert_eq!(resolve("dna").unwrap(), Source::Dna {});
        assert_eq!(resolve("dna-like").unwrap(), Source::DnaLike(DnaLike::default()));
        let Source::Files(Files { train, .. }) = resolve("mine.csv").unwrap() else {
            panic!("a name")
        };
        assert_eq!(train, folder.path().join("mine.csv"));
        let message = resolve("mnits").unwrap_err().to_string();
        assert!(message.contains("`mnits`") && message.contains("mnist"), "{message}");
    }

    #[test]
    fn a_missing_file_names_the_remedy() {
        for (set, expected) in [("mnist", "fetch mnist"), ("binarized-mnist", "README")] {
            let error = find_file(Path::new("nowhere"), set, set, "x").unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains("ZTRACK_DATA"), "{error}");
        }
    }

    #[test]
    fn sources_are_written_as_configuration() {
        let source: Source = toml::from_str("name = \"bars-and-stripes\"\nside = 3").unwrap();
        assert_eq!(
            source,
            Source::BarsAndStripes(BarsAndStripes { side: 3, ..Default::default() })
        );
        let source: Source = toml::from_str("name = \"files\"\ntrain = \"a.csv\"").unwrap();
        assert_eq!(toml::from_str::<Source>(&toml::to_string(&source).unwrap()).unwrap(), source);
    }
}
