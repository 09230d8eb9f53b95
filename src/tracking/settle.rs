//! Equilibration in the tracker: a copy of its chains, and the update of the filter.

use super::settling::{CONSISTENT, Settled, Settling, in_errors, settle};
use super::verdict::CROSSING;
use super::{ChainTracker, Part, TrackerOptions};
use crate::engine::BitMatrix;
use crate::engine::random::{Purpose, derived_seed};
use crate::numerics::Table;
use crate::tempering::{Occupancy, PseudoPrior, TemperedPath};

/// Times that the chains' states are taken as samples, in a third of the first sweeps of an equilibration.
const LOOKS: usize = 16;
/// Smallest q(K|v) of a state that counts as a sample.
const NEGLIGIBLE: f64 = 1e-3;

/// States of the chains in the last two thirds of an equilibration, as samples at beta = 1.
pub struct Samples {
    /// v, shape [N, M].
    pub visible: BitMatrix,
    /// q(K|v) times the chains' own weights, shape `[N]`.
    pub weights: Vec<f64>,
    /// Lineage of each, shape `[N]`: those of one share their past.
    pub lineages: Vec<u32>,
    /// Correlation over chains of the errors of the last third with those of the third before: 0 if they have forgotten their earlier states.
    pub correlation: f64,
}

impl Samples {
    /// Whether each is among known states, with its weight and its lineage.
    pub(super) fn with(
        &self,
        known: impl Iterator<Item = bool>,
    ) -> impl Iterator<Item = (bool, f64, u32)> {
        let counts = self.weights.iter().zip(&self.lineages);
        known.zip(counts).map(|(known, (weight, lineage))| (known, *weight, *lineage))
    }
}

impl ChainTracker {
    /// Changes the number of equilibration sweeps for the next evaluations; whether there are any cannot change.
    pub(crate) fn set_settling(&mut self, settling: Settling) {
        self.options.settling = settling;
    }

    /// Equilibrates a copy of the chains at fixed parameters for an evaluation (see [`super::Settling`]), so that the reported log Z is
    /// that of the current model and not of earlier ones. The chains themselves keep their states: equilibrated ones would have left the
    /// modes that the model is about to leave or to grow.
    ///
    /// Where the chains lag behind the model, the equilibrated value replaces the tracked one: the lag of the latter is no part of the spread
    /// over chains by which both would be weighed. Otherwise, if the two contradict each other, the higher one counts alone, because chains that
    /// miss a part of the model give values that are too low. If that is the tracked one, the distance is a part of its error.
    ///
    /// Returns the states of the copy; `None` if equilibration is switched off.
    pub fn settle(&mut self, path: &dyn TemperedPath) -> Option<Samples> {
        self.settle_within(path, self.options.settling)
    }

