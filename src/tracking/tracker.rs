//! log Z, with an error bar, at every update of a model in training.
//!
//! Persistent tempered chains give a measurement y_k after every update; a filter joins it with what is known from
//! before. Two filters: the drift-corrected Kalman filter (default) and the paper's alpha smoother (RTS eq. 24).

use super::alpha::AlphaSmoother;
use super::kalman::Kalman;
use super::prediction::Nodes;
use super::shift::Shift;
use crate::interrupt;
use crate::tempering::{
    BetaUpdate, Evaluated, InitialRounds, Measurement, Path, RbmTempering, RoundsRecord,
    TemperedChains, Transitions, measure,
};

/// Largest step of zeta_k in one update, in nats.
const LARGEST_STEP: f64 = 2.0;
/// max_k |log(c_k/r_k)| beyond which initial rounds are run again.
const LOST: f64 = 3.0;
/// Sweeps over which the transition matrix forgets.
const TRANSITION_MEMORY: f64 = 1000.0;
/// Memory of the model's movement.
const MOVEMENT_MEMORY: f64 = 0.98;

/// Steps between temperatures at which shifts are evaluated under the joint update; interpolated in between.
const EVALUATED: std::ops::RangeInclusive<usize> = 8..=16;

/// Which filter joins the measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Smoothing {
    /// Drift-corrected Kalman filter.
    Kalman,
    /// RTS eq. 24 with this alpha.
    Alpha(f64),
}

/// How chains are run between updates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrackerOptions {
    /// The filter.
    pub smoothing: Smoothing,
    /// Gibbs sweeps of every chain per update, at least 1.
    pub sweeps: usize,
    /// How inverse temperatures are redrawn.
    pub beta_update: BetaUpdate,
    /// Rounds at the start, and whenever the chains are lost.
    pub initial_rounds: InitialRounds,
}

/// The filter's state.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Filter {
    /// See [`Kalman`].
    Kalman(Box<Kalman>),
    /// See [`AlphaSmoother`].
    Alpha(AlphaSmoother),
}

/// Tracker of log Z_k.
#[derive(Clone, Debug)]
pub struct LogZTracker {
    options: TrackerOptions,
    /// The persistent chains.
    pub chains: TemperedChains,
    filter: Filter,
    /// zeta^s of the last sweeps, `[K]`.
    pseudo_prior: Vec<f64>,
    transitions: Transitions,
    /// Moving average of the variance of the chains' relative weights between successive models at beta = 1.
    movement: f64,
    /// The chains' states under the current parameters.
    last: Evaluated,
    /// q(k|v) of the chains' states, [S, K].
    posterior: Vec<f64>,
}

/// What one update of the tracker found.
#[derive(Clone, Debug)]
pub struct TrackRecord {
    /// This update's measurement alone.
    pub measurement: Measurement,
    /// max_k |log(c_k/r_k)|.
    pub occupancy_error: f64,
    /// Initial rounds that had to be run again.
    pub rounds: Option<RoundsRecord>,
    /// The filter just doubled its distrust of the predicted shift.
    pub distrust: bool,
}

/// What a checkpoint keeps of a tracker beside its chains.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedTracker {
    /// Filter state.
    pub filter: Filter,
    /// zeta^s, `[K]`.
    pub pseudo_prior: Vec<f64>,
    /// Accumulated transitions, [K, K].
    pub transitions: Vec<f64>,
    /// Moving average of the model's movement.
    pub movement: f64,
}

impl LogZTracker {
    /// Runs initial rounds and starts tracking; `chains` may start anywhere.
    pub fn start(
        path: Path<'_>,
        mut chains: TemperedChains,
        options: TrackerOptions,
    ) -> (Self, RoundsRecord) {
        let permit = interrupt::permit();
        let rounds = options.initial_rounds.run(&mut RbmTempering::new(
            path,
            &mut chains,
            options.beta_update,
        ));
        drop(permit);
        let k = path.ladder.len();
        let last = path.evaluate(&chains.visible);
        let mut tracker = Self {
            options,
            filter: new_filter(options.smoothing, &rounds.measurement),
            pseudo_prior: rounds.measurement.log_z.clone(),
            transitions: Transitions::new(k),
            movement: 0.0,
            posterior: vec![0.0; chains.len() * k],
            chains,
            last,
        };
        tracker.fill_posterior(path);
        (tracker, rounds)
    }

