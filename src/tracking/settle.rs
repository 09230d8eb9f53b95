//! Equilibration in the tracker: a copy of its chains, and the update of the filter.

use super::settling::{Settled, Settling, in_errors, settle};
use super::tracker::posterior_of;
use super::verdict::CROSSING;
use super::{ChainTracker, Part, TrackerOptions};
use crate::engine::BitMatrix;
use crate::engine::random::{Purpose, derived_seed};
use crate::numerics::Table;
use crate::tempering::{PseudoPrior, TemperedChains, TemperedPath};

/// States of equilibrated chains, as samples at beta = 1.
pub struct Samples {
    /// v, shape [S, M].
    pub visible: BitMatrix,
    /// q(K|v) times the chains' own weights, shape `[S]`.
    pub weights: Vec<f64>,
    /// Correlation with the chains' states a third of the sweeps earlier: 0 if they have forgotten these.
    pub correlation: f64,
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
    /// over chains by which both would be weighed.
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
            found.influence = self.of_families(&found.influence);
            found
        };
        let mut copy = self.chains_to_settle();
        let mut start = Some(self.last.clone());
        let run = |sweeps| {
            let record = copy.sweep(path, zeta, beta_update, sweeps, start.take());
            start = Some(record.last);
            record.occupancy
        };
        let mut rest = settle(settling, [s, k], run, measured);
        if !self.options.has(Part::Memory) {
            rest.memory = 0.0;
        }
        let at_one = start.map_or_else(Vec::new, |last| {
            let posterior = posterior_of(path, zeta, &last);
            posterior.last_column().zip(&weights).map(|(q, w)| q * w).collect()
        });
        let filter = self.filter.get_mut();
        let (step, noise) = filter.innovation(&rest.measurement);
        self.settled = Some(Settled {
            sweeps: rest.sweeps as u64,
            drift_in_errors: rest.drift_in_errors,
            correlation: rest.correlation,
            innovation_in_errors: in_errors(step, noise),
            log_z: rest.measurement.log_z[k - 1],
            std_error: rest.measurement.influence.std_error(),
            memory: rest.memory,
        });
        let best = filter.influence().best_gain(&rest.measurement.influence);
        let gain = if lags { 1.0 } else { best };
        filter.approach(&rest.measurement, gain);
        self.memory = gain * gain * rest.memory;
        Some(Samples { visible: copy.visible, weights: at_one, correlation: rest.correlation })
    }

    /// A copy of the chains with random streams of its own for every evaluation: neither those of the tracker's chains nor those of the
    /// previous evaluation.
    fn chains_to_settle(&self) -> TemperedChains {
        let mut copy = self.chains.clone();
        copy.seed = derived_seed(copy.seed, Purpose::Settling, copy.sweeps);
        copy
    }
}
