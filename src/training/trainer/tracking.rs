//! The tracker's side of training: its start, its steps, and what it finds for an evaluation.
//!
//! The tracker follows the averaged model, and its chains only measure. Where they are the negative phase as well (the
//! tempered gradient without averaging), an evaluation, which must not change the run, looks at a copy.

use super::Trainer;
use super::model::Model;
use crate::ops::BitMatrix;
use crate::ops::random::{Purpose, Streams};
use crate::tempering::{BaseDistribution, Ladder, Path, RoundsRecord, TemperedChains};
use crate::tracking::{HiddenStates, LogZTracker, TrackRecord};
use crate::training::averaging::Averaged;
use crate::training::gradient::Carriers;

/// The chains of the tracker draw from streams of another seed than those of the tempered gradient.
const TRACKER_SEED: u64 = 0x7472_6163_6b65_7221;

/// Training rows from which hidden states are drawn for a bound of log Z.
const BOUND_ROWS: usize = 2000;
/// Nats, and errors, below the bound at which tracked log Z has missed a mode.
const MISSED: (f64, f64) = (0.2, 3.0);

impl Trainer {
    /// The tracker of the model that is evaluated, and that model; `None` before tracking starts. Up to date after every
    /// step of the tracker.
    pub(super) fn reported(&self) -> Option<(&LogZTracker, &Model)> {
        let tracker = self.view.as_ref().or(self.tracker.as_ref())?;
        Some((tracker, &self.tracked))
    }

    /// Whether records are due after this update.
    pub fn evaluation_due(&self, updates: u64) -> bool {
        updates.is_multiple_of(self.config.evaluation.every) || updates == self.total
    }

    pub(super) fn start_tracking(&mut self) -> RoundsRecord {
        let seed = self.config.seed;
        if self.plan.window > 0.0 {
            let parameters = self.current.parameters.as_ref().clone();
            self.averaged = Some(Averaged::new(self.plan.window, parameters));
        }
        self.tracked = self.current.clone();
        self.tracked_at = self.updates;
        let path = at(&self.tracked, &self.plan.ladder, &self.base);
        self.negative_phase.start(path);
        let seed = match self.negative_phase.carriers() {
            Carriers::Own(_) => seed ^ TRACKER_SEED,
            Carriers::None | Carriers::Tracker => seed,
        };
        let visible = self.base.sample(self.config.tempering.chains, seed, 0);
        let chains = TemperedChains::new(visible, path.ladder.len(), seed);
        let (tracker, rounds) = LogZTracker::start(path, chains, self.plan.tracker);
        self.tracker = Some(tracker);
        self.settle();
        rounds
    }

    /// After an update: a step of the negative phase's chains; a step of the tracker where one is due; settling for an
    /// evaluation. `old`: the model before the update.
    pub(super) fn track(&mut self, old: &Model) -> Option<TrackRecord> {
        self.view = None;
        let (ladder, base) = (&self.plan.ladder, &self.base);
        let path = |model| at(model, ladder, base);
        self.negative_phase.follow(path(old), path(&self.current));
        let evaluation = self.evaluation_due(self.updates);
        if !(evaluation || self.plan.steps.due(self.updates, self.tracked_at)) {
            return None;
        }
        let new = match &self.averaged {
            Some(averaged) => self.model_of(averaged),
            None => self.current.clone(),
        };
        let before = std::mem::replace(&mut self.tracked, new);
        self.tracked_at = self.updates;
        let record =
            self.tracker.as_mut().map(|tracker| tracker.step(path(&before), path(&self.tracked)));
        if evaluation {
            self.settle();
        }
        record
    }

    /// Sweeps of a copy of the chains at fixed parameters for an evaluation. Where states of data and particles alone make log
    /// Z larger than what comes out, the chains start again with these states among them.
    fn settle(&mut self) {
        let visitors = self.visitors();
        let path = at(&self.tracked, &self.plan.ladder, &self.base);
        if matches!(self.negative_phase.carriers(), Carriers::Tracker) {
            self.view = self.tracker.clone();
        }
        let rows = self.known_rows();
        let streams = Streams::new(self.config.seed, Purpose::BoundHidden, self.updates);
        let states = HiddenStates::of(&self.tracked.parameters, path.ops, &rows, streams);
        self.bound = states.bound();
        let Some(tracker) = self.view.as_mut().or(self.tracker.as_mut()) else { return };
        tracker.settle(path, Some(&visitors));
        let missing = self.bound - tracker.log_z();
        self.restarted = missing > MISSED.0 && missing > MISSED.1 * tracker.std_error();
        if self.restarted {
            tracker.start_from(path, &states);
            tracker.settle(path, Some(&visitors));
            self.restarts += 1;
        }
    }

    /// Training rows and particles of the gradient, together a quarter of the number of chains.
    fn visitors(&self) -> BitMatrix {
        let count = self.config.tempering.chains.div_ceil(4);
        let particles = self.negative_phase.particles();
        let from_data = if particles.is_some() { count.div_ceil(2) } else { count };
        let mut stream = Streams::new(self.config.seed, Purpose::Visitors, self.updates).row(0);
        let mut chosen = |rows: &BitMatrix, count: usize| {
            let n = rows.rows() as f64;
            rows.select((0..count).map(|_| (stream.uniform() * n) as usize))
        };
        let data = chosen(&self.rows.train_evaluated, from_data);
        match particles {
            Some(particles) => data.followed_by(&chosen(particles, count - from_data)),
            None => data,
        }
    }

    /// States that the model should know: training rows, the gradient's particles and the tracker's chains.
    fn known_rows(&self) -> BitMatrix {
        let data = &self.rows.train_evaluated;
        let mut rows = data.select(0..data.rows().min(BOUND_ROWS));
        if let Some(particles) = self.negative_phase.particles() {
            rows = rows.followed_by(particles);
        }
        if let Some(tracker) = &self.tracker {
            rows = rows.followed_by(&tracker.chains.visible);
        }
        match self.negative_phase.carriers() {
            Carriers::Own(chains) => rows.followed_by(&chains.chains.visible),
            Carriers::None | Carriers::Tracker => rows,
        }
    }

    fn model_of(&self, averaged: &Averaged) -> Model {
        Model::new(averaged.parameters().clone(), self.config.model.kernel, &self.device)
    }

    pub(super) fn path_of<'a>(&'a self, model: &'a Model) -> Path<'a> {
        at(model, &self.plan.ladder, &self.base)
    }
}

/// The path from the base distribution to a model.
pub(super) fn at<'a>(model: &'a Model, ladder: &'a Ladder, base: &'a BaseDistribution) -> Path<'a> {
    Path { ops: model.ops.as_ref(), ladder, base }
}
