//! A trainer made of parts, each a value. A part that is left out has the defaults of its keys.

use serde::Serialize;
use toml::Value;

use super::Trainer;
use crate::config::{
    AuditConfig, AveragingConfig, Config, EvaluationConfig, GradientConfig, ModelConfig,
    TemperingConfig,
};
use crate::context::Context;
use crate::data::{Binarization, Dataset, Files, Source, Splits, Values};
use crate::error::{Error, Result};
use crate::training::gradient::NegativePhase;
use crate::training::update::UpdateRuleConfig;
use crate::training::{EarlyStoppingConfig, LearningRate};

/// Rows to train on.
#[allow(clippy::large_enum_variant, reason = "there is one of them")]
pub enum TrainingData {
    /// A known data set or files.
    Source(Source),
    /// Rows in memory, of which `data.validation_fraction` and `data.test_fraction` are held out.
    Rows(Dataset),
    /// The same, held out already.
    Splits(Splits),
}

/// The parts of a [`Trainer`], see [`Trainer::builder`].
#[must_use]
pub struct TrainerBuilder<'a> {
    data: TrainingData,
    values: Vec<Result<(&'static str, Value)>>,
    settings: &'a [String],
    context: Context,
    phase: Option<Box<dyn NegativePhase>>,
}

impl Trainer {
    /// A trainer of parts.
    ///
    /// ```
    /// use ztrack::Trainer;
    /// use ztrack::data::{Source, generators::BarsAndStripes};
    /// use ztrack::training::{LearningRate, TrainingData};
    ///
    /// let rows = Source::BarsAndStripes(BarsAndStripes { side: 3, ..BarsAndStripes::default() });
    /// let builder = Trainer::builder(TrainingData::Source(rows)).hidden(4).updates(100);
    /// let trainer = builder.learning_rate(LearningRate::constant(0.1)).build()?;
    /// assert_eq!(trainer.total_updates(), 100);
    /// # Ok::<(), ztrack::Error>(())
    /// ```
    pub fn builder<'a>(data: TrainingData) -> TrainerBuilder<'a> {
        let source = match &data {
            TrainingData::Source(source) => source.clone(),
            _ => Source::Files(Files { train: "memory".into(), ..Files::default() }),
        };
        let (values, settings, phase) = (Vec::new(), &[][..], None);
        let context = Context::default();
        TrainerBuilder { data, values, settings, context, phase }.set("data.source", source)
    }
}

/// Makes a method for each key.
macro_rules! parts {
    ($($name:ident: $type:ty = $key:literal,)*) => {
        impl TrainerBuilder<'_> {
            $(
                #[doc = concat!("`", $key, "`, see docs/configuration.md.")]
                pub fn $name(self, $name: $type) -> Self {
                    self.set($key, $name)
                }
            )*
        }
    };
}

parts! {
    model: ModelConfig = "model",
    hidden: usize = "model.hidden",
    updates: u64 = "training.updates",
    epochs: u64 = "training.epochs",
    batch: usize = "training.batch",
    centering: bool = "training.centering",
    gradient: GradientConfig = "training.gradient",
    rule: UpdateRuleConfig = "training.update",
    learning_rate: LearningRate = "training.learning_rate",
    early_stopping: EarlyStoppingConfig = "training.early_stopping",
    averaging: AveragingConfig = "averaging",
    tempering: TemperingConfig = "tempering",
    evaluation: EvaluationConfig = "evaluation",
    audit: AuditConfig = "audit",
}

impl<'a> TrainerBuilder<'a> {
    /// Any key of a configuration.
    pub fn set(mut self, key: &'static str, value: impl Serialize) -> Self {
        let value = Value::try_from(value).map_err(|error| Error::config(key, error.to_string()));
        self.values.push(value.map(|value| (key, value)));
        self
    }

    /// Keys in the form of `--set`, which take precedence.
    pub fn settings(self, settings: &'a [String]) -> Self {
        Self { settings, ..self }
    }

    /// Seed of every random stream of the run.
    pub fn seed(self, seed: u64) -> Self {
        self.set("seed", seed.to_string())
    }

    /// A negative phase of the caller's own; [`Self::gradient`] then only gives the cost of an update.
    pub fn negative_phase(self, phase: Box<dyn NegativePhase>) -> Self {
        Self { phase: Some(phase), ..self }
    }

    /// Where the model and its chains are (a [`crate::Device`]), what ends the training, and its progress.
    pub fn within(self, context: impl Into<Context>) -> Self {
        Self { context: context.into(), ..self }
    }

    /// The trainer, at its beginning.
    ///
    /// # Errors
    /// A part out of range, data that cannot be read, or parts that do not fit each other or the memory of this machine.
    pub fn build(self) -> Result<Trainer> {
        let config = Config::of(self.values, self.settings)?;
        let splits = match self.data {
            TrainingData::Source(_) => config.data.load(None)?,
            TrainingData::Splits(splits) => splits,
            TrainingData::Rows(Dataset { values: Values::Intensity(_), .. })
                if config.data.binarization == Binarization::None =>
            {
                return Err(Error::config("data.binarization", "these rows have grey levels"));
            }
            TrainingData::Rows(rows) => Splits::of(rows, &config.data.split())?,
        };
        let mut trainer = Trainer::new(&config, splits, self.context)?;
        trainer.negative_phase = self.phase.unwrap_or(trainer.negative_phase);
        Ok(trainer)
    }
}
