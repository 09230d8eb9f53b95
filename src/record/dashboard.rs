//! TensorBoard content beside the curves: the page of custom charts, the description of the run, its hyperparameters.
//!
//! All of it is in the first event of a run. Messages: `layout.proto`, `plugin_hparams.proto` and the tags that TensorBoard's plugins read.

use protobuf::Message;
use protobuf::well_known_types::Value;
use tensorboard_proto::api::{DataType, Experiment, HParamInfo, MetricInfo, MetricName};
use tensorboard_proto::layout::{
    Category, Chart, Chart_oneof_content, Layout, MarginChartContent, MarginChartContent_Series,
    MultilineChartContent,
};
use tensorboard_proto::plugin_hparams::{HParamsPluginData, SessionStartInfo};
use tensorboard_proto::summary::{
    Summary_Value, Summary_Value_oneof_value, SummaryMetadata, SummaryMetadata_PluginData,
};
use tensorboard_proto::tensor::TensorProto;
use tensorboard_proto::types;

use super::record::{Content, Entry, Record};
use super::{Run, tags};
use crate::error::{Error, Result};

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
pub(super) fn values(about: &About) -> Result<Vec<Summary_Value>> {
    let mut values = vec![string("custom_scalars__config__", "custom_scalars", layout()?)];
    for (name, text) in &about.texts {
        let text = string(&format!("about/{name}"), "text", text.clone().into_bytes());
        values.push(text);
    }
    if !about.settings.is_empty() {
        values.push(hyperparameters("_hparams_/experiment", experiment(about)?));
        values.push(hyperparameters("_hparams_/session_start_info", session(about)?));
    }
    Ok(values)
}

fn bytes(message: &impl Message) -> Result<Vec<u8>> {
    message
        .write_to_bytes()
        .map_err(|error| Error::Encoding(format!("cannot encode a TensorBoard message: {error}")))
}

fn value(tag: &str, plugin: &str, content: Vec<u8>, tensor: TensorProto) -> Summary_Value {
    let plugin_name = plugin.into();
    let data = SummaryMetadata_PluginData { plugin_name, content, ..Default::default() };
    let metadata = SummaryMetadata { plugin_data: Some(data).into(), ..Default::default() };
    Summary_Value {
        tag: tag.into(),
        metadata: Some(metadata).into(),
        value: Some(Summary_Value_oneof_value::tensor(tensor)),
        ..Default::default()
    }
}

/// A scalar tensor of one string.
fn string(tag: &str, plugin: &str, text: Vec<u8>) -> Summary_Value {
    let (dtype, string_val) = (types::DataType::DT_STRING, vec![text].into());
    value(tag, plugin, Vec::new(), TensorProto { dtype, string_val, ..Default::default() })
}

/// Hyperparameters are in the metadata; the tensor only makes the value one.
fn hyperparameters(tag: &str, content: Vec<u8>) -> Summary_Value {
    let (dtype, float_val) = (types::DataType::DT_FLOAT, vec![0.0]);
    value(tag, "hparams", content, TensorProto { dtype, float_val, ..Default::default() })
}

fn layout() -> Result<Vec<u8>> {
    let category = |title: &str, charts: Vec<Chart>| Category {
        title: title.into(),
        chart: charts.into(),
        ..Default::default()
    };
    let category = vec![
        category(
            "log-likelihood and log Z, with bands of 2 standard errors",
            vec![
                // TensorBoard 2.21 shows charts with bands from the last to the first. Audited values are not in the chart of tracked ones:
                // smoothing is over points, and audits have fewer.
                band("tracked minus audited log Z, nats", Run::Tracker, "audit_difference"),
                band("tracked log Z, nats", Run::Tracker, "log_z"),
                band("mean log-likelihood, nats per row", Run::Train, "log_likelihood"),
            ],
        ),
        category(
            "chains",
            vec![
                lines("round trips per 1000 sweeps", &["round_trips_per_1000_sweeps"]),
                lines(
                    "chains that carry the estimate",
                    &["effective_chains", "effective_sample_size"],
                ),
                lines(
                    "share of chains that crossed the ladder; sound",
                    &["crossed_share", "sound"],
                ),
            ],
        ),
        category(
            "model",
            vec![
                lines("mean log f of data and of samples, nats", &["train_log_f", "samples_log_f"]),
                lines(
                    "free-energy gap between training and validation rows, nats",
                    &["free_energy_gap"],
                ),
                lines("norms", &["weight_norm", "gradient_norm"]),
            ],
        ),
    ];
    bytes(&Layout { category: category.into(), ..Default::default() })
}

/// The name in TensorBoard; tags of charts are checked by a test.
fn name(run: Run, tag: &str) -> String {
    tags::find(run, tag).map_or_else(String::new, tags::Tag::in_tensorboard)
}

