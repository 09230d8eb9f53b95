//! The sections of a configuration. What stands here is the only source of a key: reading, messages, `ztrack config explain`,
//! docs/configuration.md and configs/schema.json follow from it.

use std::ops::Bound::{Excluded, Included};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::data::is_mixed;
use super::{GradientConfig, PretrainingConfig};
use crate::data::{Alphabet, Binarization, Column, Source};
use crate::keys::{Automatic, Short, choice, section};
use crate::tempering::{BetaUpdate, InitialRounds, Prior};
use crate::tracking::{Settling, Smoothing};
use crate::training::update::UpdateRuleConfig;
use crate::training::{EarlyStoppingConfig, LearningRate};
use crate::units::Variables;

section! {
    /// A whole configuration file.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Config {
        /// Seed of every random stream of the run.
        #[serde(with = "super::seed")]
        seed: u64 = 0 => seed().example("7");
        /// Where rows come from and how they become zeros and ones.
        data: DataConfig => example("{ source = \"dna\" }");
        /// Size and start of the RBM.
        model: ModelConfig => example("{ hidden = 64 }");
        /// Gradient, update rule, length.
        training: TrainingConfig => otherwise("the defaults of its keys").example("{ epochs = 50 }");
        /// The running average of the parameters, which is what is tracked, evaluated, stopped on and saved; false for none.
        averaging: AveragingConfig = AveragingConfig::default() => short(Short::Off("window")).example("false");
        /// Chains, ladder and tracker of log Z; false for none: log Z is then estimated after the last update alone.
        tempering: TemperingConfig = TemperingConfig::default() => short(Short::Off("share")).example("{ chains = 200 }");
        /// When log-likelihoods are computed and recorded.
        evaluation: EvaluationConfig = EvaluationConfig::default() => example("{ every = 50 }");
        /// log Z computed independently, to check the tracker: exact where the smaller layer has at most 20 units, else by annealed
        /// importance sampling; false for none but the one at the end.
        audit: AuditConfig = AuditConfig::default() => short(Short::Off("every")).example("false");
        /// What is kept on disk, and how often.
        checkpoint: CheckpointConfig = CheckpointConfig::default() => example("{ every = 500 }");
    }
}

section! {
    /// `[data]`: where rows come from and how they become zeros and ones.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct DataConfig {
        /// A known data set by its name, or the path of a data file, as in "my.csv"; a section where there is more to say. The sets
        /// bars-and-stripes and dna-like are generated, dna, mnist and binarized-mnist lie in the data folder.
        source: Source => without("files").example("\"mnist\"");
        /// How grey levels become zeros and ones: "none" (the data are binary), a threshold (a number, on the scale from 0 to 1), or
        /// "stochastic" (a unit is 1 with probability level / 255, drawn afresh every epoch). Data that are binary stay as they are.
        binarization: Binarization = Binarization::None => example("0.5");
        /// Share of the training rows that becomes the validation set where the source brings none; 0.1 where `training.updates` and
        /// `training.epochs` are left out.
        validation_fraction: f64 = 0.0 => range(0.0..1.0).unit("share of the rows").example("0.2");
        /// Share of the training rows that becomes the test set where the source brings none.
        test_fraction: f64 = 0.0 => range(0.0..1.0).unit("share of the rows").example("0.2");
        /// Seed of the split.
        #[serde(with = "super::seed")]
        split_seed: u64 = 0 => seed().example("1");
        /// Whether adjacent columns that exclude each other, such as one-hot columns, become one categorical variable. They are found in
        /// the training rows; `ztrack data describe` shows them. false: every column is a bit.
        groups: bool = true => example("false");
        /// What the columns stand for: the number of columns of each variable, with + where "no column is set" is a state, and a factor
        /// where several in a row are alike. 1+ is a bit. "plus-minus" are units of -1 and +1 (Ising spins), visible and hidden ones; "bits"
        /// are units of 0 and 1. "real" are real numbers, one column each, with a normal distribution given the hidden units; "3*real,1+"
        /// are three of them and a bit. They are standardised by the training rows. "mixed", of a text table or Parquet, takes each column as
        /// its cells show: 0 and 1 are a bit, words categories, and so are at most 50 numbers in ten rows each on average; other numbers are real.
        #[serde(skip_serializing_if = "Option::is_none")]
        variables: Option<String> = None => other(
            "\"bits\", \"plus-minus\", \"real\", \"mixed\" or numbers of columns, as in \"60*3+,4,1+,10*real\"",
            |value| value.as_str().is_some_and(|text| is_mixed(text) || text.parse::<Variables>().is_ok())
        ).otherwise("what is found in the training rows: \"plus-minus\" where all cells are -1 or +1").example("\"60*3+,4,1+\"");
        /// Weights training rows, as is usual for related sequences: a row counts as 1 / the number of training rows that agree with it in
        /// at least this fraction of the variables, itself included. Weights are used in the gradient, the marginals and the likelihood of
        /// the training rows; validation and test rows all count as one.
        #[serde(skip_serializing_if = "Option::is_none")]
        similarity: Option<f64> = None => range((Excluded(0.0), Included(1.0)))
            .otherwise("all rows have the same weight").unit("share of the variables").example("0.8");
        /// Weights of the training rows: a column of the table, which is no unit, or a file with a number for each row, in the order of the
        /// training file: text, one a line, or npy. A weight is the number of rows that a row stands for. Weights are used as those of
        /// data.similarity.
        #[serde(skip_serializing_if = "Option::is_none")]
        weights: Option<Column> = None => other(
            "the name of a column, its number from 1, or the path of a file",
            |value| Column::try_from(value.clone()).is_ok()
        ).otherwise("all rows have the same weight").unit("rows").example("\"weight\"");
        /// The letters of aligned sequences, the gap besides: dna (ACGT), rna (ACGU) or protein (20 amino acids).
        #[serde(skip_serializing_if = "Option::is_none")]
        alphabet: Option<Alphabet> = None
            => otherwise("what the letters of the sequences show").example("\"protein\"");
        /// Whether each column of a table of categories gets one more state, `(unseen)`, for values in validation, test or other rows that
        /// the training file does not have; else such values are refused.
        unseen: bool = false => example("true");
        /// The data folder.
        #[serde(skip_serializing_if = "Option::is_none")]
        folder: Option<PathBuf> = None
            => otherwise("the environment variable ZTRACK_DATA, else \"datasets\"").example("\"datasets\"");
    }
}

