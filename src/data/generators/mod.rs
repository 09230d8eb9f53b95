//! Synthetic data sets: no download, and their structure is known.

mod bars_and_stripes;
mod dna_like;

/// As often are the rows in memory while a run is prepared: as they are, split, and binarized.
const COPIES: f64 = 3.0;

/// Refuses more rows than the limits and the memory that is free allow.
fn check_size(rows: usize, columns: usize) -> Result<()> {
    check_shape(rows, columns, true)
        .and_then(|()| check_room(rows, columns, COPIES))
        .map_err(|problem| Error::config("rows", problem))
}

use super::limits::{check_room, check_shape};
use crate::error::{Error, Result};

pub use bars_and_stripes::BarsAndStripes;
pub use dna_like::DnaLike;
