//! The model: parameters, the Burn module, files, exact enumeration.

mod parameters;
mod rbm;

pub use parameters::Parameters;
pub use rbm::Rbm;
pub(crate) use rbm::host;
