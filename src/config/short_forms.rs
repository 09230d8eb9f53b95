//! Short forms: a word, a number or `false` where a section can stand, made into the section.

use toml::{Table, Value};

use super::table;
use crate::keys::{Key, LeftOut, Short, Takes};

impl Key {
    /// The one key of this section, and its value, that a short form stands for.
    pub(super) fn part_meant(&self, value: &Value) -> Option<(&'static str, Value)> {
        match (&self.takes, value) {
            (Takes::Section(Short::Value(part)), Value::Integer(_) | Value::Float(_)) => {
                Some((part, value.clone()))
            }
            (Takes::Section(Short::Off(part)), Value::Boolean(false)) => {
                Some((part, Value::Integer(0)))
            }
            _ => None,
        }
    }

    /// What a short form stands for; `None` for what is none, or not one of this key.
    fn meant(&self, value: &Value) -> Option<Value> {
        let Takes::Section(short) = &self.takes else { return None };
        if let Some((part, value)) = self.part_meant(value) {
            return Some(one(part, value));
        }
        match (short, value) {
            (Short::Off(_) | Short::Optional, Value::Boolean(true)) => {
                Some(Value::Table(Table::new()))
            }
            (Short::Choice { tag, words, .. }, Value::String(word)) => {
                if words.contains(&word.as_str()) {
                    Some(one(tag, value.clone()))
                } else if self.name == "data.source" && word.contains(['.', '/', '\\']) {
                    // The path of a file, and not the name of a data set.
                    let files = Value::String("files".into());
                    let keys = [("name".into(), files), ("train".into(), value.clone())];
                    Some(Value::Table(Table::from_iter(keys)))
                } else {
                    None
                }
            }
            (Short::Worded(words), Value::String(word)) => {
                let known = words.iter().find(|known| known.word == word)?;
                known.usual.map(|number| one(known.word, Value::Float(number)))
            }
            (Short::Worded(words), Value::Integer(_) | Value::Float(_)) => words
                .iter()
                .find(|known| known.usual.is_some())
                .map(|known| one(known.word, value.clone())),
            _ => None,
        }
    }
}

/// A section with one key.
pub fn one(key: &str, value: Value) -> Value {
    Value::Table(Table::from_iter([(key.into(), value)]))
}

/// Makes all short forms of a configuration into what they stand for. What cannot be understood stays as it is, to be reported
/// later in the user's own words.
pub fn expand(config: &mut Table) {
    for key in table::all() {
        let Some(value) = get_mut(config, &key.name) else { continue };
        if let Some(meant) = key.meant(value) {
            *value = meant;
        }
        if let Value::Table(section) = value {
            choose(key, section);
        }
    }
    // One redraw a sweep is a whole number.
    if let Some(Value::Float(repeats)) = get_mut(config, "tempering.beta_update.joint")
        && repeats.fract() == 0.0
    {
        let repeats = *repeats as i64;
        if let Some(value) = get_mut(config, "tempering.beta_update.joint") {
            *value = Value::Integer(repeats);
        }
    }
}

/// Where a section does not say which of its kinds it is: the usual one, or the first that has the keys which are given.
fn choose(key: &Key, section: &mut Table) {
    let Takes::Section(Short::Choice { tag, words }) = &key.takes else { return };
    let LeftOut::Is(default) = &key.default else { return };
    let Some(usual) = default.get(tag).and_then(Value::as_str) else { return };
    if section.contains_key(*tag) {
        return;
    }
    let fits = |word: &&&str| {
        section.keys().all(|name| {
            let mut named = table::below(&key.name).filter(|below| below.last() == name).peekable();
            named.peek().is_none() || named.any(|below| below.of.contains(*word))
        })
    };
    let chosen = [usual].iter().chain(words).find(fits).copied().unwrap_or(usual);
    section.insert((*tag).into(), Value::String(chosen.into()));
}

/// The value of a dotted key, to read or to change.
pub fn get_mut<'a>(config: &'a mut Table, name: &str) -> Option<&'a mut Value> {
    let (first, rest) = name.split_once('.').map_or((name, None), |(a, b)| (a, Some(b)));
    let value = config.get_mut(first)?;
    match rest {
        None => Some(value),
        Some(rest) => get_mut(value.as_table_mut()?, rest),
    }
}
