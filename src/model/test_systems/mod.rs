//! Models whose log Z is known exactly: closed forms, enumeration. For tests, examples and benchmarks.

mod closed_forms;
mod gaussian;
mod independent;
mod system;
mod total_variation;

pub use closed_forms::{independent_units, one_hidden_unit};
pub use gaussian::{gaussian, gaussian_parameters};
pub use independent::{independent, islands};
pub use system::TestSystem;
pub use total_variation::total_variation;
