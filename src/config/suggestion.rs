//! A configuration that fits a data set: what `ztrack init` writes and what `ztrack train my.csv` trains with.

use std::fmt::Write as _;

use toml::Value;

use super::SCHEMA_FILE;
use crate::data::{Description, Source};

/// Fewest rows of which some are held out.
const FEWEST: usize = 20;
/// Hidden units: a multiple of this, at least as many.
const UNIT: usize = 16;
/// As many as columns up to here, then a quarter of them where that is more, and at most so many (docs/results.md, Number of hidden units).
const AS_COLUMNS: usize = 128;
const LARGE: usize = 512;
/// Labels shown in a comment.
const LABELS: usize = 10;

/// What a configuration is suggested from.
#[derive(Clone, Debug)]
pub struct Suggestion<'a> {
    /// As `data.source` takes it: a name, or the path of a file.
    pub source: &'a str,
    /// Other keys of `data`, in full, with their values.
    pub settings: &'a [(&'a str, Value)],
    /// The training rows.
    pub data: &'a Description,
    /// Whether the source brings validation and test rows.
    pub brings: [bool; 2],
}

impl Suggestion<'_> {
    /// The configuration, commented.
    pub fn toml(&self) -> String {
        let data = self.data;
        let mut text = format!(
            "#:schema {SCHEMA_FILE}\n\
             # For help in an editor: ztrack config schema > {SCHEMA_FILE}\n\
             # {} rows, {}, {} different rows.\n",
            data.rows,
            match (&data.kinds, data.columns - data.real_columns, data.real_columns) {
                (Some(kinds), ..) => kinds.clone(),
                (None, all, 0) => format!("{all} columns, {:.1} % ones", 100.0 * data.density),
                (None, all, real) => format!("{all} columns, {real} of them real numbers"),
            },
            data.distinct_rows
        );
        if data.constant_columns > 0 {
            let _ =
                writeln!(text, "# {} columns are the same in every row.", data.constant_columns);
        }
        if let Some(variables) = &data.variables {
            let _ = writeln!(text, "# {variables} (data.groups = false).");
        }
        if data.kind == "plus-minus" {
            text += "# Cells are -1 and +1, and so are the units of both layers (data.variables = \"bits\": 0 and 1).\n";
        }
        if let Some(labels) = &data.labels {
            let shown: Vec<_> = labels
                .iter()
                .take(LABELS)
                .map(|(label, rows)| format!("{label}: {rows}"))
                .collect();
            let more = if labels.len() > LABELS { ", ..." } else { "" };
            let _ = writeln!(text, "# Labels, not trained on: {}{more}.", shown.join(", "));
        }
        text += "# What a key means: ztrack config explain KEY; all keys: ztrack config explain.\nseed = 1\n\n[data]\n";
        let (mut of_source, mut others) = (String::new(), String::new());
        for (key, value) in self.settings {
            match key.strip_prefix("data.source.") {
                Some(key) => of_source += &format!(", {key} = {value}"),
                None => others += &format!("{} = {value}\n", key.trim_start_matches("data.")),
            }
        }
        let given = |key: &str| self.settings.iter().any(|(given, _)| *given == key);
        let name = as_toml(self.source);
        let _ = match (of_source.as_str(), Source::NAMES.contains(&self.source)) {
            ("", _) => writeln!(text, "source = {name}"),
            (more, true) => writeln!(text, "source = {{ name = {name}{more} }}"),
            (more, _) => writeln!(text, "source = {{ name = \"files\", train = {name}{more} }}"),
        };
        text += &others;
        if data.kind == "intensity" && !given("data.binarization") {
            text += "binarization = 0.5 # a unit is 1 where its grey level is above this; or \"stochastic\"\n";
        }
        let [validation, test] = self.brings;
        let few = data.rows < FEWEST && !validation;
        if few {
            text += "# Too few rows to hold some out: no early stopping, and no likelihood of rows that were not trained on.\n";
        } else {
            if !validation && !given("data.validation_fraction") {
                text += "validation_fraction = 0.1 # of the rows, to decide when to stop\n";
            }
            if !test && !given("data.test_fraction") {
                text += "test_fraction = 0.1 # of the rows, looked at once, at the end\n";
            }
        }
        let columns = data.columns.min(AS_COLUMNS).max(data.columns / 4);
        let hidden = columns.next_multiple_of(UNIT).clamp(UNIT, LARGE);
        let _ = writeln!(
            text,
            "\n[model]\nhidden = {hidden} # more units model more, and take longer; up to about 20 log Z is exact\n\n[training]"
        );
        text += "preset = \"good\" # or \"fast\", \"best\": length, gradient and learning rate, where they are not given here\n";
        let _ = writeln!(text, "batch = {}", (data.rows / 10).clamp(1, 100));
        match few {
            true => text += "updates = 1000\n",
            false => {
                text += "# Early stopping decides on the length, or the preset; to say it: updates = 20000, or epochs = 50.\n";
            }
        }
        text
    }
}

/// A data set's name, or the path of a file, as `data.source` takes it. What looks like no path is made to look like one.
pub fn as_toml(source: &str) -> String {
    match Source::NAMES.contains(&source) || source.contains(['.', '/', '\\']) {
        true => Value::String(source.into()).to_string(),
        false => Value::String(format!("./{source}")).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::data::{Dataset, Values, describe};
    use crate::engine::BitMatrix;

    #[test]
    fn suggestions_can_be_read_and_fit() {
        for (rows, columns, hidden, batch) in
            [(5, 9, 16, 1), (300, 64, 64, 30), (3000, 180, 128, 100), (9, 784, 208, 1)]
        {
            let bits = BitMatrix::from_fn(rows, columns, |i, j| (i + j) % 3 == 0);
            let labels = Some((0..rows as i64).collect());
            let data = Dataset::new("x", Values::Binary(bits), labels, None).unwrap();
            for source in ["my.csv", "a folder/my \"own\" file", "plain", "dna"] {
                let data = &describe(&data);
                let suggestion = Suggestion { source, settings: &[], data, brings: [false, false] };
                let text = suggestion.toml();
                let config = Config::parse(&text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
                assert_eq!((config.model.hidden, config.training.batch), (hidden, batch));
                assert_eq!(config.training.early_stopping.is_some(), rows >= FEWEST);
                assert_eq!(matches!(config.data.source, Source::Dna {}), source == "dna");
                assert!(text.contains(&format!("# {rows} rows, {columns} columns")), "{text}");
            }
        }
    }
}
