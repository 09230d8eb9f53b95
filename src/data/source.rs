//! Sources of data: the known data sets, generators, or files.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use toml::{Table, Value};

use super::generators::{BarsAndStripes, DnaLike};
use super::{Column, Columns, Separator};
use crate::error::{Error, Result};
use crate::nearest::{did_you_mean, nearest};

/// Environment variable with the data folder.
const FOLDER_VARIABLE: &str = "ZTRACK_DATA";
const DEFAULT_FOLDER: &str = "datasets";

/// A source of training data: a table with its `name` and its settings, or the name alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum Source {
    /// Generated pictures.
    BarsAndStripes(BarsAndStripes),
    /// Generated sequences, similar to dna.
    DnaLike(DnaLike),
    /// Statlog DNA from `FOLDER/dna`: train, validation and test.
    Dna {},
    /// MNIST from `FOLDER/mnist`: train and test.
    Mnist {},
    /// The fixed binarization of MNIST from `FOLDER/binarized_mnist`: train, validation and test.
    BinarizedMnist {},
    /// Files; see [`super::load_file`]. A relative path that is not there is looked for in the data folder.
    Files(Files),
}

/// Data files with the same columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Files {
    /// Training rows.
    pub train: PathBuf,
    /// Validation rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<PathBuf>,
    /// Test rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<PathBuf>,
    /// The number of columns, needed for LIBSVM text whose last columns can be all zero; or which columns of a text table
    /// are units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<Columns>,
    /// The column of a text table that holds labels, which are no units; without it, the one named `label`, `class` or
    /// `target`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Column>,
    /// The separator of the columns of a text table, if its first lines do not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub separator: Option<Separator>,
}

/// Settings of [`Files`].
const FILES_KEYS: [&str; 6] = ["train", "validation", "test", "columns", "label", "separator"];

impl<'de> Deserialize<'de> for Source {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        Self::from_value(Value::deserialize(deserializer)?).map_err(D::Error::custom)
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

    fn from_value(value: Value) -> std::result::Result<Self, String> {
        let mut settings = match value {
            Value::Table(settings) => settings,
            Value::String(name) => Table::from_iter([("name".into(), Value::String(name))]),
            other => return Err(format!("`{other}` is no source: {EXAMPLE}")),
        };
        let name = match settings.remove("name") {
            Some(Value::String(name)) => name,
            Some(other) => return Err(format!("`{other}` is no name of a source: {EXAMPLE}")),
            None => return Err(format!("the source has no `name`: {EXAMPLE}")),
        };
        Ok(match &name[..] {
            "files" => {
                check_keys(&name, &settings, &FILES_KEYS)?;
                let required =
                    "source `files` needs `train`, as in { name = \"files\", train = \"my.csv\" }";
                if !settings.contains_key("train") {
                    return Err(required.into());
                }
                Self::Files(parse(settings)?)
            }
            "bars-and-stripes" => {
                check_keys(&name, &settings, &["side", "rows", "noise", "seed"])?;
                Self::BarsAndStripes(parse(settings)?)
            }
            "dna-like" => {
                check_keys(&name, &settings, &["rows", "seed"])?;
                Self::DnaLike(parse(settings)?)
            }
            other => {
                let known = [&Self::NAMES[..], &["files"]].concat();
                let found = Self::named(other).ok_or_else(|| {
                    format!("no source `{other}`: {}", did_you_mean(other, &known))
                })?;
                check_keys(&name, &settings, &[])?;
                found
            }
        })
    }
}

/// Example of a source, for messages.
const EXAMPLE: &str =
    "one is { name = \"mnist\" }, another { name = \"files\", train = \"my.csv\" }";

fn check_keys(name: &str, settings: &Table, known: &[&str]) -> std::result::Result<(), String> {
    match settings.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) if known.is_empty() => {
            Err(format!("source `{name}` has no settings, so no `{key}`"))
        }
        Some(key) => {
            Err(format!("source `{name}` has no setting `{key}`: {}", did_you_mean(key, known)))
        }
    }
}

fn parse<T: DeserializeOwned>(settings: Table) -> std::result::Result<T, String> {
    T::deserialize(settings).map_err(|error| error.message().to_string())
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
    if !train.is_file() {
        let meant = nearest(name_or_path, Source::NAMES);
        let meant = meant.map_or(String::new(), |meant| format!(", did you mean `{meant}`?"));
        return Err(Error::Unknown(format!(
            "`{name_or_path}` is neither a data file nor one of {}{meant} (looked for here and in the data folder {})",
            Source::NAMES.join(", "),
            folder.display()
        )));
    }
    Ok(Source::Files(Files { train, ..Files::default() }))
}

/// A path unchanged if it exists, else in the data folder if it exists there, else unchanged.
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

    #[test]
    fn mistakes_in_sources_are_told_with_what_was_meant() {
        #[derive(Deserialize)]
        struct Data {
            source: Source,
        }
        let read =
            |text: &str| toml::from_str(&format!("source = {text}")).map(|data: Data| data.source);
        assert_eq!(read("\"mnist\"").unwrap(), Source::Mnist {});
        let text =
            r#"{ name = "files", train = "a", label = "class", columns = "2-", separator = ";" }"#;
        let Source::Files(files) = read(text).unwrap() else { panic!("other data") };
        assert_eq!(files.label, Some(Column::Text("class".into())));
        assert_eq!(files.separator, Some(Separator::Semicolon));
        for (text, expected) in [
            (r#"{ name = "files", train = "a", valdation = "b" }"#, "did you mean `validation`?"),
            (r#"{ name = "files", train = "a", colums = 3 }"#, "did you mean `columns`?"),
            (r#"{ name = "files" }"#, "needs `train`"),
            (r#"{ name = "files", train = "a", separator = "|" }"#, "none of comma, semicolon"),
            (r#"{ name = "files", train = "a", label = 0 }"#, "neither the name of a column"),
            (r#"{ name = "dna", rows = 100 }"#, "source `dna` has no settings, so no `rows`"),
            (r#"{ name = "bars-and-stripes", sides = 3 }"#, "did you mean `side`?"),
            (r#"{ name = "nmist" }"#, "no source `nmist`: did you mean `mnist`?"),
            (r#"{ train = "a" }"#, "has no `name`"),
            ("3", "`3` is no source"),
            ("\"my.csv\"", "no source `my.csv`"),
        ] {
            let message = read(text).unwrap_err().to_string();
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}
