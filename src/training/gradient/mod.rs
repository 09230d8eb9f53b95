//! Gradients of the mean log-likelihood: data phase, negative phase, centering.

mod centering;
mod moments;
mod particles;

pub use centering::{Centering, gradient};
pub use moments::{Moments, moments, moments_from_inputs};
pub use particles::Particles;
