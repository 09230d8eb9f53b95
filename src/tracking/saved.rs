//! Whether a tracker's saved state fits the run that wants to go on with it: every shape, before any of it is used.
//!
//! A checksum says that a file is as it was written, not that it was written by this program for this configuration.

use super::{SavedTracker, Smoothing};

/// More sweeps or updates than any run does; beyond, counters could overflow.
pub(crate) const LARGEST_COUNT: u64 = 1 << 56;

impl SavedTracker {
    /// Checks the state against K temperatures, S chains and the filter of the configuration.
    ///
    /// # Errors
    /// What does not fit, for people.
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
