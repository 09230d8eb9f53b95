//! A tracker's chains and filter in a state file. A restored tracker continues bit for bit.

use super::{ChainTracker, LARGEST_COUNT, SavedTracker, TrackerOptions};
use crate::checkpoint::{StateReader, StateWriter};
use crate::error::{Error, Result};
use crate::tempering::{RoundTrips, TemperedChains, TemperedPath};

/// Position of the chains' random streams and their recent round trips.
#[derive(serde::Serialize, serde::Deserialize)]
struct ChainsPosition {
    seed: u64,
    sweeps: u64,
    recent: [(u64, u64); 2],
}

impl ChainTracker {
    /// Stores chains and filter, each name after `prefix`; the caller stores the parameters.
    pub(crate) fn write(&self, prefix: &str, state: &mut StateWriter) {
        let name = |name: &str| format!("{prefix}{name}");
        // Temperatures are redrawn only in initial rounds, which always sweep afterwards.
        let TemperedChains {
            visible,
            temperatures,
            log_weights,
            round_trips,
            seed,
            sweeps,
            redrawn: _,
        } = &self.chains;
        let (s, k) = (temperatures.len(), self.posterior.columns());
        state.bits(&name("chains.visible"), visible);
        state.u32s(&name("chains.temperatures"), &[s], temperatures);
        let [directions, since_crossing, families] = round_trips.save();
        state.u32s(&name("chains.directions"), &[s], &directions);
        state.u32s(&name("chains.since_crossing"), &[s], &since_crossing);
        state.u32s(&name("chains.families"), &[s], &families);
        state.f64s(&name("chains.log_weights"), &[s], log_weights);
        state.json(
            &name("chains.position"),
            &ChainsPosition { seed: *seed, sweeps: *sweeps, recent: round_trips.recent },
        );
        let saved = self.save();
        state.json(&name("tracker.filter"), &saved.filter);
        state.f64s(&name("tracker.pseudo_prior"), &[k], &saved.pseudo_prior);
        state.f64s(&name("tracker.transitions"), &[k, k], &saved.transitions);
        state.json(&name("tracker.movement"), &saved.movement);
        state.json(&name("tracker.steps"), &saved.steps);
        state.json(&name("tracker.memory"), &saved.memory);
        state.json(&name("tracker.settled"), &saved.settled);
    }

    /// Reads what [`ChainTracker::write`] stored; `path` is that of the parameters of that time, `chains` their number.
    ///
    /// # Errors
    /// Anything that is missing or does not fit path, chains or options.
    pub(crate) fn read(
        prefix: &str,
        path: &dyn TemperedPath,
        chains: usize,
        options: TrackerOptions,
        state: &StateReader,
    ) -> Result<Self> {
        let name = |name: &str| format!("{prefix}{name}");
        let (s, k) = (chains, path.ladder().len());
        let position: ChainsPosition = state.json(&name("chains.position"))?;
        let counts = position.recent.iter().flat_map(|&(trips, sweeps)| [trips, sweeps]);
        for count in counts.chain([position.sweeps]) {
            check_count("chains.position", count)?;
        }
        let inconsistent = |what: &str| {
            Error::Mismatch(format!("checkpoint: {what} do not fit the configuration"))
        };
        let journeys = [
            state.u32s(&name("chains.directions"), &[s])?,
            state.u32s(&name("chains.since_crossing"), &[s])?,
            state.u32s(&name("chains.families"), &[s])?,
        ];
        let temperatures = state.u32s(&name("chains.temperatures"), &[s])?;
        if temperatures.iter().any(|&t| t as usize >= k) {
            return Err(inconsistent("the chains' temperatures"));
        }
        let chains = TemperedChains {
            visible: state.bits(&name("chains.visible"), s, path.n_visible())?,
            temperatures,
            log_weights: state.f64s(&name("chains.log_weights"), &[s])?,
            round_trips: RoundTrips::restore(journeys, position.recent)
                .ok_or_else(|| inconsistent("the chains' journeys"))?,
            seed: position.seed,
            sweeps: position.sweeps,
            redrawn: false,
        };
        let saved = SavedTracker {
            filter: state.json(&name("tracker.filter"))?,
            pseudo_prior: state.f64s(&name("tracker.pseudo_prior"), &[k])?,
            transitions: state.f64s(&name("tracker.transitions"), &[k, k])?,
            movement: state.json(&name("tracker.movement"))?,
            steps: state.json(&name("tracker.steps"))?,
            memory: state.json(&name("tracker.memory"))?,
            settled: state.json(&name("tracker.settled"))?,
        };
        saved
            .check(k, s, options.smoothing)
            .map_err(|problem| Error::Mismatch(format!("checkpoint: {problem}")))?;
        Self::resume(path, chains, options, saved)
            .ok_or_else(|| inconsistent("the tracker's temperatures"))
    }
}

/// Refuses counters near their end.
pub(crate) fn check_count(name: &str, count: u64) -> Result<()> {
    if count > LARGEST_COUNT {
        return Err(Error::Mismatch(format!(
            "checkpoint: `{name}` counts {count} sweeps or trips"
        )));
    }
    Ok(())
}
