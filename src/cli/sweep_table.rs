//! The table of a sweep: its runs by audited log-likelihood of validation rows, and means over seeds.

use std::collections::BTreeMap;

use super::runs::aligned;
use super::sweep_axis::Axis;
use crate::numerics::statistics::{mean_with_error, variance};
use crate::report::{RunFiles, difference, with_error};

/// The values of the axes, one for each, in the name of a run's folder.
fn settings(run: &RunFiles) -> Vec<String> {
    let value = |part: &str| part.split_once('=').map_or(part, |(_, value)| value).to_string();
    run.name.split(',').map(value).collect()
}

/// The runs of a sweep, best first, each with its difference from the best. The likelihood of validation rows decides, without them that of
/// training rows.
pub fn table(runs: &[RunFiles], axes: &[Axis]) -> String {
    let ended = |part: &&str| runs.iter().any(|run| run.likelihood(part).is_some());
    let Some(part) = ["validation", "train"].into_iter().find(ended) else {
        return "no run has ended\n".into();
    };
    let mut order: Vec<&RunFiles> = runs.iter().collect();
    order.sort_by(|a, b| b.score().total_cmp(&a.score()));
    let columns = [part, "from the best", "test", "log Z", "audit", "best at", "time", "state"];
    let names = axes.iter().map(|axis| axis.name());
    let head = names.chain(columns).map(String::from).collect();
    let line = |run: &&RunFiles| {
        let cell = |column| match column {
            "from the best" if run.folder == order[0].folder => "best".into(),
            "from the best" => difference(order[0], run, part),
            column => run.result(column),
        };
        settings(run).into_iter().chain(columns.map(cell)).collect()
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
        groups.entry(key).or_default().extend(run.likelihood(part).map(|it| it.value));
    }
    let mut lines: Vec<(f64, Vec<String>)> = Vec::new();
    for (mut cells, values) in groups.into_iter().filter(|(_, values)| values.len() > 1) {
        let (mean, error) = mean_with_error(&values);
        let deviation = variance(&values).sqrt();
        cells.push(with_error(mean, error));
        cells.push(format!("{} seeds, standard deviation {deviation:.3}", values.len()));
        lines.push((mean, cells));
    }
    if lines.is_empty() {
        return String::new();
    }
    lines.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut head: Vec<String> = axes.iter().map(|axis| axis.name().to_string()).collect();
    head.remove(seed);
    head.extend([format!("{part}, mean ± its error between seeds"), String::new()]);
    let rows: Vec<_> = std::iter::once(head).chain(lines.into_iter().map(|line| line.1)).collect();
    format!("\n{}", aligned(&rows))
}
