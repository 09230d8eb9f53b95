//! One table: the run, kept in its folder, and what is measured of its best model, kept in row.json.

use std::path::Path;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use ztrack::checkpoint::{ModelFile, write_bytes};
use ztrack::config::Config;
use ztrack::context::progress::Progress;
use ztrack::data::{
    Binarization, Binarizer, Dataset, EVALUATION_EPOCH, MOST_COMPONENTS, baselines,
};
use ztrack::estimators::{Automatic, Equilibrium, Estimate, Known, Method, sandwich};
use ztrack::report::{RunFiles, SEARCH};
use ztrack::tempering::mixture::MixturePath;
use ztrack::tempering::{BaseDistribution, Ladder, Prior};
use ztrack::tracking::{LogLikelihood, mean_log_f};
use ztrack::{BitMatrix, Error, Host, Result};

use crate::Options;
use crate::tables::Table;

/// Chains of the annealing bounds, and their temperatures: more where the bounds are further apart than is asked for.
const CHAINS: usize = 100;
const TEMPERATURES: [usize; 5] = [1000, 4000, 16_000, 64_000, 256_000];
const APART: f64 = 0.3;
/// Rows that show the modes to the annealing passes.
const KNOWN_ROWS: usize = 5000;

/// What is known of a table.
#[derive(Serialize, Deserialize)]
pub struct Row {
    pub name: String,
    /// Rows to train on, to decide by, and to test on.
    pub rows: [usize; 3],
    pub columns: usize,
    /// Number of variables of more than two states, and of all.
    pub variables: [usize; 2],
    pub on_validation: bool,
    pub hidden: usize,
    pub updates: u64,
    pub weight_decay: f64,
    pub rate: f64,
    /// Number of trial runs.
    pub trials: usize,
    /// Processor seconds of all trials and the run.
    pub processor_seconds: f64,
    /// Of the test rows, log Z exact or audited.
    pub test: LogLikelihood,
    pub method: String,
    /// Why log Z is in doubt.
    pub doubt: Option<String>,
    /// Test log-likelihoods by reverse AIS and by AIS, below and above in expectation, and their temperatures; none where log Z is exact.
    pub bounds: Option<([LogLikelihood; 2], usize)>,
    /// Name, test log-likelihood and its standard error.
    pub baselines: Vec<(String, f64, f64)>,
}

impl Row {
    /// From disk if it was measured before; else trains, or goes on training, and measures.
    pub fn of(table: &Table, folder: &Path, options: &Options) -> Result<Self> {
        let path = folder.join("row.json");
        if let Some(row) = Self::read(&path) {
            return Ok(row);
        }
        let run = folder.join("run");
        train(table, &run, options)?;
        let row = measure(table, &run)?;
        let text = serde_json::to_vec_pretty(&row).map_err(|e| Error::Invalid(e.to_string()))?;
        write_bytes(&path, &text)?;
        Ok(row)
    }
}

impl Row {
    fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }

    /// All that were measured below a folder, by name.
    pub fn all(folder: &Path) -> Result<Vec<Self>> {
        let entries = std::fs::read_dir(folder).map_err(Error::io("read folder", folder))?;
        let mut rows: Vec<Self> =
            entries.flatten().filter_map(|it| Self::read(&it.path().join("row.json"))).collect();
        rows.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(rows)
    }
}

/// `ztrack train` with `preset=best`, in a process of its own: this program is also that command.
fn train(table: &Table, run: &Path, options: &Options) -> Result<()> {
    if run.join("summary.json").is_file() {
        return Ok(());
    }
    let program = std::env::current_exe().map_err(Error::io("find", Path::new("this program")))?;
    let mut command = Command::new(program);
    command.args(["train", "--threads", &options.threads().to_string(), "--quiet"]);
    command.arg("--out").arg(run);
    if run.join("config.toml").is_file() {
        command.arg("--resume");
    } else {
        let file =
            |key: &str, path: &Path| format!("data.source.{key}={:?}", path.display().to_string());
        let mut settings = vec!["seed=1".into(), "training.preset=best".into()];
        settings.extend(table.validation.as_deref().map(|path| file("validation", path)));
        settings.push(file("test", &table.test));
        settings.extend(table.settings.iter().chain(&options.settings).cloned());
        command.arg(&table.train);
        if !options.settings.iter().any(|setting| setting.starts_with("model.hidden=")) {
            command.args(["--minutes", &options.minutes().to_string()]);
        }
        settings.iter().for_each(|setting| {
            command.args(["--set", setting]);
        });
    }
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status();
    let status = status.map_err(Error::io("start", Path::new("ztrack train")))?;
    if status.success() {
        Ok(())
    } else {
        Err(Error::Invalid(format!(
            "{}: the training ended with {status}; the same command continues it",
            table.name
        )))
    }
}

