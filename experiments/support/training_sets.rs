//! Data sets for experiments with trackers and stopping rules: two generators of the library, real data if they are
//! present, and two multimodal sets made here. The limits of the tracker's diagnostics were chosen on these sets with seeds 1 to 3.

use std::path::{Path, PathBuf};

use ztrack::config::Config;
use ztrack::data::{
    Binarization, Binarizer, Dataset, EVALUATION_EPOCH, Files, Source, SplitOptions, Splits,
    Values, load,
};
use ztrack::engine::BitMatrix;
use ztrack::engine::random::{Purpose, Streams};
use ztrack::{Error, Result};

/// One data set, split.
#[derive(Clone)]
pub struct TrainingSet {
    pub name: &'static str,
    pub splits: Splits,
}

impl TrainingSet {
    /// `data.binarization` for a trainer that gets the splits: the other sets are binary already.
    fn binarization(&self) -> &'static str {
        if self.name == "mnist" { "{ threshold = 0.5 }" } else { "\"none\"" }
    }

    /// The configuration of a trainer that gets the splits: batches of 50, neither audits nor pictures. `settings` come on top,
    /// as those of the command line do.
    pub fn config(&self, settings: &[String]) -> Result<Config> {
        let text = format!(
            r#"
            [data]
            source = {{ name = "bars-and-stripes", side = 3 }}
            binarization = {}
            [training]
            batch = 50
            [evaluation]
            images_every = 0
            [audit]
            every = 0
            "#,
            self.binarization(),
        );
        Config::parse(&text, settings)
    }
}

/// Those of the sets that are named; all where none is.
pub fn chosen(sets: Vec<TrainingSet>, names: &[String]) -> Vec<TrainingSet> {
    let asked = |set: &TrainingSet| names.is_empty() || names.iter().any(|name| name == set.name);
    sets.into_iter().filter(asked).collect()
}

/// Folder of real data: ZTRACK_DATA, else `../shared/datasets`.
pub fn folder() -> PathBuf {
    std::env::var_os("ZTRACK_DATA").map_or_else(|| "../shared/datasets".into(), PathBuf::from)
}

