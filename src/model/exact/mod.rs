//! Exact answers by enumerating the smaller layer, in f64: log Z, moments, log-likelihood.
//!
//! Z = sum_h exp(b.h) prod_i (1 + exp(c_i + (Wh)_i)), or the same sum over v when the visible layer is the smaller.
//! Exponential: 2^min(M,J) states, each O(max(M,J)); refused beyond [`MAX_UNITS`]. The states are visited in
//! Gray-code order in fixed blocks whose sums are added in a fixed order, so that every result is the same for any
//! number of threads.

mod enumeration;
mod likelihood;
mod moments;
mod partition;
mod samples;
#[cfg(test)]
mod tests;
mod total;

pub use likelihood::{log_weights, mean_log_likelihood};
pub use moments::{Moments, moments};
pub(crate) use partition::log_partition_within;
pub use partition::{
    MAX_TABLE_UNITS, MAX_UNITS, QUICK_UNITS, log_partition, log_partition_at,
    log_probabilities_of_visible, log_probabilities_of_visible_at,
};
pub use samples::samples;
