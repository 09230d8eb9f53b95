//! The model: parameters, the Burn module, exact enumeration, test systems.

pub mod exact;
mod parameters;
mod rbm;
pub mod test_systems;

pub use parameters::Parameters;
pub use rbm::Rbm;
pub(crate) use rbm::host;
