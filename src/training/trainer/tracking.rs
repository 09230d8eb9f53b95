//! The tracker's side of training: its start, its steps, and the view of an evaluation.
//!
//! With CD and PCD the chains only measure: they follow the averaged model and settle in place. With the tempered gradient
//! they are the negative phase of the current model, and what an evaluation needs must not change them: it takes a copy.

use super::Trainer;
use super::model::Model;
use crate::config::NegativePhase;
use crate::tempering::{Path, RoundsRecord, TemperedChains};
use crate::tracking::{LogZTracker, TrackRecord};
use crate::training::averaging::Averaged;

/// A copy of the tracker at the evaluated model.
pub(super) struct View {
    pub tracker: LogZTracker,
    pub model: Model,
}

impl Trainer {
    /// The tracker of the model that is evaluated, and that model; `None` before tracking starts. Up to date after every
    /// step of the tracker; at an evaluation the copy where there is one.
    pub(super) fn reported(&self) -> Option<(&LogZTracker, &Model)> {
        match &self.view {
            Some(view) => Some((&view.tracker, &view.model)),
            None => self.tracker.as_ref().map(|tracker| (tracker, &self.tracked)),
        }
    }

    /// Whether records are due after this update.
    pub fn evaluation_due(&self, updates: u64) -> bool {
        updates.is_multiple_of(self.config.evaluation.every) || updates == self.total
    }

    pub(super) fn start_tracking(&mut self) -> RoundsRecord {
        let config = &self.config;
        let visible = self.base.sample(config.tempering.chains, config.seed, 0);
        let chains = TemperedChains::new(visible, self.plan.ladder.len(), config.seed);
        if self.plan.window > 0.0 {
            let parameters = self.current.parameters.as_ref().clone();
            self.averaged = Some(Averaged::new(self.plan.window, parameters));
        }
        self.tracked = self.current.clone();
        self.tracked_at = self.updates;
        let (tracker, rounds) =
            LogZTracker::start(self.path_of(&self.tracked), chains, self.plan.tracker);
        self.tracker = Some(tracker);
        self.settle();
        rounds
    }

    /// After an update: a step of the tracker where one is due; before an evaluation, sweeps at fixed parameters.
    pub(super) fn track(&mut self) -> Option<TrackRecord> {
        self.view = None;
        let evaluation = self.evaluation_due(self.updates);
        if !(evaluation || self.plan.steps.due(self.updates, self.tracked_at)) {
            return None;
        }
        let new = match &self.averaged {
            Some(averaged) if !self.chains_are_the_gradient() => self.model_of(averaged),
            _ => self.current.clone(),
        };
        let old = std::mem::replace(&mut self.tracked, new);
        self.tracked_at = self.updates;
        let (ladder, base) = (&self.plan.ladder, &self.base);
        let old = Path { ops: old.ops.as_ref(), ladder, base };
        let new = Path { ops: self.tracked.ops.as_ref(), ladder, base };
        let record = self.tracker.as_mut().map(|tracker| tracker.step(old, new));
        if evaluation {
            self.settle();
        }
        record
    }

    /// Sweeps at fixed parameters before an evaluation.
    fn settle(&mut self) {
        let (ladder, base) = (&self.plan.ladder, &self.base);
        let tracked = &self.tracked;
        let at_tracked = Path { ops: tracked.ops.as_ref(), ladder, base };
        if !self.chains_are_the_gradient() {
            if let Some(tracker) = &mut self.tracker {
                tracker.settle(at_tracked);
            }
            return;
        }
        let Some(mut tracker) = self.tracker.clone() else { return };
        let model = match &self.averaged {
            Some(averaged) => self.model_of(averaged),
            None => tracked.clone(),
        };
        let at_model = Path { ops: model.ops.as_ref(), ladder, base };
        if self.averaged.is_some() {
            tracker.step(at_tracked, at_model);
        }
        tracker.settle(at_model);
        self.view = Some(View { tracker, model });
    }

    fn chains_are_the_gradient(&self) -> bool {
        matches!(self.config.training.gradient, NegativePhase::Tempered {})
    }

    fn model_of(&self, averaged: &Averaged) -> Model {
        Model::new(averaged.parameters().clone(), self.config.model.kernel, &self.device)
    }

    fn path_of<'a>(&'a self, model: &'a Model) -> Path<'a> {
        Path { ops: model.ops.as_ref(), ladder: &self.plan.ladder, base: &self.base }
    }
}