/// All sets; dna and MNIST (first 10 000 rows, thresholded) where their folder has them.
pub fn all() -> Result<Vec<TrainingSet>> {
    let options =
        SplitOptions { validation_fraction: 0.2, test_fraction: 0.2, ..SplitOptions::default() };
    let generated = |name, source: &str| -> Result<TrainingSet> {
        let source: Source = toml_source(source)?;
        Ok(TrainingSet { name, splits: load(&source, &options, Path::new(""))? })
    };
    let mut sets = vec![
        generated("bars", r#"{ name = "bars-and-stripes", side = 5, rows = 2000, noise = 0.02 }"#)?,
        generated("dna-like", r#"{ name = "dna-like", rows = 2000 }"#)?,
    ];
    sets.extend(multimodal());
    sets.extend(real()?);
    sets.extend(categorical()?);
    Ok(sets)
}

/// One-hot columns of categorical variables: 20 variables of 4 states around five prototypes, made here, and connect-4,
/// mushrooms and adult where the data folder has them. dna and dna-like have categorical variables too.
pub fn categorical() -> Result<Vec<TrainingSet>> {
    let mut sets = vec![TrainingSet { name: "potts", splits: made(80, 2000, potts) }];
    for (name, file) in [("connect-4", "connect4"), ("mushrooms", "mushrooms"), ("adult", "adult")]
    {
        let path = |part: &str| folder().join("nade").join(format!("{file}.{part}.csv.gz"));
        if path("train").is_file() {
            let test = Some(path("test")).filter(|path| path.is_file());
            let (train, validation) = (path("train"), Some(path("valid")));
            let files = Files { train, validation, test, ..Files::default() };
            let options = SplitOptions { test_fraction: 0.1, ..SplitOptions::default() };
            let splits = load(&Source::Files(files), &options, Path::new(""))?;
            sets.push(TrainingSet { name, splits });
        }
    }
    Ok(sets)
}

/// The two sets made here.
pub fn multimodal() -> [TrainingSet; 2] {
    [
        TrainingSet { name: "two-mode", splits: made(64, 2000, two_mode) },
        TrainingSet { name: "prototypes", splits: made(48, 2000, prototypes) },
    ]
}

/// The 2-D Ising model, 8x8, coupling .5: states up and down, which particles must cross between.
pub fn ising() -> TrainingSet {
    let states = super::lattice::sampled(8, 2, 0.5, 2000);
    let cell = |_, row: usize| states[row].0.iter().map(|spin| *spin == 1).collect();
    TrainingSet { name: "ising", splits: made(64, 2000, cell) }
}

/// Sets of at most 18 columns, so that models of hundreds of hidden units are enumerated over their visible states.
pub fn narrow() -> Result<Vec<TrainingSet>> {
    let options =
        SplitOptions { validation_fraction: 0.2, test_fraction: 0.2, ..SplitOptions::default() };
    let source =
        toml_source(r#"{ name = "bars-and-stripes", side = 4, rows = 2000, noise = 0.02 }"#)?;
    Ok(vec![
        TrainingSet { name: "bars 4x4", splits: load(&source, &options, Path::new(""))? },
        TrainingSet { name: "two-mode 18", splits: made(18, 2000, two_mode) },
        TrainingSet { name: "prototypes 18", splits: made(18, 2000, prototypes) },
        TrainingSet { name: "broad 16", splits: made(16, 2000, broad) },
    ])
}

/// dna and MNIST (first 10 000 rows), where their folder has them.
pub fn real() -> Result<Vec<TrainingSet>> {
    let options =
        SplitOptions { validation_fraction: 0.2, test_fraction: 0.2, ..SplitOptions::default() };
    let mut sets = Vec::new();
    let folder = folder();
    if folder.join("dna").is_dir() {
        sets.push(TrainingSet { name: "dna", splits: load(&Source::Dna {}, &options, &folder)? });
    }
    if folder.join("mnist").is_dir() {
        let mut splits = load(&Source::Mnist {}, &options, &folder)?;
        splits.train = first(&splits.train, 10_000);
        splits.validation = splits.validation.as_ref().map(|rows| first(rows, 2000));
        splits.test = splits.test.as_ref().map(|rows| first(rows, 2000));
        sets.push(TrainingSet { name: "mnist", splits });
    }
    Ok(sets)
}

fn toml_source(text: &str) -> Result<Source> {
    let config = format!("source = {text}");
    let parsed: std::collections::BTreeMap<String, Source> =
        toml::from_str(&config).map_err(|error| Error::Invalid(error.to_string()))?;
    parsed.into_values().next().ok_or_else(|| Error::Invalid("no source".into()))
}

fn first(data: &Dataset, rows: usize) -> Dataset {
    data.select(&(0..rows.min(data.rows())).collect::<Vec<_>>())
}

/// Three fifths of the rows to train on, a fifth each to validate and test.
fn made(columns: usize, rows: usize, cell: impl Fn(usize, usize) -> Vec<bool>) -> Splits {
    let part = |name: &str, range: std::ops::Range<usize>| {
        let cells: Vec<Vec<bool>> = range.map(|row| cell(columns, row)).collect();
        let bits = BitMatrix::from_fn(cells.len(), columns, |row, i| cells[row][i]);
        Dataset::new(name, Values::Binary(bits), None, None).unwrap()
    };
    let (train, validation) = (rows * 3 / 5, rows / 5);
    Splits {
        train: part("train", 0..train),
        validation: Some(part("validation", train..train + validation)),
        test: Some(part("test", train + validation..rows)),
    }
}

/// Variables of four states around five prototypes; a variable has another state with probability .2.
fn potts(columns: usize, row: usize) -> Vec<bool> {
    let prototype = Streams::new(31, Purpose::Generator, 4).row((row % 5) as u32);
    let (mut own, mut noise) = (prototype, Streams::new(32, Purpose::Generator, 5).row(row as u32));
    let mut state = || {
        let usual = (own.uniform() * 4.0) as usize;
        let other = (noise.uniform() * 4.0) as usize;
        if noise.uniform() < 0.2 { other } else { usual }
    };
    let states: Vec<usize> = (0..columns / 4).map(|_| state()).collect();
    (0..columns).map(|i| states[i / 4] == i % 4).collect()
}

/// Nearly all on or nearly all off, a tenth of the cells flipped: no path between the two has any probability.
fn two_mode(columns: usize, row: usize) -> Vec<bool> {
    let mut stream = Streams::new(11, Purpose::Generator, 1).row(row as u32);
    let on = stream.uniform() < 0.4;
    (0..columns).map(|_| on != (stream.uniform() < 0.1)).collect()
}

/// Near one of eight random patterns of unequal shares, 5 % of the cells flipped.
fn prototypes(columns: usize, row: usize) -> Vec<bool> {
    let mut patterns = Streams::new(12, Purpose::Generator, 2).row(u32::MAX);
    let patterns: Vec<bool> = (0..8 * columns).map(|_| patterns.uniform() < 0.5).collect();
    let mut stream = Streams::new(12, Purpose::Generator, 3).row(row as u32);
    let chosen = (8.0 * stream.uniform() * stream.uniform().sqrt()) as usize;
    (0..columns).map(|i| patterns[chosen * columns + i] != (stream.uniform() < 0.05)).collect()
}

/// Neighbouring cells agree three times in four: nearly all states occur.
fn broad(columns: usize, row: usize) -> Vec<bool> {
    let mut stream = Streams::new(13, Purpose::Generator, 4).row(row as u32);
    let mut cell = stream.uniform() < 0.5;
    let mut next = || {
        cell ^= stream.uniform() < 0.25;
        cell
    };
    (0..columns).map(|_| next()).collect()
}

/// The same set with at most `rows` rows to train on and as many to validate.
pub fn few(set: TrainingSet, rows: usize) -> TrainingSet {
    let Splits { train, validation, test } = set.splits;
    let splits = Splits {
        train: first(&train, rows),
        validation: validation.as_ref().map(|data| first(data, rows)),
        test,
    };
    TrainingSet { splits, ..set }
}

/// The validation rows as the trainer sees them.
pub fn validation(set: &TrainingSet) -> Result<BitMatrix> {
    let Some(rows) = &set.splits.validation else {
        return Err(Error::Invalid(format!("{} has no validation rows", set.name)));
    };
    binary(set, rows)
}

/// Rows of a set as the trainer sees them.
pub fn binary(set: &TrainingSet, rows: &Dataset) -> Result<BitMatrix> {
    let how = if set.name == "mnist" { Binarization::Threshold(0.5) } else { Binarization::None };
    Binarizer::new(how)?.binarize(rows, EVALUATION_EPOCH, 0)
}
