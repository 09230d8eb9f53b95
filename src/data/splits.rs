//! Train, validation and test rows of a source.

use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use rand::seq::SliceRandom;

use super::limits::check_room;
use super::readers::{Part, array_of, has_part, read_weights};
use super::source::{find_file, locate};
use super::{Column, Columns, Dataset, FileOptions, Files, Index, Source, load_file};
use crate::engine::random::{Purpose, Streams};
use crate::error::{Error, Result};

/// As often are rows in memory while they are split and binarized, beside how they were read.
const COPIES: f64 = 1.5;

const DNA_COLUMNS: usize = 180;
const DNA_LABELS: RangeInclusive<i64> = 1..=3;

/// How to split off parts that the source does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SplitOptions {
    /// Fraction of the training rows that becomes the validation set; 0 for none.
    pub validation_fraction: f64,
    /// Fraction of the training rows that becomes the test set; 0 for none.
    pub test_fraction: f64,
    /// Seed of the choice of rows.
    pub seed: u64,
}

/// A source's rows in three parts with the same columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Splits {
    /// Rows to train on.
    pub train: Dataset,
    /// Rows that decide when to stop.
    pub validation: Option<Dataset>,
    /// Rows that are used once, at the end.
    pub test: Option<Dataset>,
}

/// Loads a source and splits it. Parts the source brings are taken as they are; a missing part is drawn without
/// replacement from the training rows, by seed, and all parts keep the order of the rows.
///
/// # Errors
/// Files that are missing or not sound; fractions that are not in [0, 1) or leave a part without rows; parts with
/// different columns.
pub fn load(source: &Source, options: &SplitOptions, folder: &Path) -> Result<Splits> {
    load_as(source, options, folder, FileOptions::default())
}

/// The same with options for data files beside those of the source; `reading.weights` is a column of the table, or a file of weights of the
/// training rows.
///
/// # Errors
/// As [`load`], and files that do not fit the options.
pub fn load_as(
    source: &Source,
    options: &SplitOptions,
    folder: &Path,
    mut reading: FileOptions,
) -> Result<Splits> {
    check_fraction("data.validation_fraction", options.validation_fraction)?;
    check_fraction("data.test_fraction", options.test_fraction)?;
    let file = reading.weights.take_if(|weights| located(weights, folder).is_file());
    if let (Some(column), false) = (&reading.weights, matches!(source, Source::Files(_))) {
        let problem = format!("there is no file {}", located(column, folder).display());
        return Err(Error::config("data.weights", problem));
    }
    let mut splits = match source {
        Source::BarsAndStripes(settings) => generated(settings.generate())?,
        Source::DnaLike(settings) => generated(settings.generate())?,
        Source::Dna {} => {
            let options = FileOptions {
                columns: Some(DNA_COLUMNS),
                labels: Some(DNA_LABELS),
                ..FileOptions::default()
            };
            let files = ["dna.scale.tr", "dna.scale.val", "dna.scale.t"];
            known(folder, "dna", "dna", files, options)?
        }
        Source::Mnist {} => {
            let files = ["train-images-idx3-ubyte", "", "t10k-images-idx3-ubyte"];
            known(folder, "mnist", "mnist", files, FileOptions::default())?
        }
        Source::BinarizedMnist {} => {
            let files = [
                "binarized_mnist_train-images-idx3-ubyte",
                "binarized_mnist_valid-images-idx3-ubyte",
                "binarized_mnist_test-images-idx3-ubyte",
            ];
            known(folder, "binarized-mnist", "binarized_mnist", files, FileOptions::default())?
        }
        Source::Files(files) => load_files(files, folder, files.options(reading))?,
    };
    if let Some(path) = file.map(|file| located(&file, folder)) {
        let weights = read_weights(&path)?;
        let weighted = splits.train.weighted(weights);
        splits.train = weighted.map_err(|problem| Error::file(path, problem.to_string()))?;
    }
    split_off(splits, options)
}

/// Rows of a generator; errors of its settings name their key.
fn generated(rows: Result<Dataset>) -> Result<Splits> {
    rows.map(only_train).map_err(|error| error.within("data.source"))
}

