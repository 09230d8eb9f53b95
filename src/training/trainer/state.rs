//! The trainer's full state in a checkpoint: a resumed run equals an uninterrupted one bit for bit.

use super::Trainer;
use super::judging::Judge;
use super::shortlist::Shortlist;
use super::step_limit::Steps;
use crate::checkpoint::{StateReader, StateWriter};
use crate::config::Config;
use crate::context::Context;
use crate::data::Splits;
use crate::error::{Error, Result};
use crate::model::Parameters;
use crate::record::Written;
use crate::tracking::{Found, Model, ModelTracker, Start, TRACKED};
use crate::training::averaging::Averaged;
use crate::training::gradient::Centering;
use crate::training::{Changes, Identity};

/// Numbers of a checkpoint that are not arrays.
#[derive(serde::Serialize, serde::Deserialize)]
pub(super) struct Position {
    updates: u64,
    pretrained: u64,
    #[serde(with = "crate::checkpoint::float")]
    seconds: f64,
    #[serde(with = "crate::checkpoint::float")]
    gradient_norm: f64,
    tracking: bool,
    tracked_at: u64,
    averaged: bool,
    #[serde(default)]
    steps: Steps,
    #[serde(flatten)]
    found: Found,
}

/// Name in checkpoints of the averaged parameters.
const AVERAGED: &str = "averaged.";
/// The same of the state of the best evaluation.
const BEST: &str = "best.";
/// The same of the start with few hidden units.
const SMALL: &str = "small.";

impl Trainer {
    /// Configuration and rows at the start of the run.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The same, mutable, to record forced changes.
    pub fn identity_mut(&mut self) -> &mut Identity {
        &mut self.identity
    }

    /// Evaluations that [`super::run`] has given to its recorder, including those before a resume.
    pub fn recorded(&self) -> Written {
        self.recorded
    }

    /// Continues with the rows of metrics.csv, whose checksum is `sum`.
    pub fn take_rows(&mut self, sum: Option<u64>) {
        self.recorded.sum = sum;
    }

    /// Name of a checkpoint of the current state: its kind and its number, in eight digits or more.
    pub fn state_name(&self) -> String {
        match self.begun() {
            false => format!("pretraining-{:08}", self.pretrained),
            true => format!("update-{:08}", self.updates),
        }
    }

    /// Writes the full state into a checkpoint.
    pub fn save(&self, state: &mut StateWriter) {
        self.save_model(state, self.seconds());
        state.json("times", &self.times);
        self.identity.write(state);
        state.json("recorded", &self.recorded);
        self.judge.save(state);
    }

    /// Writes what changes from update to update: parameters, rule, average, chains, particles. `seconds`: of training so far.
    pub(super) fn save_model(&self, state: &mut StateWriter, seconds: f64) {
        state.parameters("", &self.current.parameters);
        state.json(
            "position",
            &Position {
                updates: self.updates,
                pretrained: self.pretrained,
                seconds,
                gradient_norm: self.gradient_norm,
                tracking: self.tracker.is_some(),
                tracked_at: self.tracked_at,
                averaged: self.averaged.is_some(),
                steps: self.steps,
                found: self.tracker.as_ref().map_or_else(Found::default, |tracker| tracker.found),
            },
        );
        // Of the last gradient: an evaluation right after a resume reports it.
        state.array("hidden_activity", &[self.hidden_activity.len()], &self.hidden_activity);
        self.rule.save(state);
        if let Some(Centering { visible, hidden, .. }) = &self.centering {
            state.array("centering.visible", &[visible.len()], visible);
            state.array("centering.hidden", &[hidden.len()], hidden);
        }
        if let Some(averaged) = &self.averaged {
            state.parameters(AVERAGED, averaged.parameters());
        }
        if let Some(tracker) = &self.tracker {
            tracker.write(state);
        }
        self.negative_phase.save(state);
    }

