//! log Z, with an error bar, at every update of a model in training.
//!
//! Persistent tempered chains give a measurement y_k after every update; a filter joins it with what is known from
//! before. Two filters: the drift-corrected Kalman filter (default) and the paper's alpha smoother (RTS eq. 24).

use super::Part;
use super::filter::{AnyFilter, Smoothing};
use super::prediction::Nodes;
use super::settling::{Lag, Settled, Settling};
use super::shift::Shift;
use super::verdict::{Evidence, FROZEN, verdict};
use crate::interrupt;
use crate::numerics::{Influence, Table};
use crate::ops::BitMatrix;
use crate::tempering::{
    BetaUpdate, Evaluated, InitialRounds, Measurement, PseudoPrior, RoundsRecord, TemperedChains,
    TemperedPath, Tempering, Transitions, effective_number,
};
use crate::trust::Trust;

/// Largest step of the pseudo-prior zeta^s_k at one step of the tracker, in nats. Any pseudo-prior is valid; larger steps
/// of the prediction widen its error.
const LARGEST_STEP: f64 = 2.0;
/// max_k |log(c_k/r_k)| beyond which initial rounds are run again.
const LOST: f64 = 3.0;
/// Sweeps over which the transition matrix forgets.
const TRANSITION_MEMORY: f64 = 1000.0;
/// Memory of the model's movement, in sweeps.
const MOVEMENT_MEMORY: f64 = 0.98;

/// Factor on error bars where chains settle for evaluations: over sixty kinds of runs (`experiments/tracking_accuracy`) z-scores
/// of settled values have a standard deviation of 1.0 to 1.3, for S chains' parts are taken against the same S chains' mean
/// and are skewed.
const WIDENING: f64 = 1.15;

/// Steps between temperatures at which shifts are evaluated under the joint update; interpolated in between.
const EVALUATED: std::ops::RangeInclusive<usize> = 8..=16;

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
    /// Whether chains carry the weights that the model's movement gives them (annealed importance sampling along training).
    pub weighted: bool,
    /// Sweeps at fixed parameters before an evaluation.
    pub settling: Settling,
    /// What is left out, to see what it is worth.
    pub without: Option<Part>,
}

impl TrackerOptions {
    /// Whether a part of the tracker is there.
    pub fn has(&self, part: Part) -> bool {
        self.without != Some(part)
    }
}

/// Tracker of log Z_k.
#[derive(Clone, Debug)]
pub struct ChainTracker {
    pub(super) options: TrackerOptions,
    /// The persistent chains.
    pub chains: TemperedChains,
    pub(super) filter: AnyFilter,
    /// zeta^s of the last sweeps, `[K]`.
    pub(super) pseudo_prior: Vec<f64>,
    pub(super) transitions: Transitions,
    /// Moving average of the variance of the chains' relative weights between successive models at beta = 1.
    pub(super) movement: f64,
    /// Steps since the chains were last started.
    pub(super) steps: u64,
    pub(super) lag: Lag,
    /// What the chains found at fixed parameters at the last evaluation.
    pub(super) settled: Option<Settled>,
    /// The chains' states under the current parameters.
    pub(super) last: Evaluated,
    /// q(k|v) of the chains' states, [S, K].
    pub(super) posterior: Table,
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
    /// Largest predicted shift of log Z_k, nats, where it was so large that the filter trusts it less.
    pub jump: Option<f64>,
    /// Chains were resampled.
    pub resampled: bool,
}

impl ChainTracker {
    /// Runs initial rounds and starts tracking; `chains` may start anywhere.
    pub fn start(
        path: &dyn TemperedPath,
        mut chains: TemperedChains,
        options: TrackerOptions,
    ) -> (Self, RoundsRecord) {
        let permit = interrupt::permit();
        let mut tempering = Tempering::new(path, &mut chains, options.beta_update);
        let rounds = options.initial_rounds.run(&mut tempering);
        drop(permit);
        let last = path.evaluate(&chains.visible);
        let tracker = Self {
            options,
            filter: AnyFilter::new(options.smoothing, &rounds.measurement),
            pseudo_prior: rounds.measurement.log_z.clone(),
            transitions: Transitions::new(path.ladder().len()),
            movement: 0.0,
            steps: 0,
            lag: Lag::default(),
            settled: None,
            posterior: posterior_of(path, &rounds.measurement.log_z, &last),
            chains,
            last,
        };
        (tracker, rounds)
    }

