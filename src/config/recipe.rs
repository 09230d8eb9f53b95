//! What is filled in where a configuration leaves it out: the recipe for training, and its length.
//!
//! Keys whose default does not depend on others have it in their sections. These depend on what else is given: a learning
//! rate belongs to an update rule, and a run without a length needs something that ends it.

use toml::{Table, Value};

use super::keys;
use super::keys::LeftOut;
use super::short_forms::get;

/// Share of the rows that is held out for early stopping where nothing is said of length.
const VALIDATION: f64 = 0.1;

/// Learning rate of gradient ascent where nothing is said.
pub const RATE: f64 = 0.1;

/// The same for models of at most [`SMALL`] hidden units: they bear larger steps, and log Z is mostly enumerated. Where that is too
/// dear, as for 784 x 20, some tracked evaluations are in doubt (3 of 13 on MNIST); with hundreds of units half of them would be.
const SMALL_RATE: f64 = 0.5;
const SMALL: i64 = 20;

/// A recipe for training by its name: `training.preset` (`experiments/defaults.rs`, `experiments/nade_table`).
#[derive(Clone, Copy)]
struct Recipe {
    name: &'static str,
    /// Length of a run that nothing ends before, in updates.
    updates: i64,
    /// Learning rate of gradient ascent at the start.
    rate: f64,
}

const RECIPES: [Recipe; 3] = [
    Recipe { name: "fast", updates: 5000, rate: 2.0 * RATE },
    Recipe { name: "good", updates: 20_000, rate: RATE },
    Recipe { name: "best", updates: 100_000, rate: RATE },
];
const USUAL: Recipe = RECIPES[1];

impl Recipe {
    /// Takes the name out of a verified configuration, where one is given: what is filled in says it all.
    fn take(config: &mut Table) -> Option<Self> {
        let training = config.get_mut("training").and_then(Value::as_table_mut);
        let name = training.and_then(|training| training.remove("preset"))?;
        RECIPES.into_iter().find(|recipe| Some(recipe.name) == name.as_str())
    }

    /// Learning rate that goes with an update rule and a number of hidden units.
    fn rate(&self, rule: Option<&str>, hidden: i64) -> f64 {
        match rule {
            None | Some("sgd") if hidden <= SMALL => SMALL_RATE,
            None | Some("sgd") => self.rate,
            Some("adam") => 0.005,
            Some(_) => 1e-4,
        }
    }
}

/// Fills in what is left out of a verified configuration, and drops sections that are switched off.
pub fn complete(config: &mut Table) {
    let asked = Recipe::take(config);
    let recipe = asked.unwrap_or(USUAL);
    let length_left = ["training.updates", "training.epochs"].map(|key| get(config, key).is_none());
    if length_left == [true, true] {
        fill(config, "training.updates", Value::Integer(recipe.updates));
        fill(config, "training.early_stopping", Value::Table(Table::new()));
        fill(config, "data.validation_fraction", Value::Float(VALIDATION));
    }
    fill(config, "training.batch", default_of("training.batch"));
    fill(config, "training.gradient", default_of("training.gradient"));
    // A rate alone, without a recipe's name, is a plain rate: constant, and of the plain gradient.
    if asked.is_some() || get(config, "training.learning_rate.initial").is_none() {
        fill(config, "training.centering", Value::Boolean(true));
        let rule = get(config, "training.update.rule").and_then(Value::as_str);
        let hidden = get(config, "model.hidden").and_then(Value::as_integer);
        let rate = recipe.rate(rule, hidden.unwrap_or(i64::MAX));
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
fn default_of(name: &str) -> Value {
    let text = match keys::find(name).map(|key| key.default) {
        Some(LeftOut::Is(text)) => text,
        _ => return Value::Table(Table::new()),
    };
    toml::from_str::<Table>(&format!("value = {text}"))
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| Value::Table(Table::new()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys::Takes;
    use crate::config::tests::{SHORT, parse, refused};
    use crate::training::Schedule;

    /// The table of keys names the recipes and their lengths.
    #[test]
    fn recipes_are_those_of_the_table() {
        let names: Vec<&str> = RECIPES.iter().map(|recipe| recipe.name).collect();
        let key = keys::find("training.preset").unwrap();
        assert!(matches!(key.takes, Takes::Word(words) if words == names), "{names:?}");
        let usual = format!("\"{}\"", USUAL.name);
        assert!(matches!(key.default, LeftOut::Is(default) if default == usual));
        let length = keys::find("training.updates").unwrap().default_text();
        for recipe in RECIPES {
            let told = format!("\"{}\" ({} updates", recipe.name, recipe.updates);
            assert!(key.meaning.contains(&told), "{told}");
            assert!(length.contains(&recipe.updates.to_string()), "{length}");
        }
    }

    #[test]
    fn presets_fill_in_what_is_left_out_and_leave_no_trace() {
        let of = |settings: &[&str]| parse(SHORT, settings);
        assert_eq!(of(&[]), of(&["training.preset=good"]));
        let [fast, good, best] =
            ["fast", "good", "best"].map(|name| of(&[&format!("training.preset={name}")]).training);
        assert!(fast.updates < good.updates && good.updates < best.updates);
        let rate = |name: &str, hidden: &str| {
            let settings = [format!("training.preset={name}"), format!("model.hidden={hidden}")];
            of(&[&settings[0], &settings[1]]).training.learning_rate.initial
        };
        assert!(rate("fast", "21") > rate("good", "21"));
        assert!(rate("good", "20") > rate("good", "21"));
        assert_eq!(good.gradient, best.gradient);
        // What is given goes before it.
        let given =
            of(&["training.preset=best", "training.epochs=3", "training.learning_rate=0.3"]);
        assert_eq!((given.training.epochs, given.training.updates), (Some(3), None));
        assert_eq!(given.training.learning_rate.initial, 0.3);
        // Without its name a given rate is a plain one.
        assert!(
            given.training.centering && !of(&["training.learning_rate=0.3"]).training.centering
        );
        assert_eq!(given.training.learning_rate.schedule, Schedule::LinearToZero {});
        let written = of(&["training.preset=best"]).to_toml().unwrap();
        assert!(!written.contains("preset"), "{written}");
        let error = refused(SHORT, &["training.preset=better"]);
        assert!(error.contains("fast") && error.contains("best"), "{error}");
    }
}
