//! Completeness of a run's records: counted while they are written, and checked in its files.

use serde::{Deserialize, Serialize};

/// Records of a run, one per evaluation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Their number.
    pub records: u64,
    /// The update of the last one.
    pub last: Option<u64>,
}

impl Written {
    /// Counts a record; false if it does not come after the last.
    pub fn add(&mut self, update: u64) -> bool {
        let ascends = self.last.is_none_or(|last| last < update);
        self.records += 1;
        self.last = Some(update);
        ascends
    }

    /// What is missing of these records, of which `lost` are known to be missing and `found` exist; `None` if nothing is.
    pub fn missing_in(&self, found: Self, lost: u64) -> Option<String> {
        let expected = self.records.saturating_sub(lost);
        let last_fits = found.records == 0 || found.last == self.last;
        (found.records != expected || !last_fits).then(|| {
            let last = |last: Option<u64>| last.map_or("none".into(), |update| update.to_string());
            format!(
                "holds {} of {expected} evaluations up to the last checkpoint (the last at update {}, expected {})",
                found.records,
                last(found.last),
                last(self.last)
            )
        })
    }
}
