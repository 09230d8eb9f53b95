//! Training on an array in memory, in one call.

use crate::context::Context;
use crate::data::{Dataset, Rows, Values};
use crate::error::{Error, Result};
use crate::estimators::Estimate;
use crate::model::Parameters;
use crate::record::{Memory, Recorder, Tee};
use crate::tracking::LogLikelihood;
use crate::training::{
    Best, EarlyStoppingConfig, LastAudits, LearningRate, NoCheckpoints, Schedule, StopReason,
    Trainer, TrainingData, run,
};

/// Options of [`fit`].
///
/// ```
/// use ztrack::{Options, fit};
///
/// let rows: Vec<[u8; 6]> = (0..60).map(|row| [(row % 2) as u8; 6]).collect();
/// let fit = fit(&rows, Options { hidden: 4, epochs: 20, ..Options::default() })?;
/// println!("{} nats per row, log Z {} +- {}", fit.train.value, fit.log_z.value, fit.log_z.std_error);
/// # Ok::<(), ztrack::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Number of hidden units, J.
    pub hidden: usize,
    /// Passes through the rows, at most.
    pub epochs: u64,
    /// Rows per minibatch; `None` for a hundredth of the rows, between 10 and 100: few rows still make many updates.
    pub batch: Option<usize>,
    /// Step size, which falls to zero over the run.
    pub learning_rate: f64,
    /// Fraction of the rows on which the best model is chosen and training is stopped; 0 for none.
    pub validation_fraction: f64,
    /// Evaluations over the whole run.
    pub evaluations: u64,
    /// Tempered chains of the tracker.
    pub chains: usize,
    /// Seed of all random streams.
    pub seed: u64,
    /// Any field of a configuration, in the form of `--set`: `training.gradient={ kind = "cd" }`. These take precedence.
    pub settings: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            hidden: 64,
            epochs: 100,
            batch: None,
            learning_rate: crate::config::RATE,
            validation_fraction: 0.1,
            evaluations: 50,
            chains: 200,
            seed: 0,
            settings: Vec::new(),
        }
    }
}

/// Keys of a configuration and the options that set them.
const KEYS: &[(&str, &str)] = &[
    ("model.hidden", "hidden"),
    ("training.epochs", "epochs"),
    ("training.batch", "batch"),
    ("training.learning_rate", "learning_rate"),
    ("data.validation_fraction", "validation_fraction"),
    ("evaluation.every", "evaluations"),
    ("tempering.chains", "chains"),
];

/// Default number of rows per minibatch.
const BATCHES: std::ops::RangeInclusive<usize> = 10..=100;

/// A trained model and its results.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The best model by validation log-likelihood; without validation rows the last one.
    pub parameters: Parameters,
    /// The update it is from.
    pub update: u64,
    /// Its log Z, computed independently of the tracker.
    pub log_z: Estimate,
    /// Mean log-likelihood of the training rows, nats per row.
    pub train: LogLikelihood,
    /// The same of the validation rows.
    pub validation: Option<LogLikelihood>,
    /// Every evaluation: `curves.series(Run::Train, "log_likelihood")` and all columns of metrics.csv.
    pub curves: Memory,
    /// Why training ended.
    pub reason: StopReason,
}

/// Trains on rows in memory: arrays, ndarray's arrays, Burn tensors, bits or a [`Dataset`], [N, M].
///
/// # Errors
/// No rows, options out of range, training that diverges.
pub fn fit(rows: &impl Rows, options: Options) -> Result<Fit> {
    fit_recording(rows, options, &mut Memory::default(), &Context::default())
}

/// As [`fit`], with a recorder for the run, in a context.
///
/// # Errors
/// As [`fit`], those of the recorder, and [`Error::Interrupted`] after [`Context::cancel`].
pub fn fit_recording(
    rows: &impl Rows,
    options: Options,
    recorder: &mut dyn Recorder,
    context: &Context,
) -> Result<Fit> {
    let dataset = rows.dataset()?;
    let mut trainer = options.trainer(dataset, context).map_err(|error| options.named(error))?;
    let mut curves = Memory::default();
    let mut tee = Tee(vec![Box::new(&mut curves), Box::new(recorder)]);
    let reason = run(&mut trainer, &mut tee, &mut NoCheckpoints)?.reason;
    drop(tee);
    // The progress of every update is only for recorders.
    curves.progress = Vec::new();
    let (parameters, update, likelihood) = match trainer.last_audits()? {
        LastAudits::Best(Best { candidate, likelihood, .. }) => {
            (candidate.parameters.as_ref().clone(), candidate.update, likelihood)
        }
        LastAudits::Last(likelihood) => (trainer.parameters(), trainer.updates(), likelihood),
    };
    let (log_z, train, validation) = (likelihood.log_z, likelihood.train, likelihood.validation);
    Ok(Fit { parameters, update, log_z, train, validation, curves, reason })
}

impl Options {
    /// An error with the option in place of its key, unless `settings` contain that key.
    fn named(&self, error: Error) -> Error {
        let Error::Config { field, problem, .. } = &error else { return error };
        let set = |key: &str| self.settings.iter().any(|setting| setting.starts_with(key));
        let option = KEYS.iter().find(|(key, _)| field.starts_with(key) && !set(key));
        match option {
            Some((_, option)) => Error::Config {
                field: option.to_string(),
                place: Some(format!("`{option}`")),
                problem: problem.clone(),
            },
            None => error,
        }
    }

    /// The trainer of these options.
    fn trainer(&self, dataset: Dataset, context: &Context) -> Result<Trainer> {
        let (fraction, grey) =
            (self.validation_fraction, matches!(dataset.values, Values::Intensity(_)));
        let by_rows = (dataset.rows() / 100).clamp(*BATCHES.start(), *BATCHES.end());
        let batch = self.batch.unwrap_or(by_rows);
        let train = dataset.rows() as f64 * (1.0 - fraction.clamp(0.0, 1.0));
        let updates = self.epochs.saturating_mul((train as u64).div_ceil(batch.max(1) as u64));
        let every = updates.checked_div(self.evaluations).map_or(0, |every| every.max(1));
        let schedule = Schedule::LinearToZero {};
        let mut builder = Trainer::builder(TrainingData::Rows(dataset))
            .within(context)
            .seed(self.seed)
            .hidden(self.hidden)
            .epochs(self.epochs)
            .batch(batch)
            .learning_rate(LearningRate { initial: self.learning_rate, schedule })
            .centering(true)
            .set("data.validation_fraction", fraction)
            .set("tempering.chains", self.chains)
            .set("evaluation.every", every)
            .set("evaluation.images_every", 0)
            .set("audit.every", 0);
        if fraction > 0.0 {
            builder = builder.early_stopping(EarlyStoppingConfig::default());
        }
        if grey {
            builder = builder.set("data.binarization", "stochastic");
        }
        builder.settings(&self.settings).build()
    }
}