    /// log Z of the current parameters.
    pub fn log_z(&self) -> f64 {
        self.filter.get().log_z()[self.pseudo_prior.len() - 1]
    }

    /// Standard error of [`ChainTracker::log_z`]: the spread of the chains and the lag learnt so far. To be believed only
    /// where [`ChainTracker::trust`] says so.
    pub fn std_error(&self) -> f64 {
        let own = self.filter.get().std_error().hypot(self.lag.present.sqrt());
        let widened = self.options.settling.sweeps > 0 && self.options.has(Part::Widening);
        if widened { WIDENING * own } else { own }
    }

    /// How much larger errors are than the spread of chains that have just been started: settled, they still have this share of where
    /// they started from third to third of their sweeps, and nothing shows how far that was from the model. 1 for chains that go on.
    pub(super) fn widening_of_the_start(&self) -> f64 {
        let new = self.steps == 0 && self.options.has(Part::Start);
        let settled = self.settled.as_ref().filter(|_| new);
        // What cannot be correlated is frozen; beyond the limit the value is in doubt.
        let memory = |settled: &Settled| match settled.correlation {
            correlation if correlation.is_nan() => FROZEN,
            correlation => correlation.clamp(0.0, FROZEN),
        };
        settled.map_or(1.0, |settled| 1.0 / (1.0 - memory(settled)))
    }

    /// Whether the error bar is to be believed, and why not.
    pub fn trust(&self) -> Trust {
        self.trust_if(false)
    }

    /// The same; `known`: known states are most of the model.
    pub(super) fn trust_if(&self, known: bool) -> Trust {
        verdict(&Evidence {
            chains: self.chains.len(),
            families: self.effective_chains(),
            movement: self.movement_per_round_trip(),
            new: self.steps == 0,
            settled: self.settled.as_ref(),
            round_trips: self.chains.round_trips.per_chain(),
            known,
        })
    }

    /// What the chains found at fixed parameters at the last evaluation.
    pub fn settled(&self) -> Option<&Settled> {
        self.settled.as_ref()
    }

    /// How far the model moves at beta = 1 while a chain makes one round trip: the variance of relative weights per step,
    /// added up over the trip, or since the chains were started if that is less. The larger it is, the more the chains may lag behind the model, which their spread cannot
    /// show: 784x16 with 100 chains and one sweep per update reached 1 and then errors of 3 standard errors. It is no
    /// verdict: with 2000 chains (180x500) errors stay inside the bar at the same movement.
    pub fn movement_per_round_trip(&self) -> f64 {
        let rate = self.chains.round_trips.rate().unwrap_or(0.0);
        let trip = 1000.0 / rate / self.options.sweeps as f64;
        if self.movement == 0.0 { 0.0 } else { self.movement * trip.min(self.steps as f64) }
    }

    /// Mean squared innovation over its predicted variance; about 1 for a right error bar. `None` for eq. 24.
    pub fn consistency(&self) -> Option<f64> {
        self.filter.get().consistency()
    }

    /// Recent transitions between temperatures.
    pub fn transitions(&self) -> &Transitions {
        &self.transitions
    }

    /// Pre-activations and log f_k of the chains' states under the current parameters.
    pub fn evaluated(&self) -> &Evaluated {
        &self.last
    }

    /// Importance weights of the chains for averages at beta = 1, `[S]`: q(K|v_s), times the chains' own weights, over their
    /// sum.
    pub fn weights(&self) -> Vec<f64> {
        let own = self.own_weights();
        let at_one = self.posterior.last_column().zip(&own).map(|(q, w)| q * w);
        let total: f64 = at_one.clone().sum();
        at_one.map(|w| w / total).collect()
    }

