//! Options for data, shared by several commands.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use super::column_options::ColumnOptions;
use super::model_options::Model;
use super::output::tell;
use super::own_rows;
use super::run_folder::RunFolder;
use crate::checkpoint::TrainedOn;
use crate::config::{Config, DataConfig};
use crate::data::{
    Binarization, Binarizer, Columns, Dataset, EVALUATION_EPOCH, FileOptions, Files, Source,
    SplitOptions, Splits, find_folder, has_columns, load_as, resolve_name,
};
use crate::engine::BitMatrix;
use crate::tempering::BaseDistribution;
use crate::units::Variables;

/// Bytes of a file from which on it is read in blocks.
const LARGE: u64 = 64 << 20;

/// Where data comes from and how it becomes zeros and ones
#[derive(Args)]
#[command(next_help_heading = "Data")]
pub struct DataOptions {
    /// Grey levels to zeros and ones: none, stochastic, or a threshold such as 0.5 [default: as the model was trained]
    #[arg(long, value_name = "HOW")]
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
    #[command(flatten)]
    columns: ColumnOptions,
}

/// Loaded data.
pub struct Data {
    pub splits: Splits,
    binarization: Option<Binarization>,
    /// The configuration that the data are from.
    configured: Option<DataConfig>,
    /// Seed of a stochastic binarization.
    seed: u64,
    /// What the model's visible columns stand for: every row has to be a state of them.
    variables: Variables,
}

/// Settings of data and seed of a run folder or a configuration file, with overrides of keys; `None` if the name is neither.
pub fn configured(name: &str, overrides: &[String]) -> Result<Option<(DataConfig, u64)>> {
    let path = Path::new(name);
    let saved = RunFolder::config_path(path);
    let path = match path.extension() {
        _ if saved.is_file() => &saved,
        Some(extension) if extension == "toml" => path,
        _ => return Ok(None),
    };
    let Config { data, seed, .. } = Config::load(path, overrides)?;
    Ok(Some((data, seed)))
}

impl DataOptions {
    /// Loads a named data set, a data file, or the data of a run folder or a configuration; refuses data without the model's columns. Grey
    /// levels become zeros and ones as given by the option, else as configured, else as for the training rows of the model. `missing`:
    /// whether cells of a table may be missing.
    pub fn load(&self, name: &str, model: &Model, seed: u64, missing: bool) -> Result<Data> {
        let columns = model.file.parameters.n_visible;
        let (configured, own_seed) = configured(name, &[])?.unzip();
        let seed = own_seed.unwrap_or(seed);
        let own_folder = configured.as_ref().and_then(|data| data.folder.as_deref());
        let folder = find_folder(self.data_folder.as_deref().or(own_folder));
        let (source, mut options) = match &configured {
            Some(data) => (self.columns.apply(data.source.clone())?, data.split()),
            None => {
                (self.columns_of(resolve_name(name, &folder)?, model)?, SplitOptions::default())
            }
        };
        let source = match source {
            // LIBSVM text does not give its number of columns.
            Source::Files(files) if files.columns.is_none() => {
                Source::Files(Files { columns: Some(Columns::Count(columns)), ..files })
            }
            other => other,
        };
        options.validation_fraction =
            self.validation_fraction.unwrap_or(options.validation_fraction);
        options.test_fraction = self.test_fraction.unwrap_or(options.test_fraction);
        options.seed = self.split_seed.unwrap_or(options.seed);
        let (file_options, binarization) = self.reading(model, configured.as_ref());
        let splits =
            load_as(&source, &options, &folder, FileOptions { missing, ..file_options.clone() })?;
        if let (Some(data), false) = (&configured, self.changes_rows()) {
            // With the model's means and scales numbers differ in their last digits from those that the run found.
            let own = file_options.reals.is_some().then(|| data.load(self.data_folder.as_deref()));
            let own = own.transpose()?;
            own_rows::check(Path::new(name), own.as_ref().unwrap_or(&splits))?;
        }
        if let Some(notice) = splits.notice("--columns 1-") {
            tell(&notice);
        }
        let variables = model.file.parameters.variables.clone();
        let data = Data { splits, binarization, configured, seed, variables }.checked(model)?;
        data.tell_conversion();
        Ok(data)
    }

    /// Whether an option takes other rows of a run's data than the run did.
    fn changes_rows(&self) -> bool {
        let splits = [self.validation_fraction, self.test_fraction].iter().any(Option::is_some);
        splits
            || self.split_seed.is_some()
            || self.binarization.is_some()
            || self.columns.given().is_some()
    }

