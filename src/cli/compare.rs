//! `ztrack compare`: two runs side by side.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::output::print;
use super::report::read;
use super::runs::aligned;
use crate::report::{RunFiles, differing, duration, with_error};
use crate::tracking::LogLikelihood;

/// Longest value of a setting shown.
const SHOWN: usize = 40;

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
    pub fn run(self) -> Result<ExitCode> {
        let runs = [read(&self.first)?, read(&self.second)?];
        let head = [String::new(), runs[0].name.clone(), runs[1].name.clone(), "difference".into()];
        let mut rows = vec![head];
        rows.extend(likelihoods(&runs));
        rows.extend(facts(&runs));
        let mut text = aligned(&rows);
        text += &rows_words(&runs);
        let settings = differing(&runs);
        if settings.is_empty() {
            text += "\nno setting differs\n";
        } else {
            let mut rows =
                vec![["setting that differs".into(), runs[0].name.clone(), runs[1].name.clone()]];
            rows.extend(settings.into_iter().map(|(key, values)| {
                let value = |i: usize| values.get(i).map_or(String::new(), |value| short(value));
                [key, value(0), value(1)]
            }));
            text += "\n";
            text += &aligned(&rows);
        }
        print(&text)?;
        Ok(ExitCode::SUCCESS)
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

/// Checksums of a part of the data of both runs, if both are known.
pub fn same_rows(runs: &[&RunFiles; 2], part: &str) -> Option<bool> {
    let part = if part == "train" { "training" } else { part };
    let sum = |run: &&RunFiles| run.summary.as_ref()?.data.get(part).cloned();
    Some(sum(&runs[0])? == sum(&runs[1])?)
}

fn likelihoods(runs: &[RunFiles; 2]) -> Vec<[String; 4]> {
    let parts = |run: &RunFiles| {
        run.summary.as_ref().map_or(Vec::new(), |summary| summary.best.likelihoods())
    };
    let [first, second] = [parts(&runs[0]), parts(&runs[1])];
    let of = |parts: &[(&str, LogLikelihood)], name: &str| {
        parts.iter().find(|(part, _)| *part == name).map(|(_, value)| *value)
    };
    let row = |name: &str| {
        let values = [of(&first, name), of(&second, name)];
        let text = |value: Option<LogLikelihood>| {
            value.map_or("-".into(), |value| with_error(value.value, value.std_error))
        };
        let difference = match values {
            [Some(a), Some(b)] => difference(a, b, same_rows(&runs.each_ref(), name) == Some(true)),
            _ => "-".into(),
        };
        let shown = values.iter().any(Option::is_some);
        shown.then(|| {
            [format!("{name}, nats per row"), text(values[0]), text(values[1]), difference]
        })
    };
    ["train", "validation", "test"].into_iter().filter_map(row).collect()
}

/// Second minus first. On the same rows the scatter of rows is the same in both values, so the error of log Z is the lower end of the
/// difference's error, and the sum of all errors its upper end.
pub fn difference(a: LogLikelihood, b: LogLikelihood, same_rows: bool) -> String {
    let value = b.value - a.value;
    let (all, of_log_z) =
        (a.std_error.hypot(b.std_error), a.log_z_std_error.hypot(b.log_z_std_error));
    if same_rows {
        format!("{value:+.3} ± {of_log_z:.3} from log Z, at most {all:.3}")
    } else {
        format!("{value:+.3} ± {all:.3}")
    }
}

fn facts(runs: &[RunFiles; 2]) -> Vec<[String; 4]> {
    let both = |name: &str, value: fn(&RunFiles) -> Option<String>| {
        [
            name.into(),
            value(&runs[0]).unwrap_or("-".into()),
            value(&runs[1]).unwrap_or("-".into()),
            String::new(),
        ]
    };
    let seconds =
        |run: &RunFiles| run.summary.as_ref().map(|s| s.seconds).or(run.metrics.last("seconds"));
    let mut time = both("time of training", |_| None);
    for (cell, run) in time[1..3].iter_mut().zip(runs) {
        *cell = seconds(run).map_or("-".into(), duration);
    }
    if let (Some(a), Some(b)) = (seconds(&runs[0]), seconds(&runs[1])) {
        time[3] = format!("{:.2} times", b / a);
    }
    vec![
        both("log Z of the best model", |run| {
            let best = &run.summary.as_ref()?.best;
            Some(with_error(best.log_z, best.log_z_std_error))
        }),
        both("best model at update", |run| Some(run.summary.as_ref()?.best.update.to_string())),
        both("updates", |run| {
            Some(run.metrics.update(run.metrics.rows().checked_sub(1)?).to_string())
        }),
        both("sound evaluations", |run| {
            let evaluations = run.summary.as_ref()?.evaluations;
            Some(format!("{} of {}", evaluations.sound, evaluations.all))
        }),
        time,
        both("state", |run| Some(run.state.name().into())),
    ]
}

/// A warning if values are not of the same rows.
fn rows_words(runs: &[RunFiles; 2]) -> String {
    let differ = |part: &&&str| same_rows(&runs.each_ref(), part) == Some(false);
    let parts: Vec<&str> = ["train", "validation", "test"].iter().filter(differ).copied().collect();
    match &parts[..] {
        [] => String::new(),
        parts => format!(
            "\nthe {} rows of these runs are not the same, so neither are their likelihoods' scales\n",
            parts.join(" and ")
        ),
    }
}
