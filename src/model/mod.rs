//! The model: parameters, the Burn module, exact enumeration, {-1, +1} units, test systems.

pub mod exact;
mod parameters;
pub mod plus_minus;
mod rbm;
pub mod test_systems;

pub use parameters::Parameters;
pub(crate) use parameters::largest_magnitude;
pub(crate) use rbm::host;
pub use rbm::{Rbm, RbmConfig};