/// The path that a column or a file of weights is as a file.
fn located(weights: &Column, folder: &Path) -> PathBuf {
    match weights {
        Column::Number(number) => number.to_string().into(),
        Column::Text(text) => locate(Path::new(text), folder),
    }
}

impl Files {
    /// How the first of them is read, given the other options.
    pub fn options(&self, reading: FileOptions) -> FileOptions {
        let (columns, chosen) = match &self.columns {
            Some(Columns::Count(count)) => (Some(*count), None),
            Some(Columns::Chosen(chosen)) => (None, Some(chosen.clone())),
            None => (None, None),
        };
        let (label, separator, white) = (self.label.clone(), self.separator, self.white);
        let grey = reading.grey || white.is_some();
        FileOptions { columns, label, chosen, separator, grey, white, ..reading }
    }

    /// The columns of the training file that have another value in every row.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn index(&self, folder: &Path, reading: FileOptions) -> Result<Option<Index>> {
        Index::of(&found(&self.train, folder)?, &self.options(reading))
    }
}

/// The path of a file that is there, perhaps in the data folder.
fn found(path: &Path, folder: &Path) -> Result<PathBuf> {
    let found = locate(path, folder);
    if array_of(&found).0.exists() {
        return Ok(found);
    }
    let problem = "there is no such file; a relative path starts from the folder that the command runs in, or from the data folder (--data-folder)";
    let whole = std::path::absolute(&found).unwrap_or(found);
    Err(Error::io("open", whole)(io::Error::new(io::ErrorKind::NotFound, problem)))
}

fn load_files(files: &Files, folder: &Path, mut options: FileOptions) -> Result<Splits> {
    let train = load_file(&found(&files.train, folder)?, &options)?;
    options.columns = Some(train.columns());
    options.categories.clone_from(&train.categories);
    options.titles = match &train.categories {
        Some(categories) => categories.columns().iter().map(|it| it.name.clone()).collect(),
        None => train.titles.clone(),
    };
    let mut part = |path: &Option<PathBuf>, part| {
        let path = match path {
            Some(path) => path,
            // An archive may have arrays of all parts.
            None if has_part(&locate(&files.train, folder), part)? => &files.train,
            None => return Ok(None),
        };
        let path = found(path, folder)?;
        options.part = part;
        let part = load_file(&path, &options)?;
        if part.values == train.values {
            let problem = "holds the training rows: their likelihood says nothing about new rows; leave it out, and a part of the rows is held out";
            return Err(Error::file(&path, problem));
        }
        // Ones alone go with both.
        if part.plus_minus == train.plus_minus || (train.plus_minus && part.is_all_ones()) {
            return Ok(Some(part));
        }
        let cells = |part: &Dataset| if part.plus_minus { "-1 and +1" } else { "0 and 1" };
        let problem = format!(
            "its cells are {}, those of {} {}: write both in one way",
            cells(&part),
            train.name,
            cells(&train)
        );
        Err(Error::file(&path, problem))
    };
    let validation = part(&files.validation, Part::Validation)?;
    Ok(Splits { validation, test: part(&files.test, Part::Test)?, train })
}

impl Splits {
    /// The parts that are there, the training rows first, with their names.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, &Dataset)> {
        let others = [("validation", &self.validation), ("test", &self.test)];
        let others = others.into_iter().filter_map(|(name, part)| Some((name, part.as_ref()?)));
        std::iter::once(("training", &self.train)).chain(others)
    }

    /// A note on how the data were read, if there is one; `all` is the option that makes all columns units.
    pub fn notice(&self, all: &str) -> Option<String> {
        let Dataset { name, label_column, categories, .. } = &self.train;
        let label = label_column.as_ref().map(|column| {
            format!("{name}: column {column} holds labels, by its name, and is no unit; {all} makes all columns units")
        });
        let grey = categories.as_ref().filter(|it| it.look_grey()).map(|_| {
            format!("{name}: every number in a column is a state of its own, without an order; if they are grey levels, choose data.binarization (--binarization): stochastic, or a threshold such as 0.5")
        });
        let arrays: Vec<String> = self
            .parts()
            .filter(|(_, part)| !part.name.ends_with(" part)"))
            .filter_map(|(what, part)| Some((what, part.name.rsplit_once(".npz:")?.1)))
            .map(|(what, array)| match self.parts().nth(1) {
                Some(_) => format!("{what} rows are its array {array}"),
                None => format!("rows are its array {array}"),
            })
            .collect();
        let file = name.rsplit_once(':').map_or("", |(file, _)| file);
        let arrays = (!arrays.is_empty()).then(|| format!("{file}: {}", arrays.join(", ")));
        let notices: Vec<String> = label.into_iter().chain(grey).chain(arrays).collect();
        (!notices.is_empty()).then(|| notices.join("\n"))
    }

    /// Splits a data set, as [`load`] does.
    ///
    /// # Errors
    /// Fractions that are not in [0, 1) or leave a part without rows.
    pub fn of(train: Dataset, options: &SplitOptions) -> Result<Self> {
        check_fraction("data.validation_fraction", options.validation_fraction)?;
        check_fraction("data.test_fraction", options.test_fraction)?;
        split_off(only_train(train), options)
    }
}

