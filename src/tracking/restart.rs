//! Re-initialisation of chains whose temperature occupancy collapsed, and of chains that missed known modes.

use super::bound::HiddenStates;
use super::filter::AnyFilter;
use super::{ChainTracker, TrackerOptions};
use crate::engine::random::{Purpose, Streams};
use crate::numerics::{index_at, log_sum_exp};
use crate::tempering::{GeometricPath, RoundsRecord, TemperedPath, Tempering, systematic};

impl ChainTracker {
    /// Initial rounds for chains whose occupancy collapsed, after an annealing pass that gives them new states.
    pub(super) fn start_again(&mut self, path: &dyn TemperedPath) -> RoundsRecord {
        let TrackerOptions { initial_rounds, beta_update, .. } = self.options;
        let _permit = path.context().permit();
        self.chains.forget();
        let rounds = initial_rounds.run(&mut Tempering::new(path, &mut self.chains, beta_update));
        self.follow_rounds(path, rounds)
    }

    /// Rounds from the chains as they are. The first ones begin with all chains at beta = 1, and their measurement is too high by a part of
    /// that: with thousands of chains by more than its error (`test_many_chains_are_not_biased_by_their_start` in python/tests).
    pub(crate) fn measure_again(&mut self, path: &dyn TemperedPath) -> RoundsRecord {
        let TrackerOptions { initial_rounds, beta_update, .. } = self.options;
        let _permit = path.context().permit();
        let mut tempering = Tempering::new(path, &mut self.chains, beta_update);
        let rounds = initial_rounds.run_from(&mut tempering, self.pseudo_prior.clone());
        self.follow_rounds(path, rounds)
    }

    /// Re-initialises chains that missed known modes. At temperatures where the sum over these modes is larger than the tracked value,
    /// chains take states of these modes; at the others, states of the existing chains, drawn by their weights. So every temperature has
    /// its fraction of the chains and its log Z_k from the start, and the rounds have few changes to make.
    pub(crate) fn start_from(
        &mut self,
        path: GeometricPath<'_>,
        modes: &HiddenStates,
    ) -> RoundsRecord {
        let TrackerOptions { initial_rounds, beta_update, .. } = self.options;
        let s = self.chains.len();
        let along = modes.along(path);
        let bounds: Vec<f64> = along.iter().map(|f| log_sum_exp(f.iter().copied())).collect();
        let tracked = self.filter.get().log_z();
        let mut zeta: Vec<f64> = bounds.iter().zip(tracked).map(|(b, z)| b.max(*z)).collect();
        zeta[0] = path.log_z_base();
        // Chains in proportion to the prior, spread evenly over the ladder.
        let prior: Vec<f64> = path.ladder.log_prior().iter().map(|r| r.exp()).collect();
        let temperatures = systematic(&prior, s, 0.5).iter().map(|&k| k as u32).collect::<Vec<_>>();
        let drawn =
            modes.draw(path, &along, &temperatures, self.chains.seed, 2 * self.chains.sweeps);
        let own = self.own_weights();
        let mut visible = self.chains.visible.clone();
        let streams = Streams::new(self.chains.seed, Purpose::KnownModes, 2 * self.chains.sweeps);
        for (chain, &t) in temperatures.iter().enumerate() {
            let t = t as usize;
            let row = if bounds[t] > tracked[t] {
                drawn.row(chain)
            } else {
                let weights: Vec<f64> =
                    own.iter().zip(self.posterior.rows()).map(|(w, q)| w * q[t]).collect();
                let total: f64 = weights.iter().sum();
                let uniform = streams.row((s + chain) as u32).uniform();
                let chosen = index_at(weights, total * uniform);
                self.chains.visible.row(chosen.unwrap_or(chain))
            };
            visible.row_mut(chain).copy_from_slice(row);
        }
        self.chains.visible = visible;
        self.chains.temperatures = temperatures;
        self.chains.redrawn = true;
        self.chains.forget();
        let mut tempering = Tempering::new(path, &mut self.chains, beta_update);
        let rounds = initial_rounds.run_from(&mut tempering, zeta);
        self.follow_rounds(&path, rounds)
    }

    /// Continues from the result of the rounds.
    fn follow_rounds(&mut self, path: &dyn TemperedPath, rounds: RoundsRecord) -> RoundsRecord {
        self.filter = AnyFilter::new(self.options.smoothing, &rounds.measurement);
        self.memory = 0.0;
        self.steps = 0;
        self.settled = None;
        self.pseudo_prior.clone_from(&rounds.measurement.log_z);
        self.look(path);
        rounds
    }
}