    /// (sum w)^2/sum w^2 of the weights.
    pub fn effective_sample_size(&self) -> f64 {
        effective_number(&self.weights())
    }

    /// After parameters moved from `old` to `new`: weights, sweeps, measurement, filter.
    pub fn step(&mut self, old: &dyn TemperedPath, new: &dyn TemperedPath) -> TrackRecord {
        let nodes = Nodes::new(new.ladder(), self.shift_step(new.ladder().len()));
        let moved = nodes.evaluate(new, &self.chains.visible);
        let posterior = self.scaled(&self.posterior);
        let forward = nodes.shift(&posterior, &self.last.log_f, &moved.log_f);
        let per_step = forward.variance.last().unwrap_or(&0.0) * self.chains.len() as f64;
        self.movement = MOVEMENT_MEMORY * self.movement + (1.0 - MOVEMENT_MEMORY) * per_step;
        let pseudo_prior = self.predicted(&forward);
        let resampled = self.options.weighted && {
            let steps = self.weight_steps(&moved.log_f, &pseudo_prior);
            self.chains.reweigh(&steps)
        };
        let TrackerOptions { sweeps, beta_update, .. } = self.options;
        // States that took the places of others have to be evaluated anew.
        let start = (!resampled).then_some(moved);
        let record = self.chains.sweep(new, &pseudo_prior, beta_update, sweeps.max(1), start);
        let prior = PseudoPrior::new(new.ladder(), &pseudo_prior);
        let mut measurement = prior.measure(&self.scaled(&record.occupancy));
        measurement.influence = self.of_families(&measurement.influence);
        if self.options.weighted && self.options.has(Part::SharedWeights) {
            self.chains.share_weights_at_base();
        }
        self.transitions.add(&record.transitions, (-(sweeps as f64) / TRANSITION_MEMORY).exp());
        let occupancy_error = measurement.occupancy_error(new.ladder());
        let mut jump = None;
        let posterior = self.scaled(&record.posterior);
        let chains = &self.chains;
        let options = self.options;
        let mut shift = || {
            if !options.has(Part::BackwardShift) {
                let influence = chains.round_trips.of_families(&forward.influence);
                return Shift { influence, ..forward.clone() };
            }
            let then = nodes.evaluate(old, &chains.visible).log_f;
            let back = nodes.shift(&posterior, &record.last.log_f, &then);
            let (shift, largest) = backward(&back, chains);
            jump = largest;
            shift
        };
        let distrust = self.filter.get_mut().update(&mut shift, &measurement);
        if self.options.has(Part::Lag) {
            self.lag.moved();
        }
        self.steps += 1;
        self.last = record.last;
        self.posterior = record.posterior;
        self.pseudo_prior = pseudo_prior;
        let lost = !occupancy_error.is_finite() || occupancy_error > LOST;
        let rounds = lost.then(|| self.start_again(new));
        TrackRecord { measurement, occupancy_error, rounds, distrust, jump, resampled }
    }

    /// An audit of log Z at the present parameters found the tracked value off by `difference`, its own standard error being
    /// `std_error`: what the error bar does not explain of that widens it from now on.
    pub fn learn_from_audit(&mut self, difference: f64, std_error: f64) {
        let noise = self.filter.get().std_error().powi(2) + std_error * std_error;
        self.lag.learn_residual(difference, noise);
    }

    /// Mean and standard deviation of log f(v) of the model as the chains see it: over their states, with
    /// [`ChainTracker::weights`].
    pub fn log_f_of_samples(&self) -> (f64, f64) {
        let values = || self.last.log_f.last_column();
        let weights = self.weights();
        let mean: f64 = values().zip(&weights).map(|(x, w)| x * w).sum();
        let square: f64 = values().zip(&weights).map(|(x, w)| (x - mean).powi(2) * w).sum();
        (mean, square.sqrt())
    }

