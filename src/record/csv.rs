//! metrics.csv: one row per record, an empty cell if a record has no value.
//!
//! A row is a single write to an unbuffered file, so a kill leaves at most one incomplete last line; resuming drops it. Numbers are printed
//! with the digits that read back to the same f64.

use std::path::Path;

use super::{Content, HeldFile, Record, Recorder, Written, tags};
use crate::checkpoint::{keep_start, write_bytes};
use crate::error::{Error, Result};
use crate::limited::each_line;

/// Writes scalars that have a column in [`tags::TAGS`] as comma-separated rows.
#[derive(Debug)]
pub struct Csv {
    file: HeldFile,
}

impl Csv {
    /// A new file with its header line; the parent folder is created if missing.
    ///
    /// # Errors
    /// [`Error::File`] if the file is there already; [`Error::Io`] if it cannot be written.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        if path.exists() {
            return Err(Error::file(
                path,
                "is there already; resume the run or choose another folder",
            ));
        }
        write_bytes(path, format!("{}\n", header()).as_bytes())?;
        Ok(Self { file: HeldFile::append(path)? })
    }

    /// The records of a file up to update `after_update`; none if the file is missing.
    ///
    /// # Errors
    /// As [`Csv::resume`].
    pub fn written(path: impl AsRef<Path>, after_update: u64) -> Result<Written> {
        Ok(kept(path.as_ref(), after_update)?.map_or_else(Written::default, |(written, _)| written))
    }

    /// Continues a file: rows of updates after `after_update` and an incomplete last line are dropped. A missing file is created.
    ///
    /// # Errors
    /// [`Error::File`] if its columns are not those of this version or a row is damaged; [`Error::Io`] if it cannot be read or written.
    pub fn resume(path: impl AsRef<Path>, after_update: u64) -> Result<Self> {
        let path = path.as_ref();
        match kept(path, after_update)? {
            None => return Self::create(path),
            // A kill tore the header.
            Some((_, 0)) => write_bytes(path, format!("{}\n", header()).as_bytes())?,
            Some((_, length)) => keep_start(path, length)?,
        }
        Ok(Self { file: HeldFile::append(path)? })
    }
}

impl Recorder for Csv {
    fn record(&mut self, record: &Record) -> Result<()> {
        tags::check(record)?;
        self.file.write(row(record).as_bytes())
    }

    fn sync(&mut self) -> Result<()> {
        self.file.sync()
    }
}

fn header() -> String {
    tags::columns().collect::<Vec<_>>().join(",")
}

/// The line of a record.
pub(crate) fn row(record: &Record) -> String {
    let mut cells = vec![record.update.to_string(), number(record.epoch), number(record.seconds)];
    for line in tags::TAGS.iter().filter(|line| line.column.is_some()) {
        let entry = record.entries.iter().find(|e| (e.run, e.tag) == (line.run, line.tag));
        cells.push(match entry.map(|entry| &entry.content) {
            Some(Content::Scalar(value)) => number(*value),
            Some(Content::Text(text)) => text.clone(),
            _ => String::new(),
        });
    }
    cells.join(",") + "\n"
}