    /// A file by itself that is too large for the memory or nearly so, and how it is read in blocks for a model; `None` if the name is of
    /// other rows, or the file has to be read as a whole.
    pub fn large(
        &self,
        name: &str,
        model: &Model,
        missing: bool,
    ) -> Result<Option<(PathBuf, FileOptions)>> {
        let whole = self.validation_fraction.or(self.test_fraction).is_some_and(|part| part > 0.0);
        if whole || configured(name, &[])?.is_some() {
            return Ok(None);
        }
        let (reading, _) = self.reading(model, None);
        let source = resolve_name(name, &find_folder(self.data_folder.as_deref()))?;
        let Source::Files(files) = self.columns_of(source, model)? else { return Ok(None) };
        let length = std::fs::metadata(&files.train).map_or(0, |found| found.len());
        let options = files.options(FileOptions { missing, ..reading });
        let columns = options.columns.unwrap_or(model.file.parameters.n_visible);
        let options = FileOptions { columns: Some(columns), ..options };
        let path = files.train;
        Ok((length >= LARGE && !options.grey).then_some((path, options)))
    }

    /// A block of such rows.
    pub fn block(&self, rows: Dataset, model: &Model, seed: u64) -> Result<Data> {
        let splits = Splits::of(rows, &SplitOptions::default())?;
        let variables = model.file.parameters.variables.clone();
        let (_, binarization) = self.reading(model, None);
        Data { splits, binarization, configured: None, seed, variables }.checked(model)
    }

    /// The path of a table, and how it is read for a model.
    pub fn table(&self, name: &str, model: &Model) -> Result<(PathBuf, FileOptions)> {
        let folder = find_folder(self.data_folder.as_deref());
        let (reading, _) = self.reading(model, None);
        match self.columns_of(resolve_name(name, &folder)?, model)? {
            Source::Files(files) => Ok((files.train.clone(), files.options(reading))),
            _ => bail!("{name} is no file"),
        }
    }

    /// A source with the options; where they do not say which columns of a file are units, they are those of the model's run, if the
    /// file has these.
    fn columns_of(&self, source: Source, model: &Model) -> Result<Source> {
        let source = self.columns.apply(source)?;
        let Source::Files(files) = &source else { return Ok(source) };
        if files.columns.is_some() || files.label.is_some() {
            return Ok(source);
        }
        let run = model.run.as_deref().map(|run| configured(&run.to_string_lossy(), &[]));
        let run = match run.transpose()?.flatten().map(|(data, _)| data.source) {
            Some(Source::Files(run)) => run,
            _ => Files::default(),
        };
        let (separator, white) = (files.separator.or(run.separator), files.white.or(run.white));
        let units = model.table_columns().1;
        let chosen = (run.columns.is_some() || run.label.is_some()).then_some(run);
        let choices = chosen.map(|run| (run.columns, run.label)).into_iter();
        for (columns, label) in choices.chain([(None, None)]) {
            let likewise = Files { columns, label, separator, white, ..files.clone() };
            let options = likewise.options(self.reading(model, None).0);
            if has_columns(&likewise.train, &options, units)? {
                return Ok(Source::Files(likewise));
            }
        }
        Ok(Source::Files(Files { white, ..files.clone() }))
    }

    /// How files are read for a model, and how grey levels become zeros and ones.
    fn reading(
        &self,
        model: &Model,
        configured: Option<&DataConfig>,
    ) -> (FileOptions, Option<Binarization>) {
        // A model of binary rows says nothing about grey levels.
        let trained_on = model.file.trained_on.as_ref();
        let trained = trained_on.map(|trained_on| trained_on.binarization);
        let trained = trained.filter(|trained| *trained != Binarization::None);
        let binarization = configured.map(|data| data.binarization);
        let binarization = self.binarization.or(binarization).or(trained);
        let grey = binarization.is_some_and(|how| how != Binarization::None);
        let categories = trained_on.and_then(|trained_on| trained_on.categories.clone());
        let others = configured.map(DataConfig::reading).unwrap_or_default();
        let variables = &model.file.parameters.variables;
        let reals = variables.has_reals().then(|| variables.clone());
        let by_names = !matches!(self.columns.columns, Some(Columns::Chosen(_)));
        let titles = if by_names { model.table_columns().0 } else { Vec::new() };
        (FileOptions { grey, categories, reals, titles, ..others }, binarization)
    }
}

impl Data {
    /// The same, if it has the model's columns.
    fn checked(self, model: &Model) -> Result<Self> {
        let train = &self.splits.train;
        let (found, columns) = (train.columns(), model.file.parameters.n_visible);
        ensure!(
            found == columns,
            "data set `{}` has {found} columns, the model {columns} visible units: take the data it was trained on",
            train.name
        );
        Ok(self)
    }

