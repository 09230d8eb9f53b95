//! TensorBoard content beside the curves: the page of custom charts, the description of the run, its hyperparameters.
//!
//! All of it is in the first event of a run, under the tags that TensorBoard's plugins read.

use super::messages::{Chart, Value, experiment, layout, session};
use super::{Record, Run, tags};
use crate::error::Result;

/// Description of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    /// Pages of the Text tab: name and Markdown.
    pub texts: Vec<(&'static str, String)>,
    /// Names and values of the hyperparameters, in the order of their columns.
    pub settings: Vec<(&'static str, Setting)>,
}

/// A hyperparameter's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// A number.
    Number(f64),
    /// A word.
    Word(String),
}

/// The values of the first event.
///
/// # Errors
/// Messages that cannot be encoded, which is not expected.
pub(super) fn values(about: &About) -> Result<Vec<Value>> {
    let page = layout(charts())?;
    let mut values = vec![Value::text("custom_scalars__config__", "custom_scalars", page)];
    for (name, text) in &about.texts {
        values.push(Value::text(&format!("about/{name}"), "text", text.clone().into_bytes()));
    }
    if !about.settings.is_empty() {
        // Runs are compared by their likelihoods.
        let metrics = [
            (VALIDATION.into(), "validation log-likelihood"),
            (name(Run::Train, "log_likelihood"), "train log-likelihood"),
            (name(Run::Tracker, "log_z"), "log Z"),
        ];
        let columns = experiment(&about.settings, metrics)?;
        values.push(Value::hyperparameters("_hparams_/experiment", columns));
        let settings = session(&about.settings)?;
        values.push(Value::hyperparameters("_hparams_/session_start_info", settings));
    }
    Ok(values)
}

fn charts() -> Vec<(&'static str, Vec<Chart>)> {
    let likelihood = vec![
        // TensorBoard 2.21 shows charts with bands from the last to the first. Audited values are not in the chart of tracked ones: smoothing
        // is over points, and audits have fewer.
        band("tracked minus audited log Z, nats", Run::Tracker, "audit_difference"),
        band("tracked log Z, nats", Run::Tracker, "log_z"),
        band("mean log-likelihood, nats per row", Run::Train, "log_likelihood"),
    ];
    let chains = vec![
        lines("round trips per 1000 sweeps", &["round_trips_per_1000_sweeps"]),
        lines("chains that carry the estimate", &["effective_chains", "effective_sample_size"]),
        lines("share of chains that crossed the ladder", &["crossed_share"]),
        lines("tracked log Z sound (1) or in doubt (0)", &["sound"]),
    ];
    let model = vec![
        lines("mean log f of data and of samples, nats", &["train_log_f", "samples_log_f"]),
        lines("free-energy gap between training and validation rows, nats", &["free_energy_gap"]),
        lines("norms", &["weight_norm", "gradient_norm"]),
    ];
    vec![
        ("log-likelihood and log Z, with bands of 2 standard errors", likelihood),
        ("chains", chains),
        ("model", model),
    ]
}

/// The name in TensorBoard; tags of charts are checked by a test.
fn name(run: Run, tag: &str) -> String {
    tags::find(run, tag).map_or_else(String::new, tags::Tag::in_tensorboard)
}

fn band(title: &'static str, run: Run, tag: &str) -> Chart {
    Chart::Band(title, ["", "_lower", "_upper"].map(|end| name(run, &format!("{tag}{end}"))))
}

/// Whether a tag is that of a chart with a band.
pub(super) fn has_band(tag: &str) -> bool {
    ["log_likelihood", "log_z"].iter().any(|name| {
        tag.strip_prefix(name).is_some_and(|end| matches!(end, "" | "_lower" | "_upper"))
    })
}

/// The tags and no longer ones: TensorBoard matches them as regular expressions.
fn lines(title: &'static str, tags: &[&str]) -> Chart {
    let whole = |tag: &&str| format!("{}$", name(Run::Tracker, tag));
    Chart::Lines(title, tags.iter().map(whole).collect())
}

/// The validation log-likelihood among the values of the training run: the HParams tab finds values of its own run alone.
const VALIDATION: &str = "validation/log_likelihood";

/// The value of [`VALIDATION`], if the record has one.
pub(super) fn validation(record: &Record) -> Option<Value> {
    let value = record.get(Run::Validation, "log_likelihood")?;
    Some(Value::scalar(VALIDATION, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_show_documented_tags_alone() {
        let shown =
            charts().into_iter().flat_map(|(_, charts)| charts).flat_map(|chart| match chart {
                Chart::Band(_, tags) => tags.to_vec(),
                Chart::Lines(_, tags) => {
                    tags.iter().map(|tag| tag.strip_suffix('$').unwrap().into()).collect()
                }
            });
        let shown: Vec<String> = shown.collect();
        for tag in &shown {
            assert!(tags::TAGS.iter().any(|line| line.in_tensorboard() == *tag), "{tag}");
        }
        assert!(shown.len() >= 17, "{shown:?}");
    }
}
