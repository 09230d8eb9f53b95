//! The keys of a configuration: what each takes, its default, unit and meaning. What reads configurations, `ztrack config
//! explain` and docs/configuration.md all take them from here; a test holds the table against what the program writes.

mod data;
mod model;
mod tempering;
mod training;

use toml::Value;

use crate::nearest::nearest;

/// One key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Dotted, as `--set` takes it.
    pub name: &'static str,
    /// What may stand behind it.
    pub takes: Takes,
    /// What it is where nothing is given.
    pub default: LeftOut,
    /// Unit of the value; empty where it has none.
    pub unit: &'static str,
    /// A value as one writes it in TOML.
    pub example: &'static str,
    /// What it means, in a sentence or two.
    pub meaning: &'static str,
    /// The choices of the section it lies in under which it exists, as in `["pcd"]`; empty for all.
    pub of: &'static [&'static str],
}

/// What may stand behind a key.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    /// A whole number of at least so much.
    Whole(u64),
    /// Any number; ranges are checked once all keys are read.
    Number,
    /// `true` or `false`.
    Flag,
    /// Text, as a path.
    Text,
    /// A whole number from 0 to 2^64 - 1, which is text where TOML's numbers end.
    Seed,
    /// A list of numbers.
    Numbers,
    /// One of these words.
    Word(&'static [&'static str]),
    /// What `right` accepts; `wanted` says what that is.
    Other { wanted: &'static str, right: fn(&Value) -> bool },
    /// Keys of its own.
    Section(Short),
}

