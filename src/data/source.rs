//! Where data comes from: the known data sets, generators, or files.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::generators::{BarsAndStripes, DnaLike};
use crate::error::{Error, Result};

/// Environment variable with the data folder.
const FOLDER_VARIABLE: &str = "ZTRACK_DATA";
const DEFAULT_FOLDER: &str = "datasets";

/// A source of training data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Source {
    /// Generated pictures.
    BarsAndStripes(BarsAndStripes),
    /// Generated sequences, a stand-in for dna.
    DnaLike(DnaLike),
    /// Statlog DNA from `FOLDER/dna`: train, validation and test.
    Dna {},
    /// MNIST from `FOLDER/mnist`: train and test.
    Mnist {},
    /// The fixed binarization of MNIST from `FOLDER/binarized_mnist`: train, validation and test.
    BinarizedMnist {},
    /// Files; see [`super::load_file`]. A relative path that is not there is looked for in the data folder.
    Files {
        /// Training rows.
        train: PathBuf,
        /// Validation rows.
        #[serde(default)]
        validation: Option<PathBuf>,
        /// Test rows.
        #[serde(default)]
        test: Option<PathBuf>,
        /// Number of columns, needed for LIBSVM text whose last columns can be all zero.
        #[serde(default)]
        columns: Option<usize>,
    },
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

/// The source a word stands for: `dna`, `mnist`, `binarized-mnist`, `bars-and-stripes` or `dna-like` (generators with
/// their default settings), else the path of a data file, as it is or in the data folder.
///
/// # Errors
/// [`Error::Invalid`] for a word that is neither.
pub fn resolve_name(name_or_path: &str, folder: &Path) -> Result<Source> {
    Ok(match name_or_path {
        "dna" => Source::Dna {},
        "mnist" => Source::Mnist {},
        "binarized-mnist" => Source::BinarizedMnist {},
        "bars-and-stripes" => Source::BarsAndStripes(BarsAndStripes::default()),
        "dna-like" => Source::DnaLike(DnaLike::default()),
        path => {
            let train = locate(Path::new(path), folder);
            if !train.is_file() {
                return Err(Error::Invalid(format!(
                    "`{path}` is neither a data file nor one of dna, mnist, binarized-mnist, bars-and-stripes, dna-like"
                )));
            }
            Source::Files { train, validation: None, test: None, columns: None }
        }
    })
}

/// A path as it is if it is there, else in the data folder if it is there, else as it is.
pub(super) fn locate(path: &Path, folder: &Path) -> PathBuf {
    let inside = folder.join(path);
    if !path.exists() && inside.exists() { inside } else { path.to_path_buf() }
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
        let Source::Files { train, .. } = resolve("mine.csv").unwrap() else { panic!("a name") };
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
        assert!(toml::from_str::<Source>("name = \"bars-and-stripes\"\nsides = 3").is_err());
    }
}
