//! `ztrack compare`: two runs side by side.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::output::print;
use super::report::read;
use super::runs::aligned;
use crate::report::{difference, differing, same_rows};

/// Longest value of a setting shown.
const SHOWN: usize = 40;
/// Parts of the data, whose log-likelihoods are in nats per row.
const PARTS: [&str; 3] = ["train", "validation", "test"];
/// Further results.
const FACTS: [&str; 6] = ["log Z", "best at", "updates", "sound", "time", "state"];

/// Compare two runs: settings that differ, likelihoods with errors, seconds
#[derive(Args)]
#[command(after_help = "Example:\n  ztrack compare runs/first runs/second\n\n\
    Curves over each other: ztrack report runs/first runs/second")]
pub struct Compare {
    /// A run folder
    first: PathBuf,
    /// Another
    second: PathBuf,
}

impl Compare {
    /// Prints three tables.
    pub fn run(self) -> Result<()> {
        let runs = [read(&self.first)?, read(&self.second)?];
        let [first, second] = &runs;
        let mut rows =
            vec![["", &first.name, &second.name, "second minus first"].map(String::from)];
        for name in PARTS.into_iter().chain(FACTS) {
            let cells = [first.result(name), second.result(name)];
            if PARTS.contains(&name) && cells == ["-", "-"] {
                continue;
            }
            let change = match (name, first.seconds(), second.seconds()) {
                ("time", Some(a), Some(b)) => format!("{:.2} times", b / a),
                _ if PARTS.contains(&name) => difference(first, second, name),
                _ => String::new(),
            };
            let [a, b] = cells;
            rows.push([name.into(), a, b, change]);
        }
        let mut text = aligned(&rows);
        let differ = |part: &&str| same_rows([first, second], part) == Some(false);
        let parts: Vec<&str> = PARTS.into_iter().filter(differ).collect();
        if !parts.is_empty() {
            text += &format!(
                "\nthese runs have different {} rows: their likelihoods cannot be compared\n",
                parts.join(" and ")
            );
        }
        let settings = differing(&runs);
        if settings.is_empty() {
            text += "\nno setting differs\n";
        } else {
            let mut rows =
                vec![["setting that differs", &first.name, &second.name].map(String::from)];
            rows.extend(settings.into_iter().map(|(key, values)| {
                let value = |i: usize| values.get(i).map_or(String::new(), |value| short(value));
                [key, value(0), value(1)]
            }));
            text += "\n";
            text += &aligned(&rows);
        }
        print(&text)
    }
}

fn short(value: &str) -> String {
    match value {
        "" => "-".into(),
        long if long.chars().count() > SHOWN => {
            long.chars().take(SHOWN - 3).chain("...".chars()).collect()
        }
        value => value.into(),
    }
}
