//! Holds a configuration against the table of keys, so that mistakes are told in the words of the user's file.

use toml::{Table, Value};

use super::document::Places;
use super::keys::{self, Key, LeftOut, Short, Takes, WordValue};
use crate::error::{Error, Result};
use crate::nearest::nearest;

/// Characters of a value shown in a message.
const SHOWN: usize = 60;

/// Checks that all keys are known, that each has a value of its kind, and that none is missing that must be given.
///
/// # Errors
/// The first mistake, with its place, what was seen, what is wanted and an example.
pub fn verify(config: &Table, places: &Places) -> Result<()> {
    section(config, "", None, places)
}

/// `choice`: what the section's own choice is, where it has one.
fn section(
    table: &Table,
    prefix: &str,
    choice: Option<(&str, &str)>,
    places: &Places,
) -> Result<()> {
    let exists =
        |key: &Key| key.of.is_empty() || choice.is_none_or(|(_, chosen)| key.of.contains(&chosen));
    for (name, value) in table {
        let name = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        let Some(key) = keys::find(&name) else {
            let suggestion = keys::suggestion(&name);
            return Err(places.error(&name, format!("there is no such key{suggestion}")));
        };
        if !exists(key) {
            let (tag, chosen) = choice.unwrap_or_default();
            let all = keys::all().filter(|other| other.section() == prefix && exists(other));
            let all: Vec<_> = all.map(Key::last).collect();
            let problem = format!(
                "{tag} = \"{chosen}\" has no such key{}; it has {}",
                meant(key.last(), all.iter().copied()),
                all.join(", ")
            );
            return Err(places.error(&name, problem));
        }
        check(key, value, places)?;
    }
    for key in keys::all().filter(|key| key.section() == prefix && exists(key)) {
        if matches!(key.default, LeftOut::Required) && !table.contains_key(key.last()) {
            // Of a section that is not there, the key in it that is needed.
            let needed = |below: &&Key| matches!(below.default, LeftOut::Required);
            let key = key.below().find(needed).unwrap_or(key);
            let (section, name) = (key.section(), key.last());
            return Err(places.error(
                key.name,
                format!(
                    "missing: {} Example: {name} = {}, in [{section}]",
                    key.meaning, key.example
                ),
            ));
        }
    }
    Ok(())
}

fn check(key: &'static Key, value: &Value, places: &Places) -> Result<()> {
    let right = match (key.takes, value) {
        (_, Value::String(word)) if word == "auto" && matches!(key.default, LeftOut::Auto(_)) => {
            true
        }
        (Takes::Whole(least), Value::Integer(number)) => {
            u64::try_from(*number).is_ok_and(|number| number >= least)
        }
        (Takes::Number, Value::Integer(_) | Value::Float(_))
        | (Takes::Flag, Value::Boolean(_))
        | (Takes::Text, Value::String(_)) => true,
        (Takes::Seed, Value::Integer(number)) => *number >= 0,
        (Takes::Seed, Value::String(digits)) => digits.parse::<u64>().is_ok(),
        (Takes::Numbers, Value::Array(list)) => {
            list.iter().all(|value| matches!(value, Value::Integer(_) | Value::Float(_)))
        }
        (Takes::Word(words), Value::String(word)) => words.contains(&word.as_str()),
        (Takes::Other { right, .. }, value) => right(value),
        (Takes::Section(Short::Optional), Value::Boolean(_)) => true,
        (Takes::Section(Short::Worded(words)), Value::String(word)) => words
            .iter()
            .any(|known| known.word == word && matches!(known.value, WordValue::Nothing)),
        (Takes::Section(short), Value::Table(table)) => {
            return inside(key, short, table, places);
        }
        _ => false,
    };
    if right { Ok(()) } else { Err(wrong(key, value, places)) }
}

fn inside(key: &'static Key, short: Short, table: &Table, places: &Places) -> Result<()> {
    let chosen = match short {
        Short::Choice { tag, .. } => match table.get(tag) {
            Some(Value::String(word)) => Some((tag, word.as_str())),
            _ => None,
        },
        _ => None,
    };
    // A kind that does not exist has no keys: it comes before those.
    if let Short::Choice { tag, .. } = short
        && let Some(value) = table.get(tag)
        && let Some(tag) = key.below().find(|below| below.last() == tag)
    {
        check(tag, value, places)?;
    }
    if matches!(short, Short::Worded(_)) && table.len() != 1 {
        return Err(wrong(key, &Value::Table(table.clone()), places));
    }
    section(table, key.name, chosen, places)
}

fn wrong(key: &Key, value: &Value, places: &Places) -> Error {
    let shown = value.to_string().replace('\n', " ");
    let mut seen: String = shown.chars().take(SHOWN).collect();
    if seen.len() < shown.len() {
        seen += "...";
    }
    let words: Vec<&str> = match key.takes {
        Takes::Word(words) | Takes::Section(Short::Choice { words, .. }) => words.to_vec(),
        Takes::Section(Short::Worded(words)) => words.iter().map(|known| known.word).collect(),
        _ => Vec::new(),
    };
    let word = value.as_str().unwrap_or_default();
    if let Some(part) = key.below().find(|below| below.last() == word && words.contains(&word)) {
        let problem = format!("\"{word}\" needs a value, as in {{ {word} = {} }}", part.example);
        return places.error(part.section(), problem);
    }
    let mut problem = format!("{seen} is not {}", key.wanted());
    problem += &meant(word, words.into_iter());
    if key.name == "data.source" {
        problem += "; a file is given by its path, as in \"./my.csv\"";
    }
    places.error(key.name, format!("{problem}; example: {} = {}", key.last(), key.example))
}

/// "; did you mean ...?" where one of the words is near.
fn meant<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> String {
    nearest(word, known).map_or(String::new(), |meant| format!("; did you mean {meant}?"))
}
