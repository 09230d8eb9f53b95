//! log Z, with an error bar, at every update of a model in training.
//!
//! Persistent tempered chains give a measurement y_k after every update, and a filter combines it with the earlier ones. Two filters: the
//! drift-corrected Kalman filter (default) and the paper's alpha smoother (RTS eq. 24).

use super::filter::{AnyFilter, STEP_MEMORY, Smoothing};
use super::prediction::Nodes;
use super::settling::{Settled, Settling};
use super::shift::Shift;
use super::verdict::{Evidence, followed, hardly_crossed, verdict};
use super::{Part, Parts};
use crate::engine::BitMatrix;
use crate::engine::host::choose;
use crate::engine::random::Streams;
use crate::numerics::{Influence, Table};
use crate::tempering::{
    BetaUpdate, CROWDED, Evaluated, InitialRounds, Measurement, PseudoPrior, RoundsRecord,
    TemperedChains, TemperedPath, Tempering, Transitions, WINDOW, effective_number,
};
use crate::trust::{LogZ, Trust};

/// Largest step of the pseudo-prior zeta^s_k at one step of the tracker, in nats. Any pseudo-prior is valid; larger steps of the prediction
/// increase its error.
const LARGEST_STEP: f64 = 2.0;

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
    /// Rounds at the start, and when the occupancy of the chains collapses.
    pub initial_rounds: InitialRounds,
    /// Whether chains have weights for the changes of the model (annealed importance sampling along training).
    pub weighted: bool,
    /// Sweeps at fixed parameters before an evaluation.
    pub settling: Settling,
    /// Parts of the tracker that are left out in an ablation.
    pub without: Parts,
}

impl TrackerOptions {
    /// Whether a part of the tracker is there.
    pub fn has(&self, part: Part) -> bool {
        !self.without.contains(part)
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
    /// Steps since the chains were last initialised.
    pub(super) steps: u64,
    /// Variance of the present value from what chains remembered when they were last measured for an evaluation.
    pub(super) memory: f64,
    /// Result of the equilibration at the last evaluation.
    pub(super) settled: Option<Settled>,
    /// The chains' states under the current parameters.
    pub(super) last: Evaluated,
    /// q(k|v) of the chains' states, [S, K].
    pub(super) posterior: Table,
}

/// Result of one update of the tracker.
#[derive(Clone, Debug)]
pub struct TrackRecord {
    /// This update's measurement alone.
    pub measurement: Measurement,
    /// max_k |log(c_k/r_k)|.
    pub occupancy_error: f64,
    /// Number of initial rounds that were run again.
    pub rounds: Option<RoundsRecord>,
    /// Largest predicted shift of log Z_k, nats, if it is so large that the filter increases its variance.
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
        let permit = path.context().permit();
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
            memory: 0.0,
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

    /// Standard error of [`ChainTracker::log_z`]: the spread of the chains and their remaining deviation at the last evaluation. Reliable
    /// only if [`ChainTracker::trust`] says so.
    pub fn std_error(&self) -> f64 {
        self.filter.get().std_error().hypot(self.memory.sqrt())
    }

    /// Whether the error bar can be trusted, and if not, why.
    pub fn trust(&self) -> Trust {
        self.found_alone(false).trust
    }

    /// [`Self::found`] where no second population checks these chains: frozen ones have to cross the ladder in an equilibration. In
    /// tracking a pseudo-prior that swings can carry chains along that cannot move by themselves; in an equilibration it is fixed.
    pub(crate) fn found_alone(&self, known: bool) -> LogZ {
        let mut found = self.found(known);
        if let (Some(settled), false) = (&self.settled, known) {
            found.trust = found.trust.and(hardly_crossed(settled));
        }
        found
    }

    /// Value, error and diagnostics; `known`: reference states have most of the model's mass.
    pub(crate) fn found(&self, known: bool) -> LogZ {
        let trust = verdict(&Evidence {
            chains: self.chains.len(),
            lineages: self.effective_chains(),
            movement: self.movement_per_round_trip(),
            new: self.steps == 0,
            settled: self.settled.as_ref(),
            round_trips: &self.chains.round_trips,
            known,
        });
        LogZ { value: self.log_z(), std_error: self.std_error(), trust }
    }

    /// Result of the equilibration at the last evaluation.
    pub fn settled(&self) -> Option<&Settled> {
        self.settled.as_ref()
    }