section! {
    /// `[model]`: size and start of the RBM.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct ModelConfig {
        /// Number of hidden units, J.
        hidden: usize => size(1).unit("units").example("64");
        /// Standard deviation of the initial weights.
        weight_scale: f64 = 0.01 => range(0.0..);
        /// Start of the visible bias: logits of the training marginals (Hinton 2012), or zero.
        visible_bias: VisibleBias = VisibleBias::Marginals => example("\"zero\"");
        /// Start of the weights: random, or exact: ten hidden units are trained with the exact gradient first, which has no chains that could
        /// miss a mode, and the others start with random weights.
        start: WeightStart = WeightStart::Random => example("\"exact\"");
    }
}

choice! {
    /// Start of the weights.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum WeightStart {
        /// Random weights.
        Random = "random",
        /// Ten hidden units trained with the exact gradient, random weights of the others.
        Exact = "exact",
    }
}

choice! {
    /// Start of the visible bias.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum VisibleBias {
        /// Logits of the training marginals (Hinton 2012).
        Marginals = "marginals",
        /// Zero.
        Zero = "zero",
    }
}

section! {
    /// `[training]`: gradient, update rule, length.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct TrainingConfig {
        /// Length in passes through the training rows; either this or `training.updates`.
        #[serde(skip_serializing_if = "Option::is_none")]
        epochs: Option<u64> = None => least(1).otherwise("see `training.updates`").unit("epochs").example("50");
        /// Length in parameter updates. Where neither length is given, this is the longest, and early stopping decides.
        #[serde(skip_serializing_if = "Option::is_none")]
        updates: Option<u64> = None => least(1).otherwise("goes with `training.preset`: 5000, 20000 or 100000")
            .unit("updates").example("20000");
        /// Rows per minibatch; all rows where there are fewer.
        batch: usize = 100 => size(1).unit("rows");
        /// Where the model's expectations in the gradient come from: "cd" (contrastive divergence, Hinton 2002), "pcd" (persistent
        /// particles, Tieleman 2008), "tempered" (the tracker's tempered chains) or "exact" (enumeration of the smaller layer, of at
        /// most 20 units: each unit more doubles the time of an update).
        gradient: GradientConfig = GradientConfig::Pcd { sweeps: 1, particles: 500 } => example("\"pcd\"");
        /// Whether the particles of PCD exchange states with `tempering.chains` tempered chains that follow the parameters. Particles alone
        /// can lose modes of the data, and then the likelihood falls by many nats. Takes about 1.5 to three times as long; without effect
        /// on the other gradients. True with the preset "best".
        exchange: Automatic<bool>
            => auto("false until the training fails (see `training.rewind`), then true").example("true");
        /// Whether a training that fails goes back to the state of its best evaluation. It fails where the training rows have fallen 10 nats
        /// below their log-likelihood there, or have been clearly below it in 5 evaluations in a row. The first time the exchange of states
        /// starts (`training.exchange`); where that does not help, the learning rate is halved until the training has recovered.
        rewind: bool = true => example("false");
        /// Longest step: the largest standard deviation, over training rows or particles, of the change of log f by one update. Longer steps
        /// are shortened. Where columns are strongly correlated, a usual learning rate changes log f by tens of nats in one update, and 1
        /// may be needed; on pictures 1 is far too small. The limit falls with the learning rate. A large number is no limit.
        largest_step: f64 = 20.0 => positive().unit("nats").example("0.5");
        /// Whether gradients are damped along principal components of the training rows that the learning rate is too large for: those along
        /// which the weights would grow by more than 10 % in an update. Only with the update rule "sgd".
        preconditioning: bool = true => example("false");
        /// Centered gradient (Melchior, Fischer, Wiskott 2016); true where the learning rate is left out.
        centering: bool = false => example("true");
        /// L2 penalty: this times W is subtracted from the gradient.
        weight_decay: f64 = 0.0 => range(0.0..).example("0.0001");
        /// Step size and its schedule. Where the initial rate is left out it goes with the update rule, falls to zero, and the gradient is
        /// centered.
        learning_rate: LearningRate => short(Short::Value("initial")).otherwise("goes with `training.update`").example("0.05");
        /// Update rule: "sgd" (gradient ascent with momentum), "adam" (Kingma and Ba 2015), "rmsspectral" or "ssd" (stochastic spectral
        /// descent).
        update: UpdateRuleConfig = UpdateRuleConfig::default() => example("\"adam\"");
        /// CD-1 with plain gradient ascent before tracking starts; false for none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pretraining: Option<PretrainingConfig> = None => otherwise("none").example("false");
        /// Ends the run on the validation log-likelihood; false for never.
        #[serde(skip_serializing_if = "Option::is_none")]
        early_stopping: Option<EarlyStoppingConfig> = None
            => otherwise("none; with the defaults of its keys where neither length is given").example("false");
        /// Before early stopping ends the run, the training goes back to its best model and continues from there, with the learning rate
        /// falling to zero, for this fraction of the number of updates up to that model. The better model is kept. 0 for none.
        cooldown: f64 = 0.5 => range(0.0..=1.0);
    }
}

