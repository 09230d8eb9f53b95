//! TensorBoard: the folders `train` and `validation`, one TensorBoard run each.
//!
//! All entries of one record and folder are one event, so a kill loses whole evaluations or nothing. The first value of a tag has its
//! description, the first event that of the run.

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::events::{append, create, event_files, trim, written};
use super::histogram::histogram;
use super::messages::{Value, What};
use super::{About, Content, Entry, HeldFile, Record, Recorder, Run, Written, dashboard, tags};
use crate::checkpoint::remove_leftovers;
use crate::error::{Error, Result};

/// Writes scalars (as f32), histograms and images to event files, each record at once.
pub struct TensorBoard {
    folder: PathBuf,
    /// One for each folder, opened by its first entry: a run without entries is not shown.
    logs: Vec<Log>,
    resumed_after: Option<u64>,
    about: About,
}

/// Folders of the runs; the first has the description of the run.
const FOLDERS: [&str; 2] = [Run::Train.folder(), Run::Validation.folder()];

/// One TensorBoard run.
struct Log {
    name: &'static str,
    file: Option<HeldFile>,
    /// Tags that were written, and so are described already.
    known: HashSet<String>,
}

impl TensorBoard {
    /// A new log in `folder`, which is created if missing.
    ///
    /// # Errors
    /// [`Error::File`] if there are events already; [`Error::Io`] if the folders cannot be created.
    pub fn create(folder: impl AsRef<Path>) -> Result<Self> {
        let log = Self::open(folder.as_ref(), None)?;
        for name in FOLDERS {
            if !event_files(&log.folder.join(name))?.is_empty() {
                return Err(Error::file(
                    &log.folder,
                    "holds TensorBoard events already; resume the run or choose another folder",
                ));
            }
        }
        Ok(log)
    }

    /// Continues a log: events of updates after `after_update` and incomplete last events are dropped (by an open TensorBoard as soon as
    /// the run's next event comes). Missing folders are created.
    ///
    /// # Errors
    /// [`Error::File`] for a damaged event file; [`Error::Io`] if files cannot be read or replaced.
    pub fn resume(folder: impl AsRef<Path>, after_update: u64) -> Result<Self> {
        let mut log = Self::open(folder.as_ref(), Some(after_update))?;
        for run in &mut log.logs {
            let folder = log.folder.join(run.name);
            remove_leftovers(&folder)?;
            for path in event_files(&folder)? {
                trim(&path, after_update, &mut run.known)?;
            }
        }
        Ok(log)
    }

    /// Description of the run, for the first event; without effect if that is written already.
    #[must_use]
    pub fn about(self, about: About) -> Self {
        Self { about, ..self }
    }

    /// Records of updates up to `after_update` in the folder of a run; a missing folder holds none.
    ///
    /// # Errors
    /// As [`TensorBoard::resume`], and [`Error::File`] for steps that do not ascend.
    pub fn written(folder: impl AsRef<Path>, run: Run, after_update: u64) -> Result<Written> {
        let folder = folder.as_ref().join(run.folder());
        if !folder.exists() {
            return Ok(Written::default());
        }
        written(&folder, after_update)
    }

