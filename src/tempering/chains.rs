//! Persistent tempered chains along any path: their state, and sweeps in (v, k).
//!
//! One sweep of a chain (v, k): k ~ q(. | v); h ~ Bernoulli(sigma(beta_k x(v)));
//! v ~ Bernoulli(sigma(beta_k (Wh + c) + (1 - beta_k) a)) (RTS Algorithm 1; algorithms.md, section 1).

use rayon::prelude::*;

use super::path::{Evaluated, TemperedPath};
use super::round_trips::RoundTrips;
use super::sweeper::{Sweeper, Task};
use super::weights::{effective_number, normalised, systematic};
use super::{BetaUpdate, PseudoPrior};
use crate::context::Parts;
use crate::engine::random::{Purpose, Streams};
use crate::engine::{BitMatrix, Matrix, States, padded, rows_per_task};
use crate::numerics::{Table, log_sum_exp};

/// States of S chains, and the position of their random streams.
#[derive(Clone, Debug, PartialEq)]
pub struct TemperedChains {
    /// v, shape [S, M].
    pub visible: BitMatrix,
    /// Index k of each chain's inverse temperature.
    pub temperatures: Vec<u32>,
    /// log-weight of each chain, shape `[S]`; all equal unless chains are weighted.
    pub log_weights: Vec<f64>,
    /// Trajectories between the ends of the ladder so far.
    pub round_trips: RoundTrips,
    /// Seed of the chains' random streams.
    pub seed: u64,
    /// Sweeps done so far: the step of the random streams.
    pub sweeps: u64,
    /// Whether temperatures were just redrawn: then the drawn k is used for the next sweep (RTS 2.4).
    pub redrawn: bool,
}

/// Result of a number of sweeps.
#[derive(Clone, Debug)]
pub struct SweepRecord {
    /// C_sk: mean over the measurements of q(k|v), shape [S, K].
    pub occupancy: Table,
    /// sum of 1[v generated at j] q(k|v), shape [K, K].
    pub transitions: Vec<f64>,
    /// The final states' pre-activations and log f_k.
    pub last: Evaluated,
    /// q(k|v) of the final states, collapsed, shape [S, K].
    pub posterior: Table,
    /// Round trips 1 -> K -> 1 completed in these sweeps, all chains together.
    pub round_trips: u64,
}

impl TemperedChains {
    /// Chains with given visible states, and inverse temperatures drawn uniformly.
    pub fn new(visible: BitMatrix, temperatures: usize, seed: u64) -> Self {
        let chains = visible.rows();
        let mut chains = Self {
            visible,
            temperatures: vec![0; chains],
            log_weights: vec![0.0; chains],
            round_trips: RoundTrips::new(chains),
            seed,
            sweeps: 0,
            redrawn: true,
        };
        chains.redraw_temperatures(temperatures);
        // The first k is drawn given v: states from the base distribution belong at beta = 0, not at the uniformly drawn k.
        Self { redrawn: false, ..chains }
    }

    /// Number of chains, S.
    pub fn len(&self) -> usize {
        self.temperatures.len()
    }

    /// True without chains.
    pub fn is_empty(&self) -> bool {
        self.temperatures.is_empty()
    }

    /// Draws every chain's inverse temperature uniformly (RTS 2.4, between initial rounds). The next sweep uses them: if k were drawn again
    /// given the states of the last pseudo-prior, all chains would move in the same direction.
    pub fn redraw_temperatures(&mut self, temperatures: usize) {
        let streams = Streams::new(self.seed, Purpose::Choice, self.sweeps);
        for (chain, k) in self.temperatures.iter_mut().enumerate() {
            *k = (streams.row(chain as u32).uniform() * temperatures as f64) as u32;
        }
        self.round_trips.forget_directions();
        self.redrawn = true;
    }

    /// Resets trajectories and weights, for states that were set from outside.
    pub fn forget(&mut self) {
        self.round_trips.forget();
        self.log_weights.fill(0.0);
    }

