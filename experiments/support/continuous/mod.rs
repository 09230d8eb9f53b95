//! Simulated tempering of continuous targets: RTS App. E's adaptive Hamiltonian Monte Carlo, and random-walk Metropolis.

mod acceptance;
mod chains;
mod estimators;
mod gaussian_mixture;
mod kernel;
mod step_sizes;
mod target;
#[cfg(test)]
mod tests;

pub use chains::ContinuousTempering;
pub use estimators::{by_method, estimates};
pub use gaussian_mixture::GaussianMixture;
pub use kernel::TransitionKernel;
pub use step_sizes::StepSizes;
pub use target::LogDensity;
