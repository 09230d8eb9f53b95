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
use crate::tempering::GeometricPath;
use crate::tracking::{ChainTracker, KnownShare, ModelTracker, SecondPopulation};
use crate::training::averaging::Averaged;
use crate::training::gradient::{Centering, Start};
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
    /// Lower bound of log Z at the last evaluation.
    #[serde(with = "crate::checkpoint::float")]
    bound: f64,
    /// log Z from reference states at the last evaluation.
    known: KnownShare,
    restarts: u64,
}

/// Name in checkpoints of the tracker's model, if that is not the current one.
const TRACKED: &str = "tracked.";
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
        match self.begun() {
            false => format!("pretraining-{:08}", self.pretrained),
            true => format!("update-{:08}", self.updates),
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
                bound: self.tracker.as_ref().map_or(f64::NEG_INFINITY, |tracker| tracker.bound),
                known: self.tracker.as_ref().map_or(KnownShare::NONE, |tracker| tracker.known),
                restarts: self.restarts(),
            },
        );
        state.json("times", &self.times);
        state.json("identity", &self.identity);
        state.json("recorded", &self.recorded);
        self.judge.save(state);
        // Of the last gradient: an evaluation right after a resume reports it.
        state.f64s("hidden_activity", &[self.hidden_activity.len()], &self.hidden_activity);
        self.rule.save(state);
        if let Some(Centering { visible, hidden }) = &self.centering {
            state.f64s("centering.visible", &[visible.len()], visible);
            state.f64s("centering.hidden", &[hidden.len()], hidden);
        }
        if let Some(averaged) = &self.averaged {
            state.parameters(AVERAGED, averaged.parameters());
        }
        if let Some(tracker) = &self.tracker {
            state.parameters(TRACKED, &tracker.model().parameters);
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
                    "the checkpoint is of variables `{}`, the training rows have `{}` (nothing: bits): resume with data.groups or data.variables as in the run",
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
        trainer.hidden_activity = state.f64s("hidden_activity", &[j])?;
        trainer.judge = Judge::load(state, m, j)?;
        trainer.rule.load(state)?;
        if let Some(centering) = &mut trainer.centering {
            centering.visible = state.f64s("centering.visible", &[m])?;
            centering.hidden = state.f64s("centering.hidden", &[j])?;
        }
        if position.averaged && trainer.plan.window > 0.0 {
            let parameters = state.parameters(AVERAGED, m, j)?;
            trainer.averaged = Some(Averaged::new(trainer.plan.window, parameters));
        }
        let (ladder, base) = (&trainer.plan.ladder, &trainer.base);
        if position.tracking {
            trainer.tracked_at = position.tracked_at;
            let tracked = model(state.parameters(TRACKED, m, j)?);
            let path = GeometricPath { engine: tracked.engine.as_ref(), ladder, base };
            let chains = config.tempering.chains;
            let options = trainer.plan.tracker;
            let second = SecondPopulation::read(state, (&tracked, ladder), chains, options)?;
            let chains = ChainTracker::read("", &path, chains, options, state)?;
            let mut tracker = ModelTracker::of(chains, tracked, ladder, base).beside(second);
            (tracker.bound, tracker.known) = (position.bound, position.known);
            tracker.restarts = position.restarts;
            trainer.tracker = Some(tracker);
        }
        let start = Start { model: &trainer.current, ladder, base };
        let begun = position.tracking || position.updates > 0;
        trainer.negative_phase.load(state, begun.then_some(start))?;
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