    /// The same with other numbers of sweeps.
    pub(super) fn settle_within(
        &mut self,
        path: &dyn TemperedPath,
        mut settling: Settling,
    ) -> Option<Samples> {
        let TrackerOptions { beta_update, .. } = self.options;
        if !self.options.has(Part::Equilibration) {
            settling.most = settling.sweeps;
        }
        if settling.sweeps == 0 {
            self.settled = None;
            return None;
        }
        let lags = self.lags();
        if lags {
            settling = settling.for_a_crossing(CROSSING * self.round_trip());
        }
        let (zeta, weights) = (&self.pseudo_prior, self.own_weights());
        let (s, k) = (self.chains.len(), path.ladder().len());
        let prior = PseudoPrior::new(path.ladder(), zeta);
        let measured = |occupancy: &Table| {
            let mut found = prior.measure(&occupancy.scaled(&weights));
            // Lineages at the beginning: chains that separate during these sweeps still share their past.
            found.influence = self.of_lineages(&found.influence);
            found
        };
        // A copy with random streams of its own for every evaluation: neither those of the chains nor those of the previous evaluation.
        let mut copy = self.chains.clone();
        copy.seed = derived_seed(copy.seed, Purpose::Settling, copy.sweeps);
        let mut start = Some(self.last.clone());
        let (mut looks, mut done) = (Vec::new(), 0);
        let run = |sweeps: usize| {
            let mut all = Occupancy::new(s, k);
            let looks_at = LOOKS.min(sweeps);
            for look in 0..looks_at {
                let part = (look + 1) * sweeps / looks_at - look * sweeps / looks_at;
                let record = copy.sweep(path, zeta, beta_update, part, start.take());
                start = Some(record.last);
                all.add(&record.occupancy, part);
                done += part;
                let at_one = record.posterior.last_column();
                let seen: Vec<(usize, f64)> =
                    at_one.enumerate().filter(|(_, q)| *q > NEGLIGIBLE).collect();
                let states = copy.visible.select(seen.iter().map(|(chain, _)| *chain));
                looks.push((done, seen, states));
            }
            all.means()
        };
        let mut rest = settle(settling, [s, k], run, measured);
        if !self.options.has(Part::Memory) {
            rest.memory = 0.0;
        }
        let lineages = self.chains.round_trips.lineages();
        let mut samples = Samples {
            visible: self.chains.visible.select(0..0),
            weights: Vec::new(),
            lineages: Vec::new(),
            correlation: rest.correlation,
        };
        for (_, seen, states) in looks.iter().filter(|(at, ..)| 3 * at > rest.sweeps) {
            samples.visible = samples.visible.followed_by(states);
            samples.weights.extend(seen.iter().map(|&(chain, q)| q * weights[chain]));
            samples.lineages.extend(seen.iter().map(|&(chain, _)| lineages[chain]));
        }
        let filter = self.filter.get_mut();
        let (step, noise) = filter.innovation(&rest.measurement);
        self.settled = Some(Settled {
            sweeps: rest.sweeps as u64,
            drift_in_errors: rest.drift_in_errors,
            correlation: rest.correlation,
            correlation_before: self.settled.as_ref().map_or(0.0, |before| before.correlation),
            crossed: copy.round_trips.crossed_within(rest.sweeps as u64),
            innovation_in_errors: in_errors(step, noise),
            log_z: rest.measurement.log_z[k - 1],
            std_error: rest.measurement.influence.std_error(),
            memory: rest.memory,
        });
        let best = filter.influence().gain(&rest.measurement.influence);
        let above = in_errors(step, noise);
        let (gain, distance) = if lags || above > CONSISTENT {
            (1.0, 0.0)
        } else if above < -CONSISTENT {
            (0.0, step)
        } else {
            (best, 0.0)
        };
        filter.approach(&rest.measurement, gain);
        self.memory = gain * gain * rest.memory + distance * distance;
        Some(samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Host;
    use crate::model::test_systems::gaussian_parameters;
    use crate::tempering::{
        BaseDistribution, BetaUpdate, GeometricPath, InitialRounds, Ladder, Prior, TemperedChains,
    };
    use crate::tracking::filter::AnyFilter;
    use crate::tracking::{Parts, Smoothing};

    /// Of a tracked and an equilibrated value that contradict each other the lower one has no part in the result; the tracked one has none where the
    /// chains lag.
    #[test]
    fn of_two_values_that_contradict_each_other_the_higher_one_counts() {
        let engine = Host::new(&gaussian_parameters(8, 4, 0.5, 1));
        let ladder = Ladder::linear(5, &Prior::Uniform).unwrap();
        let base = BaseDistribution::uniform(8);
        let path = GeometricPath { engine: &engine, ladder: &ladder, base: &base };
        let options = TrackerOptions {
            smoothing: Smoothing::Kalman,
            sweeps: 2,
            weighted: true,
            settling: Settling { sweeps: 60, most: 60 },
            without: Parts::default(),
            beta_update: BetaUpdate::Collapsed,
            initial_rounds: InitialRounds::default(),
        };
        for (shift, lags) in [(0.0, false), (1.0, false), (-1.0, false), (0.0, true), (1.0, true)] {
            let chains = TemperedChains::new(base.sample(40, 1, 0), ladder.len(), 1);
            let (mut chains, mut rounds) = ChainTracker::start(&path, chains, options);
            rounds.measurement.log_z[ladder.len() - 1] += shift;
            let tracked = rounds.measurement.log_z[ladder.len() - 1];
            chains.filter = AnyFilter::new(Smoothing::Kalman, &rounds.measurement);
            if lags {
                (chains.steps, chains.movement) = (1, 1e3);
            }
            assert_eq!(chains.lags(), lags);
            chains.settle(&path);
            let settled = chains.settled().unwrap();
            let far = settled.innovation_in_errors.abs() > CONSISTENT;
            assert_eq!(far, shift != 0.0, "{settled:?}");
            let is = [settled.log_z, tracked].map(|value| chains.log_z() == value);
            assert_eq!(is, [lags || shift < 0.0, !lags && shift > 0.0], "{settled:?}");
            let distance = (tracked - settled.log_z).abs();
            let errors_as_far = chains.std_error() / distance;
            assert!(shift == 0.0 || (errors_as_far >= 1.0) == is[1], "{settled:?}");
        }
    }
}
