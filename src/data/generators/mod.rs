//! Synthetic data sets: no download, and their structure is known.

mod bars_and_stripes;
mod dna_like;

pub use bars_and_stripes::BarsAndStripes;
pub use dna_like::DnaLike;
