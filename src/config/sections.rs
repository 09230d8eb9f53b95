//! The sections of a configuration file, with their defaults.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Automatic, GradientConfig, PretrainingConfig};
use crate::data::{Alphabet, Binarization, Column, Source};
use crate::tempering::InitialRounds;
use crate::tracking::Settling;
use crate::training::update::UpdateRuleConfig;
use crate::training::{EarlyStoppingConfig, LearningRate};

/// A whole configuration file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Seed of every random stream of the run.
    #[serde(default, with = "super::seed")]
    pub seed: u64,
    /// `[data]`
    pub data: DataConfig,
    /// `[model]`
    pub model: ModelConfig,
    /// `[training]`
    pub training: TrainingConfig,
    /// `[averaging]`
    #[serde(default)]
    pub averaging: AveragingConfig,
    /// `[tempering]`
    #[serde(default)]
    pub tempering: TemperingConfig,
    /// `[evaluation]`
    #[serde(default)]
    pub evaluation: EvaluationConfig,
    /// `[audit]`
    #[serde(default)]
    pub audit: AuditConfig,
    /// `[checkpoint]`
    #[serde(default)]
    pub checkpoint: CheckpointConfig,
}

/// `[data]`: where rows come from and how they become zeros and ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataConfig {
    /// The source, as in `{ name = "bars-and-stripes", side = 4 }` or `{ name = "mnist" }`.
    pub source: Source,
    /// Grey levels to zeros and ones: `"none"`, `"stochastic"` or `{ threshold = 0.5 }`.
    #[serde(default)]
    pub binarization: Binarization,
    /// Share of the training rows that becomes the validation set where the source brings none.
    #[serde(default)]
    pub validation_fraction: f64,
    /// Share of the training rows that becomes the test set where the source brings none.
    #[serde(default)]
    pub test_fraction: f64,
    /// Seed of the split.
    #[serde(default, with = "super::seed")]
    pub split_seed: u64,
    /// Whether adjacent columns of which at most one is set are found and become categorical variables.
    #[serde(default = "yes")]
    pub groups: bool,
    /// What the columns stand for, as in `"60*3+,4,1+"` ([`crate::units::Variables`]), instead of what is found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables: Option<String>,
    /// Weight of a training row: 1 / the number of training rows that have at least this fraction of the variables in the same state, itself
    /// included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f64>,
    /// Weights of the training rows: a column of the table, or a file with a number for each row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<Column>,
    /// The alphabet of sequences, instead of the one that their letters show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alphabet: Option<Alphabet>,
    /// Whether the columns of a table of categories get one more state, for values in validation or test that training has not.
    #[serde(default)]
    pub unseen: bool,
    /// Data folder; else the environment variable ZTRACK_DATA, else `datasets`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
}

fn yes() -> bool {
    true
}

/// `[model]`: size and start of the RBM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// Number of hidden units, J.
    pub hidden: usize,
    /// Standard deviation of the initial weights.
    #[serde(default = "default_weight_scale")]
    pub weight_scale: f64,
    /// Start of the visible bias.
    #[serde(default)]
    pub visible_bias: VisibleBias,
    /// Which implementation of the operations runs.
    #[serde(default)]
    pub kernel: Kernel,
}

fn default_weight_scale() -> f64 {
    0.01
}

/// Start of the visible bias.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VisibleBias {
    /// Logits of the training marginals (Hinton 2012).
    #[default]
    Marginals,
    /// Zero.
    Zero,
}

/// Implementation of the operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kernel {
    /// The fused CPU kernel.
    #[default]
    #[serde(rename = "fused")]
    Host,
    /// Plain Burn operations; the slow reference.
    Composed,
}

/// `[training]`: gradient, update rule, length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingConfig {
    /// Length in passes through the training data; exactly one of `epochs` and `updates` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epochs: Option<u64>,
    /// Length in parameter updates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updates: Option<u64>,
    /// Rows per minibatch.
    pub batch: usize,
    /// Negative phase of the gradient.
    pub gradient: GradientConfig,
    /// Whether the particles of PCD exchange states with tempered chains at the parameters that are trained; automatic: from the evaluation
    /// on at which the training collapses ([`crate::training::Health`]).
    #[serde(default)]
    pub exchange: Automatic<bool>,
    /// Centered gradient (Melchior, Fischer, Wiskott 2016).
    #[serde(default)]
    pub centering: bool,
    /// L2 penalty on the weights: `weight_decay` x W is subtracted from the gradient.
    #[serde(default)]
    pub weight_decay: f64,
    /// Step size and its schedule.
    pub learning_rate: LearningRate,
    /// Update rule and its settings.
    #[serde(default)]
    pub update: UpdateRuleConfig,
    /// CD-1 phase before tracking starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pretraining: Option<PretrainingConfig>,
    /// Ends the run on the validation log-likelihood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub early_stopping: Option<EarlyStoppingConfig>,
}

/// `[averaging]`: the running average of the parameters, which is what is tracked, evaluated, stopped on and saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AveragingConfig {
    /// Share of the history that is averaged over, in [0, 1]; 0 for none. Chosen by itself: 0.1.
    pub window: Automatic<f64>,
}

