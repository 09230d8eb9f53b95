//! Time by part, description of the run, and its notices.

use std::collections::BTreeMap;

use super::page::{Section, cell, duration, number_cell, table};
use super::run_files::RunFiles;
use crate::limited::read_text_of_run;
use crate::record::markup::Element;
use crate::training::Times;

/// Longest bar of the table of times.
const BAR: f64 = 220.0;
/// Notices shown.
const NOTICES: usize = 12;
/// Longest file of notices that is shown, in bytes.
const LONGEST: u64 = 256 << 20;

/// Seconds by part; empty where they are not known.
pub fn time_section(run: &RunFiles, times: Option<&Times>) -> Section {
    let section = Section::new("Time");
    let (Some(total), Some(times)) = (run.seconds().filter(|total| *total > 0.0), times) else {
        return section;
    };
    let parts = times.parts();
    let known: f64 = parts.iter().map(|(_, seconds)| seconds).sum();
    if known == 0.0 {
        return section;
    }
    let rest = ("records, pictures and checkpoints", (total - known).max(0.0));
    let all = known + rest.1;
    let row = |(name, seconds): (&str, f64)| {
        let share = seconds / all;
        let bar =
            Element::new("rect").class("f0").set("y", 3).at("width", BAR * share).set("height", 12);
        let picture = Element::new("svg").set("viewBox", format!("0 0 {BAR} 18")).with(bar);
        vec![
            cell(name),
            number_cell(duration(seconds)),
            number_cell(format!("{:.0} %", 100.0 * share)),
            Element::new("td").class("strip").with(picture),
        ]
    };
    let rows = parts.into_iter().chain([rest]).map(row).collect();
    let tracking = times.initial_rounds + times.tracking + times.settling;
    let words = format!(
        "updates take {:.0} % of {}, initial rounds, tracking and equilibration together {:.0} % and audits {:.0} %",
        100.0 * times.updates / all,
        duration(total),
        100.0 * tracking / all,
        100.0 * (times.audits + times.final_audits) / all
    );
    section.figure(
        "Seconds by part",
        vec![table(&["part", "time", "share", ""], rows)],
        ("most of the time goes into updates; tempering.share sets what tracking may take, audit.share and audit.models the audits", words),
    )
}

/// The configuration and the origin of the run.
pub fn configuration_section(run: &RunFiles) -> Section {
    let mut facts = vec![("folder".to_string(), run.folder.display().to_string())];
    if let Some(summary) = &run.summary {
        let of_run = [
            ("seed", summary.seed.to_string()),
            ("version", summary.version.clone()),
            ("command", summary.command.clone()),
            ("ended", summary.date.clone()),
            ("threads", summary.threads.to_string()),
        ];
        facts.extend(of_run.map(|(name, value)| (name.to_string(), value)));
        let sum_of =
            |(part, sum): (&String, &String)| (format!("{part} rows, SHA-256"), sum.clone());
        facts.extend(summary.data.iter().map(sum_of));
        facts.extend(summary.forced.iter().map(|notice| ("forced".to_string(), notice.clone())));
    }
    facts.retain(|(_, value)| !value.is_empty() && value != "0");
    let code = |text: String| Element::new("td").with(Element::new("code").text(text));
    let rows = facts.into_iter().map(|(name, value)| vec![cell(name), code(value)]).collect();
    Section::new("Configuration")
        .with(table(&[], rows))
        .with(Element::new("pre").text(run.config_text.clone()))
}

/// The notices of the run, each kind once.
pub fn notices_section(run: &RunFiles) -> Section {
    let section = Section::new("Notices");
    let path = run.folder.join("notices.jsonl");
    let text = match read_text_of_run(&path, LONGEST, "the notices of a run") {
        Ok(text) => text.unwrap_or_default(),
        Err(error) => return section.with(Element::new("p").text(format!("Not read: {error}."))),
    };
    let mut kinds: BTreeMap<String, (u64, u64, String)> = BTreeMap::new();
    for line in text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
    {
        let (Some(words), update) = (line["text"].as_str(), line["update"].as_u64().unwrap_or(0))
        else {
            continue;
        };
        // Notices of a kind differ in their numbers.
        let kind = words.replace(|c: char| c.is_ascii_digit(), "");
        let (count, last, latest) = kinds.entry(kind).or_default();
        (*count, *last, *latest) = (*count + 1, update, words.to_string());
    }
    if kinds.is_empty() {
        return section;
    }
    let mut kinds: Vec<_> = kinds.into_values().collect();
    kinds.sort_by_key(|(count, ..)| std::cmp::Reverse(*count));
    let item = |(count, update, words): (u64, u64, String)| {
        let times = if count == 1 { String::new() } else { format!("{count} times, last ") };
        Element::new("li").text(format!("{times}at update {update}: {words}"))
    };
    section.with(Element::new("ul").all(kinds.into_iter().take(NOTICES).map(item)))
}
