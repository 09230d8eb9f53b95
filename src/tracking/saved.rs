//! Whether a tracker's saved state fits the run that wants to go on with it: every shape, before any of it is used.
//!
//! A checksum says that a file is as it was written, not that it was written by this program for this configuration.

use super::{AlphaSmoother, Filter, Kalman, SavedTracker, Smoothing};

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
        match (&self.filter, smoothing) {
            (Filter::Kalman(filter), Smoothing::Kalman) => filter.check(temperatures, chains),
            (Filter::Alpha(filter), Smoothing::Alpha(alpha)) if filter.alpha == alpha => {
                filter.check(temperatures, chains)
            }
            (found, asked) => {
                let found = match found {
                    Filter::Kalman(_) => "the Kalman filter".to_string(),
                    Filter::Alpha(filter) => format!("alpha = {}", filter.alpha),
                };
                Err(format!(
                    "`tempering.smoothing` cannot change in a run: its state is that of {found}, {asked:?} was asked for"
                ))
            }
        }
    }
}

impl Kalman {
    /// Checks lengths and counters against K temperatures and S chains.
    pub(super) fn check(&self, temperatures: usize, chains: usize) -> Result<(), String> {
        lengths("filter", temperatures, &self.per_temperature())?;
        lengths("filter", chains, &self.per_chain())?;
        if self.updates() > LARGEST_COUNT {
            return Err(format!("`filter.updates` is {}", self.updates()));
        }
        Ok(())
    }
}

impl AlphaSmoother {
    /// Checks lengths against K temperatures and S chains.
    pub(super) fn check(&self, temperatures: usize, chains: usize) -> Result<(), String> {
        lengths("filter", temperatures, &[("log_z", &self.log_z)])?;
        lengths("filter", chains, &[("influence", self.influence())])
    }
}

/// Refuses the first vector that has not `expected` values.
fn lengths(of: &str, expected: usize, vectors: &[(&str, &[f64])]) -> Result<(), String> {
    match vectors.iter().find(|(_, values)| values.len() != expected) {
        Some((name, values)) => {
            Err(format!("`{of}.{name}` has {} values, {expected} expected", values.len()))
        }
        None => Ok(()),
    }
}
