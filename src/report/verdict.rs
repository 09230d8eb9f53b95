//! The verdict in words: the best model, its likelihood, how reliable that is, and what to do.

use super::page::{Section, cell, number_cell, table, with_error};
use super::pictures::SHARES;
use super::run_files::{RunFiles, State};
use super::summary::Summary;
use super::words::times;
use crate::record::markup::Element;
use crate::trust::{Doubt, Interface};

/// Fraction of evaluations that should be sound.
const MOSTLY: f64 = 0.9;

fn remedy(doubt: &str) -> String {
    Doubt::remedy(doubt, Interface::Command).unwrap_or_else(|| "see the notices of the run".into())
}

/// The verdict; `warnings`: titles of the figures that show something wrong.
pub fn section(run: &RunFiles, warnings: &[String]) -> Section {
    let (tone, mut words) = match (&run.summary, run.state) {
        (Some(summary), State::Finished | State::StoppedEarly) => ended(run, summary),
        _ => ("verdict open", open(run)),
    };
    if !warnings.is_empty() {
        let mut text = format!("Figures with a ⚠: {}.", warnings.join("; "));
        if tone == "verdict" {
            text += " They show chains and samples that were made for this report, with less work than those of the training and its audits; log Z above does not rest on them.";
        }
        if warnings.iter().any(|title| title == SHARES) {
            text += " The model makes some kinds of rows far too often and others too rarely, which costs little likelihood: a longer training, or a learning rate that falls to zero, may help.";
        }
        words.push(text);
    }
    words.extend(run.problems.iter().map(|problem| format!("Not read: {problem}.")));
    let card = Element::new("div")
        .class(tone)
        .all(words.into_iter().map(|text| Element::new("p").text(text)));
    let section = Section::new("Verdict").with(card);
    match &run.summary {
        Some(summary) => section.with(likelihoods(summary)),
        None => section,
    }
}

/// Text on a run that ended.
fn ended(run: &RunFiles, summary: &Summary) -> (&'static str, Vec<String>) {
    let best = &summary.best;
    let which = match best.candidates_audited {
        0 if best.validation_log_likelihood.is_some() => {
            format!(
                "No evaluation was sound, nor an audit of the most promising models, so none could be called the best; this is the last one, of update {}.",
                best.update
            )
        }
        0 => format!(
            "There are no validation rows to choose a model by; this is the last one, of update {}.",
            best.update
        ),
        1 => format!("The best model is that of update {} of {}.", best.update, summary.updates),
        n => format!(
            "The best model is that of update {} of {}, the best of {n} that were audited.",
            best.update, summary.updates
        ),
    };
    let [test, held, train] = ["test", "validation", "train"].map(|part| run.result(part));
    let how_good = if best.test_log_likelihood.is_some() {
        format!("Its test log-likelihood is {test} nats per row.")
    } else if best.validation_log_likelihood.is_some() {
        format!(
            "Its validation log-likelihood is {held} nats per row, a little too high as the model was chosen by it; there are no test rows."
        )
    } else {
        format!(
            "Its training log-likelihood is {train} nats per row; no rows are held out, so the likelihood of other rows is unknown."
        )
    };
    let (sound, belief) = belief(summary);
    let words = vec![format!("{which} {how_good}"), belief, next(run, summary)];
    let tone = if sound { "verdict" } else { "verdict doubt" };
    (tone, words.into_iter().filter(|text| !text.is_empty()).collect())
}