section! {
    /// `[averaging]`: the running average of the parameters, which is what is tracked, evaluated, stopped on and saved.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct AveragingConfig {
        /// Share of the history that is averaged over, in [0, 1]; 0 for none.
        window: Automatic<f64> = Automatic::Auto => range(0.0..=1.0).auto("0.1").unit("share of the updates").example("0.1");
    }
}

section! {
    /// `[tempering]`: chains, ladder and tracker of log Z.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct TemperingConfig {
        /// Number of tempered chains, S.
        chains: usize = 100 => size(2).unit("chains").example("200");
        /// Number of equally spaced inverse temperatures, K; not read where `tempering.betas` is given.
        temperatures: Automatic<usize> = Automatic::Auto
            => size(2).auto("20 to 50, by the size of the smaller layer").unit("temperatures").example("50");
        /// Inverse temperatures, ascending from 0 to 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        betas: Option<Vec<f64>> = None
            => otherwise("equally spaced").unit("inverse temperature").example("[0.0, 0.3, 0.6, 1.0]");
        /// Prior r_k of the temperatures: "uniform", { exponential = c } for exp(c beta_k), or { given = [...] }.
        prior: Prior = Prior::Uniform => example("{ exponential = 2.0 }");
        /// Sweeps of every chain per step of the tracker.
        sweeps: Automatic<usize> = Automatic::Auto
            => size(1).auto("2, with the tempered gradient 5").unit("Gibbs sweeps").example("5");
        /// Updates between steps of the tracker, which also follow before every evaluation; 1 for the tempered gradient.
        every: Automatic<u64> = Automatic::Auto
            => size(1).auto("a two hundredth of the updates so far, between 1 and 20; more where `tempering.share` asks for it")
            .unit("updates").example("10");
        /// Most time that tracking may take; what `tempering.every` chosen by itself keeps to. 0 for no tracking: one evaluation after the last update. Not for the tempered gradient.
        share: f64 = 1.0 => range(0.0..).unit("times the time of training").example("0.5");
        /// Components of a mixture fitted to the training rows, from which a second population of half as many chains starts; the two must
        /// agree. 0 for no second population: what the first one misses does not show then.
        mixture: usize = 16 => unit("components").example("0");
        /// Whether chains carry weights for how the model moved under them.
        weighted: Automatic<bool> = Automatic::Auto => auto("true").example("true");
        /// Sweeps of a copy of the chains at fixed parameters for an evaluation; false for none: more values are wrong without a doubt then.
        settling: SettlingConfig = SettlingConfig::default() => short(Short::Off("sweeps")).example("false");
        /// How chains redraw their temperature: "collapsed" (from q(k|v)) or { joint = n } (from q(k|v,h), n times a sweep).
        beta_update: BetaUpdate = BetaUpdate::Collapsed => example("{ joint = 2 }");
        /// Base distribution at beta = 0: smoothed training "marginals", "uniform", or `{ given = [logits] }`.
        base: Base = Base::Marginals => example("\"uniform\"");
        /// Filter of log Z: "kalman" (drift-corrected) or { alpha = a } (RTS eq. 24).
        smoothing: Smoothing = Smoothing::Kalman => example("{ alpha = 0.2 }");
        /// Rounds that find the first log Z.
        initial_rounds: InitialRounds = InitialRounds::default() => example("{ most = 30 }");
    }
}

