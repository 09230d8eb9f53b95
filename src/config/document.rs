//! The text of a configuration as a table, and where each of its keys was given.

use std::collections::BTreeMap;

use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

use super::table as keys;
use crate::error::{Error, Result};

/// Characters of a source line shown in a message.
const SHOWN: usize = 80;

/// Where the keys of a configuration were given: a line of a file, or `--set`.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Name of the file for messages; empty for text that is in none.
    name: String,
    /// By dotted key, as people read them.
    places: BTreeMap<String, Place>,
}

#[derive(Clone, Debug)]
enum Place {
    Line(usize),
    /// The whole setting.
    Setting(String),
}

impl Places {
    /// Text as a table. `name`: of the file, for messages; empty for text that is in none.
    ///
    /// # Errors
    /// TOML that cannot be read, with its line.
    pub(super) fn read(text: &str, name: &str) -> Result<(Table, Self)> {
        let mut places = Self { name: name.into(), places: BTreeMap::new() };
        let parsed = DeTable::parse(text).map_err(|error| places.syntax(&error, text))?;
        // Line ends up to a byte, by bisection: one pass for a file of any length.
        let ends: Vec<usize> =
            text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(i, _)| i).collect();
        let line = |at: usize| ends.partition_point(|&end| end < at) + 1;
        let table = places.table(parsed.into_inner(), "", &line);
        Ok((table, places))
    }

    fn table(&mut self, table: DeTable<'_>, prefix: &str, line: &dyn Fn(usize) -> usize) -> Table {
        let mut out = Table::new();
        for (key, value) in table {
            let name = format!("{prefix}{}", key.get_ref());
            self.places.insert(name.clone(), Place::Line(line(key.span().start)));
            let value = match value.into_inner() {
                DeValue::Table(table) => Value::Table(self.table(table, &(name + "."), line)),
                value => plain(value),
            };
            out.insert(key.into_inner().into_owned(), value);
        }
        out
    }

    /// An error of a key, with its place where it is known.
    pub(super) fn error(&self, key: &str, problem: impl Into<String>) -> Error {
        self.locate(Error::config(key, problem))
    }

    /// The error with the place of its key, where it is that of a key.
    pub fn locate(&self, error: Error) -> Error {
        match error {
            Error::Config { field, place: None, problem } => {
                let place = Some(self.of(&field));
                Error::Config { field, place, problem }
            }
            other => other,
        }
    }

    /// The place of a key and the key, as in `my.toml:7: model.hidden`.
    fn of<'k>(&self, key: &'k str) -> String {
        let above = |name: &&'k str| name.rsplit_once('.').map(|(section, _)| section);
        let mut names = std::iter::successors(Some(key), above);
        match names.find_map(|name| Some((name, self.places.get(name)?))) {
            Some((name, Place::Setting(setting))) if name == key => format!("--set {setting}"),
            Some((_, Place::Setting(setting))) => format!("--set {setting}: {key}"),
            Some((_, Place::Line(line))) => format!("{}: {key}", self.line(*line)),
            None if self.name.is_empty() => key.into(),
            None => format!("{}: {key}", self.name),
        }
    }

    /// A line of the text, counted from 1.
    fn line(&self, number: usize) -> String {
        match self.name.as_str() {
            "" => format!("line {number}"),
            name => format!("{name}:{number}"),
        }
    }

    fn syntax(&self, error: &toml::de::Error, text: &str) -> Error {
        let line = match error.span() {
            Some(span) => {
                let before = &text.as_bytes()[..text.len().min(span.start)];
                before.iter().filter(|&&byte| byte == b'\n').count()
            }
            // A key of too many parts has none: it is in the line with which the error begins.
            None => {
                let ends: Vec<usize> = text.match_indices('\n').map(|(end, _)| end).collect();
                let read = |end| DeTable::parse(&text[..end]);
                ends.partition_point(|&end| !read(end).is_err_and(|error| error.span().is_none()))
            }
        };
        let source = text.lines().nth(line).unwrap_or_default().trim();
        let source: String = source.chars().take(SHOWN).collect();
        let word = source.split_once('=').map_or("", |(_, value)| value.trim());
        let bare = word.starts_with(|c: char| c.is_ascii_alphabetic());
        let message = match error.message() {
            _ if bare && !word.contains('"') => format!("text stands in quotes, as in \"{word}\""),
            deep if deep.contains("recurs") => "it is nested too deep".into(),
            message => message.replace('\n', ", "),
        };
        Error::config_at(self.line(line + 1), format!("`{source}` is no TOML: {message}"))
    }

    /// Applies one `key=value` override; a value that is not TOML is taken as a string.
    ///
    /// # Errors
    /// What is not of that form, and a key below one that has no keys.
    pub(super) fn apply(&mut self, table: &mut Table, setting: &str) -> Result<()> {
        let (key, value) = key_and_value(setting)?;
        // It gives all keys below this one too.
        let below = format!("{key}.");
        self.places.retain(|name, _| !name.starts_with(&below));
        self.places.insert(key.into(), Place::Setting(setting.into()));
        self.insert(table, key, value)
    }

    /// Gives a key a value.
    ///
    /// # Errors
    /// A key that is not known.
    pub(super) fn insert(&self, table: &mut Table, key: &str, value: Value) -> Result<()> {
        let known = keys::find(key);
        if known.is_none() {
            return Err(self.error(key, keys::unknown(key)));
        }
        let (sections, last) = key.rsplit_once('.').unwrap_or(("", key));
        let mut section = table;
        for part in sections.split('.').filter(|part| !part.is_empty()) {
            let entry = section.entry(part).or_insert_with(|| Value::Table(Table::new()));
            if !entry.is_table() {
                // A word that stood for the section; what is set now is one of its keys.
                *entry = Value::Table(Table::new());
            }
            let Some(inner) = entry.as_table_mut() else { return Ok(()) };
            section = inner;
        }
        // Length may be given either way; the override wins.
        match key {
            "training.epochs" => drop(section.remove("updates")),
            "training.updates" => drop(section.remove("epochs")),
            _ => {}
        }
        match (known.and_then(|key| key.part_meant(&value)), section.get_mut(last)) {
            // The rest of the section stays as it is.
            (Some((part, value)), Some(Value::Table(there))) => {
                there.insert(part.into(), value);
            }
            _ => {
                section.insert(last.into(), value);
            }
        }
        Ok(())
    }
}

