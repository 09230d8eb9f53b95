//! The fused operations algorithms are written in, and the random streams they draw from.

mod bits;
pub mod random;

pub use bits::{BitMatrix, for_each_set_bit, words_per_row};
