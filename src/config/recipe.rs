//! What is filled in where a configuration leaves it out: the recipe for training, and its length.
//!
//! Keys whose default does not depend on others have it in their sections. These depend on what else is given: a learning
//! rate belongs to an update rule, and a run without a length needs something that ends it.

use toml::{Table, Value};

use super::keys;
use super::keys::Preset;
use super::short_forms::get;

/// Share of the rows that is held out for early stopping where nothing is said of length.
const VALIDATION: f64 = 0.1;

/// Learning rate of gradient ascent where none is given (`examples/defaults.rs`).
pub const RATE: f64 = 0.1;

/// Fills in what is left out of a verified configuration, and drops sections that are switched off.
pub fn complete(config: &mut Table) {
    let length_left = ["training.updates", "training.epochs"].map(|key| get(config, key).is_none());
    if length_left == [true, true] {
        fill(config, "training.updates", preset("training.updates"));
        fill(config, "training.early_stopping", Value::Table(Table::new()));
        fill(config, "data.validation_fraction", Value::Float(VALIDATION));
    }
    fill(config, "training.batch", preset("training.batch"));
    fill(config, "training.gradient", preset("training.gradient"));
    if get(config, "training.learning_rate.initial").is_none() {
        fill(config, "training.centering", Value::Boolean(true));
        let rate = match get(config, "training.update.rule").and_then(Value::as_str) {
            None | Some("sgd") => RATE,
            Some("adam") => 0.005,
            Some(_) => 1e-4,
        };
        fill(config, "training.learning_rate.initial", Value::Float(rate));
        let mut falling = Table::new();
        falling.insert("kind".into(), Value::String("linear-to-zero".into()));
        fill(config, "training.learning_rate.schedule", Value::Table(falling));
    }
    let Some(Value::Table(training)) = config.get_mut("training") else { return };
    for section in ["early_stopping", "pretraining"] {
        if training.get(section).is_some_and(Value::is_bool) {
            training.remove(section);
        }
    }
}

/// Gives a key a value if it has none.
fn fill(config: &mut Table, name: &str, value: Value) {
    let (first, rest) = name.split_once('.').map_or((name, None), |(a, b)| (a, Some(b)));
    let Some(rest) = rest else {
        config.entry(first).or_insert(value);
        return;
    };
    let section = config.entry(first).or_insert_with(|| Value::Table(Table::new()));
    if let Value::Table(section) = section {
        fill(section, rest, value);
    }
}

/// The default in the table of keys.
pub fn preset(name: &str) -> Value {
    let text = match keys::find(name).map(|key| key.default) {
        Some(Preset::Is(text)) => text,
        _ => return Value::Table(Table::new()),
    };
    toml::from_str::<Table>(&format!("value = {text}"))
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| Value::Table(Table::new()))
}
