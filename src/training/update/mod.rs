//! Update rules: from a gradient to a step of the parameters.

mod adam;
mod config;
mod gradient;
mod rmsspectral;
mod rule;
mod sgd;
mod sharp;
mod ssd;
#[cfg(test)]
mod tests;

pub use adam::{Adam, AdamConfig};
pub use config::UpdateRuleConfig;
pub use gradient::Gradient;
pub use rmsspectral::{RmsSpectral, RmsSpectralConfig};
pub use rule::UpdateRule;
pub use sgd::{Sgd, SgdConfig};
pub use sharp::sharp;
pub use ssd::Ssd;
