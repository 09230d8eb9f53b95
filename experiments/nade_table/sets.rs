//! The data sets of the table: generated, known, and those of a folder.

use std::path::{Path, PathBuf};

use ztrack::data::{
    Binarization, Binarizer, Columns, Dataset, EVALUATION_EPOCH, Files, Source, SplitOptions,
    Splits, Values, load,
};
use ztrack::{BitMatrix, Error, Result};

use crate::support::training_sets::folder;

/// What a file of each part has in its name.
const PARTS: [&[&str]; 3] = [&["train"], &["valid", "val"], &["test"]];
/// Shares of the generated set: as many rows as dna has.
const GENERATED: &str = "{ name = \"dna-like\", rows = 3186 }";
const SHARES: (f64, f64) = (0.188, 0.372);
/// Sets that `ztrack data fetch` gets as they were published: name, columns, file to train on, file to test on, and the shares of the
/// former's rows to validate and to test on that give the numbers of rows of Larochelle and Murray 2011; which rows these were is not known.
type Fetched = (&'static str, usize, &'static str, Option<&'static str>, (f64, f64));
const FETCHED: [Fetched; 4] = [
    ("adult", 123, "a5a", Some("a5a.t"), (1414.0 / 6414.0, 0.0)),
    ("connect-4", 126, "connect-4", None, (4000.0 / 67_557.0, 47_557.0 / 67_557.0)),
    ("mushrooms", 112, "mushrooms", None, (500.0 / 8124.0, 5624.0 / 8124.0)),
    ("web", 300, "w6a", Some("w6a.t"), (3188.0 / 17_188.0, 0.0)),
];

/// Sets with the split of Larochelle and Murray 2011, as nade/NAME.train.csv.gz and so on in the data folder.
const SPLIT: [&str; 4] = ["adult", "connect4", "mushrooms", "nips"];

/// Rows in three parts.
pub struct Set {
    pub name: String,
    pub train: BitMatrix,
    pub validation: Option<BitMatrix>,
    pub test: Option<BitMatrix>,
}

/// dna-like, what is at hand of the sets that can be fetched, and the sets of a folder.
pub fn all(more: Option<&Path>) -> Result<Vec<Set>> {
    let (validation_fraction, test_fraction) = SHARES;
    let options = SplitOptions { validation_fraction, test_fraction, seed: 0 };
    let table: toml::Table = toml::from_str(&format!("source = {GENERATED}"))
        .map_err(|error| Error::Invalid(error.to_string()))?;
    let source: Source = table["source"]
        .clone()
        .try_into()
        .map_err(|error: toml::de::Error| Error::Invalid(error.to_string()))?;
    let mut sets = vec![Set::of("dna-like", load(&source, &options, Path::new(""))?)?];
    let data = folder();
    match data.join("dna").is_dir() {
        true => sets.push(Set::of("dna", load(&Source::Dna {}, &options, &data)?)?),
        false => println!("dna: not in {} (`ztrack data fetch dna` gets it)\n", data.display()),
    }
    for (name, columns, train, test, shares) in FETCHED {
        let file = |name: &str, file: &str| data.join(name).join(file);
        if !file(name, train).is_file() {
            println!("{name}: not in {} (`ztrack data fetch {name}` gets it)\n", data.display());
            continue;
        }
        let test = test.map(|test| file(name, test));
        let files = Files {
            train: file(name, train),
            test,
            columns: Some(Columns::Count(columns)),
            ..Files::default()
        };
        let (validation_fraction, test_fraction) = shares;
        let options = SplitOptions { validation_fraction, test_fraction, seed: 0 };
        sets.push(Set::of(name, load(&Source::Files(files), &options, Path::new(""))?)?);
    }
    for name in SPLIT {
        let file = |part: &str| data.join("nade").join(format!("{name}.{part}.csv.gz"));
        if !file("train").is_file() || sets.iter().any(|set| set.name == name) {
            continue;
        }
        // Where the test rows are not at hand, validation rows are looked at once, as test rows, and training rows decide.
        let (validation, test, share) = match file("test").is_file() {
            true => (Some(file("valid")), file("test"), 0.0),
            false => (None, file("valid"), 0.1),
        };
        let files =
            Files { train: file("train"), validation, test: Some(test), ..Files::default() };
        let options = SplitOptions { validation_fraction: share, test_fraction: 0.0, seed: 0 };
        sets.push(Set::of(name, load(&Source::Files(files), &options, Path::new(""))?)?);
    }
    let Some(more) = more else { return Ok(sets) };
    let options = SplitOptions { validation_fraction: 0.1, test_fraction: 0.2, seed: 0 };
    for folder in entries(more)?.into_iter().filter(|path| path.is_dir()) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let found = PARTS.map(|words| part(&folder, words));
        let [train, validation, test] = found;
        let Some(train) = train? else {
            return Err(Error::Invalid(format!(
                "{}: no file with `train` in its name; `valid` and `test` may stand beside it",
                folder.display()
            )));
        };
        let files = Files { train, validation: validation?, test: test?, ..Files::default() };
        sets.push(Set::of(&name, load(&Source::Files(files), &options, Path::new(""))?)?);
    }
    Ok(sets)
}

/// The file of a folder with one of the words in its name.
fn part(folder: &Path, words: &[&str]) -> Result<Option<PathBuf>> {
    let named = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        path.is_file() && words.iter().any(|word| name.contains(word))
    };
    Ok(entries(folder)?.into_iter().find(named))
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let wrong = |error| Error::Invalid(format!("--data-folder {}: {error}", folder.display()));
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(wrong)? {
        paths.push(entry.map_err(wrong)?.path());
    }
    paths.sort();
    Ok(paths)
}

impl Set {
    fn of(name: &str, splits: Splits) -> Result<Self> {
        let binarizer = Binarizer::new(Binarization::None)?;
        let bits = |part: &Dataset| binarizer.binarize(part, EVALUATION_EPOCH, 0);
        Ok(Self {
            name: name.into(),
            train: bits(&splits.train)?,
            validation: splits.validation.as_ref().map(bits).transpose()?,
            test: splits.test.as_ref().map(bits).transpose()?,
        })
    }

    /// The set with the validation rows among those to train on.
    pub fn merged(&self) -> Self {
        let Self { name, train, validation, test } = self;
        let more = validation.as_ref().map_or(0, BitMatrix::rows);
        let train =
            BitMatrix::from_fn(train.rows() + more, train.columns(), |row, column| {
                match (row.checked_sub(train.rows()), validation) {
                    (Some(row), Some(validation)) => validation.get(row, column),
                    _ => train.get(row, column),
                }
            });
        Self { name: name.clone(), train, validation: None, test: test.clone() }
    }

    /// Parts by their names.
    pub fn parts(&self) -> Vec<(&'static str, &BitMatrix)> {
        let mut parts = vec![("train", &self.train)];
        parts.extend(self.validation.as_ref().map(|rows| ("validation", rows)));
        parts.extend(self.test.as_ref().map(|rows| ("test", rows)));
        parts
    }

    /// Rows as the trainer takes them.
    pub fn dataset(&self, part: &str, rows: &BitMatrix) -> Result<Dataset> {
        let name = format!("{} {part}", self.name);
        Dataset::new(&name, Values::Binary(rows.clone()), None, None)
    }

    /// The same for a part that may be missing.
    pub fn optional(&self, part: &str, rows: &Option<BitMatrix>) -> Result<Option<Dataset>> {
        rows.as_ref().map(|rows| self.dataset(part, rows)).transpose()
    }
}
