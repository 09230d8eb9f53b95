//! Update rules: from a gradient to new parameters, in place and on the host, where gradients are made and kernels read.

mod adam;
mod config;
mod rmsspectral;
mod rule;
mod sgd;
mod sharp;
mod ssd;
#[cfg(test)]
mod tests;

pub use adam::{Adam, AdamConfig};
pub use config::UpdateRuleConfig;
pub use rmsspectral::{RmsSpectral, RmsSpectralConfig};
pub use rule::{Gradient, UpdateRule};
pub use sgd::{Sgd, SgdConfig};
pub use sharp::sharp;
pub use ssd::Ssd;
