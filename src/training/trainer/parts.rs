//! The state of a run.

use std::sync::Arc;
use std::time::Instant;

use super::cost::Sizes;
use super::judging::Judge;
use super::plan::Plan;
use super::rows::RowSets;
use super::step_limit::Steps;
use super::times::Times;
use crate::checkpoint::TrainedOn;
use crate::config::Config;
use crate::context::Context;
use crate::data::Grouping;
use crate::data::ImageShape;
use crate::engine::BitMatrix;
use crate::model::Parameters;
use crate::record::{Notice, Written};
use crate::tempering::mixture::MixtureBase;
use crate::tempering::{BaseDistribution, BetaUpdate, Ladder};
use crate::tracking::{ChainTracker, Model, ModelTracker};
use crate::training::averaging::Averaged;
use crate::training::gradient::{Centering, NegativePhase, Preconditioner};
use crate::training::update::{Gradient, UpdateRule};
use crate::training::{EarlyStopping, Identity};
use crate::trust::LogZ;

/// A run in progress.
pub struct Trainer {
    pub(super) config: Config,
    pub(super) context: Context,
    pub(super) rows: RowSets,
    pub(super) sizes: Sizes,
    pub(super) plan: Plan,
    /// theta: the parameters of the gradient and the update rule.
    pub(super) current: Model,
    /// theta-bar, once tracking has started; `None` without averaging.
    pub(super) averaged: Option<Averaged>,
    pub(super) rule: Box<dyn UpdateRule>,
    /// Of the last evaluation, for the next.
    pub(super) gradient: Gradient,
    pub(super) negative_phase: Box<dyn NegativePhase>,
    pub(super) centering: Option<Centering>,
    pub(super) preconditioner: Preconditioner,
    pub(super) base: BaseDistribution,
    /// Fitted to the training rows, for the second population and for audits.
    pub(super) mixture: Option<Arc<MixtureBase>>,
    /// With the model of its last step.
    pub(super) tracker: Option<ModelTracker>,
    /// The update after which that step was.
    pub(super) tracked_at: u64,
    /// The copy of the tracker that the last evaluation used, if it is a copy.
    pub(super) view: Option<ModelTracker>,
    pub(super) judge: Judge,
    pub(super) updates: u64,
    pub(super) total: u64,
    pub(super) pretrained: u64,
    pub(super) times: Times,
    /// Seconds of training before this process.
    pub(super) seconds_before: f64,
    pub(super) started: Instant,
    pub(super) hidden_activity: Vec<f64>,
    /// Of the gradient of the last evaluated update; NaN before the first.
    pub(super) gradient_norm: f64,
    /// Lengths of the latest updates.
    pub(super) steps: Steps,
    pub(super) identity: Identity,
    /// Records given to a recorder so far.
    pub(super) recorded: Written,
}

impl Trainer {
    /// Updates done, without pre-training.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// Updates planned.
    pub fn total_updates(&self) -> u64 {
        self.total
    }

    /// Passes through the training data.
    pub fn epoch(&self) -> f64 {
        self.updates as f64 / self.rows.updates_per_epoch(self.config.training.batch) as f64
    }

    /// Training time in seconds, resumed parts included.
    pub fn seconds(&self) -> f64 {
        self.seconds_before + self.started.elapsed().as_secs_f64()
    }

    /// The current model of the run: the average of the parameters if they are averaged (`averaging.window`).
    pub fn parameters(&self) -> Parameters {
        Arc::unwrap_or_clone(self.evaluated_parameters())
    }

    /// The same, shared with the run where nothing is averaged.
    pub fn evaluated_parameters(&self) -> Arc<Parameters> {
        match &self.averaged {
            Some(averaged) => Arc::new(averaged.parameters().clone()),
            None => Arc::clone(&self.current.parameters),
        }
    }

    /// Whether all training rows are the same.
    pub fn is_constant(&self) -> bool {
        let constant = |mean: &f64| *mean == 0.0 || *mean == 1.0;
        !self.rows.variables.has_reals() && self.rows.marginals.iter().all(constant)
    }

    /// The categorical variables of the columns, if there are any, and what they gain over bits.
    pub fn grouping(&self) -> Option<Grouping> {
        let rows = &self.rows;
        Grouping::of(&rows.variables, &rows.column_counts, rows.len())
    }

    /// Number of independent rows that weighted training rows are worth; `None` where all rows count the same.
    pub fn effective_rows(&self) -> Option<f64> {
        self.rows.effective()
    }

    /// Description of the training rows for a model file.
    pub fn trained_on(&self) -> &TrainedOn {
        &self.rows.trained_on
    }

    /// The parameters of the next gradient, averaged or not.
    pub fn current_parameters(&self) -> &Parameters {
        &self.current.parameters
    }

    /// Updates of the pre-training phase done.
    pub fn pretrained(&self) -> u64 {
        self.pretrained
    }

    /// The tracker, once pre-training is over. If it does not make a step at every update (`tempering.every`), it is up to date after its
    /// steps and at every evaluation.
    pub fn tracker(&self) -> Option<&ChainTracker> {
        self.reported().map(ModelTracker::chains)
    }

    /// Tracked log Z of the model that is evaluated; `None` before tracking starts.
    pub fn tracked_log_z(&self) -> Option<LogZ> {
        Some(self.reported()?.log_z(f64::NEG_INFINITY))
    }

    /// State of early stopping.
    pub fn early_stopping(&self) -> &EarlyStopping {
        &self.judge.stopping
    }

    /// Number of evaluations at which the tracker's chains had missed a mode of the model, and some of them started anew from its states.
    pub fn restarts(&self) -> u64 {
        self.tracker.as_ref().map_or(0, |tracker| tracker.found.restarts)
    }

    /// Notices about automatic settings.
    pub fn notices(&self) -> &[Notice] {
        &self.plan.notices
    }

    /// Picture shape of the rows, if they are pictures.
    pub fn image(&self) -> Option<ImageShape> {
        self.rows.image
    }

    /// Time by part so far.
    pub fn times(&self) -> &Times {
        &self.times
    }

    /// Where it runs, what ends it, and its progress.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Inverse temperatures of the tracker and their prior.
    pub fn ladder(&self) -> &Ladder {
        &self.plan.ladder
    }

    /// Base distribution of the paths.
    pub fn base(&self) -> &BaseDistribution {
        &self.base
    }

    /// Training rows that are evaluated, as zeros and ones, shape [N, M].
    pub fn train_rows(&self) -> &BitMatrix {
        &self.rows.train_evaluated
    }

    /// Validation rows, shape [N, M].
    pub fn validation_rows(&self) -> Option<&BitMatrix> {
        self.rows.validation.as_ref()
    }

    /// Seconds of a sweep of so many tempered chains on a typical core, from the numbers of operations: the same on every machine.
    pub(crate) fn seconds_of_sweep(&self, chains: usize) -> f64 {
        let sizes = Sizes { temperatures: self.plan.ladder.len(), ..self.sizes };
        1e-9 * sizes.tempered(chains, 1, BetaUpdate::Collapsed)
    }
}
