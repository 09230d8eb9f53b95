//! The trainer's full state in a checkpoint: a resumed run equals an uninterrupted one bit for bit.

use super::Trainer;
use super::judging::Judge;
use super::model::model;
use super::shortlist::Shortlist;
use crate::checkpoint::{StateReader, StateWriter};
use crate::config::Config;
use crate::data::Splits;
use crate::error::{Error, Result};
use crate::model::Device;
use crate::record::Written;
use crate::tracking::{Found, ModelTracker, Start, TRACKED};
use crate::training::averaging::Averaged;
use crate::training::gradient::Centering;
use crate::training::{Changes, Identity};

/// Numbers of a checkpoint that are not arrays.
#[derive(serde::Serialize, serde::Deserialize)]
struct Position {
    updates: u64,
    pretrained: u64,
    #[serde(with = "crate::checkpoint::float")]
    seconds: f64,
    #[serde(with = "crate::checkpoint::float")]
    gradient_norm: f64,
    tracking: bool,
    tracked_at: u64,
    averaged: bool,
    #[serde(flatten)]
    found: Found,
}

/// Name in checkpoints of the averaged parameters.
const AVERAGED: &str = "averaged.";

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
        match self.tracker {
            None => format!("pretraining-{:08}", self.pretrained),
            Some(_) => format!("update-{:08}", self.updates),
        }
    }

    /// Writes the full state into a checkpoint.
    pub fn save(&self, state: &mut StateWriter) {
        state.parameters("", &self.current.parameters);
        state.json(
            "position",
            &Position {
                updates: self.updates,
                pretrained: self.pretrained,
                seconds: self.seconds(),
                gradient_norm: self.gradient_norm,
                tracking: self.tracker.is_some(),
                tracked_at: self.tracked_at,
                averaged: self.averaged.is_some(),
                found: self.tracker.as_ref().map_or_else(Found::default, |tracker| tracker.found),
            },
        );
        state.json("times", &self.times);
        state.json("identity", &self.identity);
        state.json("recorded", &self.recorded);
        self.judge.save(state);
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
        device: &Device,
        state: &StateReader,
        changes: Changes,
    ) -> Result<Self> {
        let mut trainer = Self::new(config, splits, device)?;
        trainer.identity = trainer.identity.after(state.json("identity")?, changes)?;
        trainer.recorded = state.json("recorded")?;
        let (m, j) = (trainer.rows.columns(), config.model.hidden);
        let model = |parameters| model(parameters, device);
        trainer.current = model(state.parameters("", m, j)?);
        if trainer.current.parameters.variables != trainer.rows.variables {
            return Err(Error::config(
                "data.groups",
                format!(
                    "the checkpoint is of variables `{}`, the training rows have `{}` (nothing: bits): resume with data.groups or data.variables as in the run; `--set data.variables=bits --force` where a table of -1 and +1 was trained on as 0 and 1",
                    trainer.current.parameters.variables, trainer.rows.variables
                ),
            ));
        }
        let position: Position = state.json("position")?;
        trainer.check(&position)?;
        trainer.updates = position.updates;
        trainer.pretrained = position.pretrained;
        trainer.seconds_before = position.seconds;
        trainer.times = state.json("times")?;
        trainer.gradient_norm = position.gradient_norm;
        trainer.hidden_activity = state.array("hidden_activity", &[j])?;
        trainer.judge = Judge::load(state, m, j)?;
        trainer.rule.load(state)?;
        if let Some(centering) = &mut trainer.centering {
            centering.visible = state.array("centering.visible", &[m])?;
            centering.hidden = state.array("centering.hidden", &[j])?;
        }
        if position.averaged && trainer.plan.window > 0.0 {
            let parameters = state.parameters(AVERAGED, m, j)?;
            trainer.averaged = Some(Averaged::new(trainer.plan.window, parameters));
        }
        let (ladder, base) = (&trainer.plan.ladder, &trainer.base);
        let start = Start { model: &trainer.current, ladder, base };
        if position.tracking {
            trainer.tracked_at = position.tracked_at;
            let tracked = &model(state.parameters(TRACKED, m, j)?);
            let start = Start { model: tracked, ..start };
            let (chains, options) = (config.tempering.chains, trainer.plan.tracker);
            let tracker = ModelTracker::read(state, start, chains, options, position.found)?;
            trainer.tracker = Some(tracker);
        }
        trainer.negative_phase.load(state, position.tracking.then_some(start))?;
        Ok(trainer)
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
        if pretrained > planned || (updates > 0 && !tracking) || tracked_at > updates {
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
    }

    fn load(state: &StateReader, n_visible: usize, n_hidden: usize) -> Result<Self> {
        Ok(Self {
            stopping: state.json("early_stopping")?,
            standing: state.json("standing")?,
            candidates: Shortlist::load("candidates", state, n_visible, n_hidden)?,
            doubtful: Shortlist::load("doubtful", state, n_visible, n_hidden)?,
        })
    }
}
