//! All keys, and the key that was meant by a name that is none.

use std::sync::LazyLock;

use toml::Table;

use super::Config;
use super::recipe::preset;
use crate::keys::{Described, Key, Short, Takes};
use crate::nearest::nearest;

static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let mut keys = Config::below();
    // What a preset fills in is kept in its stead, so no section has it.
    let first = keys.iter().position(|key| key.section() == "training").unwrap_or_default();
    keys.insert(first, preset());
    keys
});

/// All keys, in the order of the documentation.
pub fn all() -> impl Iterator<Item = &'static Key> {
    KEYS.iter()
}

/// The key of this dotted name; the first, where several kinds of a section have one of this name.
pub fn find(name: &str) -> Option<&'static Key> {
    all().find(|key| key.name == name)
}

/// The keys directly below a section; empty: of the top.
pub fn below(section: &str) -> impl Iterator<Item = &'static Key> {
    all().filter(move |key| key.section() == section)
}

/// The key that tells the kind of a section, where it has kinds.
pub fn tag(section: &str) -> Option<&'static str> {
    match find(section)?.takes {
        Takes::Section(Short::Choice { tag, .. }) => Some(tag),
        _ => None,
    }
}

/// Whether a section of the kind that is given has the key; where no kind is given, all keys.
pub fn is_of(key: &Key, section: &Table) -> bool {
    let kind = || section.get(tag(key.section())?)?.as_str();
    key.of.is_empty() || kind().is_none_or(|kind| key.of.contains(&kind))
}

/// What other programs call some keys.
const CALLED_ELSEWHERE: &[(&str, &str)] = &[
    ("lr", "training.learning_rate"),
    ("rate", "training.learning_rate"),
    ("eta", "training.learning_rate"),
    ("batch_size", "training.batch"),
    ("batchsize", "training.batch"),
    ("n_hidden", "model.hidden"),
    ("hidden_units", "model.hidden"),
    ("n_components", "model.hidden"),
    ("n_iter", "training.epochs"),
    ("num_epochs", "training.epochs"),
    ("steps", "training.updates"),
    ("iterations", "training.updates"),
    ("optimizer", "training.update"),
    ("k", "training.gradient.sweeps"),
    ("log", "evaluation.every"),
    ("log_every", "evaluation.every"),
    ("log_interval", "evaluation.every"),
    ("val_fraction", "data.validation_fraction"),
];

/// The key that another program calls so.
pub fn called_elsewhere(name: &str) -> Option<&'static Key> {
    find(CALLED_ELSEWHERE.iter().find(|(theirs, _)| *theirs == name)?.1)
}

/// Kind and sweeps of a gradient that is written as in the literature, such as PCD-10.
pub fn kind_and_sweeps(word: &str) -> Option<(&'static str, u32)> {
    let (kind, sweeps) = word.split_once('-')?;
    let kind = ["cd", "pcd"].into_iter().find(|known| kind.eq_ignore_ascii_case(known))?;
    Some((kind, sweeps.parse().ok()?))
}

/// What is wrong with a name that is no key, and the key that was meant, or where to look.
pub fn unknown(name: &str) -> String {
    let remedy = match key_meant(name) {
        _ if name == "threads" => "the option --threads gives their number".into(),
        Some(meant) => format!("did you mean {meant}?"),
        None => "`ztrack config explain` lists all keys".into(),
    };
    format!("there is no such key; {remedy}")
}

/// The key that was meant by a name that is none, or several that may be.
fn key_meant(name: &str) -> Option<String> {
    let gradient = || kind_and_sweeps(name).and_then(|_| find("training.gradient"));
    let (section, last) = name.rsplit_once('.').unwrap_or(("", name));
    let last = called_elsewhere(last).map_or(last, Key::last);
    let there = || below(section).find(|key| key.last() == last);
    if let Some(key) = called_elsewhere(name).or_else(gradient).or_else(there) {
        return Some(key.name.clone());
    }
    let mut here: Vec<_> =
        all().filter(|key| key.last() == last).map(|key| &key.name[..]).collect();
    here.dedup();
    if !here.is_empty() {
        let one = nearest(name, here.iter().copied()).filter(|_| !section.is_empty());
        return Some(one.map_or_else(|| here.join(" or "), str::to_string));
    }
    // A slip in the last part is more likely than one in the section.
    let near = nearest(last, below(section).map(Key::last));
    let near = near.and_then(|near| below(section).find(|key| key.last() == near));
    let anywhere = || nearest(name, all().map(|key| &key.name[..]));
    near.map(|key| &key.name[..]).or_else(anywhere).map(str::to_string)
}
