//! The table of keys for people: in a terminal, and as docs/configuration.md.

use std::fmt::Write as _;

use super::document::Places;
use super::table::{self, below};
use crate::error::Result;
use crate::keys::{Key, Takes};

/// Columns of a terminal that text is broken to.
const WIDTH: usize = 100;

/// How docs/configuration.md is made anew.
pub const REGENERATE: &str = "ztrack config explain --markdown > docs/configuration.md";

/// A key, or the keys of a section, or all keys.
///
/// # Errors
/// A name that is no key.
pub fn explain(name: Option<&str>) -> Result<String> {
    let Some(name) = name else { return Ok(list(table::all())) };
    if table::find(name).is_none() {
        return Err(Places::default().error(name, table::unknown(name)));
    }
    let mut text = format!("{name}\n");
    for (label, value) in table::all().filter(|key| key.name == name).flat_map(facts) {
        let _ = writeln!(text, "  {label:<11}{}", broken(&value, 13));
    }
    if below(name).next().is_some() {
        text += "\nIts keys:\n";
        text += &list(below(name));
    }
    Ok(text)
}

fn facts(key: &Key) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("what", key.meaning.clone()),
        ("takes", key.wanted()),
        ("default", key.default_text()),
    ];
    if !key.unit.is_empty() {
        facts.push(("unit", key.unit.into()));
    }
    if !key.of.is_empty() {
        facts.push(("only with", key.of.join(", ")));
    }
    // On the command line a word needs no quotes.
    let plain = key.example.trim_matches('"');
    let set = match plain.contains(['"', ' ', '[', '{']) {
        true => format!("--set '{}={}'", key.name, key.example),
        false => format!("--set {}={plain}", key.name),
    };
    let section = match key.section() {
        "" => String::new(),
        section => format!(", in [{section}]"),
    };
    facts.push(("example", format!("{} = {}{section}; {set}", key.last(), key.example)));
    facts
}

/// A line a key: name, default, the first sentence of its meaning.
fn list<'a>(keys: impl Iterator<Item = &'a Key>) -> String {
    let mut text = String::new();
    for key in keys {
        let first = key.meaning.split_once(". ").map_or(&key.meaning[..], |(first, _)| first);
        let default = key.default_text();
        let line = format!("{} Default: {default}.", first.trim_end_matches('.').to_string() + ".");
        let _ = writeln!(text, "  {}\n      {}", key.name, broken(&line, 6));
    }
    text
}

/// Text broken into lines, those after the first indented.
fn broken(text: &str, indent: usize) -> String {
    let (mut out, mut column) = (String::new(), indent);
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column + length > WIDTH && column > indent {
            let _ = write!(out, "\n{:indent$}", "");
            column = indent;
        } else if column > indent {
            out.push(' ');
            column += 1;
        }
        out += word;
        column += length;
    }
    out
}

/// docs/configuration.md
pub fn markdown() -> String {
    let mut text = format!(
        "# Configuration\n\n\
         Every key of a configuration, from `src/config/sections.rs` and the types named there. Made by `{REGENERATE}`; the same in a terminal: `ztrack config explain`,\n\
         `ztrack config explain training.gradient`. A configuration is TOML; `--set key=value` gives any key on the command line.\n\
         `data.source` and `model.hidden` are a complete configuration; `ztrack init my.csv` writes one that fits a file.\n\n\
         Short forms: a word or a number can stand where a section can (`gradient = \"pcd\"`, `learning_rate = 0.1`, `source = \"mnist\"`,\n\
         `source = \"my.csv\"`, `binarization = 0.5`, `update = \"adam\"`, `schedule = \"linear-to-zero\"`, `prior = \"exponential\"`), and `false`\n\
         switches off what is optional (`early_stopping`, `pretraining`, `averaging`, `tempering.settling`, `audit`).\n"
    );
    let mut section = None;
    for key in table::all() {
        // Top level keys and the sections themselves are introduced by headings.
        let top = key.name.split('.').next().unwrap_or_default();
        if section != Some(top) {
            section = Some(top);
            let _ = writeln!(
                text,
                "\n## {top}\n\n{}\n\n| key | takes | default | unit | meaning |\n|---|---|---|---|---|",
                key.meaning
            );
        }
        if key.name != top || !matches!(key.takes, Takes::Section(_)) {
            let only = match key.of[..] {
                [] => String::new(),
                ref of => format!(" Only with {}.", of.join(", ")),
            };
            let cell = |text: &str| text.replace('|', "\\|");
            let _ = writeln!(
                text,
                "| `{}` | {} | {} | {} | {}{only} |",
                key.name,
                cell(&key.wanted()),
                cell(&key.default_text()),
                key.unit,
                cell(&key.meaning)
            );
        }
    }
    text
}