/// `[tempering]`: chains, ladder and tracker of log Z.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TemperingConfig {
    /// Number of persistent chains, S.
    pub chains: usize,
    /// Number of equally spaced inverse temperatures, K; ignored if `betas` is given. Chosen by itself: 20 to 50, by the
    /// size of the smaller layer.
    pub temperatures: Automatic<usize>,
    /// Inverse temperatures from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub betas: Option<Vec<f64>>,
    /// Prior r_k: `"uniform"`, `{ exponential = 2.0 }` for exp(2 beta), or `{ given = [...] }`.
    pub prior: PriorConfig,
    /// Gibbs sweeps of every chain per step of the tracker. Chosen by itself: 2, with the tempered gradient 5.
    pub sweeps: Automatic<usize>,
    /// Updates between steps of the tracker, which also follow before every evaluation. More than 1 makes tracking
    /// cheaper; not for the tempered gradient, whose chains must keep up with the model. Chosen by itself: a two
    /// hundredth of the updates so far, between 1 and 20, as the averaged model moves; more where `share` asks for it.
    pub every: Automatic<u64>,
    /// Most time that tracking may take, in units of the time of training; what `every` chosen by itself keeps to, by the
    /// numbers of operations of both. Not for the tempered gradient, whose chains are the training.
    pub share: f64,
    /// Components of the mixture, fitted to the training rows, from which a second population of half as many chains starts; 0 for no
    /// second population.
    pub mixture: usize,
    /// Whether chains carry weights for how the model moved under them. Chosen by itself: yes.
    pub weighted: Automatic<bool>,
    /// Sweeps at fixed parameters before an evaluation.
    pub settling: SettlingConfig,
    /// Redrawing of inverse temperatures: `"collapsed"` or `{ joint = REPEATS }`.
    pub beta_update: BetaUpdateConfig,
    /// Base distribution: `"marginals"`, `"uniform"` or `{ given = [logits] }`.
    pub base: Base,
    /// Filter of log Z: `"kalman"` or `{ alpha = 0.2 }` (RTS eq. 24).
    pub smoothing: SmoothingConfig,
    /// Rounds that find the first log Z.
    pub initial_rounds: InitialRounds,
}

impl Default for TemperingConfig {
    fn default() -> Self {
        Self {
            chains: 100,
            temperatures: Automatic::Auto,
            betas: None,
            prior: PriorConfig::Uniform,
            sweeps: Automatic::Auto,
            every: Automatic::Auto,
            share: 1.0,
            mixture: 16,
            weighted: Automatic::Auto,
            settling: SettlingConfig::default(),
            beta_update: BetaUpdateConfig::Collapsed,
            base: Base::Marginals,
            smoothing: SmoothingConfig::Kalman,
            initial_rounds: InitialRounds::default(),
        }
    }
}

/// Sweeps of a copy of the tempered chains at fixed parameters for an evaluation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SettlingConfig {
    /// Sweeps; 0 for none. Chosen by itself: 60, as few as 24 where `tempering.share` asks for it.
    pub sweeps: Automatic<usize>,
    /// Most sweeps, where chains have not equilibrated. Chosen by itself: what `tempering.share` leaves, at most 2000.
    pub most: Automatic<usize>,
}

impl SettlingConfig {
    /// Sweeps where none are asked for.
    pub const SWEEPS: usize = 60;

    /// What is given, else `sweeps`, not more than a given `most`, and `most` where that is more.
    pub(crate) fn or(self, sweeps: usize, most: usize) -> Settling {
        let sweeps = self.sweeps.or(sweeps.min(self.most.given().unwrap_or(sweeps)));
        Settling { sweeps, most: self.most.or(most.max(sweeps)) }
    }
}

/// Prior of the temperatures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PriorConfig {
    /// r_k = 1/K.
    Uniform,
    /// r_k proportional to exp(c beta_k).
    Exponential(f64),
    /// r_k proportional to these.
    Given(Vec<f64>),
}

/// Redrawing of inverse temperatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BetaUpdateConfig {
    /// k ~ q(k|v).
    Collapsed,
    /// k ~ q(k|v,h), this many times a sweep.
    Joint(usize),
}

/// Base distribution at beta = 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Base {
    /// Smoothed training marginals.
    Marginals,
    /// Every state has the same probability.
    Uniform,
    /// These logits, one per visible unit.
    Given(Vec<f32>),
}

/// Filter of log Z.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SmoothingConfig {
    /// Drift-corrected Kalman filter.
    Kalman,
    /// RTS eq. 24 with this alpha in (0, 1].
    Alpha(f64),
}

/// `[evaluation]`: when log-likelihoods are computed and recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EvaluationConfig {
    /// Updates between evaluations.
    pub every: u64,
    /// Training rows evaluated; 0 for all.
    pub train_rows: usize,
    /// Evaluations between pictures in TensorBoard; 0 for none.
    pub images_every: u64,
    /// Whether log Z is enumerated at evaluations, the tracked value shown beside it. Chosen by itself: where that costs
    /// less than half of the updates since the evaluation before.
    pub exact: Automatic<bool>,
}

impl Default for EvaluationConfig {
    fn default() -> Self {
        Self { every: 100, train_rows: 0, images_every: 10, exact: Automatic::Auto }
    }
}

/// `[audit]`: log Z computed independently, to check the tracker: exact where the smaller layer has at most 20 units,
/// else by annealed importance sampling.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuditConfig {
    /// Evaluations between audits; 0 for none but the one of the best model at the end.
    pub every: u64,
    /// Chains of annealed importance sampling.
    pub chains: usize,
    /// Its inverse temperatures; fewer during training where `share` asks for it.
    pub temperatures: usize,
    /// Most time that audits during training may take, in units of the time of training between them.
    pub share: f64,
}

impl Default for AuditConfig {
    fn default() -> Self {
        Self { every: 10, chains: 100, temperatures: 10_000, share: 0.5 }
    }
}

/// `[checkpoint]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CheckpointConfig {
    /// Updates between checkpoints.
    pub every: u64,
    /// Number of model checkpoints kept beside best and last; 0 keeps all.
    pub keep: usize,
}

impl Default for CheckpointConfig {
    fn default() -> Self {
        Self { every: 1000, keep: 3 }
    }
}
