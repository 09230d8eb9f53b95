//! A tracker with its chains in a checkpoint: what is read back continues bit for bit.

use super::saved::LARGEST_COUNT;
use super::{LogZTracker, SavedTracker, TrackerOptions};
use crate::checkpoint::{StateReader, StateWriter};
use crate::error::{Error, Result};
use crate::tempering::{Path, RoundTrips, TemperedChains};

/// Position of the chains' random streams and their recent round trips.
#[derive(serde::Serialize, serde::Deserialize)]
struct Position {
    seed: u64,
    sweeps: u64,
    recent: [(u64, u64); 2],
}

impl LogZTracker {
    /// Adds the tracker to a checkpoint, under names that begin with `prefix`.
    pub fn write(&self, prefix: &str, state: &mut StateWriter) {
        let name = |name: &str| format!("{prefix}{name}");
        // Temperatures are redrawn in initial rounds alone, which always sweep.
        let TemperedChains {
            visible,
            temperatures,
            log_weights,
            round_trips,
            seed,
            sweeps,
            redrawn: _,
        } = &self.chains;
        let s = temperatures.len();
        state.bits(&name("chains.visible"), visible);
        state.u32s(&name("chains.temperatures"), &[s], temperatures);
        let [directions, since_crossing, families] = round_trips.save();
        state.u32s(&name("chains.directions"), &[s], &directions);
        state.u32s(&name("chains.since_crossing"), &[s], &since_crossing);
        state.u32s(&name("chains.families"), &[s], &families);
        state.f64s(&name("chains.log_weights"), &[s], log_weights);
        state.json(
            &name("chains.position"),
            &Position { seed: *seed, sweeps: *sweeps, recent: round_trips.recent },
        );
        let saved = self.save();
        let k = saved.pseudo_prior.len();
        state.json(&name("tracker.filter"), &saved.filter);
        state.f64s(&name("tracker.pseudo_prior"), &[k], &saved.pseudo_prior);
        state.f64s(&name("tracker.transitions"), &[k, k], &saved.transitions);
        state.json(&name("tracker.movement"), &saved.movement);
        state.json(&name("tracker.steps"), &saved.steps);
        state.json(&name("tracker.lag"), &saved.lag);
        state.json(&name("tracker.settled"), &saved.settled);
    }

    /// The tracker that [`Self::write`] wrote, of `chains` chains at the model of `path`.
    ///
    /// # Errors
    /// A state that does not fit the sizes or the options, named.
    pub fn read(
        prefix: &str,
        path: Path<'_>,
        chains: usize,
        options: TrackerOptions,
        state: &StateReader,
    ) -> Result<Self> {
        let name = |name: &str| format!("{prefix}{name}");
        let inconsistent =
            |what: &str| Error::Invalid(format!("checkpoint: {what} do not fit the configuration"));
        let k = path.ladder.len();
        let saved = SavedTracker {
            filter: state.json(&name("tracker.filter"))?,
            pseudo_prior: state.f64s(&name("tracker.pseudo_prior"), &[k])?,
            transitions: state.f64s(&name("tracker.transitions"), &[k, k])?,
            movement: state.json(&name("tracker.movement"))?,
            steps: state.json(&name("tracker.steps"))?,
            lag: state.json(&name("tracker.lag"))?,
            settled: state.json(&name("tracker.settled"))?,
        };
        saved
            .check(k, chains, options.smoothing)
            .map_err(|problem| Error::Invalid(format!("checkpoint: {problem}")))?;
        let temperatures = state.u32s(&name("chains.temperatures"), &[chains])?;
        if temperatures.iter().any(|&t| t as usize >= k) {
            return Err(inconsistent("the chains' temperatures"));
        }
        let position: Position = state.json(&name("chains.position"))?;
        let counts = position.recent.iter().flat_map(|&(trips, sweeps)| [trips, sweeps]);
        for count in counts.chain([position.sweeps]) {
            check_count(&name("chains.position"), count)?;
        }
        let journeys = [
            state.u32s(&name("chains.directions"), &[chains])?,
            state.u32s(&name("chains.since_crossing"), &[chains])?,
            state.u32s(&name("chains.families"), &[chains])?,
        ];
        let chains = TemperedChains {
            visible: state.bits(&name("chains.visible"), chains, path.n_visible())?,
            temperatures,
            log_weights: state.f64s(&name("chains.log_weights"), &[chains])?,
            round_trips: RoundTrips::restore(journeys, position.recent)
                .ok_or_else(|| inconsistent("the chains' journeys"))?,
            seed: position.seed,
            sweeps: position.sweeps,
            redrawn: false,
        };
        Self::resume(path, chains, options, saved)
            .ok_or_else(|| inconsistent("the tracker's temperatures"))
    }
}

/// Refuses counters near their end.
///
/// # Errors
/// A counter beyond what any run reaches.
pub(crate) fn check_count(name: &str, count: u64) -> Result<()> {
    if count > LARGEST_COUNT {
        return Err(Error::Invalid(format!("checkpoint: `{name}` counts {count} sweeps or trips")));
    }
    Ok(())
}
