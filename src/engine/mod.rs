//! The fused operations of all algorithms, and their random streams.

mod beta_grid;
mod bits;
#[cfg(feature = "burn")]
mod composed;
pub mod host;
mod matrix;
mod operations;
pub mod random;
mod threads;

pub use beta_grid::BetaGrid;
pub use bits::{BitMatrix, for_each_set_bit, words_per_row};
#[cfg(feature = "burn")]
pub use composed::Composed;
pub use host::Host;
pub use matrix::{Matrix, PANEL, padded};
pub use operations::{Draw, Layer, PADDING, RbmOps};
pub(crate) use threads::{
    AS_A_NUMBER, AS_AN_EXPONENTIAL, NUMBERS_PER_TASK, Workers, awake, fewest_tasks, worth_threads,
};
