//! Keeps everything in memory: for tests and for library users who plot or decide themselves.

use super::{Notice, Progress, Record, Recorder, Run, tags};
use crate::error::Result;

/// Everything that was recorded, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// The records.
    pub records: Vec<Record>,
    /// The progress reports.
    pub progress: Vec<Progress>,
    /// The notices, each with its update.
    pub notices: Vec<(u64, Notice)>,
    /// Whether the run came to its regular end.
    pub finished: bool,
}

impl Memory {
    /// The curve of one scalar: (update, value) of every record that has it.
    pub fn series(&self, run: Run, tag: &str) -> Vec<(u64, f64)> {
        self.records.iter().filter_map(|r| Some((r.update, r.get(run, tag)?))).collect()
    }
}

impl Recorder for Memory {
    fn record(&mut self, record: &Record) -> Result<()> {
        tags::check(record)?;
        self.records.push(record.clone());
        Ok(())
    }

    fn progress(&mut self, progress: &Progress) {
        self.progress.push(progress.clone());
    }

    fn notice(&mut self, notice: &Notice, update: u64) -> Result<()> {
        self.notices.push((update, notice.clone()));
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        self.finished = true;
        Ok(())
    }
}
