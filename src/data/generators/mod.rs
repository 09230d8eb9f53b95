//! Synthetic data sets: no download, and their structure is known.

mod bars_and_stripes;
mod dna_like;

/// As often are the rows in memory while a run is prepared: as they are, split, and binarized.
const COPIES: f64 = 3.0;

pub use bars_and_stripes::BarsAndStripes;
pub use dna_like::DnaLike;
