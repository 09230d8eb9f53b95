//! A tracker's chains and filter in a state file. A restored tracker continues bit for bit.

use super::tracker::posterior_of;
use super::{AnyFilter, ChainTracker, Filter, Smoothing, TrackerOptions};
use crate::checkpoint::{StateReader, StateWriter};
use crate::error::{Error, Result};
use crate::tempering::{RoundTrips, TemperedChains, TemperedPath, Transitions};

/// More sweeps or updates than any run makes; larger counters could overflow.
pub(super) const LARGEST_COUNT: u64 = 1 << 56;

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
        state.array(&name("chains.temperatures"), &[s], temperatures);
        let [directions, since_crossing, lineages] = round_trips.save();
        state.array(&name("chains.directions"), &[s], &directions);
        state.array(&name("chains.since_crossing"), &[s], &since_crossing);
        state.array(&name("chains.families"), &[s], &lineages);
        state.array(&name("chains.log_weights"), &[s], log_weights);
        state.json(
            &name("chains.position"),
            &ChainsPosition { seed: *seed, sweeps: *sweeps, recent: round_trips.recent },
        );
        state.json(&name("tracker.filter"), &self.filter);
        state.array(&name("tracker.pseudo_prior"), &[k], &self.pseudo_prior);
        state.array(&name("tracker.transitions"), &[k, k], self.transitions.sums());
        state.json(&name("tracker.movement"), &self.movement);
        state.json(&name("tracker.steps"), &self.steps);
        state.json(&name("tracker.memory"), &self.memory);
        state.json(&name("tracker.settled"), &self.settled);
    }

    /// Whether [`Self::write`] stored chains after `prefix`.
    pub(super) fn is_in(prefix: &str, state: &StateReader) -> bool {
        state.has(&format!("{prefix}chains.visible"))
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
        let problem = |what: String| Error::Mismatch(format!("checkpoint: {what}"));
        let inconsistent = |what: &str| problem(format!("{what} do not fit the configuration"));
        let trips = [
            state.array(&name("chains.directions"), &[s])?,
            state.array(&name("chains.since_crossing"), &[s])?,
            state.array(&name("chains.families"), &[s])?,
        ];
        let temperatures = state.array(&name("chains.temperatures"), &[s])?;
        if temperatures.iter().any(|&t| t as usize >= k) {
            return Err(inconsistent("the chains' temperatures"));
        }
        let chains = TemperedChains {
            visible: state.bits(&name("chains.visible"), s, path.n_visible())?,
            temperatures,
            log_weights: state.array(&name("chains.log_weights"), &[s])?,
            round_trips: RoundTrips::restore(trips, position.recent)
                .ok_or_else(|| inconsistent("the chains' round trips"))?,
            seed: position.seed,
            sweeps: position.sweeps,
            redrawn: false,
        };
        let filter: AnyFilter = state.json(&name("tracker.filter"))?;
        check_filter(filter.get(), k, s, options.smoothing).map_err(problem)?;
        let pseudo_prior = state.array(&name("tracker.pseudo_prior"), &[k])?;
        let transitions = state.array(&name("tracker.transitions"), &[k, k])?;
        let last = path.evaluate(&chains.visible);
        Ok(Self {
            options,
            posterior: posterior_of(path, &pseudo_prior, &last),
            filter,
            pseudo_prior,
            transitions: Transitions::restore(k, transitions)
                .ok_or_else(|| inconsistent("the tracker's temperatures"))?,
            movement: state.json(&name("tracker.movement"))?,
            steps: state.json(&name("tracker.steps"))?,
            memory: state.json(&name("tracker.memory"))?,
            settled: state.json(&name("tracker.settled"))?,
            chains,
            last,
        })
    }

    /// zeta^s, `[K]`, with which the next sweeps are run.
    pub fn pseudo_prior(&self) -> &[f64] {
        &self.pseudo_prior
    }
}

/// Checks a filter against K temperatures, S chains and the configuration: every length, before any of it is used. A checksum shows that a
/// file is unchanged, but not that this program wrote it for this configuration.
fn check_filter(
    filter: &dyn Filter,
    temperatures: usize,
    chains: usize,
    smoothing: Smoothing,
) -> std::result::Result<(), String> {
    if filter.smoothing() == smoothing {
        return filter.check(temperatures, chains);
    }
    let found = match filter.smoothing() {
        Smoothing::Kalman => "the Kalman filter".to_string(),
        Smoothing::Alpha(alpha) => format!("alpha = {alpha}"),
    };
    Err(format!(
        "`tempering.smoothing` cannot change in a run: its state is that of {found}, {smoothing:?} was asked for"
    ))
}

/// Refuses the first vector of a filter that has not `expected` values.
pub(super) fn lengths(
    expected: usize,
    vectors: &[(&str, &[f64])],
) -> std::result::Result<(), String> {
    match vectors.iter().find(|(_, values)| values.len() != expected) {
        Some((name, values)) => {
            Err(format!("`filter.{name}` has {} values, {expected} expected", values.len()))
        }
        None => Ok(()),
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