/// What stands for a whole section.
#[derive(Clone, Copy, Debug)]
pub enum Short {
    /// Nothing.
    Nothing,
    /// `false` for leaving the section out, `true` for its defaults.
    Optional,
    /// `false` for this value of this key.
    Off(&'static str, i64),
    /// A number, for the value of this key.
    Value(&'static str),
    /// A word, for the value of the key `tag`, which chooses among sections; `usual` where it is not given.
    Choice { tag: &'static str, words: &'static [&'static str], usual: Option<&'static str> },
    /// A word, or one key with a value.
    Worded(&'static [Worded]),
}

/// A word that can stand where a section can, and its value.
#[derive(Clone, Copy, Debug)]
pub struct Worded {
    pub word: &'static str,
    pub value: WordValue,
}

/// Whether a word has a value.
#[derive(Clone, Copy, Debug)]
pub enum WordValue {
    /// The word is all.
    Nothing,
    /// `{ word = number }`; the word alone stands for this number.
    Usual(f64),
    /// `{ word = [numbers] }`.
    Needed,
}

/// What a key is where nothing is given.
#[derive(Clone, Copy, Debug)]
pub enum LeftOut {
    /// There is none: it must be given.
    Required,
    /// This value, in TOML.
    Is(&'static str),
    /// `"auto"`: chosen by the program; how, for people.
    Auto(&'static str),
    /// Nothing; what that means, for people.
    Nothing(&'static str),
}

impl Key {
    const fn new(
        name: &'static str,
        takes: Takes,
        default: LeftOut,
        unit: &'static str,
        example: &'static str,
        meaning: &'static str,
    ) -> Self {
        Self { name, takes, default, unit, example, meaning, of: &[] }
    }

    const fn of(self, of: &'static [&'static str]) -> Self {
        Self { of, ..self }
    }

    /// The name behind the last dot.
    pub fn last(&self) -> &'static str {
        self.name.rsplit_once('.').map_or(self.name, |(_, last)| last)
    }

    /// The section it lies in; empty at the top.
    pub fn section(&self) -> &'static str {
        self.name.rsplit_once('.').map_or("", |(section, _)| section)
    }

    /// What may stand behind it, for people.
    pub fn wanted(&self) -> String {
        let quoted = |words: &[&str]| {
            words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
        };
        let wanted = match self.takes {
            Takes::Whole(least) => format!("a whole number of at least {least}"),
            Takes::Number => "a number".into(),
            Takes::Flag => "true or false".into(),
            Takes::Text => "text in quotes".into(),
            Takes::Seed => "a whole number from 0 to 2^64 - 1".into(),
            Takes::Numbers => "a list of numbers".into(),
            Takes::Word(words) => format!("one of {}", quoted(words)),
            Takes::Other { wanted, .. } => wanted.into(),
            Takes::Section(short) => match short {
                Short::Nothing => "a section".into(),
                Short::Optional => "a section, true or false".into(),
                Short::Off(..) => "a section or false".into(),
                Short::Value(key) => format!("a number (for `{key}`) or a section"),
                Short::Choice { words, .. } => format!("one of {} or a section", quoted(words)),
                Short::Worded(words) => {
                    let words: Vec<_> = words.iter().map(|worded| worded.word).collect();
                    format!("one of {} or a value of one", quoted(&words))
                }
            },
        };
        match self.default {
            LeftOut::Auto(_) => format!("{wanted} or \"auto\""),
            _ => wanted,
        }
    }

    /// The default, for people.
    pub fn default_text(&self) -> String {
        match self.default {
            LeftOut::Required => "none, must be given".into(),
            LeftOut::Is(value) => value.into(),
            LeftOut::Auto(how) => format!("\"auto\": {how}"),
            LeftOut::Nothing(what) => what.into(),
        }
    }

    /// The keys directly below a section.
    pub fn below(&self) -> impl Iterator<Item = &'static Self> {
        let name = self.name;
        all().filter(move |key| key.section() == name)
    }
}

/// All keys, in the order of the documentation.
pub fn all() -> impl Iterator<Item = &'static Key> {
    data::KEYS.iter().chain(model::KEYS).chain(training::KEYS).chain(tempering::KEYS)
}

/// The key of this dotted name.
pub fn find(name: &str) -> Option<&'static Key> {
    all().find(|key| key.name == name)
}

/// What other programs call the last part of a key.
const CALLED_ELSEWHERE: &[(&str, &str)] = &[
    ("lr", "learning_rate"),
    ("rate", "learning_rate"),
    ("eta", "learning_rate"),
    ("batch_size", "batch"),
    ("batchsize", "batch"),
    ("n_hidden", "hidden"),
    ("hidden_units", "hidden"),
    ("n_components", "hidden"),
    ("n_iter", "epochs"),
    ("steps", "updates"),
    ("iterations", "updates"),
    ("optimizer", "update"),
    ("k", "sweeps"),
];

/// "; did you mean ...?" for a name that is no key, or where to look.
pub fn suggestion(name: &str) -> String {
    let (section, last) = name.rsplit_once('.').unwrap_or(("", name));
    let elsewhere = CALLED_ELSEWHERE.iter().find(|(theirs, _)| *theirs == last);
    let last = elsewhere.map_or(last, |(_, ours)| ours);
    let there = all().find(|key| key.section() == section && key.last() == last);
    if let Some(key) = there {
        return format!("; did you mean {}?", key.name);
    }
    let here: Vec<_> = all().filter(|key| key.last() == last).map(|key| key.name).collect();
    match here[..] {
        [one] => format!("; did you mean {one}?"),
        [_, _, ..] => match nearest(name, here.iter().copied()).filter(|_| !section.is_empty()) {
            Some(one) => format!("; did you mean {one}?"),
            None => format!("; did you mean {}?", here.join(" or ")),
        },
        // A slip in the last part is more likely than one in the section.
        [] => {
            let in_section = all().filter(|key| key.section() == section).map(Key::last);
            let meant = nearest(last, in_section).map(|last| match section {
                "" => last.to_string(),
                section => format!("{section}.{last}"),
            });
            let anywhere = || nearest(name, all().map(|key| key.name)).map(str::to_string);
            match meant.or_else(anywhere) {
                Some(meant) => format!("; did you mean {meant}?"),
                None => "; `ztrack config explain` lists all keys".into(),
            }
        }
    }
}