section! {
    /// Sweeps of a copy of the tempered chains at fixed parameters for an evaluation.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct SettlingConfig {
        /// Sweeps of settling; 0 for none.
        sweeps: Automatic<usize> = Automatic::Auto => size(0)
            .auto("60, as few as 24 where `tempering.share` asks for it, and those of half a round trip where the model moves faster than the chains").unit("Gibbs sweeps").example("60");
        /// Most sweeps, where chains have not equilibrated; one of two populations of chains may leave some of its sweeps to the other.
        most: Automatic<usize> = Automatic::Auto
            => auto("what `tempering.share` leaves, at most 2000").unit("Gibbs sweeps").example("500");
    }
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

choice! {
    /// Base distribution at beta = 0.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub enum Base {
        /// Smoothed training marginals.
        Marginals = "marginals",
        /// Every state has the same probability.
        Uniform = "uniform",
        /// Logits of the base distribution, one per visible unit.
        Given(Vec<f32> => unit("logits").example("[0.0, 0.0]")) = "given",
    }
}

section! {
    /// `[evaluation]`: when log-likelihoods are computed and recorded.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct EvaluationConfig {
        /// Updates between evaluations.
        every: u64 = 100 => size(1).unit("updates").example("50");
        /// Training rows evaluated; 0 for all.
        train_rows: usize = 0 => unit("rows").example("10000");
        /// Evaluations between pictures in TensorBoard; 0 for none.
        images_every: u64 = 10 => unit("evaluations").example("5");
        /// Whether log Z is enumerated at evaluations, the tracked value shown beside it.
        exact: Automatic<bool> = Automatic::Auto
            => auto("where that costs less than half of the updates since the evaluation before").example("true");
    }
}

section! {
    /// `[audit]`: log Z computed independently, to check the tracker: exact where the smaller layer has at most 20 units, else by annealed
    /// importance sampling.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct AuditConfig {
        /// Evaluations between audits; 0 for none but that of the best model at the end.
        every: u64 = 10 => unit("evaluations").example("5");
        /// Chains of annealed importance sampling.
        chains: usize = 100 => size(2).unit("chains");
        /// Its inverse temperatures; fewer during training, and in the audits of several models at the end, where `audit.share` asks for it.
        temperatures: usize = 10_000 => size(2).unit("temperatures");
        /// Most time that annealing may take in audits during training, again in those that choose the best model at the end, and again in the
        /// one that is reported; where its automatic estimate is in doubt, annealing has all its temperatures.
        share: f64 = 0.5 => range(0.0..).unit("times the time of training");
        /// Most models that are audited at the end to find the best; of several it is audited again; 1 for one audit of that of the best evaluation, and no comparison with simple models.
        models: usize = 8 => size(1).unit("models");
    }
}

section! {
    /// `[checkpoint]`: what is kept on disk, and how often.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct CheckpointConfig {
        /// Updates between checkpoints.
        every: u64 = 1000 => size(1).unit("updates").example("500");
        /// Number of model checkpoints kept beside best and last; 0 for all.
        keep: usize = 3 => unit("models");
    }
}