    /// Continues the run of a checkpoint.
    ///
    /// # Errors
    /// A checkpoint of another configuration, other rows or another model size.
    pub fn resume(
        config: &Config,
        splits: Splits,
        context: impl Into<Context>,
        state: &StateReader,
        changes: Changes,
    ) -> Result<Self> {
        let mut trainer = Self::new(config, splits, context)?;
        trainer.identity = trainer.identity.after(Identity::read(state)?, changes)?;
        trainer.recorded = state.json("recorded")?;
        let (m, j) = (trainer.rows.columns(), config.model.hidden);
        trainer.times = state.json("times")?;
        trainer.judge = Judge::load(state, m, j)?;
        let position = trainer.load_model(state)?;
        trainer.updates = position.updates;
        trainer.tracked_at = position.tracked_at;
        trainer.pretrained = position.pretrained;
        trainer.seconds_before = position.seconds;
        Ok(trainer)
    }

    /// Reads what [`Self::save_model`] wrote.
    pub(super) fn load_model(&mut self, state: &StateReader) -> Result<Position> {
        let (m, j) = (self.rows.columns(), self.config.model.hidden);
        let context = self.context.clone();
        let model = |parameters: Parameters| Model::within(parameters, &context);
        self.current = model(state.parameters("", m, j)?);
        if self.current.parameters.variables != self.rows.variables {
            return Err(Error::config(
                "data.groups",
                format!(
                    "the checkpoint is of variables `{}`, the training rows have `{}` (nothing: bits): resume with data.groups or data.variables as in the run; `--set data.variables=bits --force` where a table of -1 and +1 was trained on as 0 and 1",
                    self.current.parameters.variables, self.rows.variables
                ),
            ));
        }
        let position: Position = state.json("position")?;
        self.check(&position)?;
        (self.gradient_norm, self.steps) = (position.gradient_norm, position.steps);
        self.hidden_activity = state.array("hidden_activity", &[j])?;
        self.rule.load(state)?;
        if let Some(centering) = &mut self.centering {
            centering.visible = state.array("centering.visible", &[m])?;
            centering.hidden = state.array("centering.hidden", &[j])?;
        }
        if position.averaged && self.plan.window > 0.0 {
            let parameters = state.parameters(AVERAGED, m, j)?;
            self.averaged = Some(Averaged::new(self.plan.window, parameters));
        }
        let start = self.plan.start(&self.base, &self.current);
        if position.tracking {
            let tracked = &model(state.parameters(TRACKED, m, j)?);
            let start = Start { model: tracked, ..start };
            let (chains, options) = (self.config.tempering.chains, self.plan.tracker);
            let tracker = ModelTracker::read(state, start, chains, options, position.found)?;
            self.tracker = Some(tracker);
        }
        let begun = position.tracking || position.updates > 0;
        self.negative_phase.load(state, begun.then_some(start))?;
        Ok(position)
    }

    /// Whether this run can be at a checkpoint's position.
    fn check(&self, position: &Position) -> Result<()> {
        let &Position { updates, pretrained, tracking, tracked_at, .. } = position;
        if updates > self.total {
            let field = match self.config.training.updates {
                Some(_) => "training.updates",
                None => "training.epochs",
            };
            let problem = format!(
                "the run is at update {updates} already and {} in all are asked for: give more, or resume it as it was",
                self.total
            );
            return Err(Error::config(field, problem));
        }
        let planned = self.config.training.pretraining.map_or(0, |settings| settings.updates);
        if pretrained > planned
            || (updates > 0 && !tracking && self.config.is_tracked())
            || tracked_at > updates
        {
            return Err(Error::Mismatch(format!(
                "checkpoint: {pretrained} updates of pre-training and {updates} after it are no position of this run"
            )));
        }
        Ok(())
    }
}

impl Judge {
    fn save(&self, state: &mut StateWriter) {
        state.json("early_stopping", &self.stopping);
        state.json("standing", &self.standing);
        self.candidates.save("candidates", state);
        self.doubtful.save("doubtful", state);
        if let Some(best) = &self.best {
            state.part(BEST, best);
        }
        if let Some(small) = &self.small {
            state.parameters(SMALL, small);
        }
    }

    fn load(state: &StateReader, n_visible: usize, n_hidden: usize) -> Result<Self> {
        Ok(Self {
            stopping: state.json("early_stopping")?,
            standing: state.json("standing")?,
            candidates: Shortlist::load("candidates", state, n_visible, n_hidden)?,
            doubtful: Shortlist::load("doubtful", state, n_visible, n_hidden)?,
            best: state.part(BEST),
            small: (state.has(&format!("{SMALL}weights")))
                .then(|| state.parameters(SMALL, n_visible, n_hidden))
                .transpose()?,
        })
    }
}