fn only_train(train: Dataset) -> Splits {
    Splits { train, validation: None, test: None }
}

/// The files of a known set: train, validation, test; an empty name where it has none of them.
fn known(
    folder: &Path,
    set: &str,
    set_folder: &str,
    files: [&str; 3],
    options: FileOptions,
) -> Result<Splits> {
    // All are looked for before the first is read: a missing one is reported at once.
    let find = |file: &str| find_file(folder, set, set_folder, file);
    let part = |file: &str| (!file.is_empty()).then(|| find(file)).transpose();
    let [train, validation, test] = files;
    let (train, validation, test) = (find(train)?, part(validation)?, part(test)?);
    let files = Files { train, validation, test, ..Files::default() };
    let mut splits = load_files(&files, folder, options)?;
    splits.train.name = format!("{set} train");
    for (part, name) in [(&mut splits.validation, "validation"), (&mut splits.test, "test")] {
        part.iter_mut().for_each(|part| part.name = format!("{set} {name}"));
    }
    Ok(splits)
}

fn check_fraction(field: &str, fraction: f64) -> Result<()> {
    if (0.0..1.0).contains(&fraction) {
        Ok(())
    } else {
        Err(Error::config(field, format!("{fraction} is outside [0, 1)")))
    }
}

fn split_off(splits: Splits, options: &SplitOptions) -> Result<Splits> {
    let rows = splits.train.rows();
    let count = |field, brought: bool, fraction: f64| {
        if brought || fraction == 0.0 {
            return Ok(0);
        }
        match (rows as f64 * fraction).round() as usize {
            0 => Err(Error::config(field, format!("{fraction} of {rows} rows leaves no rows"))),
            count => Ok(count),
        }
    };
    let test = count("data.test_fraction", splits.test.is_some(), options.test_fraction)?;
    let validation = count(
        "data.validation_fraction",
        splits.validation.is_some(),
        options.validation_fraction,
    )?;
    if test + validation == 0 {
        return Ok(splits);
    }
    if test + validation >= rows {
        let problem = format!(
            "{validation} validation and {test} test rows leave none of {rows} rows to train on"
        );
        return Err(Error::config("data.validation_fraction", problem));
    }
    check_room(rows, splits.train.columns(), COPIES)
        .map_err(|problem| Error::TooLarge(format!("{}: {problem}", splits.train.name)))?;
    let mut order: Vec<_> = (0..rows).collect();
    order.shuffle(&mut Streams::new(options.seed, Purpose::Split, 0).row(0));
    let part = |range: std::ops::Range<usize>, name: &str| {
        let mut chosen = order[range].to_vec();
        chosen.sort_unstable();
        let mut part = splits.train.select(&chosen);
        part.name = format!("{}{name}", splits.train.name);
        part
    };
    let taken = test + validation;
    Ok(Splits {
        validation: splits
            .validation
            .clone()
            .or_else(|| (validation > 0).then(|| part(test..taken, " (validation part)"))),
        test: splits.test.clone().or_else(|| (test > 0).then(|| part(0..test, " (test part)"))),
        train: part(taken..rows, ""),
    })
}
