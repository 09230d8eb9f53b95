//! How much of a run's record is there: counted while it is written, and found again in its files.

use serde::{Deserialize, Serialize};

/// Records of a run, one an evaluation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Their number.
    pub records: u64,
    /// The update of the last one.
    pub last: Option<u64>,
}

impl Written {
    /// Counts a record; false where it does not come after the last.
    pub fn add(&mut self, update: u64) -> bool {
        let ascends = self.last.is_none_or(|last| last < update);
        self.records += 1;
        self.last = Some(update);
        ascends
    }

    /// What is missing of these records, of which `lost` were known to be, where `found` is there; `None` if nothing is.
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
