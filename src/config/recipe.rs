//! What is filled in where a configuration leaves it out: the recipe for training, and its length.
//!
//! Keys whose default does not depend on others have it in their sections. These depend on what else is given: a learning
//! rate belongs to an update rule, and a run without a length needs something that ends it.

use toml::{Table, Value};

use super::short_forms::{get_mut, one};
use super::table;
use crate::keys::{Key, LeftOut, Takes};

/// Share of the rows that is held out for early stopping where nothing is said of length.
const VALIDATION: f64 = 0.1;

/// Learning rate of gradient ascent where nothing is said.
pub const RATE: f64 = 0.1;

/// The same for models of at most [`SMALL`] hidden units: they bear larger steps, and log Z is mostly enumerated. Where that is too
/// dear, as for 784 x 20, some tracked evaluations are in doubt (3 of 13 on MNIST); with hundreds of units half of them would be.
const SMALL_RATE: f64 = 0.5;
const SMALL: i64 = 20;

/// A recipe for training by its name: `training.preset` (`experiments/defaults.rs`, `experiments/yardstick`).
#[derive(Clone, Copy)]
struct Recipe {
    name: &'static str,
    /// Length of a run that nothing ends before, in updates.
    updates: i64,
    /// Learning rate of gradient ascent at the start.
    rate: f64,
    /// Whether particles exchange states with tempered chains from the start.
    exchange: bool,
}

const RECIPES: [Recipe; 3] = [
    Recipe { name: "fast", updates: 5000, rate: 2.0 * RATE, exchange: false },
    Recipe { name: "good", updates: 20_000, rate: RATE, exchange: false },
    Recipe { name: "best", updates: 100_000, rate: RATE, exchange: true },
];
const USUAL: Recipe = RECIPES[1];

/// The key `training.preset`.
pub fn preset() -> Key {
    let [fast, good, best] = RECIPES.map(|recipe| recipe.updates);
    let meaning = format!(
        "What goes in for the length, the gradient and the learning rate where they are left out: \"fast\" ({fast} updates, larger \
         steps), \"good\" ({good} updates) or \"best\" ({best} updates, and `training.exchange` from the start). Given by name it also centers the gradient and lets the rate \
         fall to zero, where these are left out. \"best\" for a data file without `model.hidden` also chooses the size by trial runs (docs/choose-a-size.md). It is not written to the run's config.toml: what went in is."
    );
    let key = Key::new::<String>("training.preset", &[&meaning]);
    let takes = Takes::Word(RECIPES.map(|recipe| recipe.name).to_vec());
    Key { takes, ..key.otherwise("\"good\"").example("\"best\"") }
}

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
    let length_left =
        ["training.updates", "training.epochs"].map(|key| get_mut(config, key).is_none());
    if length_left == [true, true] {
        fill(config, "training.updates", Value::Integer(recipe.updates));
        fill(config, "training.early_stopping", Value::Table(Table::new()));
        fill(config, "data.validation_fraction", Value::Float(VALIDATION));
    }
    fill(config, "training", Value::Table(Table::new()));
    if recipe.exchange {
        fill(config, "training.exchange", Value::Boolean(true));
    }
    // A rate alone, without a recipe's name, is a plain rate: constant, and of the plain gradient.
    if asked.is_some() || get_mut(config, "training.learning_rate.initial").is_none() {
        fill(config, "training.centering", Value::Boolean(true));
        let hidden = get_mut(config, "model.hidden").and_then(|hidden| hidden.as_integer());
        let rule = get_mut(config, "training.update.rule").and_then(|rule| rule.as_str());
        let rate = recipe.rate(rule, hidden.unwrap_or(i64::MAX));
        fill(config, "training.learning_rate.initial", Value::Float(rate));
        let falling = one("kind", Value::String("linear-to-zero".into()));
        fill(config, "training.learning_rate.schedule", falling);
    }
    fill_defaults(config);
    let Some(Value::Table(training)) = config.get_mut("training") else { return };
    for section in ["early_stopping", "pretraining"] {
        if training.get(section).is_some_and(Value::is_bool) {
            training.remove(section);
        }
    }
}

/// Gives every key of the sections that are there its default.
fn fill_defaults(config: &mut Table) {
    for key in table::all() {
        let value = match &key.default {
            LeftOut::Is(value) => value.clone(),
            LeftOut::Auto(_) => Value::String("auto".into()),
            LeftOut::Required | LeftOut::Nothing(_) => continue,
        };
        let section = match key.section() {
            "" => Some(&mut *config),
            section => get_mut(config, section).and_then(Value::as_table_mut),
        };
        if let Some(section) = section.filter(|section| table::is_of(key, section)) {
            section.entry(key.last()).or_insert(value);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::{SHORT, parse, refused};
    use crate::training::Schedule;

    /// Defaults that depend on other keys are texts; they name the numbers of the recipes.
    #[test]
    fn texts_of_defaults_have_the_numbers_of_the_recipes() {
        let length = table::find("training.updates").unwrap().default_text();
        let rates = table::find("training.learning_rate.initial").unwrap().default_text();
        for recipe in RECIPES {
            assert!(length.contains(&recipe.updates.to_string()), "{length}");
            assert!(rates.contains(&recipe.rate.to_string()), "{rates}");
        }
        assert!(rates.contains(&SMALL_RATE.to_string()) && rates.contains(&SMALL.to_string()));
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