/// Shortest decimal that reads back as the same f64; `NaN`, `inf`, `-inf`.
fn number(value: f64) -> String {
    let text = format!("{value:?}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// What a file holds of updates up to `after_update`, and how many of its bytes that is; `None` where there is no file.
fn kept(path: &Path, after_update: u64) -> Result<Option<(Written, u64)>> {
    let (header, columns) = (header(), tags::columns().count());
    let (mut written, mut read, mut length) = (Written::default(), 0, 0);
    let there = each_line(path, |number, line| {
        let problem = |text| Err(Error::file(path, format!("line {number}: {text}")));
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        if number == 1 && text != header.as_bytes() {
            return problem(format!(
                "its columns are not the ones this version writes ({header}); move the file away to resume"
            ));
        }
        let fields = 1 + text.iter().filter(|&&byte| byte == b',').count();
        let first = text.split(|&byte| byte == b',').next().unwrap_or_default();
        let update = std::str::from_utf8(first).ok().and_then(|field| field.parse::<u64>().ok());
        let whole_so_far = read == length;
        read += line.len() as u64;
        match update.filter(|_| fields == columns) {
            _ if number == 1 => {}
            Some(update) if update > after_update => return Ok(()),
            Some(update) if written.add(update, Some(line)) && whole_so_far => {}
            Some(update) => {
                return problem(format!(
                    "update {update} does not come after those above it; restore the file to resume"
                ));
            }
            None => {
                return problem(format!(
                    "not a row of {columns} columns that begins with an update number; repair or delete the line to resume"
                ));
            }
        }
        length = read;
        Ok(())
    })?;
    Ok(there.then_some((written, length)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::record::Run;

    fn record(update: u64) -> Record {
        let mut record = Record::new(update, update as f64 / 3.0, 1e-300);
        record.scalar(Run::Tracker, "log_z", 226.113155 + update as f64 / 7.0);
        record.scalar(Run::Train, "log_likelihood", f64::NAN);
        record.scalar(Run::Tracker, "sound", 1.0);
        record.scalar(Run::Validation, "log_likelihood", f64::NEG_INFINITY);
        record.histogram(Run::Tracker, "weights", vec![1.0]);
        record
    }

    fn cells(path: &Path, column: &str) -> Vec<String> {
        let mut reader = ::csv::Reader::from_path(path).unwrap();
        let at = reader.headers().unwrap().iter().position(|name| name == column).unwrap();
        reader.records().map(|row| row.unwrap()[at].to_owned()).collect()
    }

    #[test]
    fn cells_read_back_to_the_same_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run/metrics.csv");
        let mut csv = Csv::create(&path).unwrap();
        for update in [0, 7, 20] {
            csv.record(&record(update)).unwrap();
        }
        csv.finish().unwrap();
        let expected: Vec<_> = [0.0, 7.0, 20.0].iter().map(|u| 226.113155 + u / 7.0).collect();
        let found: Vec<f64> = cells(&path, "log_z").iter().map(|x| x.parse().unwrap()).collect();
        assert_eq!(found, expected);
        assert_eq!(cells(&path, "seconds")[0].parse::<f64>().unwrap(), 1e-300);
        assert_eq!(cells(&path, "update"), ["0", "7", "20"]);
        assert_eq!(cells(&path, "sound")[0], "1");
        assert_eq!(cells(&path, "train_log_likelihood")[0], "NaN");
        assert_eq!(cells(&path, "validation_log_likelihood")[0], "-inf");
        assert_eq!(cells(&path, "exact_log_z")[0], "");
    }

    #[test]
    fn a_file_cut_at_any_byte_resumes_to_the_uninterrupted_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.csv");
        let mut csv = Csv::create(&path).unwrap();
        (0..4).for_each(|update| csv.record(&record(update)).unwrap());
        let whole = fs::read(&path).unwrap();
        for length in 0..=whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            // The checkpoint is as old as the last whole row, or one older.
            let rows = whole[..length].iter().filter(|&&byte| byte == b'\n').count() as u64;
            for next in [rows.saturating_sub(1), rows.saturating_sub(2)] {
                let mut csv = match next.checked_sub(1) {
                    Some(after) => Csv::resume(&path, after).unwrap(),
                    None => {
                        fs::remove_file(&path).unwrap();
                        Csv::resume(&path, 0).unwrap()
                    }
                };
                (next..4).for_each(|update| csv.record(&record(update)).unwrap());
                assert_eq!(fs::read(&path).unwrap(), whole, "cut at byte {length}");
            }
        }
    }

    #[test]
    fn rows_are_counted_and_must_ascend() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.csv");
        assert_eq!(Csv::written(&path, 9).unwrap(), Written::default());
        let mut csv = Csv::create(&path).unwrap();
        [0, 5, 10, 15].into_iter().for_each(|update| csv.record(&record(update)).unwrap());
        let found = Csv::written(&path, 12).unwrap();
        assert_eq!((found.records, found.last), (3, Some(10)));
        assert_eq!(found.missing_in(found, 0), None);
        assert!(found.missing_in(Csv::written(&path, 7).unwrap(), 0).unwrap().contains("2 of 3"));
        assert_eq!(found.missing_in(Written { records: 1, ..found }, 2), None);
        let text = fs::read_to_string(&path).unwrap();
        let mut lines: Vec<_> = text.lines().collect();
        lines.swap(2, 3);
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        assert!(Csv::resume(&path, 15).unwrap_err().to_string().contains("line 4: update 5"));
    }

    #[test]
    fn a_file_that_is_there_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.csv");
        fs::write(&path, "mine").unwrap();
        assert!(Csv::create(&path).unwrap_err().to_string().contains("is there already"));
        assert!(Csv::resume(&path, 3).is_ok(), "a header torn in its first write");
        fs::write(&path, "mine\n1,2\n").unwrap();
        assert!(Csv::resume(&path, 3).unwrap_err().to_string().contains("line 1"));
        fs::write(&path, format!("{}\n1,2\n", header())).unwrap();
        assert!(Csv::resume(&path, 3).unwrap_err().to_string().contains("line 2"));
    }

    #[test]
    fn an_unknown_tag_is_refused_and_writes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.csv");
        let mut csv = Csv::create(&path).unwrap();
        let mut record = record(1);
        record.scalar(Run::Tracker, "no_such_tag", 1.0);
        assert!(csv.record(&record).unwrap_err().to_string().contains("no_such_tag"));
        assert_eq!(cells(&path, "update").len(), 0);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_an_error_not_a_panic() {
        let mut csv = Csv { file: HeldFile::append(Path::new("/dev/full")).unwrap() };
        let error = csv.record(&record(1)).unwrap_err().to_string();
        assert!(error.starts_with("cannot write /dev/full"), "{error}");
    }
}
