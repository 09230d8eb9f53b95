//! metrics.csv as columns.

use std::collections::BTreeMap;
use std::path::Path;

use super::page::with_error;
use crate::error::Result;
use crate::limited::read_text_of_run;
use crate::record::tags;
use crate::training::TrainingState;

/// Longest file that is shown, in bytes: some million evaluations.
const LONGEST: u64 = 1 << 30;

/// Rise of the validation rows, in standard errors of their mean over rows, that is worth a longer run.
const WORTHWHILE: f64 = 0.1;

/// The columns of a run; a cell without a value is NaN.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    rows: usize,
    numbers: BTreeMap<String, Vec<f64>>,
    doubts: Vec<String>,
    /// Whether the training fails.
    failing: Vec<bool>,
    /// Lines that are no rows, or hold what is no number.
    damaged: Vec<u64>,
}

impl Metrics {
    /// Reads a file, of this version or another, that may be growing: an incomplete last line is left out. A missing file has no rows.
    ///
    /// # Errors
    /// It cannot be read, is too long or no regular file.
    pub fn read(path: &Path) -> Result<Self> {
        let text = read_text_of_run(path, LONGEST, "the metrics of a run")?.unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        Ok(Self::of(whole))
    }

    fn of(text: &str) -> Self {
        let mut reader = csv::ReaderBuilder::new().from_reader(text.as_bytes());
        let names: Vec<String> =
            reader.headers().map(|row| row.iter().map(Into::into).collect()).unwrap_or_default();
        let mut metrics = Self::default();
        for (line, row) in (2..).zip(reader.records()) {
            let Ok(row) = row else {
                metrics.damaged.push(line);
                continue;
            };
            metrics.rows += 1;
            let bad = |(name, cell): (&String, &str)| {
                !cell.is_empty() && cell.parse::<f64>().is_err() && tags::is_number(name)
            };
            if names.iter().zip(&row).any(bad) {
                metrics.damaged.push(line);
            }
            for (name, cell) in names.iter().zip(&row) {
                match name.as_str() {
                    "doubts" => metrics.doubts.push(cell.into()),
                    "training" => {
                        metrics.failing.push(cell == TrainingState::Failing.name());
                    }
                    _ => {
                        let value = cell.parse().unwrap_or(f64::NAN);
                        metrics.numbers.entry(name.clone()).or_default().push(value);
                    }
                }
            }
        }
        metrics
    }

    /// What could not be read, in words.
    pub fn problem(&self) -> Option<String> {
        let first = self.damaged.first()?;
        Some(format!(
            "{} of its lines cannot be read, the first is line {first}",
            self.damaged.len()
        ))
    }

    /// Number of evaluations.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The value of an evaluation, if it has one.
    pub fn value(&self, name: &str, row: usize) -> Option<f64> {
        self.numbers.get(name)?.get(row).copied().filter(|value| value.is_finite())
    }

    /// The update of an evaluation.
    pub fn update(&self, row: usize) -> f64 {
        self.value("update", row).unwrap_or(f64::NAN)
    }

    /// Whether validation rows rose in the last quarter of the run, by more than a tenth of their error.
    pub fn rises_late(&self) -> bool {
        let points = self.points("validation_log_likelihood");
        let mean = |from: usize, to: usize| {
            let part = &points[from * points.len() / 4..to * points.len() / 4];
            part.iter().map(|(_, value)| value).sum::<f64>() / part.len() as f64
        };
        let error = self.last("validation_log_likelihood_data_std_error").unwrap_or(0.0);
        mean(3, 4) - mean(2, 3) > WORTHWHILE * error
    }

    /// All values of a column against the update.
    pub fn points(&self, name: &str) -> Vec<(f64, f64)> {
        self.rows_with(name).map(|row| (self.update(row), self.number(name, row))).collect()
    }

    /// Evaluations that have a value.
    pub(crate) fn rows_with<'a>(&'a self, name: &'a str) -> impl Iterator<Item = usize> + 'a {
        (0..self.rows).filter(move |&row| self.value(name, row).is_some())
    }

    /// Whether the training fails at an evaluation.
    pub(crate) fn is_failing(&self, row: usize) -> bool {
        self.failing.get(row).copied().unwrap_or(false)
    }