    /// Removes a log, so that it can be created again.
    ///
    /// # Errors
    /// [`Error::Io`] if a folder cannot be removed.
    pub fn remove(folder: impl AsRef<Path>) -> Result<()> {
        for name in FOLDERS {
            let folder = folder.as_ref().join(name);
            match fs::remove_dir_all(&folder) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(Error::io("remove", &folder)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn open(folder: &Path, resumed_after: Option<u64>) -> Result<Self> {
        for name in FOLDERS {
            let folder = folder.join(name);
            fs::create_dir_all(&folder).map_err(Error::io("create folder", &folder))?;
        }
        let log = |name| Log { name, file: None, known: HashSet::new() };
        let logs = FOLDERS.map(log).into();
        Ok(Self { folder: folder.to_path_buf(), logs, resumed_after, about: About::default() })
    }
}

impl Recorder for TensorBoard {
    fn record(&mut self, record: &Record) -> Result<()> {
        tags::check(record)?;
        for log in &mut self.logs {
            let mut values = Vec::new();
            if log.name == FOLDERS[0] && log.known.is_empty() {
                values = dashboard::values(&self.about)?;
            }
            let name = log.name;
            // The untrained model would set the scale of the charts with bands.
            let shown = |entry: &&Entry| record.update > 0 || !dashboard::has_band(entry.tag);
            let own = record.entries.iter().filter(|entry| entry.run.folder() == name);
            for entry in own.filter(shown) {
                values.extend(log.value(entry)?);
            }
            if log.name == FOLDERS[0] && record.update > 0 {
                values.extend(dashboard::validation(record));
            }
            if values.is_empty() {
                continue;
            }
            let file = match &mut log.file {
                Some(file) => file,
                none => none.insert(start(&self.folder.join(log.name), self.resumed_after)?),
            };
            append(file, step(record.update), What::Values(values))?;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.logs.iter_mut().filter_map(|log| log.file.as_mut()).try_for_each(HeldFile::sync)
    }
}

impl Log {
    /// An entry's value, described if it is the first of its tag; `None` for what TensorBoard does not show.
    fn value(&mut self, entry: &Entry) -> Result<Option<Value>> {
        let Some(line) = tags::find(entry.run, entry.tag) else { return Ok(None) };
        let tag = line.in_tensorboard();
        let value = match &entry.content {
            Content::Scalar(value) => Value::scalar(&tag, *value),
            Content::Histogram(values) => Value::histogram(&tag, &histogram(values)),
            Content::Image(image) => Value::image(&tag, image)?,
            // Short names of doubts: the curve `sound` shows when, metrics.csv which.
            Content::Text(_) => return Ok(None),
        };
        let first = self.known.insert(tag);
        Ok(Some(if first { value.described(line.meaning) } else { value }))
    }
}

/// A new file; after a resume it begins with a mark by which a reader discards the steps that follow again.
fn start(folder: &Path, resumed_after: Option<u64>) -> Result<HeldFile> {
    let mut file = create(folder)?;
    if let Some(update) = resumed_after {
        append(&mut file, step(update.saturating_add(1)), What::Start)?;
    }
    Ok(file)
}

fn step(update: u64) -> i64 {
    i64::try_from(update).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Image;
    use crate::record::events::read_all;
    use crate::record::messages::Event;

    fn record(update: u64) -> Record {
        let mut record = Record::new(update, 0.0, 0.0);
        record.scalar(Run::Train, "log_likelihood", -(update as f64));
        record.scalar(Run::Tracker, "log_z", f64::NAN);
        record.scalar(Run::Tracker, "sound", 1.0);
        record.histogram(Run::Tracker, "weights", vec![0.5; 10]);
        record.image(Run::Tracker, "samples", Image::gray(2, 3, vec![0; 6]).unwrap());
        record
    }

    /// Steps of the events of a run that hold values, with the number of values of records.
    fn steps(folder: &Path, run: Run) -> Vec<(i64, usize)> {
        let events = read_all(&folder.join(run.folder())).into_iter();
        let own = |tag: &&str| *tag != "custom_scalars__config__";
        let count = |event: &Event| event.tags().filter(own).count();
        let valued = events.filter(|event| event.tags().next().is_some());
        valued.map(|event| (event.step().unwrap() as i64, count(&event))).collect()
    }

    fn values(folder: &Path) -> Vec<Vec<u8>> {
        read_all(&folder.join("train")).iter().flat_map(Event::values).collect()
    }

    fn only_file(folder: &Path, run: Run) -> PathBuf {
        let files = event_files(&folder.join(run.folder())).unwrap();
        assert_eq!(files.len(), 1);
        files[0].clone()
    }

    #[test]
    fn a_record_is_on_disk_when_record_returns() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = TensorBoard::create(folder.path()).unwrap();
        for (update, values) in [(1, 5), (5, 5)] {
            log.record(&record(update)).unwrap();
            assert_eq!(steps(folder.path(), Run::Tracker).last(), Some(&(update as i64, values)));
        }
        assert_eq!(steps(folder.path(), Run::Train), [(1, 5), (5, 5)]);
        assert!(event_files(&folder.path().join("validation")).unwrap().is_empty());
    }

    #[test]
    fn a_log_cut_at_any_byte_resumes_without_gap_or_duplicate() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = TensorBoard::create(folder.path()).unwrap();
        for update in 1..=2 {
            log.record(&record(update)).unwrap();
        }
        drop(log);
        let path = only_file(folder.path(), Run::Tracker);
        let whole = fs::read(&path).unwrap();
        let mut log = TensorBoard::resume(folder.path(), 2).unwrap();
        (3..=4).for_each(|update| log.record(&record(update)).unwrap());
        // Descriptions of tags and run are in the same events, whatever was cut off between.
        let uninterrupted = values(folder.path());
        for length in 0..=whole.len() {
            let folder = tempfile::tempdir().unwrap();
            let run_folder = folder.path().join("train");
            fs::create_dir(&run_folder).unwrap();
            fs::write(run_folder.join(path.file_name().unwrap()), &whole[..length]).unwrap();
            let written = steps(folder.path(), Run::Tracker).len() as u64;
            // A checkpoint of the age of the log, and one that is older by an evaluation.
            let after = if length % 2 == 0 { written } else { written.saturating_sub(1) };
            let mut log = TensorBoard::resume(folder.path(), after).unwrap();
            for update in after + 1..=4 {
                log.record(&record(update)).unwrap();
            }
            let expected = [(1, 5), (2, 5), (3, 5), (4, 5)];
            assert_eq!(steps(folder.path(), Run::Tracker), expected, "cut at byte {length}");
            assert_eq!(values(folder.path()), uninterrupted, "cut at byte {length}");
        }
    }

    #[test]
    fn files_of_one_second_do_not_overwrite_each_other() {
        let folder = tempfile::tempdir().unwrap();
        TensorBoard::create(folder.path()).unwrap().record(&record(1)).unwrap();
        for after in 1..4 {
            let mut log = TensorBoard::resume(folder.path(), after).unwrap();
            log.record(&record(after + 1)).unwrap();
        }
        assert_eq!(steps(folder.path(), Run::Train), [(1, 5), (2, 5), (3, 5), (4, 5)]);
        let found = TensorBoard::create(folder.path()).err().unwrap().to_string();
        assert!(found.contains("holds TensorBoard events already"), "{found}");
    }

    #[test]
    fn a_damaged_event_is_an_error_that_says_where() {
        let folder = tempfile::tempdir().unwrap();
        TensorBoard::create(folder.path()).unwrap().record(&record(1)).unwrap();
        let path = only_file(folder.path(), Run::Tracker);
        let mut bytes = fs::read(&path).unwrap();
        bytes[20] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let error = TensorBoard::resume(folder.path(), 1).err().unwrap().to_string();
        assert!(error.contains("tfevents") && error.contains("byte 0 is damaged"), "{error}");
    }

    #[test]
    fn blocks_of_zeros_after_a_power_cut_are_dropped() {
        let folder = tempfile::tempdir().unwrap();
        TensorBoard::create(folder.path()).unwrap().record(&record(1)).unwrap();
        let path = only_file(folder.path(), Run::Train);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, [whole.clone(), vec![0; 512]].concat()).unwrap();
        TensorBoard::resume(folder.path(), 1).unwrap();
        assert_eq!(fs::read(&path).unwrap(), whole);
    }

    #[test]
    fn a_file_in_the_way_is_an_error_not_a_panic() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "").unwrap();
        assert!(TensorBoard::create(&path).err().unwrap().to_string().contains("cannot create"));
        let mut log = TensorBoard::create(folder.path().join("log")).unwrap();
        fs::remove_dir_all(folder.path().join("log")).unwrap();
        assert!(log.record(&record(1)).is_err());
    }
}
