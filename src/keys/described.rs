//! Types of values: what they take, and the keys below them.

use std::path::PathBuf;

use super::{Automatic, Key, LeftOut, Short, Takes, Worded};
use std::ops::Bound::Unbounded;

/// A type that can stand behind a key.
pub trait Described {
    /// What may be given.
    fn takes() -> Takes;

    /// The keys of a section, with those below them; their names without that of the section.
    fn below() -> Vec<Key> {
        Vec::new()
    }
}

/// Types of a value and what each of them takes.
macro_rules! described {
    ($($type:ty: $takes:expr,)*) => {
        $(impl Described for $type {
            fn takes() -> Takes {
                $takes
            }
        })*
    };
}

pub(crate) use described;

described! {
    u64: Takes::Whole { least: 0, most: i64::MAX as u64 },
    usize: Takes::Whole { least: 0, most: i64::MAX as u64 },
    f64: Takes::Number(Unbounded, Unbounded),
    bool: Takes::Flag,
    String: Takes::Text,
    PathBuf: Takes::Text,
    Vec<f64>: Takes::Numbers,
    Vec<f32>: Takes::Numbers,
}

impl<T: Described> Described for Automatic<T> {
    fn takes() -> Takes {
        T::takes()
    }
}

impl<T: Described> Described for Option<T> {
    fn takes() -> Takes {
        match T::takes() {
            Takes::Section(Short::Nothing) => Takes::Section(Short::Optional),
            takes => takes,
        }
    }

    fn below() -> Vec<Key> {
        T::below()
    }
}

/// A word of a choice and its keys: that of its value, or those of its section.
pub struct Variant {
    /// The word.
    pub word: &'static str,
    /// What the word alone stands for, where it has a value.
    pub usual: Option<f64>,
    /// Its keys.
    pub keys: Vec<Key>,
}

/// What a choice takes; `tag`: the key that tells the kind of a section.
pub fn choice_takes(tag: Option<&'static str>, variants: &[Variant]) -> Takes {
    let words = variants.iter().map(|variant| variant.word).collect();
    match tag {
        Some(tag) => Takes::Section(Short::Choice { tag, words }),
        None if variants.iter().all(|variant| variant.keys.is_empty()) => Takes::Word(words),
        None => Takes::Section(Short::Worded(
            variants
                .iter()
                .map(|Variant { word, usual, keys }| Worded {
                    word,
                    has_value: !keys.is_empty(),
                    usual: *usual,
                })
                .collect(),
        )),
    }
}

/// The keys below a choice. A key that several kinds have alike is one key.
pub fn choice_below(tag: Option<&'static str>, variants: Vec<Variant>) -> Vec<Key> {
    let Some(tag) = tag else {
        let keys = variants.into_iter().flat_map(|variant| variant.keys);
        return keys.map(|key| Key { default: LeftOut::Nothing("none"), ..key }).collect();
    };
    let words: Vec<_> = variants.iter().map(|variant| variant.word).collect();
    let (last, others) = words.split_last().map_or(("", &[][..]), |(last, others)| (last, others));
    let which = format!("Which of them: {} or {last}.", others.join(", "));
    let mut kind = Key::new::<bool>(tag, &[&which]).example(&format!("\"{}\"", words[0]));
    kind.takes = Takes::Word(words);
    let mut below = vec![kind];
    for Variant { word, keys, .. } in variants {
        for mut key in keys.into_iter().filter(|key| key.name != word) {
            if let Some((_, name)) = key.name.split_once('.') {
                key.name = name.into();
            }
            let alike = |other: &&mut Key| {
                (&other.name, &other.meaning, &other.default)
                    == (&key.name, &key.meaning, &key.default)
            };
            match below.iter_mut().find(alike) {
                Some(other) => other.of.push(word),
                None => below.push(Key { of: vec![word], ..key }),
            }
        }
    }
    below
}