    /// Whether decisions go by an evaluation. Runs of older versions have tracked values only.
    pub(crate) fn decides(&self, row: usize) -> bool {
        self.value("decides", row).or_else(|| self.value("sound", row)) == Some(1.0)
    }

    /// The value of an evaluation, or NaN.
    pub fn number(&self, name: &str, row: usize) -> f64 {
        self.value(name, row).unwrap_or(f64::NAN)
    }

    /// The newest value of a column.
    pub fn last(&self, name: &str) -> Option<f64> {
        (0..self.rows).rev().find_map(|row| self.value(name, row))
    }

    /// The newest value of a column with its newest standard error, in words.
    pub fn latest(&self, name: &str) -> Option<String> {
        Some(with_error(self.last(name)?, self.last(&format!("{name}_std_error"))?))
    }

    /// Short names of doubts, with the number of evaluations that had them, most frequent first.
    pub fn doubts(&self) -> Vec<(String, usize)> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for name in self.doubts.iter().flat_map(|names| names.split_whitespace()) {
            *counts.entry(name).or_default() += 1;
        }
        let mut counts: Vec<_> =
            counts.into_iter().map(|(name, count)| (name.into(), count)).collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts
    }

    /// Differences of log Z, tracked minus audited, with their standard errors, and in these.
    pub fn audits(&self) -> Vec<Audit> {
        let audit = |row| {
            let exact = self.value("exact_log_z", row);
            let value = exact.or_else(|| self.value("ais_log_z", row))?;
            Some(Audit {
                update: self.update(row),
                value,
                std_error: self.value("ais_log_z_std_error", row).unwrap_or(0.0),
                exact: exact.is_some(),
                tracked: self.value("log_z", row)?,
                tracked_std_error: self.number("log_z_std_error", row),
                in_errors: self.number("audit_difference_in_errors", row),
                row,
            })
        };
        (0..self.rows).filter_map(audit).collect()
    }
}

/// log Z computed independently, beside the tracked value.
#[derive(Clone, Copy, Debug)]
pub struct Audit {
    /// The update.
    pub update: f64,
    /// The independent value.
    pub value: f64,
    /// Its standard error; 0 for exact values.
    pub std_error: f64,
    /// Whether it is by enumeration.
    pub exact: bool,
    /// Tracked log Z.
    pub tracked: f64,
    /// Its standard error.
    pub tracked_std_error: f64,
    /// The difference in combined standard errors.
    pub in_errors: f64,
    /// The evaluation.
    pub row: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twelve evaluations with an error of .5 over rows: a rise in the last quarter by more than .05, a smaller one, and one that was earlier.
    #[test]
    fn a_late_rise_is_one_that_is_worth_a_longer_run() {
        let rises = |step: f64, at: usize| {
            let line = |i: usize| format!("{i},{},0.5\n", if i >= at { step } else { 0.0 });
            let head =
                "update,validation_log_likelihood,validation_log_likelihood_data_std_error\n";
            Metrics::of(&(head.to_string() + &(0..12).map(line).collect::<String>())).rises_late()
        };
        assert_eq!([rises(0.06, 9), rises(0.04, 9), rises(1.0, 6)], [true, false, false]);
        assert!(!Metrics::of("update,validation_log_likelihood\n").rises_late());
    }

    #[test]
    fn what_is_missing_torn_or_unknown_is_left_out() {
        let text = "update,log_z,doubts,exact_log_z,new_column\n0,1.5,,NaN,\n5,,lag drift,2,7\n10,1.25,lag,,x\n15,3";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.csv");
        assert_eq!(Metrics::read(&path).unwrap().rows(), 0);
        std::fs::write(&path, text).unwrap();
        let metrics = Metrics::read(&path).unwrap();
        assert_eq!(metrics.rows(), 3);
        assert_eq!(metrics.points("log_z"), [(0.0, 1.5), (10.0, 1.25)]);
        assert_eq!(metrics.last("log_z"), Some(1.25));
        assert_eq!(metrics.last("new_column"), Some(7.0));
        assert_eq!(metrics.last("nothing"), None);
        assert_eq!(metrics.doubts(), [("lag".into(), 2), ("drift".into(), 1)]);
        assert!(metrics.audits().is_empty(), "an audit beside no tracked value is none");
    }
}
