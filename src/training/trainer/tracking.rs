//! The tracker's side of training: its start, its steps, and what it finds for an evaluation.
//!
//! The tracker follows the averaged model, and its chains only measure. The tempered gradient has chains of its own, which
//! follow the current model and are its negative phase; without averaging these two are the same model, and one set of
//! chains serves both. Then an evaluation, which must not change the run, looks at a copy.

use super::Trainer;
use super::model::Model;
use crate::config::NegativePhase;
use crate::interrupt;
use crate::ops::BitMatrix;
use crate::ops::random::{Purpose, Streams};
use crate::tempering::{Path, RoundsRecord, TemperedChains, rows_per_thread};
use crate::tracking::{HiddenStates, LogZTracker, TrackRecord};
use crate::training::averaging::Averaged;

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

    /// Whether the tempered gradient has chains beside the tracker's.
    pub(super) fn gradient_has_chains(&self) -> bool {
        self.is_tempered() && self.plan.window > 0.0
    }

    pub(super) fn is_tempered(&self) -> bool {
        matches!(self.config.training.gradient, NegativePhase::Tempered {})
    }

    pub(super) fn start_tracking(&mut self) -> RoundsRecord {
        let seed = self.config.seed;
        if self.plan.window > 0.0 {
            let parameters = self.current.parameters.as_ref().clone();
            self.averaged = Some(Averaged::new(self.plan.window, parameters));
        }
        self.tracked = self.current.clone();
        self.tracked_at = self.updates;
        let path = self.path_of(&self.tracked);
        let _task = interrupt::task(
            format!("initial rounds, {} at most", self.config.tempering.initial_rounds.most),
            Some(self.initial_points()),
        );
        let start = |seed, options| {
            let visible = self.base.sample(self.config.tempering.chains, seed, 0);
            LogZTracker::start(path, TemperedChains::new(visible, path.ladder.len(), seed), options)
        };
        let own = self.gradient_has_chains();
        let (tracker, rounds) =
            start(if own { seed ^ TRACKER_SEED } else { seed }, self.plan.tracker);
        let gradient = own.then(|| start(seed, self.plan.gradient).0);
        self.gradient_chains = gradient;
        self.tracker = Some(tracker);
        self.settle();
        rounds
    }

    /// How often sweeps of initial rounds stop, if all rounds are needed.
    fn initial_points(&self) -> u64 {
        let chains = self.config.tempering.chains;
        let rounds = self.config.tempering.initial_rounds;
        let annealing = if rounds.annealed_start { self.plan.ladder.len() } else { 0 };
        let sweeps = annealing + rounds.sweeps * rounds.most;
        let trackers = if self.gradient_has_chains() { 2 } else { 1 };
        (sweeps * chains.div_ceil(rows_per_thread(chains)) * trackers) as u64
    }

    /// After an update: a step of the chains that are the gradient; a step of the tracker where one is due; settling for an
    /// evaluation. `old`: the model before the update.
    pub(super) fn track(&mut self, old: &Model) -> Option<TrackRecord> {
        self.view = None;
        let (ladder, base) = (&self.plan.ladder, &self.base);
        let path = |model| at(model, ladder, base);
        if let Some(chains) = &mut self.gradient_chains {
            chains.step(path(old), path(&self.current));
        }
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
        let one_tracker = self.is_tempered() && !self.gradient_has_chains();
        let path = at(&self.tracked, &self.plan.ladder, &self.base);
        if one_tracker {
            self.view = self.tracker.clone();
        }
        let rows = self.known_rows();
        let streams = Streams::new(self.config.seed, Purpose::BoundHidden, self.updates);
        let states = HiddenStates::of(&self.tracked.parameters, path.ops, &rows, streams);
        self.bound = states.bound();
        let Some(tracker) = self.view.as_mut().or(self.tracker.as_mut()) else { return };
        // Settling comes before evaluations alone, before which a state is kept.
        let _task = interrupt::task("settling for an evaluation", None);
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
        let particles = self.particles.as_ref().map(|particles| &particles.visible);
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
        if let Some(particles) = &self.particles {
            rows = rows.followed_by(&particles.visible);
        }
        let chains = [&self.tracker, &self.gradient_chains];
        chains
            .into_iter()
            .flatten()
            .fold(rows, |rows, tracker| rows.followed_by(&tracker.chains.visible))
    }

    fn model_of(&self, averaged: &Averaged) -> Model {
        Model::new(averaged.parameters().clone(), self.config.model.kernel, &self.device)
    }

    pub(super) fn path_of<'a>(&'a self, model: &'a Model) -> Path<'a> {
        at(model, &self.plan.ladder, &self.base)
    }
}

fn at<'a>(
    model: &'a Model,
    ladder: &'a crate::tempering::Ladder,
    base: &'a crate::tempering::BaseDistribution,
) -> Path<'a> {
    Path { ops: model.ops.as_ref(), ladder, base }
}
