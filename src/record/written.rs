//! Completeness of a run's records: counted while they are written, and checked in its files.

use serde::{Deserialize, Serialize};

/// Records of a run, one per evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Their number.
    pub records: u64,
    /// The update of the last one.
    pub last: Option<u64>,
    /// Checksum of their rows in metrics.csv, where it is known: events have their own, and older states none.
    #[serde(default)]
    pub sum: Option<u64>,
}

impl Default for Written {
    fn default() -> Self {
        Self { records: 0, last: None, sum: Some(0xcbf2_9ce4_8422_2325) }
    }
}

impl Written {
    /// Counts a record with its row in metrics.csv; false where it does not come after the last.
    pub fn add(&mut self, update: u64, row: Option<&[u8]>) -> bool {
        let ascends = self.last.is_none_or(|last| last < update);
        // 64-bit FNV-1a, carried on from row to row.
        self.sum = self.sum.zip(row).map(|(sum, row)| {
            row.iter().fold(sum, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
        });
        self.records += 1;
        self.last = Some(update);
        ascends
    }

    /// What is missing of these records, of which `lost` are known to be missing and `found` exist; `None` if nothing is.
    pub fn missing_in(&self, found: Self, lost: u64) -> Option<String> {
        let expected = self.records.saturating_sub(lost);
        let last_fits = found.records == 0 || found.last == self.last;
        if found.records == expected && last_fits {
            let changed = self.sum.zip(found.sum).is_some_and(|(own, found)| own != found);
            return changed
                .then(|| "holds other values than the run wrote: a row was changed".into());
        }
        let last = |last: Option<u64>| last.map_or("none".into(), |update| update.to_string());
        Some(format!(
            "holds {} of {expected} evaluations up to the last checkpoint (the last at update {}, expected {})",
            found.records,
            last(found.last),
            last(self.last)
        ))
    }
}
