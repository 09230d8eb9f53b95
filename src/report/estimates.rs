//! Estimators of log Z of the best model, side by side.

use super::diagnosis::Diagnosis;
use super::page::{Here, Section, cell, number_cell, table, with_error};
use super::run_files::RunFiles;
use crate::estimators::{Agreement, Bias, Estimate, Method};
use crate::numerics::MOST_ERRORS;
use crate::record::Axis;
use crate::record::markup::Element;

/// Size of the picture of one interval.
const STRIP: (f64, f64) = (220.0, 18.0);
/// Largest distance of a bound that is drawn below the values, relative to their range.
const FARTHEST: f64 = 2.0;

/// One line of the table.
struct Line {
    name: String,
    value: f64,
    std_error: f64,
    what: String,
}

/// The section; empty without a model.
pub fn section(run: &RunFiles, diagnosis: Option<&Diagnosis>) -> Section {
    let section = Section::new("Estimates of log Z of the best model");
    let mut lines = Vec::new();
    if let Some(best) = run.summary.as_ref().map(|summary| &summary.best) {
        if let (Some(value), Some(error)) = (best.tracked_log_z, best.tracked_log_z_std_error) {
            lines.push(line("tracked in training", (value, error), "what decisions went by"));
        }
        let name = format!("audit: {}", best.audit_method);
        let what = best.doubt.as_deref().unwrap_or("the audit in summary.json");
        lines.push(line(name, (best.log_z, best.log_z_std_error), what));
        if let Some(at_least) = best.log_z_at_least {
            let what = "holds with 99.9 % probability, from the weights of annealing";
            lines.push(line("lower bound by annealing", (at_least, f64::NAN), what));
        }
    }
    let Some(diagnosis) = diagnosis else {
        return if lines.is_empty() { section } else { section.with(drawn(&lines, None)) };
    };
    let agreement = Agreement::of(&diagnosis.estimates);
    lines.extend(diagnosis.estimates.iter().map(of_estimate));
    let bound = diagnosis.bound.map(|bound| bound.value);
    if let Some(bound) = &diagnosis.bound {
        let what = format!("rigorous: {}", bound.source());
        lines.push(line("lower bound", (bound.value, f64::NAN), what));
    }
    let here = words(&lines, &agreement);
    section.broad(
        "Values and 2 standard errors",
        drawn(&lines, bound),
        ("consistent estimates agree within their errors, between the bounds", here),
    )
}

fn line(name: impl Into<String>, (value, std_error): (f64, f64), what: impl Into<String>) -> Line {
    Line { name: name.into(), value, std_error, what: what.into() }
}

fn of_estimate(estimate: &Estimate) -> Line {
    let name = match estimate.method {
        Method::Exact => "enumeration",
        Method::Rts => "RTS, fresh chains",
        Method::Ais => "AIS",
        Method::AisBar => "AIS and reverse AIS (BAR)",
        Method::ReverseAis => "reverse AIS",
        other => other.name(),
    };
    let bias = match estimate.bias {
        Bias::None => "exact",
        Bias::Consistent => "consistent",
        Bias::Low => "too low in the mean: a lower bound",
        Bias::High => "too high in the mean: an upper bound",
        Bias::Biased => "biased",
    };
    let what = if estimate.trust.is_sound() {
        bias.into()
    } else {
        // A report has no options.
        format!("{bias}; in doubt: {}", estimate.trust.findings())
    };
    line(name, (estimate.value, estimate.std_error), what)
}

fn words(lines: &[Line], agreement: &Agreement) -> Here {
    let mut healthy = agreement.sound;
    let mut words: Vec<String> = agreement.disagreements.clone();
    // The difference between the value used in training and the present one.
    let tracked = lines.iter().find(|line| line.name.starts_with("tracked"));
    let audit = lines.iter().find(|line| line.name.starts_with("audit"));
    if let (Some(tracked), Some(audit)) = (tracked, audit) {
        let errors = (tracked.value - audit.value) / tracked.std_error.hypot(audit.std_error);
        healthy &= errors.abs() <= MOST_ERRORS || errors.is_nan();
        words.push(format!("tracked and audited values differ by {errors:+.1} errors"));
    }
    match &agreement.advice {
        _ if audit.is_some() && agreement.sound => {
            words.push("the audited value is the one to report".into());
        }
        Some(advice) => words.push(advice.clone()),
        None if words.is_empty() => words.push("there is one value".into()),
        None => {}
    }
    Here::judged(words.join("; "), healthy)
}

fn drawn(lines: &[Line], bound: Option<f64>) -> Element {
    let ends = |line: &Line| {
        let error = if line.std_error.is_finite() { 2.0 * line.std_error } else { 0.0 };
        [line.value - error, line.value + error]
    };
    let estimates = || lines.iter().filter(|line| line.std_error.is_finite()).flat_map(&ends);
    let low = estimates().fold(f64::INFINITY, f64::min);
    let high = estimates().fold(f64::NEG_INFINITY, f64::max);
    // A distant bound is not worth the room.
    let near = bound.filter(|bound| low - bound < FARTHEST * (high - low));
    let low = near.map_or(low, |bound| low.min(bound));
    let room = 0.05 * (high - low) + 1e-4;
    let axis = Axis::new((low - room, high + room), false, (4.0, STRIP.0 - 4.0));
    let row = |line: &Line| {
        let drawn = axis.filter(|axis| axis.holds(line.value));
        let picture = drawn.map(|axis| strip(&axis, line, ends(line)));
        vec![
            cell(line.name.clone()),
            number_cell(with_error(line.value, line.std_error)),
            Element::new("td").class("strip").all(picture),
            cell(line.what.clone()).class("what"),
        ]
    };
    table(&["estimate", "log Z, nats", "", "what it is"], lines.iter().map(row).collect())
}

fn strip(axis: &Axis, line: &Line, ends: [f64; 2]) -> Element {
    let middle = STRIP.1 / 2.0;
    let [from, to] = ends.map(|end| axis.place(end).clamp(0.0, STRIP.0));
    let bar = Element::new("line")
        .class("line c2")
        .at("x1", from)
        .at("x2", to)
        .at("y1", middle)
        .at("y2", middle);
    let mark = Element::new("circle")
        .class("f2")
        .at("cx", axis.place(line.value).clamp(0.0, STRIP.0))
        .at("cy", middle)
        .set("r", 3);
    Element::new("svg")
        .set("viewBox", format!("0 0 {} {}", STRIP.0, STRIP.1))
        .set("role", "img")
        .set("aria-label", "interval")
        .with(bar)
        .with(mark)
}
