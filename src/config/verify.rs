//! Holds a configuration against the table of keys, so that mistakes are reported in the words of the user's file.

use toml::{Table, Value};

use super::document::Places;
use super::table::{self, below, is_of, kind_and_sweeps};
use crate::error::{Error, Result};
use crate::keys::{Key, LeftOut, Short, Takes};
use crate::nearest::meant;

/// Characters of a value shown in a message.
const SHOWN: usize = 60;

/// Checks that all keys of a section are known, that each has a value of its kind and in its bounds, and that none is missing that must be
/// given. The section without a name is the whole configuration.
///
/// # Errors
/// The first mistake, with its place, what was seen, what is wanted and an example.
pub fn verify(table: &Table, prefix: &str, places: &Places) -> Result<()> {
    // A kind that does not exist has no keys: it comes before those.
    let tag = table::tag(prefix);
    if let Some(key) = below(prefix).find(|key| Some(key.last()) == tag)
        && let Some(value) = table.get(key.last())
    {
        check(key, value, places)?;
    }
    for (last, value) in table {
        let mut named = below(prefix).filter(|key| key.last() == last).peekable();
        if named.peek().is_none() {
            let name = if prefix.is_empty() { last.clone() } else { format!("{prefix}.{last}") };
            return Err(places.error(&name, table::unknown(&name)));
        }
        match named.find(|key| is_of(key, table)) {
            Some(key) => check(key, value, places)?,
            None => return Err(of_another_kind(table, prefix, last, places)),
        }
    }
    for key in below(prefix).filter(|key| is_of(key, table)) {
        if key.default == LeftOut::Required && !table.contains_key(key.last()) {
            // Of a section that is not there, the key in it that is needed.
            let key = below(&key.name).find(|key| key.default == LeftOut::Required).unwrap_or(key);
            let (section, name) = (key.section(), key.last());
            let problem = format!(
                "missing: {} Example: {name} = {}, in [{section}]",
                key.meaning, key.example
            );
            return Err(places.error(&key.name, problem));
        }
    }
    Ok(())
}

fn of_another_kind(table: &Table, prefix: &str, last: &str, places: &Places) -> Error {
    let tag = table::tag(prefix).unwrap_or_default();
    let kind = table.get(tag).and_then(Value::as_str).unwrap_or_default();
    let all: Vec<_> = below(prefix).filter(|key| is_of(key, table)).map(Key::last).collect();
    let meant = meant(last, all.iter().copied());
    let problem = format!("{tag} = \"{kind}\" has no such key{meant}; it has {}", all.join(", "));
    places.error(&format!("{prefix}.{last}"), problem)
}

fn check(key: &'static Key, value: &Value, places: &Places) -> Result<()> {
    match (&key.takes, value) {
        (Takes::Section(Short::Worded(_)), Value::Table(table)) if table.len() != 1 => {}
        (Takes::Section(_), Value::Table(table)) => return verify(table, &key.name, places),
        (_, Value::String(word)) if word == "auto" && matches!(key.default, LeftOut::Auto(_)) => {
            return Ok(());
        }
        (takes, value) if takes.accepts(value) => return Ok(()),
        _ => {}
    }
    Err(wrong(key, value, places))
}

fn wrong(key: &Key, value: &Value, places: &Places) -> Error {
    let shown = value.to_string().replace('\n', " ");
    let mut seen: String = shown.chars().take(SHOWN).collect();
    if seen.len() < shown.len() {
        seen += "...";
    }
    let words = key.takes.words();
    let word = value.as_str().unwrap_or_default();
    if let Some(part) = below(&key.name).find(|below| below.last() == word && words.contains(&word))
    {
        let problem = format!("\"{word}\" needs a value, as in {{ {word} = {} }}", part.example);
        return places.error(part.section(), problem);
    }
    let mut problem = match (&key.takes, value) {
        (Takes::Whole { most, .. }, Value::Integer(number)) if *number > *most as i64 => {
            format!("{seen} is more than {most}")
        }
        _ => format!("{seen} is not {}", key.wanted()),
    };
    problem += &meant(word, words);
    if let Some((kind, sweeps)) = kind_and_sweeps(word).filter(|_| key.name == "training.gradient")
    {
        problem += &format!("; {word} is {{ kind = \"{kind}\", sweeps = {sweeps} }}");
        return places.error(&key.name, problem);
    }
    if key.name == "data.source" {
        problem += "; a file is given by its path, as in \"./my.csv\"";
    }
    places.error(&key.name, format!("{problem}; example: {} = {}", key.last(), key.example))
}
