//! The tables: those of the data folder, one that is generated, and any that is named by its files.

use std::path::{Path, PathBuf};

use ztrack::data::{Binarization, Binarizer, EVALUATION_EPOCH, Source, SplitOptions, load};
use ztrack::{Error, Result, checkpoint};

/// Tables with files NAME.train.csv.gz and so on: folder and names. The last two of `nade` have no test rows.
const STARAI: [&str; 4] = ["baudio", "bbc", "pumsb_star", "voting"];
const NADE: [&str; 4] = ["mushrooms", "nips", "adult", "connect4"];
/// Published test log-likelihoods, nats a row.
const PUBLISHED: &str = include_str!("published.csv");
/// Endings that are no part of a table's name.
const ENDINGS: [&str; 4] = ["gz", "csv", "data", "train"];

/// A table in three files.
pub struct Table {
    pub name: String,
    pub train: PathBuf,
    /// A tenth of the training rows where it is missing.
    pub validation: Option<PathBuf>,
    pub test: PathBuf,
    /// Further settings, as for `--set`.
    pub settings: Vec<String>,
    /// Whether the test rows are those that others decide by, because the test rows of the table are not at hand.
    pub on_validation: bool,
}

/// The best figure that is published.
pub struct Published {
    pub value: f64,
    pub model: String,
    pub source: String,
}

impl Table {
    /// From the files of `--table`: those to train on, to decide by, and to test on.
    pub fn of_files(files: &[PathBuf]) -> Result<Self> {
        let [train, validation @ .., test] = files else {
            return Err(Error::Invalid(
                "--table: the files TRAIN, VALID and TEST are needed".into(),
            ));
        };
        if let Some(missing) = files.iter().find(|file| !file.is_file()) {
            return Err(Error::Invalid(format!("--table: {} is no file", missing.display())));
        }
        let mut name = train.clone();
        while name.extension().is_some_and(|end| ENDINGS.iter().any(|it| end == *it)) {
            name.set_extension("");
        }
        let name = name.file_name().unwrap_or_default().to_string_lossy();
        let safe = |c: char| if c.is_alphanumeric() || "-_".contains(c) { c } else { '_' };
        Ok(Self {
            name: name.chars().map(safe).collect(),
            train: train.clone(),
            validation: validation.first().cloned(),
            test: test.clone(),
            settings: Vec::new(),
            on_validation: false,
        })
    }

    /// The tables of a data folder.
    pub fn of_folder(folder: &Path) -> Vec<Self> {
        let csv = |group: &str, name: &str| {
            let [train, valid, test] = ["train", "valid", "test"]
                .map(|part| folder.join(group).join(format!("{name}.{part}.csv.gz")));
            let on_validation = !test.is_file();
            let (validation, test) =
                if on_validation { (None, valid) } else { (Some(valid), test) };
            let name = name.to_string();
            Self { name, train, validation, test, settings: Vec::new(), on_validation }
        };
        let dna = |part: &str| folder.join("dna").join(format!("dna.scale{part}"));
        let dna = Self {
            name: "dna".into(),
            train: dna(".tr"),
            validation: Some(dna(".val")),
            test: dna(".t"),
            settings: vec!["data.source.columns=180".into()],
            on_validation: false,
        };
        let all = STARAI.map(|name| csv("starai", name)).into_iter().chain([dna]);
        let all = all.chain(NADE.map(|name| csv("nade", name)));
        all.filter(|table| table.train.is_file() && table.test.is_file()).collect()
    }

    /// Bars and stripes with noise, written to files.
    pub fn generated(folder: &Path) -> Result<Self> {
        let source: toml::Table = toml::from_str(
            "source = { name = \"bars-and-stripes\", side = 4, rows = 900, noise = 0.05 }",
        )
        .map_err(|error| Error::Invalid(error.to_string()))?;
        let source: Source = source["source"]
            .clone()
            .try_into()
            .map_err(|error: toml::de::Error| Error::Invalid(error.to_string()))?;
        let options = SplitOptions {
            validation_fraction: 0.2,
            test_fraction: 0.2,
            ..SplitOptions::default()
        };
        let splits = load(&source, &options, Path::new(""))?;
        let parts = [Some(&splits.train), splits.validation.as_ref(), splits.test.as_ref()];
        let mut files = Vec::new();
        for (name, part) in ["train", "valid", "test"].into_iter().zip(parts) {
            let Some(part) = part else { continue };
            let rows = Binarizer::new(Binarization::None)?.binarize(part, EVALUATION_EPOCH, 0)?;
            let line = |row| {
                let cells = (0..rows.columns()).map(|i| u8::from(rows.get(row, i)).to_string());
                cells.collect::<Vec<_>>().join(",") + "\n"
            };
            let file = folder.join(format!("bars.{name}.csv"));
            checkpoint::write_bytes(
                &file,
                (0..rows.rows()).map(line).collect::<String>().as_bytes(),
            )?;
            files.push(file);
        }
        Self::of_files(&files)
    }

    /// The best published figure of the table of this name, if it is known.
    pub fn published(name: &str) -> Option<Published> {
        let mut fields = PUBLISHED.lines().skip(1).map(|line| line.splitn(4, ','));
        fields.find_map(|mut fields| {
            (fields.next()? == name).then_some(())?;
            let value = fields.next()?.parse().ok()?;
            Some(Published { value, model: fields.next()?.into(), source: fields.next()?.into() })
        })
    }
}
