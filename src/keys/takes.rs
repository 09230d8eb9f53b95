//! What may stand behind a key.

use std::ops::Bound::{self, Excluded, Included, Unbounded};
use std::ops::RangeBounds;

use toml::Value;

use super::LARGEST;

/// What may stand behind a key.
#[derive(Clone, Debug)]
pub enum Takes {
    /// A whole number in these bounds.
    Whole { least: u64, most: u64 },
    /// A finite number in these bounds.
    Number(Bound<f64>, Bound<f64>),
    /// `true` or `false`.
    Flag,
    /// Text, as a path.
    Text,
    /// A whole number from 0 to 2^64 - 1, which is text where TOML's numbers end.
    Seed,
    /// A list of numbers.
    Numbers,
    /// One of these words.
    Word(Vec<&'static str>),
    /// What `right` accepts; `wanted` says what that is.
    Other { wanted: &'static str, right: fn(&Value) -> bool },
    /// Keys of its own.
    Section(Short),
}

/// What stands for a whole section.
#[derive(Clone, Debug)]
pub enum Short {
    /// Nothing.
    Nothing,
    /// `false` for leaving the section out, `true` for its defaults.
    Optional,
    /// `false` for 0 of this key.
    Off(&'static str),
    /// A number, for the value of this key.
    Value(&'static str),
    /// A word, for the value of the key `tag`, which chooses among sections.
    Choice { tag: &'static str, words: Vec<&'static str> },
    /// A word, or one key with a value.
    Worded(Vec<Worded>),
}

/// A word that can stand where a section can.
#[derive(Clone, Debug)]
pub struct Worded {
    /// The word.
    pub word: &'static str,
    /// Whether it is a key that has a value.
    pub has_value: bool,
    /// The value that the word alone stands for.
    pub usual: Option<f64>,
}

impl Takes {
    /// The words that can be given.
    pub fn words(&self) -> Vec<&'static str> {
        match self {
            Self::Word(words) | Self::Section(Short::Choice { words, .. }) => words.clone(),
            Self::Section(Short::Worded(words)) => words.iter().map(|known| known.word).collect(),
            _ => Vec::new(),
        }
    }

    /// What may be given, for people.
    pub fn wanted(&self) -> String {
        let words: Vec<_> = self.words().iter().map(|word| format!("\"{word}\"")).collect();
        let words = words.join(", ");
        match self {
            Self::Whole { least, most: LARGEST.. } => {
                format!("a whole number of at least {least}")
            }
            Self::Whole { least, most } => format!("a whole number from {least} to {most}"),
            Self::Number(Unbounded, _) => "a number".into(),
            Self::Number(Excluded(0.0), Unbounded) => "a positive number".into(),
            Self::Number(Included(least), Unbounded) => format!("a number of at least {least}"),
            Self::Number(low, high) => format!("a number in {}", interval(low, high)),
            Self::Flag => "true or false".into(),
            Self::Text => "text in quotes".into(),
            Self::Seed => "a whole number from 0 to 2^64 - 1".into(),
            Self::Numbers => "a list of numbers".into(),
            Self::Word(_) => format!("one of {words}"),
            Self::Other { wanted, .. } => (*wanted).into(),
            Self::Section(Short::Nothing) => "a section".into(),
            Self::Section(Short::Optional) => "a section, true or false".into(),
            Self::Section(Short::Off(_)) => "a section or false".into(),
            Self::Section(Short::Value(key)) => format!("a number (for `{key}`) or a section"),
            Self::Section(Short::Choice { .. }) => format!("one of {words} or a section"),
            Self::Section(Short::Worded(_)) => format!("one of {words} or a value of one"),
        }
    }

    /// Whether a value that is no section may stand there.
    pub fn accepts(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Whole { least, most }, Value::Integer(number)) => {
                u64::try_from(*number).is_ok_and(|number| (*least..=*most).contains(&number))
            }
            (Self::Number(low, high), Value::Integer(_) | Value::Float(_)) => {
                let number = number(value);
                number.is_finite() && (*low, *high).contains(&number)
            }
            (Self::Seed, Value::Integer(number)) => *number >= 0,
            (Self::Seed, Value::String(digits)) => digits.parse::<u64>().is_ok(),
            (Self::Numbers, Value::Array(list)) => {
                list.iter().all(|value| matches!(value, Value::Integer(_) | Value::Float(_)))
            }
            (Self::Word(words), Value::String(word)) => words.contains(&word.as_str()),
            (Self::Other { right, .. }, value) => right(value),
            (Self::Section(Short::Worded(words)), Value::String(word)) => {
                words.iter().any(|known| known.word == word && !known.has_value)
            }
            (Self::Flag | Self::Section(Short::Optional), Value::Boolean(_))
            | (Self::Text, Value::String(_)) => true,
            _ => false,
        }
    }
}

fn number(value: &Value) -> f64 {
    value.as_float().or(value.as_integer().map(|number| number as f64)).unwrap_or(f64::NAN)
}

/// As in `[0, 1)`.
fn interval(low: &Bound<f64>, high: &Bound<f64>) -> String {
    let low = match low {
        Included(low) => format!("[{low}"),
        Excluded(low) => format!("({low}"),
        Unbounded => "(-inf".into(),
    };
    match high {
        Included(high) => format!("{low}, {high}]"),
        Excluded(high) => format!("{low}, {high})"),
        Unbounded => format!("{low}, inf)"),
    }
}
