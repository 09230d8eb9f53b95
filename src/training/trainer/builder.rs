//! A trainer made of parts, each a value. A part that is left out has the defaults of its keys.

use serde::Serialize;
use toml::Value;

use super::Trainer;
use crate::config::{
    AuditConfig, AveragingConfig, Config, EvaluationConfig, GradientConfig, ModelConfig,
    TemperingConfig,
};
use crate::data::{Binarization, Dataset, Source, Splits, Values};
use crate::error::{Error, Result};
use crate::model::Device;
use crate::training::gradient::NegativePhase;
use crate::training::update::UpdateRuleConfig;
use crate::training::{EarlyStoppingConfig, LearningRate};

/// Rows to train on.
pub enum TrainingData {
    /// A known data set or files.
    Source(Source),
    /// Rows in memory, of which `data.validation_fraction` and `data.test_fraction` are held out.
    Rows(Dataset),
    /// The same, held out already.
    Splits(Box<Splits>),
}

impl From<Source> for TrainingData {
    fn from(source: Source) -> Self {
        Self::Source(source)
    }
}

impl From<Dataset> for TrainingData {
    fn from(rows: Dataset) -> Self {
        Self::Rows(rows)
    }
}

impl From<Splits> for TrainingData {
    fn from(splits: Splits) -> Self {
        Self::Splits(Box::new(splits))
    }
}

/// The parts of a [`Trainer`], see [`Trainer::builder`].
pub struct TrainerBuilder<'a> {
    data: TrainingData,
    values: Vec<(&'static str, Value)>,
    settings: &'a [String],
    problem: Option<Error>,
    device: Device,
    phase: Option<Box<dyn NegativePhase>>,
}

impl Trainer {
    /// A trainer of parts.
    ///
    /// ```
    /// use ztrack::data::{Source, generators::BarsAndStripes};
    /// use ztrack::training::LearningRate;
    /// use ztrack::Trainer;
    ///
    /// let data = Source::BarsAndStripes(BarsAndStripes { side: 3, ..BarsAndStripes::default() });
    /// let trainer = Trainer::builder(data).hidden(4).updates(100).learning_rate(LearningRate::constant(0.1)).build()?;
    /// assert_eq!(trainer.total_updates(), 100);
    /// # Ok::<(), ztrack::Error>(())
    /// ```
    pub fn builder<'a>(data: impl Into<TrainingData>) -> TrainerBuilder<'a> {
        TrainerBuilder {
            data: data.into(),
            values: Vec::new(),
            settings: &[],
            problem: None,
            device: Device::default(),
            phase: None,
        }
    }
}

impl<'a> TrainerBuilder<'a> {
    /// Any key of a configuration.
    #[must_use]
    pub fn set(mut self, key: &'static str, value: impl Serialize) -> Self {
        match Value::try_from(value) {
            Ok(value) => self.values.push((key, value)),
            Err(error) => {
                self.problem.get_or_insert_with(|| Error::config(key, error.to_string()));
            }
        }
        self
    }

    /// Keys in the form of `--set`, which take precedence.
    #[must_use]
    pub fn settings(self, settings: &'a [String]) -> Self {
        Self { settings, ..self }
    }

    /// Seed of every random stream of the run.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        self.set("seed", seed.to_string())
    }

    /// Number of hidden units, J.
    #[must_use]
    pub fn hidden(self, hidden: usize) -> Self {
        self.set("model.hidden", hidden)
    }

    /// Size and start of the RBM.
    #[must_use]
    pub fn model(self, model: ModelConfig) -> Self {
        self.set("model", model)
    }

    /// Length in parameter updates.
    #[must_use]
    pub fn updates(self, updates: u64) -> Self {
        self.set("training.updates", updates)
    }

    /// Length in passes through the training rows.
    #[must_use]
    pub fn epochs(self, epochs: u64) -> Self {
        self.set("training.epochs", epochs)
    }

    /// Rows per minibatch.
    #[must_use]
    pub fn batch(self, batch: usize) -> Self {
        self.set("training.batch", batch)
    }

    /// Where the model's expectations in the gradient come from.
    #[must_use]
    pub fn gradient(self, gradient: GradientConfig) -> Self {
        self.set("training.gradient", gradient)
    }

    /// A negative phase of the caller's own. [`Self::gradient`] then only gives the cost of an update.
    #[must_use]
    pub fn negative_phase(self, phase: Box<dyn NegativePhase>) -> Self {
        Self { phase: Some(phase), ..self }
    }

    /// Update rule.
    #[must_use]
    pub fn rule(self, rule: UpdateRuleConfig) -> Self {
        self.set("training.update", rule)
    }

    /// Step size and its schedule.
    #[must_use]
    pub fn learning_rate(self, rate: LearningRate) -> Self {
        self.set("training.learning_rate", rate)
    }

    /// The running average of the parameters, which is what is tracked.
    #[must_use]
    pub fn averaging(self, averaging: AveragingConfig) -> Self {
        self.set("averaging", averaging)
    }

    /// Chains, ladder and tracker of log Z.
    #[must_use]
    pub fn tempering(self, tempering: TemperingConfig) -> Self {
        self.set("tempering", tempering)
    }

    /// When log-likelihoods are computed and recorded.
    #[must_use]
    pub fn evaluation(self, evaluation: EvaluationConfig) -> Self {
        self.set("evaluation", evaluation)
    }

    /// log Z computed independently, to check the tracker.
    #[must_use]
    pub fn audit(self, audit: AuditConfig) -> Self {
        self.set("audit", audit)
    }

    /// Ends the run on the validation log-likelihood.
    #[must_use]
    pub fn early_stopping(self, stopping: EarlyStoppingConfig) -> Self {
        self.set("training.early_stopping", stopping)
    }

    /// Where the model and its chains are.
    #[must_use]
    pub fn device(self, device: Device) -> Self {
        Self { device, ..self }
    }

    /// The trainer, at its beginning.
    ///
    /// # Errors
    /// A part out of range, data that cannot be read, or parts that do not fit each other or the memory of this machine.
    pub fn build(self) -> Result<Trainer> {
        let source = match &self.data {
            TrainingData::Source(source) => Some(source.clone()),
            _ => None,
        };
        let set = self.values.iter().any(|(key, _)| key.starts_with("data.source"));
        let with_source = match source {
            Some(source) => self.set("data.source", source),
            None if set => self,
            None => self.set("data.source.name", "files").set("data.source.train", "memory"),
        };
        let Self { data, values, settings, problem, device, phase } = with_source;
        problem.map_or(Ok(()), Err)?;
        let config = Config::of(values, settings)?;
        let splits = match data {
            TrainingData::Source(_) => config.data.load(None)?,
            TrainingData::Splits(splits) => *splits,
            TrainingData::Rows(Dataset { values: Values::Intensity(_), .. })
                if config.data.binarization == Binarization::None =>
            {
                return Err(Error::config("data.binarization", "these rows have grey levels"));
            }
            TrainingData::Rows(rows) => Splits::of(rows, &config.data.split())?,
        };
        Trainer::prepare(&config, splits, &device, phase)
    }
}