fn band(title: &str, run: Run, tag: &str) -> Chart {
    let [value, lower, upper] =
        ["", "_lower", "_upper"].map(|end| name(run, &format!("{tag}{end}")));
    let series = MarginChartContent_Series { value, lower, upper, ..Default::default() };
    let content = MarginChartContent { series: vec![series].into(), ..Default::default() };
    let content = Some(Chart_oneof_content::margin(content));
    Chart { title: title.into(), content, ..Default::default() }
}

/// Tags are matched as regular expressions, from their beginning.
fn lines(title: &str, tags: &[&str]) -> Chart {
    let whole = |tag: &&str| format!("{}$", name(Run::Tracker, tag));
    let tag = tags.iter().map(whole).collect();
    let content = MultilineChartContent { tag, ..Default::default() };
    let content = Some(Chart_oneof_content::multiline(content));
    Chart { title: title.into(), content, ..Default::default() }
}

/// The validation log-likelihood among the values of the training run: the HParams tab finds values of its own run alone.
const VALIDATION: &str = "hparams/validation_log_likelihood";

/// The value of [`VALIDATION`], if the record has one.
pub(super) fn validation(record: &Record) -> Option<Summary_Value> {
    let of = |it: &&Entry| it.run == Run::Validation && it.tag == "log_likelihood";
    match record.entries.iter().find(of)?.content {
        Content::Scalar(value) => {
            let value = Some(Summary_Value_oneof_value::simple_value(value as f32));
            Some(Summary_Value { tag: VALIDATION.into(), value, ..Default::default() })
        }
        _ => None,
    }
}

/// Columns of the HParams tab. Runs are compared by their likelihoods.
fn experiment(about: &About) -> Result<Vec<u8>> {
    let metric = |tag: String, shown: &str| {
        let name = Some(MetricName { tag, ..Default::default() }).into();
        MetricInfo { name, display_name: shown.into(), ..Default::default() }
    };
    let setting = |(name, value): &(&'static str, Setting)| HParamInfo {
        name: (*name).into(),
        field_type: match value {
            Setting::Number(_) => DataType::DATA_TYPE_FLOAT64,
            Setting::Word(_) => DataType::DATA_TYPE_STRING,
        },
        ..Default::default()
    };
    let metrics = vec![
        metric(VALIDATION.into(), "validation log-likelihood"),
        metric(name(Run::Train, "log_likelihood"), "train log-likelihood"),
        metric(name(Run::Tracker, "log_z"), "log Z"),
    ];
    let mut data = HParamsPluginData::new();
    data.set_experiment(Experiment {
        hparam_infos: about.settings.iter().map(setting).collect(),
        metric_infos: metrics.into(),
        ..Default::default()
    });
    bytes(&data)
}

/// Messages of one value each, one after the other: readers merge them. A single message would contain a hash map, whose order differs
/// between two equal runs.
fn session(about: &About) -> Result<Vec<u8>> {
    let mut session = Vec::new();
    for (name, setting) in &about.settings {
        let mut value = Value::new();
        match setting {
            Setting::Number(number) => value.set_number_value(*number),
            Setting::Word(word) => value.set_string_value(word.clone()),
        }
        let mut start = SessionStartInfo::new();
        start.mut_hparams().insert((*name).into(), value);
        let mut data = HParamsPluginData::new();
        data.set_session_start_info(start);
        session.extend(bytes(&data)?);
    }
    Ok(session)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_show_documented_tags_alone() {
        let layout = Layout::parse_from_bytes(&layout().unwrap()).unwrap();
        let mut shown = 0;
        for chart in layout.get_category().iter().flat_map(Category::get_chart) {
            for series in chart.get_margin().get_series() {
                for tag in [&series.value, &series.lower, &series.upper] {
                    assert!(tags::TAGS.iter().any(|line| line.in_tensorboard() == *tag), "{tag}");
                }
                shown += 1;
            }
            for tag in chart.get_multiline().get_tag() {
                let tag = tag.strip_suffix('$').unwrap();
                assert!(tags::TAGS.iter().any(|line| line.in_tensorboard() == tag), "{tag}");
                shown += 1;
            }
        }
        assert!(shown >= 11, "{shown}");
    }

    #[test]
    fn settings_read_back_from_their_parts() {
        let settings = vec![
            ("model.hidden", Setting::Number(12.0)),
            ("training.update", Setting::Word("sgd".into())),
        ];
        let about = About { texts: Vec::new(), settings };
        let bytes = session(&about).unwrap();
        assert_eq!(bytes, session(&about).unwrap());
        let data = HParamsPluginData::parse_from_bytes(&bytes).unwrap();
        assert!(!data.get_session_start_info().hparams.is_empty());
    }
}
