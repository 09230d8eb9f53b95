//! The table of a sweep: its runs by audited log-likelihood of validation rows, and means over seeds.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::compare::{difference, same_rows};
use super::runs::aligned;
use super::sweep::Axis;
use crate::report::{RunFiles, duration, with_error};
use crate::tracking::LogLikelihood;

/// The likelihood that decides, and the part of the data: of validation rows, without them of training rows.
fn score(run: &RunFiles) -> Option<(&'static str, LogLikelihood)> {
    let best = &run.summary.as_ref()?.best;
    let held = best.validation_log_likelihood.map(|held| ("validation", held));
    held.or(Some(("train", best.train_log_likelihood)))
}

/// Orders runs by it, the best first, runs without it last.
pub fn by_score(a: &RunFiles, b: &RunFiles) -> Ordering {
    let value = |run| score(run).map_or(f64::NEG_INFINITY, |(_, value)| value.value);
    value(b).total_cmp(&value(a))
}

/// The values of the axes, one for each, in the name of a run's folder.
fn settings(run: &RunFiles) -> Vec<String> {
    let value = |part: &str| part.split_once('=').map_or(part, |(_, value)| value).to_string();
    run.name.split(',').map(value).collect()
}

/// The runs of a sweep, best first, each with its difference from the best.
pub fn table(runs: &[RunFiles], axes: &[Axis]) -> String {
    let mut order: Vec<&RunFiles> = runs.iter().collect();
    order.sort_by(|a, b| by_score(a, b));
    let Some((best, (part, top))) = order.first().and_then(|best| Some((*best, score(best)?)))
    else {
        return "no run has ended\n".into();
    };
    let mut head: Vec<String> = axes.iter().map(|axis| axis.name().to_string()).collect();
    let head_end = [part, "from the best", "test", "log Z", "best at", "time", "state"];
    head.extend(head_end.map(String::from));
    let line = |run: &&RunFiles| {
        let mut cells = settings(run);
        let shown = |value: LogLikelihood| with_error(value.value, value.std_error);
        let ended = score(run).map(|(_, value)| value);
        cells.push(ended.map_or("-".into(), shown));
        cells.push(match ended {
            Some(_) if run.folder == best.folder => "best".into(),
            Some(value) => difference(top, value, same_rows(&[best, run], part) == Some(true)),
            None => "-".into(),
        });
        let of = run.summary.as_ref().map(|summary| &summary.best);
        cells.push(of.and_then(|best| best.test_log_likelihood).map_or("-".into(), shown));
        cells.push(of.map_or("-".into(), |it| match it.doubt {
            None => "sound".into(),
            Some(_) => "in doubt".into(),
        }));
        cells.push(of.map_or("-".into(), |best| best.update.to_string()));
        cells.push(run.summary.as_ref().map_or("-".into(), |it| duration(it.seconds)));
        cells.push(run.state.name().into());
        cells
    };
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(order.iter().map(line)).collect();
    aligned(&rows) + &over_seeds(runs, axes, part)
}

/// Means over the seeds, where they are one axis of several: their spread is what a difference of settings has to exceed.
fn over_seeds(runs: &[RunFiles], axes: &[Axis], part: &str) -> String {
    let Some(seed) = axes.iter().position(|axis| axis.name() == "seed").filter(|_| axes.len() > 1)
    else {
        return String::new();
    };
    let mut groups = BTreeMap::<Vec<String>, Vec<f64>>::new();
    for run in runs {
        let mut key = settings(run);
        key.remove(seed);
        groups.entry(key).or_default().extend(score(run).map(|(_, value)| value.value));
    }
    let mut lines: Vec<(f64, Vec<String>)> = Vec::new();
    for (mut cells, values) in groups.into_iter().filter(|(_, values)| values.len() > 1) {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        cells.push(with_error(mean, (variance / n).sqrt()));
        cells.push(format!("{n} seeds, standard deviation {:.3}", variance.sqrt()));
        lines.push((mean, cells));
    }
    if lines.is_empty() {
        return String::new();
    }
    lines.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut head: Vec<String> = axes.iter().map(|axis| axis.name().to_string()).collect();
    head.remove(seed);
    head.extend([format!("{part}, mean over seeds"), String::new()]);
    let rows: Vec<_> = std::iter::once(head).chain(lines.into_iter().map(|line| line.1)).collect();
    format!("\n{}", aligned(&rows))
}
