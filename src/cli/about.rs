//! Description of a run, for TensorBoard's Text and HParams tabs.

use serde_json::Value;

use super::terminal;
use crate::config::Config;
use crate::data::Splits;
use crate::error::{Error, Result};
use crate::record::{About, Setting};

/// Fields by which runs are compared, and their columns; of a table its name, kind or first value is shown. TensorBoard sorts columns and
/// shows the first few, so the fields in which most runs differ have short names.
const SETTINGS: [(&str, &str); 13] = [
    ("data.source", "data"),
    ("training.gradient", "gradient"),
    ("model.hidden", "hidden"),
    ("training.learning_rate.initial", "learning_rate"),
    ("training.update", "rule"),
    ("training.learning_rate.schedule", "schedule"),
    ("seed", "seed"),
    ("tempering.chains", "tempering.chains"),
    ("tempering.temperatures", "tempering.temperatures"),
    ("tempering.sweeps", "tempering.sweeps"),
    ("training.batch", "training.batch"),
    ("training.centering", "training.centering"),
    ("training.weight_decay", "training.weight_decay"),
];

/// Describes the run that this command starts.
///
/// # Errors
/// A configuration that cannot be written, which is not expected.
pub fn about(config: &Config, splits: &Splits) -> Result<About> {
    let toml = config.to_toml()?;
    let invalid = |error| Error::Encoding(format!("cannot write the configuration: {error}"));
    let values = serde_json::to_value(config).map_err(invalid)?;
    let source = terminal::escaped(&values["data"]["source"].to_string());
    let mut data =
        format!("source: {}\n\n| rows | number | columns |\n|---|---|---|\n", code(&source));
    for (name, part) in splits.parts() {
        data += &format!("| {name} | {} | {} |\n", part.rows(), part.columns());
    }
    Ok(About {
        texts: vec![
            ("configuration", code(&toml)),
            ("data", data),
            ("version", format!("ztrack {}", env!("CARGO_PKG_VERSION"))),
            ("command", code(&terminal::command_line(std::env::args_os()))),
        ],
        settings: SETTINGS
            .into_iter()
            .filter_map(|(field, column)| Some((column, setting(at(&values, field)?)?)))
            .collect(),
    })
}

/// A block of Markdown that is shown without formatting.
fn code(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect::<String>()
}

fn at<'a>(values: &'a Value, field: &str) -> Option<&'a Value> {
    field.split('.').try_fold(values, |value, key| value.get(key))
}

fn setting(value: &Value) -> Option<Setting> {
    match value {
        Value::Null => None,
        Value::Bool(answer) => Some(Setting::Word(answer.to_string())),
        Value::Number(number) => number.as_f64().map(Setting::Number),
        Value::String(word) => Some(Setting::Word(word.clone())),
        Value::Array(_) => Some(Setting::Word(value.to_string())),
        Value::Object(table) => {
            let name = ["name", "kind", "rule"].iter().find_map(|key| table.get(*key));
            setting(name.or_else(|| table.values().next())?)
        }
    }
}