fn measure(table: &Table, run: &Path) -> Result<Row> {
    let files = RunFiles::read(run, false)?;
    let missing = |what: &str| Error::Invalid(format!("{}: no {what}", run.display()));
    let summary = files.summary.as_ref().ok_or_else(|| missing("summary.json"))?;
    let test_value = summary.best.test_log_likelihood.ok_or_else(|| missing("test rows"))?;
    let config = Config::load(&run.join("config.toml"), &[])?;
    let splits = config.data.load(None)?;
    let binarizer = Binarizer::new(Binarization::None)?;
    let bits = |part: &Dataset| binarizer.binarize(part, EVALUATION_EPOCH, 0);
    let train = bits(&splits.train)?;
    let validation = splits.validation.as_ref().map(bits).transpose()?;
    let test = bits(splits.test.as_ref().ok_or_else(|| missing("test rows"))?)?;
    let model = ModelFile::load(files.model().ok_or_else(|| missing("model"))?)?;
    let variables = &model.parameters.variables;
    let mut parts = vec![("train", &train)];
    parts.extend(validation.as_ref().map(|rows| ("validation", rows)));
    parts.push(("test", &test));
    let of_test = baselines(&parts, variables, MOST_COMPONENTS, 1, &Progress::default())?
        .into_iter()
        .filter_map(|found| {
            let test = found.parts.into_iter().find(|part| part.part == "test")?;
            Some((found.name.to_string(), test.mean, test.std_error))
        });
    let baselines = of_test.collect();
    let exact = summary.best.audit_method == "exact";
    let bounds = if exact { None } else { Some(bounds(&model, &train, &test)?) };
    let trials = searched(run);
    let all = || trials.iter().chain([&files]);
    let clock =
        |run: &RunFiles| run.seconds().or_else(|| run.metrics.last("seconds")).unwrap_or(0.0);
    let processor = |run: &RunFiles| {
        run.summary.as_ref().and_then(|it| it.processor_seconds).unwrap_or_else(|| clock(run))
    };
    let wide = variables.of(train.columns()).filter(|it| it.range().len() > 1).count();
    Ok(Row {
        name: table.name.clone(),
        rows: [train.rows(), validation.as_ref().map_or(0, BitMatrix::rows), test.rows()],
        columns: train.columns(),
        variables: [wide, variables.of(train.columns()).count()],
        on_validation: table.on_validation,
        hidden: config.model.hidden,
        updates: summary.updates,
        weight_decay: config.training.weight_decay,
        rate: config.training.learning_rate.initial,
        trials: trials.len(),
        processor_seconds: all().map(processor).sum(),
        test: test_value,
        method: summary.best.audit_method.clone(),
        doubt: summary.best.doubt.clone(),
        bounds,
        baselines,
    })
}

/// The trial runs of a search.
fn searched(run: &Path) -> Vec<RunFiles> {
    let entries = std::fs::read_dir(run.join(SEARCH)).into_iter().flatten().flatten();
    entries.filter_map(|entry| RunFiles::read(&entry.path(), true).ok()).collect()
}

/// Test log-likelihoods by reverse AIS and by AIS, on a path from a mixture fitted to the modes that were found.
fn bounds(
    model: &ModelFile,
    train: &BitMatrix,
    test: &BitMatrix,
) -> Result<([LogLikelihood; 2], usize)> {
    let parameters = &model.parameters;
    let engine = Host::new(parameters);
    let base = BaseDistribution::from_marginals(train, 1.0, &parameters.variables)?;
    let rows = train.spread(KNOWN_ROWS);
    let known = Known {
        marginals: Some(&base),
        rows: Some(&rows),
        states: model.states.as_ref(),
        ..Known::default()
    };
    let found = Automatic::new(1)?.start(parameters, known, &mut |_| ())?;
    let seed = Method::Sandwich.seed(1);
    let start = Equilibrium::draw_from(parameters, &engine, &found, CHAINS, seed)?;
    let test = mean_log_f(&engine, test);
    let of = |log_z: &Estimate| test.log_likelihood(log_z.value, log_z.std_error);
    let mut narrowest = None;
    for temperatures in TEMPERATURES {
        let ladder = Ladder::linear(temperatures, &Prior::Uniform)?;
        let path = MixturePath { engine: &engine, ladder: &ladder, base: &found.mixture };
        let found = sandwich(&path, CHAINS, &start, seed)?;
        narrowest = Some(([of(&found.upper), of(&found.lower)], temperatures));
        if (found.upper.value - found.lower.value).abs() <= APART {
            break;
        }
    }
    narrowest.ok_or_else(|| Error::Invalid("no temperatures".into()))
}
