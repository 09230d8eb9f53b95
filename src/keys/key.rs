//! One key, and how it is described.

use std::ops::{Bound, RangeBounds};

use serde::Serialize;
use toml::Value;

use super::{Described, LARGEST, Short, Takes};

/// One key.
#[derive(Clone, Debug)]
pub struct Key {
    /// Dotted, as `--set` takes it.
    pub name: String,
    /// What may stand behind it.
    pub takes: Takes,
    /// What it is where nothing is given.
    pub default: LeftOut,
    /// Unit of the value; empty where it has none.
    pub unit: &'static str,
    /// A value as one writes it in TOML.
    pub example: String,
    /// What it means, in a sentence or two.
    pub meaning: String,
    /// The choices of the section it lies in under which it exists, as in `["pcd"]`; empty for all.
    pub of: Vec<&'static str>,
}

/// What a key is where nothing is given.
#[derive(Clone, Debug, PartialEq)]
pub enum LeftOut {
    /// There is none: it must be given.
    Required,
    /// This value.
    Is(Value),
    /// `"auto"`: chosen by the program; how, for people.
    Auto(&'static str),
    /// Nothing; what that means, for people.
    Nothing(&'static str),
}

impl Key {
    /// A key that must be given; `docs`: the lines of its doc comment.
    pub fn new<T: Described>(name: &str, docs: &[&str]) -> Self {
        let meaning = docs.concat().trim().into();
        let (default, of) = (LeftOut::Required, Vec::new());
        let (unit, example) = ("", String::new());
        Self { name: name.into(), takes: T::takes(), default, unit, example, meaning, of }
    }

    /// Its default.
    pub fn default<T: Serialize>(self, value: &T) -> Self {
        let default = Value::try_from(value).map_or(LeftOut::Nothing("none"), LeftOut::Is);
        Self { default, ..self }
    }

    /// What is done where it is `"auto"`, which is its default.
    pub fn auto(self, how: &'static str) -> Self {
        Self { default: LeftOut::Auto(how), ..self }
    }

    /// What it means that it is left out.
    pub fn otherwise(self, what: &'static str) -> Self {
        Self { default: LeftOut::Nothing(what), ..self }
    }

    /// The unit of its value.
    pub fn unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    /// A value in TOML; the default where none is given.
    pub fn example(self, example: &str) -> Self {
        Self { example: example.into(), ..self }
    }

    /// A whole number of at least this.
    pub fn least(self, least: u64) -> Self {
        self.whole(least, i64::MAX as u64)
    }

    /// A size that arithmetic is done with.
    pub fn size(self, least: u64) -> Self {
        self.whole(least, LARGEST)
    }

    /// A whole number in these bounds.
    pub fn whole(self, least: u64, most: u64) -> Self {
        Self { takes: Takes::Whole { least, most }, ..self }
    }

    /// A number in this range.
    pub fn range(self, range: impl RangeBounds<f64>) -> Self {
        Self {
            takes: Takes::Number(range.start_bound().cloned(), range.end_bound().cloned()),
            ..self
        }
    }

    /// A number above 0.
    pub fn positive(self) -> Self {
        self.range((Bound::Excluded(0.0), Bound::Unbounded))
    }

    /// A seed.
    pub fn seed(self) -> Self {
        Self { takes: Takes::Seed, ..self }
    }

    /// Whatever is right; `wanted` says what that is.
    pub fn other(self, wanted: &'static str, right: fn(&Value) -> bool) -> Self {
        Self { takes: Takes::Other { wanted, right }, ..self }
    }

    /// What can stand for the section.
    pub fn short(self, short: Short) -> Self {
        Self { takes: Takes::Section(short), ..self }
    }

    /// A word that cannot stand for the section, because it needs more.
    pub fn without(mut self, word: &str) -> Self {
        if let Takes::Section(Short::Choice { words, .. }) = &mut self.takes {
            words.retain(|known| *known != word);
        }
        self
    }

    /// Puts a key and those below it into a list.
    pub fn put<T: Described>(mut self, list: &mut Vec<Self>) {
        let mut below = T::below();
        if let (LeftOut::Is(Value::Table(given)), Takes::Section(Short::Choice { tag, .. })) =
            (&mut self.default, &self.takes)
            && let Some(kind) = given.get(*tag).cloned()
        {
            // A kind by itself stands for the defaults of its keys.
            let of_kind = |key: &&Self| key.of.iter().any(|of| kind.as_str() == Some(of));
            given.retain(|name, value| {
                let usual = LeftOut::Is(value.clone());
                !below.iter().filter(of_kind).any(|key| key.name == *name && key.default == usual)
            });
            below.iter_mut().filter(|key| key.name == *tag).for_each(|key| {
                key.default = LeftOut::Is(kind.clone());
            });
        }
        if let (true, LeftOut::Is(default)) = (self.example.is_empty(), &self.default) {
            self.example = as_written(default);
        }
        let name = self.name.clone();
        list.push(self);
        list.extend(
            below.into_iter().map(|key| Self { name: format!("{name}.{}", key.name), ..key }),
        );
    }

    /// The name behind the last dot.
    pub fn last(&self) -> &str {
        self.name.rsplit_once('.').map_or(&self.name, |(_, last)| last)
    }

    /// The section it lies in; empty at the top.
    pub fn section(&self) -> &str {
        self.name.rsplit_once('.').map_or("", |(section, _)| section)
    }

    /// What may stand behind it, for people.
    pub fn wanted(&self) -> String {
        match self.default {
            LeftOut::Auto(_) => format!("{} or \"auto\"", self.takes.wanted()),
            _ => self.takes.wanted(),
        }
    }

    /// The default, for people.
    pub(crate) fn default_text(&self) -> String {
        match (&self.default, &self.takes) {
            (LeftOut::Required, _) => "none, must be given".into(),
            (LeftOut::Is(Value::Table(_)), Takes::Section(short))
                if !matches!(short, Short::Choice { .. }) =>
            {
                "the defaults of its keys".into()
            }
            (LeftOut::Is(Value::Table(given)), Takes::Section(Short::Choice { tag, .. }))
                if given.len() == 1 =>
            {
                given[*tag].to_string()
            }
            (LeftOut::Is(value), _) => as_written(value),
            (LeftOut::Auto(how), _) => format!("\"auto\": {how}"),
            (LeftOut::Nothing(what), _) => (*what).into(),
        }
    }
}

/// A value in TOML, small numbers as in 1e-8.
fn as_written(value: &Value) -> String {
    match value {
        Value::Float(number) => format!("{number:?}"),
        value => value.to_string(),
    }
}
