//! Options that say which data, shared by the commands that take some.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::config::Config;
use crate::data::{
    Binarization, Binarizer, Columns, Dataset, EVALUATION_EPOCH, Files, Source, SplitOptions,
    Splits, find_folder, load, resolve_name,
};
use crate::ops::BitMatrix;
use crate::tempering::BaseDistribution;

/// Pseudo-count of base marginals, as in training.
const BASE_SMOOTHING: f64 = 1.0;

/// Where data comes from and how it becomes zeros and ones
#[derive(Args)]
#[command(next_help_heading = "Data")]
pub struct DataOptions {
    /// Grey levels to zeros and ones: none, stochastic, or a threshold such as 0.5
    #[arg(long, value_name = "HOW", value_parser = binarization)]
    binarization: Option<Binarization>,
    /// Share of the training rows split off for validation, where the data brings none
    #[arg(long, value_name = "F")]
    validation_fraction: Option<f64>,
    /// Share of the training rows split off for testing, where the data brings none
    #[arg(long, value_name = "F")]
    test_fraction: Option<f64>,
    /// Seed of the split
    #[arg(long, value_name = "S")]
    split_seed: Option<u64>,
    /// Data folder [default: the environment variable ZTRACK_DATA, else `datasets`]
    #[arg(long, value_name = "DIR")]
    data_folder: Option<PathBuf>,
}

/// Loaded data.
pub struct Data {
    pub splits: Splits,
    binarization: Option<Binarization>,
    /// Seed of a stochastic binarization.
    seed: u64,
}

fn binarization(text: &str) -> Result<Binarization, String> {
    match text {
        "none" => Ok(Binarization::None),
        "stochastic" => Ok(Binarization::Stochastic),
        threshold => {
            let problem = || format!("`{threshold}` is not none, stochastic or a threshold");
            let binarization = Binarization::Threshold(threshold.parse().map_err(|_| problem())?);
            Binarizer::new(binarization).map_err(|error| error.to_string())?;
            Ok(binarization)
        }
    }
}

impl DataOptions {
    /// Loads a named data set, a data file, or what a configuration (`.toml`, such as that of a run folder) names;
    /// refuses data that does not have `columns` columns.
    pub fn load(&self, name: &str, columns: usize, seed: u64) -> Result<Data> {
        let mut options = SplitOptions::default();
        let (mut binarization, mut folder, mut seed) = (None, None, seed);
        let path = Path::new(name);
        let source = if path.extension().is_some_and(|extension| extension == "toml") {
            let config = Config::load(path, &[])?;
            options = SplitOptions {
                validation_fraction: config.data.validation_fraction,
                test_fraction: config.data.test_fraction,
                seed: config.data.split_seed,
            };
            (binarization, folder) = (Some(config.data.binarization), config.data.folder);
            seed = config.seed;
            Some(config.data.source)
        } else {
            None
        };
        let folder = find_folder(self.data_folder.as_deref().or(folder.as_deref()));
        let source = source.map_or_else(|| resolve_name(name, &folder), Ok)?;
        let source = match source {
            // LIBSVM text does not tell its number of columns.
            Source::Files(files) if files.columns.is_none() => {
                Source::Files(Files { columns: Some(Columns::Count(columns)), ..files })
            }
            other => other,
        };
        options.validation_fraction =
            self.validation_fraction.unwrap_or(options.validation_fraction);
        options.test_fraction = self.test_fraction.unwrap_or(options.test_fraction);
        options.seed = self.split_seed.unwrap_or(options.seed);
        let splits = load(&source, &options, &folder)?;
        let found = splits.train.columns();
        ensure!(
            found == columns,
            "data set `{}` has {found} columns, the model {columns} visible units: take the data it was trained on",
            splits.train.name
        );
        Ok(Data { splits, binarization: self.binarization.or(binarization), seed })
    }

    /// The base distribution of estimators: smoothed marginals of the training rows of `name`, else the visible
    /// bias. Returns what it is, for people.
    pub fn base(
        &self,
        name: Option<&str>,
        visible_bias: &[f32],
        seed: u64,
    ) -> Result<(BaseDistribution, String)> {
        let Some(name) = name else {
            return Ok((BaseDistribution::from_logits(visible_bias)?, "visible bias".into()));
        };
        let data = self.load(name, visible_bias.len(), seed)?;
        Ok((data.base()?, format!("marginals of {}", data.splits.train.name)))
    }
}

impl Data {
    /// Rows as zeros and ones, as a run with the same seed evaluates them.
    pub fn binarized(&self, dataset: &Dataset) -> Result<BitMatrix> {
        let binarization = self.binarization.unwrap_or(Binarization::None);
        Binarizer::new(binarization)?
            .binarize(dataset, EVALUATION_EPOCH, self.seed)
            .context("--binarization")
    }

    /// Training rows as zeros and ones. Grey levels count as probabilities unless told otherwise.
    pub fn binarized_or_drawn(&self) -> Result<BitMatrix> {
        let binarizer = Binarizer::new(self.binarization.unwrap_or(Binarization::Stochastic))?;
        Ok(binarizer.binarize(&self.splits.train, EVALUATION_EPOCH, self.seed)?)
    }

    /// Smoothed marginals of the training rows.
    pub fn base(&self) -> Result<BaseDistribution> {
        Ok(BaseDistribution::from_marginals(&self.binarized_or_drawn()?, BASE_SMOOTHING)?)
    }
}
