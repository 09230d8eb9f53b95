//! notices.jsonl: every notice of a run, one JSON object per line, and their counts.
//!
//! Written like metrics.csv: a line is a single write; a resume drops an incomplete last line and lines after the checkpoint.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{HeldFile, Notice, Record, Recorder};
use crate::checkpoint::{keep_start, write_bytes};
use crate::error::{Error, Result};
use crate::limited::each_line;

/// Writes notices.
#[derive(Debug)]
pub struct NoticeLog {
    file: HeldFile,
}

/// A line.
#[derive(Serialize, Deserialize)]
struct Line {
    update: u64,
    kind: String,
    level: String,
    text: String,
}

impl NoticeLog {
    /// A new, empty file; an existing one is overwritten.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be written.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        write_bytes(path.as_ref(), b"")?;
        Ok(Self { file: HeldFile::append(path.as_ref())? })
    }

    /// Continues a file: lines of updates after `after_update` and an incomplete last line are dropped. A missing file is created.
    ///
    /// # Errors
    /// [`Error::File`] for a line of another form; [`Error::Io`] if it cannot be read or written.
    pub fn resume(path: impl AsRef<Path>, after_update: u64) -> Result<Self> {
        let path = path.as_ref();
        let (mut read, mut length) = (0, 0);
        let there = each(path, |notice, line| {
            read += line.len() as u64;
            if notice.update <= after_update && length + line.len() as u64 == read {
                length = read;
            }
        })?;
        if !there {
            return Self::create(path);
        }
        keep_start(path, length)?;
        Ok(Self { file: HeldFile::append(path)? })
    }

    /// Number of notices of each kind; none if the file is missing.
    ///
    /// # Errors
    /// As [`NoticeLog::resume`].
    pub fn counts(path: impl AsRef<Path>) -> Result<BTreeMap<String, u64>> {
        let mut counts = BTreeMap::new();
        each(path.as_ref(), |notice, _| *counts.entry(notice.kind).or_default() += 1)?;
        Ok(counts)
    }
}

/// Calls `visit` with every notice of a file and its line, in the order of the file; returns whether there is a file.
fn each(path: &Path, mut visit: impl FnMut(Line, &[u8])) -> Result<bool> {
    each_line(path, |number, line| {
        let parsed: Line = serde_json::from_slice(line).map_err(|_| {
            let problem = "is not a notice of this version; move the file away to resume";
            Error::file(path, format!("line {number}: {problem}"))
        })?;
        visit(parsed, line);
        Ok(())
    })
}

impl Recorder for NoticeLog {
    fn record(&mut self, _: &Record) -> Result<()> {
        Ok(())
    }

    fn notice(&mut self, notice: &Notice, update: u64) -> Result<()> {
        let line = Line {
            update,
            kind: notice.kind().into(),
            level: notice.level().name().into(),
            text: notice.text(),
        };
        let mut line = serde_json::to_vec(&line)
            .map_err(|error| Error::Encoding(format!("cannot write a notice: {error}")))?;
        line.push(b'\n');
        self.file.write(&line)
    }

    fn sync(&mut self) -> Result<()> {
        self.file.sync()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::record::notice::tests::all;

    #[test]
    fn a_file_cut_at_any_byte_resumes_to_the_uninterrupted_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notices.jsonl");
        let tell = |log: &mut NoticeLog, from: usize| {
            // Two notices per update.
            for (i, notice) in all().iter().enumerate().filter(|(i, _)| i / 2 >= from) {
                log.notice(notice, i as u64 / 2).unwrap();
            }
        };
        tell(&mut NoticeLog::create(&path).unwrap(), 0);
        let whole = fs::read(&path).unwrap();
        assert_eq!(whole.iter().filter(|&&byte| byte == b'\n').count(), all().len());
        assert!(NoticeLog::counts(&path).unwrap().values().all(|&count| count == 1));
        for length in 0..=whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            let lines = whole[..length].iter().filter(|&&byte| byte == b'\n').count();
            // The checkpoint came after the last update with all records.
            if let Some(after) = (lines / 2).checked_sub(1) {
                let mut log = NoticeLog::resume(&path, after as u64).unwrap();
                tell(&mut log, after + 1);
                assert_eq!(fs::read(&path).unwrap(), whole, "cut at byte {length}");
            }
        }
    }

    #[test]
    fn what_is_no_notice_is_told_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notices.jsonl");
        assert!(NoticeLog::counts(&path).unwrap().is_empty());
        NoticeLog::create(&path).unwrap().notice(&Notice::ModeMissed, 3).unwrap();
        let good = fs::read(&path).unwrap();
        fs::write(&path, [&good[..], b"{\n"].concat()).unwrap();
        let error = NoticeLog::resume(&path, 9).unwrap_err().to_string();
        assert!(error.contains("line 2"), "{error}");
    }
}
