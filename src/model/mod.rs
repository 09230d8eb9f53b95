//! The model: parameters, the Burn module, exact enumeration, {-1, +1} units, test systems.

mod conditional;
mod engine;
pub mod exact;
mod parameters;
pub mod plus_minus;
mod preferred;
#[cfg(feature = "burn")]
mod rbm;
pub mod test_systems;

pub use conditional::Conditional;
pub use parameters::Parameters;
pub(crate) use preferred::preferred_states;
#[cfg(feature = "burn")]
pub(crate) use rbm::host;
#[cfg(feature = "burn")]
pub use rbm::{Rbm, RbmConfig};
