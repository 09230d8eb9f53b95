//! What the verdict of an evaluation rests on.

use serde::Serialize;

use super::LogZTracker;
use crate::tracking::{ChainTracker, Found, ModelTracker};

/// Diagnostics of the last evaluation, with the names and meanings of the columns of metrics.csv. `None` where a value does not exist or
/// is not finite.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Diagnostics {
    /// Lower bound of log Z by reference states, nats.
    pub log_z_bound: Option<f64>,
    /// Sweeps at fixed parameters.
    pub settling_sweeps: Option<f64>,
    /// Drift of log Z at fixed parameters, in its errors.
    pub settling_drift_in_errors: Option<f64>,
    /// Correlation over chains of their errors at fixed parameters: 1 if chains are frozen.
    pub settling_correlation: Option<f64>,
    /// log Z at fixed parameters minus tracked log Z before, in errors.
    pub lag_in_errors: Option<f64>,
    /// Round trips per chain in the present window.
    pub window_round_trips: Option<f64>,
    /// Movement of the model during a round trip of a chain.
    pub movement_per_round_trip: Option<f64>,
    /// Effective number of chains by their weights.
    pub effective_chains: Option<f64>,
    /// Effective sample size of the weights at beta = 1.
    pub effective_sample_size: Option<f64>,
    /// Share of the chains that crossed the ladder in the last 1000 sweeps.
    pub crossed_share: Option<f64>,
    /// Mean squared innovation over its predicted variance; about 1 for a right error bar.
    pub tracker_consistency: Option<f64>,
    /// Times that the chains were re-initialised so far.
    pub restarts: u64,
}

impl Diagnostics {
    pub(super) fn of(chains: &ChainTracker, found: &Found) -> Self {
        let finite = |value: f64| value.is_finite().then_some(value);
        let settled = chains.settled();
        Self {
            log_z_bound: finite(found.bound),
            settling_sweeps: settled.map(|settled| settled.sweeps as f64),
            settling_drift_in_errors: settled.and_then(|settled| finite(settled.drift_in_errors)),
            settling_correlation: settled.and_then(|settled| finite(settled.correlation)),
            lag_in_errors: settled.and_then(|settled| finite(settled.innovation_in_errors)),
            window_round_trips: finite(chains.chains.round_trips.per_chain()),
            movement_per_round_trip: finite(chains.movement_per_round_trip()),
            effective_chains: finite(chains.effective_chains()),
            effective_sample_size: finite(chains.effective_sample_size()),
            crossed_share: finite(chains.crossed_share()),
            tracker_consistency: chains.consistency().and_then(finite),
            restarts: found.restarts,
        }
    }
}

impl LogZTracker {
    /// Diagnostics of the last evaluation; of the chains from the marginals, if there are two populations. Empty before the first update.
    pub fn diagnostics(&self) -> Diagnostics {
        let of = |tracker: &ModelTracker| Diagnostics::of(tracker.chains(), &tracker.found);
        self.tracker.as_ref().map(of).unwrap_or_default()
    }
}