    /// (sum w)^2/sum w^2 of the chains' own weights, not those at beta = 1.
    pub fn effective_chains(&self) -> f64 {
        self.chains.round_trips.effective_families(&self.chains.weights())
    }

    /// Share of the chains that went from one end of the ladder to the other in the last 1000 sweeps.
    pub fn crossed_share(&self) -> f64 {
        self.chains.round_trips.crossed_within(super::verdict::WINDOW)
    }

    /// zeta^s for the next sweeps: where the filter predicts, log Z_k moved by the forward shift.
    fn predicted(&self, forward: &Shift) -> Vec<f64> {
        let before = self.filter.get().log_z();
        let Some(drift) = self.filter.get().drift() else { return before.to_vec() };
        let steps = forward.log_ratio.iter().zip(drift);
        let steps = steps.map(|(d, b)| (d + b).clamp(-LARGEST_STEP, LARGEST_STEP));
        let mut zeta: Vec<f64> = before.iter().zip(steps).map(|(zeta, step)| zeta + step).collect();
        zeta[0] = before[0];
        zeta
    }

    /// Every how many temperatures shifts are evaluated: at all where the sweeps need all of log f anyway, at some for
    /// the joint update, at none but the ends where the filter does not predict and only the movement is asked for. Weights
    /// add up their errors over time, so they take all.
    fn shift_step(&self, temperatures: usize) -> usize {
        if self.options.weighted || self.options.beta_update == BetaUpdate::Collapsed {
            return 1;
        }
        if self.filter.get().drift().is_none() {
            return temperatures;
        }
        // As few as divide the ladder evenly, if any: equal steps need fewer exponentials.
        let even = EVALUATED.clone().find(|n| (temperatures - 1).is_multiple_of(*n));
        (temperatures - 1).div_ceil(even.unwrap_or(*EVALUATED.end())).max(1)
    }

    /// Parts of an error, those of relatives taken together.
    pub(super) fn of_families(&self, influence: &Influence) -> Influence {
        match self.options.has(Part::Families) {
            true => self.chains.round_trips.of_families(influence),
            false => influence.clone(),
        }
    }

    /// q(k|v) of any states, [rows, K].
    pub(super) fn posterior_at(&self, path: &dyn TemperedPath, visible: &BitMatrix) -> Table {
        posterior_of(path, &self.pseudo_prior, &path.evaluate(visible))
    }

    /// Looks at the chains' states under a path.
    pub(super) fn look(&mut self, path: &dyn TemperedPath) {
        self.last = path.evaluate(&self.chains.visible);
        self.posterior = posterior_of(path, &self.pseudo_prior, &self.last);
    }
}

pub(super) fn posterior_of(path: &dyn TemperedPath, zeta: &[f64], states: &Evaluated) -> Table {
    PseudoPrior::new(path.ladder(), zeta).posterior(&states.log_f)
}

/// From a shift measured backwards in time, from the new parameters to the old ones, the shift forwards; and the largest
/// one, where it is beyond what the filter should take at its word: its square beyond [`LARGEST_STEP`] is added to its
/// variance, for importance weights of so large a step rest on few chains.
fn backward(back: &Shift, chains: &TemperedChains) -> (Shift, Option<f64>) {
    let largest =
        back.log_ratio.iter().fold(0.0f64, |max, d| if d.abs() > max.abs() { -d } else { max });
    let beyond = |d: &f64| (d.abs() - LARGEST_STEP).max(0.0).powi(2);
    let variance = back.variance.iter().zip(&back.log_ratio).map(|(v, d)| v + beyond(d)).collect();
    let influence = Influence::new(back.influence.parts().iter().map(|part| -part).collect());
    let shift = Shift {
        log_ratio: back.log_ratio.iter().map(|d| -d).collect(),
        influence: chains.round_trips.of_families(&influence),
        variance,
    };
    (shift, (largest.abs() > LARGEST_STEP).then_some(largest))
}