    /// w_s, normalised to sum 1, shape `[S]`.
    pub fn weights(&self) -> Vec<f64> {
        normalised(&self.log_weights)
    }

    /// Multiplies the chains' weights by exp(`steps`), shape `[S]`. If the effective number falls below half of the chains, they are
    /// resampled: chains of large weight replace those of small weight, and all weights become equal. Returns whether they were resampled.
    pub(crate) fn reweigh(&mut self, steps: &[f64]) -> bool {
        self.log_weights.iter_mut().zip(steps).for_each(|(weight, step)| *weight += step);
        let weights = self.weights();
        if effective_number(&weights) >= 0.5 * self.len() as f64 {
            return false;
        }
        let u = Streams::new(self.seed, Purpose::Resampling, self.sweeps).row(0).uniform();
        let from = systematic(&weights, self.len(), u);
        self.visible = self.visible.select(from.iter().copied());
        self.temperatures = from.iter().map(|&s| self.temperatures[s]).collect();
        self.round_trips.resample(&from);
        self.log_weights.fill(0.0);
        true
    }

    /// Chains at beta = 0 have drawn v independently of their past, so their weights no longer depend on their states: each gets the mean
    /// of these weights, which keeps the expectation of every weighted sum and removes noise.
    pub(crate) fn share_weights_at_base(&mut self) {
        let at_base: Vec<usize> = (0..self.len()).filter(|&s| self.temperatures[s] == 0).collect();
        let total = log_sum_exp(at_base.iter().map(|&s| self.log_weights[s]));
        let mean = total - (at_base.len() as f64).ln();
        at_base.into_iter().for_each(|s| self.log_weights[s] = mean);
    }