    /// Movement of the model at beta = 1 during one round trip of a chain: the variance of relative weights per step, summed over the trip,
    /// or since the chains were initialised if that is less. The larger it is, the more the chains may lag behind the model, which their
    /// spread cannot show: 784x16 with 100 chains and one sweep per update reaches 1 and then errors of 3 standard errors. It is not
    /// sufficient for a doubt: with 2000 chains (180x500) errors stay within the error bar at the same movement.
    pub fn movement_per_round_trip(&self) -> f64 {
        let trip = self.round_trip() / self.options.sweeps as f64;
        if self.movement == 0.0 { 0.0 } else { self.movement * trip.min(self.steps as f64) }
    }

    /// Whether the model moves further during a round trip than the chains can follow.
    pub(super) fn lags(&self) -> bool {
        self.movement_per_round_trip() > followed(self.chains.len())
    }

    /// Sweeps that a round trip of a chain takes; infinite if there are none.
    pub(super) fn round_trip(&self) -> f64 {
        1000.0 / self.chains.round_trips.rate().unwrap_or(0.0)
    }

    /// Mean squared innovation over its predicted variance; about 1 for a right error bar. `None` for eq. 24.
    pub(crate) fn consistency(&self) -> Option<f64> {
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
    pub(crate) fn effective_sample_size(&self) -> f64 {
        effective_number(&self.weights())
    }

    /// After parameters moved from `old` to `new`: weights, sweeps, measurement, filter.
    pub fn step(&mut self, old: &dyn TemperedPath, new: &dyn TemperedPath) -> TrackRecord {
        let nodes = Nodes::new(new.ladder(), self.shift_step(new.ladder().len()));
        let moved = nodes.evaluate(new, &self.chains.visible);
        let posterior = self.scaled(&self.posterior);
        let forward = nodes.shift(&posterior, &self.last.log_f, &moved.log_f);
        let per_step = forward.variance.last().unwrap_or(&0.0) * self.chains.len() as f64;
        self.movement = STEP_MEMORY * self.movement + (1.0 - STEP_MEMORY) * per_step;
        let pseudo_prior = self.predicted(&forward);
        let resampled = self.options.weighted && {
            let steps = self.weight_steps(&moved.log_f, &pseudo_prior);
            self.chains.reweigh(&steps)
        };
        let TrackerOptions { sweeps, beta_update, .. } = self.options;
        // States that replaced others have to be evaluated again.
        let start = (!resampled).then_some(moved);
        let record = self.chains.sweep(new, &pseudo_prior, beta_update, sweeps.max(1), start);
        let prior = PseudoPrior::new(new.ladder(), &pseudo_prior);
        let mut measurement = prior.measure(&self.scaled(&record.occupancy));
        measurement.influence = self.of_lineages(&measurement.influence);
        if self.options.weighted && self.options.has(Part::SharedWeights) {
            self.chains.share_weights_at_base();
        }
        self.transitions.add(&record.transitions, (-(sweeps as f64) / WINDOW as f64).exp());
        let occupancy_error = measurement.occupancy_error(new.ladder());
        let mut jump = None;
        let posterior = self.scaled(&record.posterior);
        let chains = &self.chains;
        let options = self.options;
        let mut shift = || {
            if !options.has(Part::BackwardShift) {
                let influence = chains.round_trips.of_lineages(&forward.influence);
                return Shift { influence, ..forward.clone() };
            }
            let then = nodes.evaluate(old, &chains.visible).log_f;
            let back = nodes.shift(&posterior, &record.last.log_f, &then);
            let (shift, largest) = backward(&back, chains);
            jump = largest;
            shift
        };
        self.filter.get_mut().update(&mut shift, &measurement);
        self.steps += 1;
        self.last = record.last;
        self.posterior = record.posterior;
        self.pseudo_prior = pseudo_prior;
        let lost = !occupancy_error.is_finite() || occupancy_error > CROWDED;
        let rounds = lost.then(|| self.start_again(new));
        TrackRecord { measurement, occupancy_error, rounds, jump, resampled }
    }

    /// Mean and standard deviation of log f(v) over the chains' states, with [`ChainTracker::weights`].
    pub(crate) fn log_f_of_samples(&self) -> (f64, f64) {
        let values = || self.last.log_f.last_column();
        let weights = self.weights();
        let mean: f64 = values().zip(&weights).map(|(x, w)| x * w).sum();
        let square: f64 = values().zip(&weights).map(|(x, w)| (x - mean).powi(2) * w).sum();
        (mean, square.sqrt())
    }

    /// (sum w)^2/sum w^2 of the chains' own weights, not those at beta = 1.
    pub fn effective_chains(&self) -> f64 {
        effective_number(&self.chains.round_trips.by_lineage(&self.chains.weights()))
    }

    /// Fraction of the chains that went from one end of the ladder to the other in the last 1000 sweeps.
    pub fn crossed_share(&self) -> f64 {
        self.chains.round_trips.crossed_within(WINDOW)
    }

    /// zeta^s for the next sweeps: if the filter predicts, log Z_k plus the forward shift.
    fn predicted(&self, forward: &Shift) -> Vec<f64> {
        let before = self.filter.get().log_z();
        let Some(drift) = self.filter.get().drift() else { return before.to_vec() };
        let steps = forward.log_ratio.iter().zip(drift);
        let steps = steps.map(|(d, b)| (d + b).clamp(-LARGEST_STEP, LARGEST_STEP));
        let mut zeta: Vec<f64> = before.iter().zip(steps).map(|(zeta, step)| zeta + step).collect();
        zeta[0] = before[0];
        zeta
    }

    /// Step between the temperatures at which shifts are evaluated: all temperatures if the sweeps need log f everywhere anyway, some for
    /// the joint update, only the ends if the filter does not predict and only the movement is needed. With weights all temperatures are
    /// used, because errors of the weights accumulate.
    fn shift_step(&self, temperatures: usize) -> usize {
        if self.options.weighted || self.options.beta_update == BetaUpdate::Collapsed {
            return 1;
        }
        if self.filter.get().drift().is_none() {
            return temperatures;
        }
        // As few as divide the ladder evenly, if possible: equal steps need fewer exponentials.
        let even = EVALUATED.clone().find(|n| (temperatures - 1).is_multiple_of(*n));
        (temperatures - 1).div_ceil(even.unwrap_or(*EVALUATED.end())).max(1)
    }

    /// Contributions to an error, those of one lineage summed.
    pub(super) fn of_lineages(&self, influence: &Influence) -> Influence {
        match self.options.has(Part::Lineages) {
            true => self.chains.round_trips.of_lineages(influence),
            false => influence.clone(),
        }
    }

    /// Proposes to each chain to swap states with a particle at beta = 1, rows of `particles` from `first` on, around the end: chain v and
    /// particle u swap with probability min(1, q(K|v)/q(K|u)), which leaves the distribution of both as it is at any temperature of
    /// the chain. Only for chains without weights, which speak of states. Returns how many did.
    pub(super) fn swap(
        &mut self,
        path: &dyn TemperedPath,
        particles: &mut BitMatrix,
        first: usize,
        streams: Streams,
    ) -> usize {
        let n = particles.rows();
        let proposed: Vec<usize> = (0..self.chains.len().min(n)).map(|s| (first + s) % n).collect();
        let theirs = path.evaluate(&particles.select(proposed.iter().copied()));
        let theirs = posterior_of(path, &self.pseudo_prior, &theirs);
        let mut swapped = 0;
        for (s, &row) in proposed.iter().enumerate() {
            let mut stream = streams.row(s as u32);
            let at_one = |q: &[f64]| q[q.len() - 1];
            let own = at_one(self.posterior.row(s));
            if stream.uniform() * at_one(theirs.row(s)) < own {
                self.chains.visible.row_mut(s).swap_with_slice(particles.row_mut(row));
                self.chains.temperatures[s] = choose(theirs.row(s), stream.uniform());
                swapped += 1;
            }
        }
        self.look(path);
        swapped
    }

    /// Evaluates the chains' states under a path.
    pub(super) fn look(&mut self, path: &dyn TemperedPath) {
        self.last = path.evaluate(&self.chains.visible);
        self.posterior = posterior_of(path, &self.pseudo_prior, &self.last);
    }
}

pub(super) fn posterior_of(path: &dyn TemperedPath, zeta: &[f64], states: &Evaluated) -> Table {
    PseudoPrior::new(path.ladder(), zeta).posterior(&states.log_f)
}

/// The forward shift from a shift that was measured backwards, from the new parameters to the old ones; and the largest one, if it exceeds
/// what the filter should rely on: its square beyond [`LARGEST_STEP`] is added to its variance, because importance weights of so large a
/// step depend on few chains.
fn backward(back: &Shift, chains: &TemperedChains) -> (Shift, Option<f64>) {
    let largest =
        back.log_ratio.iter().fold(0.0f64, |max, d| if d.abs() > max.abs() { -d } else { max });
    let beyond = |d: &f64| (d.abs() - LARGEST_STEP).max(0.0).powi(2);
    let variance = back.variance.iter().zip(&back.log_ratio).map(|(v, d)| v + beyond(d)).collect();
    let influence = Influence::new(back.influence.parts().iter().map(|part| -part).collect());
    let shift = Shift {
        log_ratio: back.log_ratio.iter().map(|d| -d).collect(),
        influence: chains.round_trips.of_lineages(&influence),
        variance,
    };
    (shift, (largest.abs() > LARGEST_STEP).then_some(largest))
}