    /// Whether these are rows of a file by itself.
    pub fn is_whole(&self) -> bool {
        let Splits { validation, test, .. } = &self.splits;
        self.configured.is_none() && validation.is_none() && test.is_none()
    }

    /// Says where cells of 0 and 1 are read for units of -1 and +1, or the other way round. A run's own rows were read like this before.
    pub fn tell_conversion(&self) {
        let (rows, spins) = (&self.splits.train, self.variables.is_plus_minus());
        let differ = rows.plus_minus != spins && !(spins && rows.is_all_ones());
        if self.configured.is_none() && rows.categories.is_none() && differ {
            let [cells, off, units] = match spins {
                true => ["0 and 1, and the model has units of -1 and +1", "0", "-1"],
                false => ["-1 and +1, and the model has units of 0 and 1", "-1", "0"],
            };
            tell(&format!("{}: its cells are {cells}: {off} is read as {units}", rows.name));
        }
    }

    /// Rows as zeros and ones, as a run with the same seed evaluates them.
    pub fn binarized(&self, dataset: &Dataset) -> Result<BitMatrix> {
        self.bits(dataset, Binarization::None)
    }

    /// Rows as zeros and ones, grey levels as `usual` where nothing was chosen; each has to be a state of the model's variables.
    fn bits(&self, dataset: &Dataset, usual: Binarization) -> Result<BitMatrix> {
        let binarizer = Binarizer::new(self.binarization.unwrap_or(usual))?;
        let rows = binarizer.binarize(dataset, EVALUATION_EPOCH, self.seed);
        let mut rows = rows.context("--binarization")?;
        if let Some(missing) = &dataset.missing {
            self.variables.settle(&mut rows, missing);
        }
        self.variables.check(&rows, &dataset.name)?;
        Ok(rows)
    }

    /// Weights of the training rows, as a run with this configuration gives them; `None` where all rows count the same.
    pub fn weights(&self, train: &BitMatrix) -> Result<Option<Vec<f64>>> {
        let weights =
            |data: &DataConfig| data.row_weights(&self.splits.train, train, &self.variables);
        Ok(self.configured.as_ref().map_or(Ok(None), weights)?)
    }

    /// Warns if rows become zeros and ones in another way than the training rows of the model.
    pub fn compare(&self, trained_on: Option<&TrainedOn>) -> Result<()> {
        let Some(TrainedOn { binarization: trained, data, .. }) = trained_on else {
            return Ok(());
        };
        let binarizer = Binarizer::new(self.binarization.unwrap_or(Binarization::None))?;
        let here = binarizer.done_to(&self.splits.train);
        if here != *trained {
            let words = |binarization| match binarization {
                Binarization::None => "binary by themselves".to_string(),
                Binarization::Stochastic => "drawn from grey levels (stochastic)".into(),
                Binarization::Threshold(t) => format!("grey levels above a threshold of {t}"),
            };
            tell(&format!(
                "warning: these rows are {}, those the model was trained on ({data}) were {}: it is another distribution; --binarization and --data choose",
                words(here),
                words(*trained)
            ));
        }
        Ok(())
    }

    /// Training rows as zeros and ones. Grey levels are probabilities by default.
    pub fn binarized_or_drawn(&self) -> Result<BitMatrix> {
        self.bits(&self.splits.train, Binarization::Stochastic)
    }

    /// Validation and test rows as zeros and ones; `None` if there are none.
    pub fn all_held_out(&self) -> Result<Option<BitMatrix>> {
        let mut all: Option<BitMatrix> = None;
        for rows in [&self.splits.validation, &self.splits.test].into_iter().flatten() {
            let rows = self.bits(rows, Binarization::Stochastic)?;
            all = Some(all.map_or_else(|| rows.clone(), |all| all.followed_by(&rows)));
        }
        Ok(all)
    }

    /// Test rows as zeros and ones, else validation rows; `None` if there are none.
    pub fn held_out(&self) -> Result<Option<BitMatrix>> {
        let held_out = self.splits.test.as_ref().or(self.splits.validation.as_ref());
        let bits = |rows| self.bits(rows, Binarization::Stochastic);
        held_out.map(bits).transpose()
    }

    /// Smoothed marginals of rows.
    pub fn base(&self, rows: &BitMatrix) -> crate::Result<BaseDistribution> {
        BaseDistribution::from_marginals(rows, BaseDistribution::PSEUDO_COUNT, &self.variables)
    }
}
