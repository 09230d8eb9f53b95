//! The state of a tracker in a checkpoint, and checks that it fits the run that resumes from it: every shape, before any of it is used.
//!
//! A checksum shows that a file is unchanged, but not that this program wrote it for this configuration.

use super::tracker::posterior_of;
use super::{AnyFilter, ChainTracker, Settled, Smoothing, TrackerOptions};
use crate::tempering::{TemperedChains, TemperedPath, Transitions};

/// More sweeps or updates than any run makes; larger counters could overflow.
pub(crate) const LARGEST_COUNT: u64 = 1 << 56;

/// The state of a tracker without its chains.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedTracker {
    /// Filter state.
    pub filter: AnyFilter,
    /// zeta^s, `[K]`.
    pub pseudo_prior: Vec<f64>,
    /// Accumulated transitions, [K, K].
    pub transitions: Vec<f64>,
    /// Moving average of the model's movement.
    pub movement: f64,
    /// Steps since the chains were last initialised.
    pub steps: u64,
    /// Variance from what chains remembered at the last evaluation.
    pub memory: f64,
    /// Result of the equilibration at the last evaluation.
    pub settled: Option<Settled>,
}

impl ChainTracker {
    /// Continues from a checkpoint with its parameters; `None` if shapes do not fit.
    pub fn resume(
        path: &dyn TemperedPath,
        chains: TemperedChains,
        options: TrackerOptions,
        saved: SavedTracker,
    ) -> Option<Self> {
        let k = path.ladder().len();
        let filter = saved.filter.get();
        let fits = saved.pseudo_prior.len() == k
            && filter.log_z().len() == k
            && filter.influence().chains() == chains.len();
        if !fits {
            return None;
        }
        let last = path.evaluate(&chains.visible);
        Some(Self {
            options,
            posterior: posterior_of(path, &saved.pseudo_prior, &last),
            filter: saved.filter,
            pseudo_prior: saved.pseudo_prior,
            transitions: Transitions::restore(k, saved.transitions)?,
            movement: saved.movement,
            steps: saved.steps,
            memory: saved.memory,
            settled: saved.settled,
            chains,
            last,
        })
    }

    /// The state for a checkpoint, without the chains.
    pub fn save(&self) -> SavedTracker {
        SavedTracker {
            filter: self.filter.clone(),
            pseudo_prior: self.pseudo_prior.clone(),
            transitions: self.transitions.sums().to_vec(),
            movement: self.movement,
            steps: self.steps,
            memory: self.memory,
            settled: self.settled.clone(),
        }
    }
}

impl SavedTracker {
    /// Checks the state against K temperatures, S chains and the filter of the configuration.
    ///
    /// # Errors
    /// Says what does not fit.
    pub fn check(
        &self,
        temperatures: usize,
        chains: usize,
        smoothing: Smoothing,
    ) -> Result<(), String> {
        lengths("tracker", temperatures, &[("pseudo_prior", &self.pseudo_prior)])?;
        lengths("tracker", temperatures * temperatures, &[("transitions", &self.transitions)])?;
        let filter = self.filter.get();
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
}

/// Refuses the first vector that has not `expected` values.
pub(super) fn lengths(of: &str, expected: usize, vectors: &[(&str, &[f64])]) -> Result<(), String> {
    match vectors.iter().find(|(_, values)| values.len() != expected) {
        Some((name, values)) => {
            Err(format!("`{of}.{name}` has {} values, {expected} expected", values.len()))
        }
        None => Ok(()),
    }
}