/// Whether the value can be trusted, and why.
fn belief(summary: &Summary) -> (bool, String) {
    let best = &summary.best;
    let value = with_error(best.log_z, best.log_z_std_error);
    let audit: String = match best.audit_method.as_str() {
        "exact" => ", by enumeration, so nothing about it is in doubt.".into(),
        "auto" => {
            " by an audit of its own (the automatic estimate, which knows rows of the data).".into()
        }
        method => format!(" by an audit of its own ({}).", method.to_uppercase()),
    };
    let mut doubts = Vec::new();
    if let Some(doubt) = &best.doubt {
        doubts.push(format!("The audit is in doubt: {doubt}; raise audit.temperatures."));
    }
    let compared = best.tracked_minus_audited_in_errors.map_or(String::new(), |z| {
        let chains = if summary.is_tracked() {
            "tracked value"
        } else {
            "value of chains after the last update"
        };
        let side = if z < 0.0 { "below" } else { "above" };
        format!(" The {chains} was {:.1} errors {side} it.", z.abs())
    });
    doubts.extend(best.advice().map(String::from));
    let evaluations = summary.evaluations;
    let share = evaluations.sound as f64 / evaluations.all.max(1) as f64;
    let tracking = if summary.is_tracked() {
        format!(" Tracked log Z was {}.", evaluations.text())
    } else {
        " It was not tracked during the run (tempering.share = 0).".into()
    };
    let sound = doubts.is_empty() && evaluations.decided_on > 0;
    if share < MOSTLY && evaluations.all > 0 {
        doubts.push("The values between audits are less reliable.".into());
    }
    let opening = if sound { "Sound: " } else { "In doubt: " };
    let words = format!(
        "{opening}log Z of this model is {value}{audit}{compared}{tracking} {}",
        doubts.join(" ")
    );
    (sound, words.trim_end().into())
}

/// Why it ended, and what to do.
fn next(run: &RunFiles, summary: &Summary) -> String {
    let mut words = match run.state {
        State::StoppedEarly => {
            format!("Early stopping ended the run after update {}.", summary.updates)
        }
        _ => format!("All {} updates were done.", summary.updates),
    };
    let gap = summary
        .best
        .validation_log_likelihood
        .map(|held| summary.best.train_log_likelihood.value - held.value);
    if let Some(gap) = gap {
        let (size, word) = (gap.abs(), if gap < 0.0 { "worse" } else { "better" });
        words += &format!(" Training rows score {size:.2} nats {word} than validation rows.");
    }
    summary.remarks(&run.folder).iter().for_each(|line| words += &format!(" {line}"));
    if let Some((name, count)) = run.metrics.doubts().first() {
        words += &format!(" Most frequent doubt: `{name}`, {}: {}.", times(*count), remedy(name));
    }
    words
}

/// Text on a run that failed, was interrupted or is in progress.
fn open(run: &RunFiles) -> Vec<String> {
    let mut words = Vec::new();
    let rows = run.metrics.rows();
    let at = rows.checked_sub(1).map_or_else(
        || "before its first evaluation".to_string(),
        |last| format!("at update {}", run.metrics.update(last)),
    );
    let of = run.planned().map_or(String::new(), |planned| format!(" of {planned}"));
    words.push(match run.state {
        State::Running => format!("The run is in progress; it is {at}{of}."),
        State::Failed => format!(
            "The run failed {at}{of}: {}.",
            run.failure.as_deref().unwrap_or("no reason was kept")
        ),
        State::Unknown => format!("How the run ended cannot be read; its metrics end {at}{of}."),
        _ => format!("The run was interrupted {at}{of}."),
    });
    for (name, column) in [("training", "train"), ("validation", "validation")] {
        if let Some(value) = run.metrics.latest(&format!("{column}_log_likelihood")) {
            words.push(format!("Latest {name} log-likelihood: {value} nats per row."));
        }
    }
    if let Some((update, _)) = run.best() {
        let value = run.result("validation");
        words.push(format!("Best validation log-likelihood so far: {value} at update {update}."));
    }
    if let Some((name, count)) = run.metrics.doubts().first() {
        words.push(format!(
            "Most frequent doubt: `{name}`, {count} of {rows} evaluations: {}.",
            remedy(name)
        ));
    }
    if run.state != State::Running {
        words.push(format!("To resume: ztrack train --out {} --resume", run.folder.display()));
    }
    words
}

fn likelihoods(summary: &Summary) -> Element {
    let rows = summary.best.likelihoods().into_iter().map(|(part, value)| {
        vec![
            cell(format!("{part} log-likelihood")),
            number_cell(with_error(value.value, value.std_error)),
            number_cell(format!("{:.3}", value.data_std_error)),
            number_cell(format!("{:.3}", value.log_z_std_error)),
        ]
    });
    table(&["best model", "nats per row", "error from rows", "from log Z"], rows.collect())
}