/// Longest override, in bytes.
const LONGEST_SETTING: usize = 1 << 16;

/// Key and value of a setting.
pub(crate) fn key_and_value(setting: &str) -> Result<(&str, Value)> {
    let problem = |problem: &str| Err(Error::config_at(format!("--set {setting}"), problem));
    let Some((key, value)) = setting.split_once('=') else {
        return problem("is not of the form key=value, as in --set training.epochs=5");
    };
    // TOML after a line end would be dropped without a word.
    if setting.contains('\n') || setting.len() > LONGEST_SETTING {
        return problem("is not one line of at most 65536 bytes");
    }
    let (key, value) = (key.trim(), value.trim());
    if key.is_empty() {
        return problem("names no key, as --set training.epochs=5 does");
    }
    let value = toml::from_str::<Table>(&format!("value = {value}"))
        .ok()
        .and_then(|mut parsed| parsed.remove("value"))
        // `.4` and `4.` are no numbers of TOML.
        .or_else(|| value.parse().ok().filter(|_| value.contains('.')).map(Value::Float))
        .unwrap_or_else(|| Value::String(value.into()));
    Ok((key, value))
}

/// A parsed value. Whole numbers beyond TOML's become their digits, as seeds are written there.
fn plain(value: DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.into_owned()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or_else(|_| Value::String(number.as_str().into()), Value::Integer),
        DeValue::Float(number) => {
            number.as_str().parse().map_or_else(|_| Value::Float(f64::NAN), Value::Float)
        }
        DeValue::Boolean(flag) => Value::Boolean(flag),
        DeValue::Datetime(time) => Value::Datetime(time),
        DeValue::Array(array) => {
            Value::Array(array.into_iter().map(|value| plain(value.into_inner())).collect())
        }
        DeValue::Table(table) => Value::Table(
            table
                .into_iter()
                .map(|(key, value)| (key.into_inner().into_owned(), plain(value.into_inner())))
                .collect(),
        ),
    }
}
