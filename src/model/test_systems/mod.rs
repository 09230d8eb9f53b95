//! Models whose log Z is known exactly: closed forms, enumeration, spin systems. For tests, examples and benchmarks.

mod closed_forms;
mod gaussian;
mod kaufman;
mod lattices;
mod spins;
mod system;
mod total_variation;

pub use closed_forms::{independent_units, one_hidden_unit, zero_weights};
pub use gaussian::{gaussian, gaussian_moments, gaussian_parameters};
pub use kaufman::square_ising_log_partition;
pub use lattices::{ring, square};
pub use spins::{MAX_SPINS, SpinModel};
pub use system::TestSystem;
pub use total_variation::total_variation;