    /// Continues from a checkpoint with the parameters it was taken at; `None` if shapes do not fit.
    pub fn resume(
        path: Path<'_>,
        chains: TemperedChains,
        options: TrackerOptions,
        saved: SavedTracker,
    ) -> Option<Self> {
        let k = path.ladder.len();
        let last = path.evaluate(&chains.visible);
        let fits = saved.pseudo_prior.len() == k
            && saved.filter.log_z().len() == k
            && match &saved.filter {
                Filter::Kalman(filter) => filter.chains() == chains.len(),
                Filter::Alpha(filter) => filter.chains() == chains.len(),
            };
        let mut tracker = Self {
            options,
            filter: saved.filter,
            pseudo_prior: saved.pseudo_prior,
            transitions: Transitions::restore(k, saved.transitions)?,
            movement: saved.movement,
            posterior: vec![0.0; chains.len() * k],
            chains,
            last,
        };
        fits.then(|| {
            tracker.fill_posterior(path);
            tracker
        })
    }

    /// What a checkpoint needs beside the chains.
    pub fn save(&self) -> SavedTracker {
        SavedTracker {
            filter: self.filter.clone(),
            pseudo_prior: self.pseudo_prior.clone(),
            transitions: self.transitions.sums().to_vec(),
            movement: self.movement,
        }
    }

    /// log Z of the current parameters.
    pub fn log_z(&self) -> f64 {
        self.filter.log_z()[self.posterior_width() - 1]
    }

    /// Standard error of [`LogZTracker::log_z`]; to be believed only where [`LogZTracker::mixed`].
    pub fn std_error(&self) -> f64 {
        match &self.filter {
            Filter::Kalman(filter) => filter.std_error(),
            Filter::Alpha(filter) => filter.std_error(),
        }
    }

    /// Whether chains made enough round trips for the error bar to be believed.
    pub fn mixed(&self) -> bool {
        self.chains.round_trips.mixed()
    }

    /// How far the model moves at beta = 1 while a chain makes one round trip: the variance of relative weights per update,
    /// added up over the trip. The larger it is, the more the chains may lag behind the model, which their spread cannot
    /// show: 784x16 with 100 chains and one sweep per update reached 1 and then errors of 3 standard errors. It is no
    /// verdict: with 2000 chains (180x500) errors stay inside the bar at the same movement.
    pub fn movement_per_round_trip(&self) -> f64 {
        let rate = self.chains.round_trips.rate().unwrap_or(0.0);
        let updates = 1000.0 / rate / self.options.sweeps as f64;
        if self.movement == 0.0 { 0.0 } else { self.movement * updates }
    }

    /// Mean squared innovation over its predicted variance; about 1 for a right error bar. `None` for eq. 24.
    pub fn consistency(&self) -> Option<f64> {
        match &self.filter {
            Filter::Kalman(filter) => Some(filter.consistency()),
            Filter::Alpha(_) => None,
        }
    }

    /// Recent transitions between temperatures.
    pub fn transitions(&self) -> &Transitions {
        &self.transitions
    }

    /// Pre-activations and log f_k of the chains' states under the current parameters.
    pub fn evaluated(&self) -> &Evaluated {
        &self.last
    }

    /// w_s = q(K|v_s)/sum q(K|v): importance weights of the chains for averages at beta = 1, `[S]`.
    pub fn weights(&self) -> Vec<f64> {
        let k = self.posterior_width();
        let total: f64 = self.posterior.chunks_exact(k).map(|q| q[k - 1]).sum();
        self.posterior.chunks_exact(k).map(|q| q[k - 1] / total).collect()
    }

    /// (sum w)^2/sum w^2 of the weights.
    pub fn effective_sample_size(&self) -> f64 {
        1.0 / self.weights().iter().map(|w| w * w).sum::<f64>()
    }