    /// `sweeps` (at least 1) sweeps of all chains along a path with pseudo-prior `zeta` `[K]`.
    ///
    /// `start`: values of the states under this path; the joint update does not use log f_k. The statistics are taken after each sweep,
    /// never of the state at the beginning of a call, which may belong to other parameters.
    pub fn sweep(
        &mut self,
        path: &dyn TemperedPath,
        zeta: &[f64],
        update: BetaUpdate,
        sweeps: usize,
        start: Option<Evaluated>,
    ) -> SweepRecord {
        let (chains, all) = (self.len(), path.ladder().indices());
        let (k, words, cached) = (all.len(), self.visible.words_per_row(), padded(path.cached()));
        let known = start.is_some();
        let mut last = start.unwrap_or_else(|| Evaluated {
            cached: Matrix::filled(chains, path.cached(), 0.0),
            log_f: Table::zeros(chains, k),
        });
        if last.log_f.columns() != k {
            last.log_f = Table::zeros(chains, k);
        }
        let (mut occupancy, mut posterior) = (Table::zeros(chains, k), Table::zeros(chains, k));
        let tilt = PseudoPrior::new(path.ladder(), zeta).tilt();
        let (seed, step, redrawn) = (self.seed, self.sweeps, std::mem::take(&mut self.redrawn));
        let (all, tilt) = (&all, &tilt);
        let shared = Sweeper { path, all, tilt, update, sweeps, known, redrawn, seed, step };
        let task = path.rows_of_walker(chains, rows_per_task(chains));
        let parts = Parts::new(path.context(), chains, task);
        let (first, of_tasks) = (parts.own().start, parts.of_tasks());
        let mut transitions = Table::zeros(parts.tasks(), k * k);
        let mut round_trips = vec![0; parts.tasks()];
        let rows = (
            parts.of(self.visible.words_mut(), words).par_chunks_mut(task * words),
            parts.of(last.cached.as_mut_slice(), cached).par_chunks_mut(task * cached),
            parts.of(&mut self.temperatures, 1).par_chunks_mut(task),
            parts.of(self.round_trips.trips_mut(), 1).par_chunks_mut(task),
            parts.of(last.log_f.as_mut_slice(), k).par_chunks_mut(task * k),
            parts.of(occupancy.as_mut_slice(), k).par_chunks_mut(task * k),
            parts.of(posterior.as_mut_slice(), k).par_chunks_mut(task * k),
            of_tasks.of(transitions.as_mut_slice(), k * k).par_chunks_mut(k * k),
            of_tasks.of(&mut round_trips, 1).par_iter_mut(),
        );
        let run = |(i, rows): (usize, (&mut [u64], _, _, _, _, _, _, _, _))| {
            let (visible, cached, temperatures, trips, log_f, ..) = rows;
            let (.., occupancy, posterior, transitions, round_trips) = rows;
            let first = (first + i * task) as u32;
            let states = States { visible, cached, first_row: first, known };
            let task = Task {
                first,
                temperatures,
                trips,
                log_f,
                occupancy,
                posterior,
                transitions,
                round_trips,
            };
            shared.run(states, task);
        };
        parts.share(|| rows.into_par_iter().enumerate().for_each(run));
        // The results of other ranks: states and values of their chains, and the sums of their tasks.
        let mut trips = self.round_trips.save();
        let [directions, since_crossing, lineages] = &mut trips;
        parts.gather([
            parts.rows(self.visible.words_mut(), words),
            parts.rows(&mut self.temperatures, 1),
            parts.rows(directions, 1),
            parts.rows(since_crossing, 1),
            parts.rows(lineages, 1),
            parts.rows(last.log_f.as_mut_slice(), k),
            parts.rows(occupancy.as_mut_slice(), k),
            parts.rows(posterior.as_mut_slice(), k),
            of_tasks.rows(transitions.as_mut_slice(), k * k),
            of_tasks.rows(&mut round_trips, 1),
        ]);
        self.round_trips.set(trips);
        let (transitions, round_trips) = (transitions.column_sums(), round_trips.iter().sum());
        self.sweeps += sweeps as u64;
        self.round_trips.add(round_trips, sweeps);
        SweepRecord { occupancy, transitions, last, posterior, round_trips }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Host;
    use crate::model::test_systems::gaussian_parameters;
    use crate::tempering::{BaseDistribution, GeometricPath, Ladder, Prior};

    #[test]
    fn weights_at_the_base_are_shared_and_their_sum_stays() {
        let mut chains = TemperedChains::new(BitMatrix::zeros(4, 3), 5, 1);
        chains.temperatures = vec![0, 3, 0, 4];
        chains.log_weights = [1.0f64, 5.0, 3.0, 7.0].map(f64::ln).to_vec();
        chains.share_weights_at_base();
        let found: Vec<f64> = chains.log_weights.iter().map(|w| w.exp()).collect();
        assert!(found.iter().zip([2.0, 5.0, 2.0, 7.0]).all(|(a, b)| (a - b).abs() < 1e-12));
        chains.temperatures.fill(1);
        let before = chains.log_weights.clone();
        chains.share_weights_at_base();
        assert_eq!(chains.log_weights, before);
    }

    #[test]
    fn redrawn_temperatures_serve_the_next_sweep_and_no_other() {
        let engine = Host::new(&gaussian_parameters(12, 8, 0.5, 1));
        let (k, base) = (10, BaseDistribution::uniform(12));
        let ladder = Ladder::linear(k, &Prior::Uniform).unwrap();
        let path = GeometricPath { engine: &engine, ladder: &ladder, base: &base };
        for update in [BetaUpdate::Collapsed, BetaUpdate::Joint(2)] {
            let mut chains = TemperedChains::new(base.sample(200, 1, 0), k, 1);
            for redrawn in [false, true] {
                let drawn = chains.temperatures.clone();
                chains.sweep(&path, &vec![0.0; k], update, 1, None);
                assert_eq!(chains.temperatures == drawn, redrawn);
                chains.sweep(&path, &vec![0.0; k], update, 1, None);
                assert_ne!(chains.temperatures, drawn);
                chains.redraw_temperatures(k);
            }
        }
    }
}
