//! Tracking during training: its start, its steps, and its values for an evaluation.
//!
//! The tracker follows the averaged model, and its chains only measure. If they are the negative phase as well (the tempered gradient
//! without averaging), an evaluation, which must not change the run, uses a copy.

use std::time::Instant;

use super::Trainer;
use super::times::timed;
use crate::config::WeightStart;
use crate::engine::random::{Purpose, derived_seed};
use crate::error::Result;
use crate::tempering::RoundsRecord;
use crate::tracking::{KnownStates, Model, ModelTracker, Part, TrackRecord};
use crate::training::averaging::Averaged;

impl Trainer {
    /// The tracker of the model that is evaluated; `None` before tracking starts. Up to date after every step of the tracker.
    pub(super) fn reported(&self) -> Option<&ModelTracker> {
        self.view.as_ref().or(self.tracker.as_ref())
    }

    /// Tracks without a part of the tracker, for an ablation; before the first step.
    pub fn track_without(&mut self, part: Part) {
        self.plan.tracker.without = self.plan.tracker.without.and(part);
    }

    /// Whether records are due after this update.
    pub fn evaluation_due(&self, updates: u64) -> bool {
        updates.is_multiple_of(self.config.evaluation.every) || updates == self.end()
    }

    /// Whether the next step starts the tracker: before the first update, and after the last where nothing is tracked.
    pub(super) fn tracking_comes_next(&self) -> bool {
        let at_once = self.config.is_tracked() || self.updates >= self.total;
        at_once && self.tracker.is_none() && !self.pretraining_left()
    }

    /// Whether pre-training is over and the run has begun.
    pub(super) fn begun(&self) -> bool {
        self.tracker.is_some() || self.updates > 0
    }

    /// Before the first update: the running average, and the chains of the negative phase.
    pub(super) fn begin(&mut self) -> Result<()> {
        let small = match self.config.model.start {
            WeightStart::Exact => self.small_start()?,
            WeightStart::Random => None,
        };
        let context = self.context.clone();
        let (_task, _permit) =
            (context.task("starting the chains of the gradient"), context.permit());
        if let Some((parameters, _)) = small {
            self.begin_anew(parameters);
            return Ok(());
        }
        self.average_from_here();
        self.negative_phase.start(self.plan.start(&self.base, &self.current));
        Ok(())
    }

    /// The running average begins at the present parameters.
    pub(super) fn average_from_here(&mut self) {
        if self.plan.window > 0.0 {
            let parameters = self.current.parameters.as_ref().clone();
            self.averaged = Some(Averaged::new(self.plan.window, parameters));
        }
    }

    pub(super) fn start_tracking(&mut self) -> RoundsRecord {
        let seed = self.config.seed;
        self.tracked_at = self.updates;
        let name = format!("initial rounds, {} at most", self.plan.tracker.initial_rounds.most);
        let context = self.context.clone();
        let (_task, _permit) = (context.task(name), context.permit());
        // Not those of the chains of the tempered gradient.
        let of_gradient = self.negative_phase.chains().is_some();
        let seed = if of_gradient { derived_seed(seed, Purpose::Tracker, 0) } else { seed };
        let model = if self.updates > 0 { self.evaluated_model() } else { self.current.clone() };
        let start = self.plan.start(&self.base, &model);
        let (chains, options) = (self.config.tempering.chains, self.plan.tracker);
        let mixture = self.mixture.clone();
        let (tracker, rounds) = ModelTracker::start(start, mixture, chains, seed, options);
        self.tracker = Some(tracker);
        self.settle();
        rounds
    }

    /// After an update: a step of the negative phase's chains; a step of the tracker if one is due; equilibration for an evaluation.
    pub(super) fn track(&mut self) -> Option<TrackRecord> {
        self.view = None;
        timed(&mut self.times.updates, || self.negative_phase.follow(&self.current));
        self.tracker.as_ref()?;
        let evaluation = self.evaluation_due(self.updates);
        if !(evaluation || self.plan.steps.due(self.updates, self.tracked_at)) {
            return None;
        }
        let new = self.evaluated_model();
        self.tracked_at = self.updates;
        let (tracker, times) = (self.tracker.as_mut(), &mut self.times);
        let record = tracker.map(|tracker| timed(&mut times.tracking, || tracker.step(new)));
        let lost = record.as_ref().is_some_and(|record| record.rounds.is_some());
        self.steps.ladders_lost += u32::from(lost);
        if evaluation {
            let clock = Instant::now();
            self.settle();
            self.times.settling += clock.elapsed().as_secs_f64();
        }
        record
    }

    /// Equilibration for an evaluation: of a copy if the tracker's chains are those of the gradient, which must not change.
    fn settle(&mut self) {
        let known = KnownStates {
            data: Some(&self.rows.train_evaluated),
            particles: self.negative_phase.particles(),
            chains: self.negative_phase.chains().map(|own| &own.chains.visible),
            seed: self.config.seed,
            update: self.updates,
        };
        let Some(tracker) = &mut self.tracker else { return };
        // Equilibration happens only before evaluations, before which a state is kept.
        let (_task, _permit) =
            (self.context.task("equilibrating the chains"), self.context.permit());
        if self.negative_phase.is_of_tracker() {
            let mut view = tracker.clone();
            view.settle(known);
            tracker.found = view.found;
            self.view = Some(view);
        } else {
            tracker.settle(known);
        }
    }

    /// The model that is evaluated: of the average, or the current one without averaging.
    pub(super) fn evaluated_model(&self) -> Model {
        match &self.averaged {
            Some(averaged) => Model::within(averaged.parameters().clone(), &self.context),
            None => self.current.clone(),
        }
    }
}