    /// After parameters moved from `old` to `new`: sweeps, measurement, filter.
    pub fn step(&mut self, old: Path<'_>, new: Path<'_>) -> TrackRecord {
        let k = new.ladder.len();
        let before = self.filter.log_z().to_vec();
        let nodes = Nodes::new(new.ladder, self.shift_step(k));
        let moved = nodes.on(new).evaluate(&self.chains.visible);
        let forward = nodes.shift(&self.posterior, &self.last.log_f, &moved.log_f);
        let per_update = forward.variance[k - 1] * self.chains.len() as f64;
        self.movement = MOVEMENT_MEMORY * self.movement + (1.0 - MOVEMENT_MEMORY) * per_update;
        let pseudo_prior = match &self.filter {
            Filter::Alpha(_) => before.clone(),
            Filter::Kalman(filter) => {
                let predicted = before.iter().zip(&forward.log_ratio).zip(&filter.bias);
                let mut zeta: Vec<f64> = predicted.map(|((z, d), b)| z + limit(d + b)).collect();
                zeta[0] = before[0];
                zeta
            }
        };
        let TrackerOptions { sweeps, beta_update, .. } = self.options;
        let record = self.chains.sweep(new, &pseudo_prior, beta_update, sweeps.max(1), Some(moved));
        let measurement = measure(&record.occupancy, self.chains.len(), new.ladder, &pseudo_prior);
        self.transitions.add(&record.transitions, (-(sweeps as f64) / TRANSITION_MEMORY).exp());
        let occupancy_error = measurement.occupancy_error(new.ladder);
        let distrust = match &mut self.filter {
            Filter::Alpha(filter) => {
                filter.update(&measurement);
                false
            }
            Filter::Kalman(filter) => {
                let then = nodes.on(old).log_f_of(&self.chains.visible);
                let backward = nodes.shift(&record.posterior, &record.last.log_f, &then);
                // Backwards in time: from the new parameters to the old ones.
                let backward = Shift {
                    log_ratio: backward.log_ratio.iter().map(|d| limit(-d)).collect(),
                    influence: backward.influence.iter().map(|part| -part).collect(),
                    variance: backward.variance,
                };
                filter.update(&backward, &measurement)
            }
        };
        self.last = record.last;
        self.posterior = record.posterior;
        self.pseudo_prior = pseudo_prior;
        let lost = !occupancy_error.is_finite() || occupancy_error > LOST;
        let rounds = lost.then(|| self.start_again(new));
        TrackRecord { measurement, occupancy_error, rounds, distrust }
    }

    /// Every how many temperatures shifts are evaluated: at all where the sweeps need all of log f anyway, at some for
    /// the joint update, at none but the ends where the filter does not predict and only the movement is asked for.
    fn shift_step(&self, temperatures: usize) -> usize {
        match (self.options.beta_update, &self.filter) {
            (BetaUpdate::Collapsed, _) => 1,
            (BetaUpdate::Joint { .. }, Filter::Kalman(_)) => {
                // As few as divide the ladder evenly, if any: equal steps need fewer exponentials.
                let even = EVALUATED.clone().find(|n| (temperatures - 1).is_multiple_of(*n));
                (temperatures - 1).div_ceil(even.unwrap_or(*EVALUATED.end())).max(1)
            }
            (BetaUpdate::Joint { .. }, Filter::Alpha(_)) => temperatures,
        }
    }

    /// Initial rounds for chains that lost the ladder, from the states they are in.
    fn start_again(&mut self, path: Path<'_>) -> RoundsRecord {
        let TrackerOptions { initial_rounds, beta_update, smoothing, .. } = self.options;
        let _permit = interrupt::permit();
        let rounds =
            initial_rounds.run(&mut RbmTempering::new(path, &mut self.chains, beta_update));
        self.filter = new_filter(smoothing, &rounds.measurement);
        self.pseudo_prior.clone_from(&rounds.measurement.log_z);
        self.last = path.evaluate(&self.chains.visible);
        self.fill_posterior(path);
        rounds
    }

    fn posterior_width(&self) -> usize {
        self.pseudo_prior.len()
    }

    fn fill_posterior(&mut self, path: Path<'_>) {
        let k = path.ladder.len();
        let tilt: Vec<f64> = path
            .ladder
            .log_prior()
            .iter()
            .zip(&self.pseudo_prior)
            .map(|(log_r, zeta)| log_r - zeta)
            .collect();
        let rows = self.posterior.chunks_exact_mut(k).zip(self.last.log_f.chunks_exact(k));
        for (q, log_f) in rows {
            crate::ops::cpu::softmax(log_f, &tilt, q);
        }
    }
}

impl Filter {
    fn log_z(&self) -> &[f64] {
        match self {
            Self::Kalman(filter) => &filter.log_z,
            Self::Alpha(filter) => &filter.log_z,
        }
    }
}

fn new_filter(smoothing: Smoothing, measurement: &Measurement) -> Filter {
    match smoothing {
        Smoothing::Kalman => Filter::Kalman(Box::new(Kalman::new(measurement))),
        Smoothing::Alpha(alpha) => Filter::Alpha(AlphaSmoother::new(alpha, measurement)),
    }
}

fn limit(step: f64) -> f64 {
    step.clamp(-LARGEST_STEP, LARGEST_STEP)
}
