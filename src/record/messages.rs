//! Messages and frames of TensorBoard's event files. No other file names the crates protobuf, tensorboard-proto and tensorboard-rs.
//!
//! Only the framing and the histogram message of tensorboard-rs are used: its `SummaryWriter` loses events and panics, and its image summary
//! swaps height and width.

use std::io;

use protobuf::Message;
use protobuf::well_known_types::Value as Anything;
use tensorboard_proto::api::{DataType, Experiment, HParamInfo, MetricInfo, MetricName};
use tensorboard_proto::event::{
    Event as Encoded, Event_oneof_what as Of, SessionLog, SessionLog_SessionStatus,
};
use tensorboard_proto::layout::{
    Category, Chart as Shown, Chart_oneof_content as Content, Layout, MarginChartContent,
    MarginChartContent_Series, MultilineChartContent,
};
use tensorboard_proto::plugin_hparams::{HParamsPluginData, SessionStartInfo};
use tensorboard_proto::summary::{
    Summary, Summary_Image, Summary_Value, Summary_Value_oneof_value, SummaryMetadata,
    SummaryMetadata_PluginData,
};
use tensorboard_proto::tensor::TensorProto;
use tensorboard_proto::types;
pub(super) use tensorboard_rs::masked_crc32c::masked_crc32c;
use tensorboard_rs::record_writer::RecordWriter;
use tensorboard_rs::summary::histogram_raw;

use super::Image;
use super::dashboard::Setting;
use super::histogram::Histogram;
use crate::error::{Error, Result};

/// A value of a tag.
pub(super) struct Value(Summary_Value);

impl Value {
    fn of(tag: &str, value: Option<Summary_Value_oneof_value>) -> Self {
        Self(Summary_Value { tag: tag.into(), value, ..Default::default() })
    }

    /// A number, as f32.
    pub(super) fn scalar(tag: &str, value: f64) -> Self {
        Self::of(tag, Some(Summary_Value_oneof_value::simple_value(value as f32)))
    }

    pub(super) fn histogram(tag: &str, found: &Histogram) -> Self {
        let Histogram { min, max, n, sum, sum_squares, limits, counts } = found;
        let mut summary = histogram_raw(tag, *min, *max, *n, *sum, *sum_squares, limits, counts);
        Self::of(tag, summary.take_value().pop().and_then(|it| it.value))
    }

    /// # Errors
    /// The picture cannot be encoded.
    pub(super) fn image(tag: &str, image: &Image) -> Result<Self> {
        let pixels = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
        let picture = Summary_Image {
            height: pixels(image.height()),
            width: pixels(image.width()),
            colorspace: pixels(image.channels()),
            encoded_image_string: image.to_png()?,
            ..Default::default()
        };
        Ok(Self::of(tag, Some(Summary_Value_oneof_value::image(picture))))
    }

    /// A text for a plugin: a scalar tensor of one string.
    pub(super) fn text(tag: &str, plugin: &str, text: Vec<u8>) -> Self {
        let (dtype, string_val) = (types::DataType::DT_STRING, vec![text].into());
        let tensor = TensorProto { dtype, string_val, ..Default::default() };
        Self::for_plugin(tag, plugin, Vec::new(), tensor)
    }

    /// Hyperparameters by [`experiment`] or [`session`]: they are in the metadata, the tensor only makes the value one.
    pub(super) fn hyperparameters(tag: &str, content: Vec<u8>) -> Self {
        let (dtype, float_val) = (types::DataType::DT_FLOAT, vec![0.0]);
        let tensor = TensorProto { dtype, float_val, ..Default::default() };
        Self::for_plugin(tag, "hparams", content, tensor)
    }

    fn for_plugin(tag: &str, plugin: &str, content: Vec<u8>, tensor: TensorProto) -> Self {
        let plugin_name = plugin.into();
        let data = SummaryMetadata_PluginData { plugin_name, content, ..Default::default() };
        let metadata = SummaryMetadata { plugin_data: Some(data).into(), ..Default::default() };
        let mut value = Self::of(tag, Some(Summary_Value_oneof_value::tensor(tensor)));
        value.0.metadata = Some(metadata).into();
        value
    }

    /// With a description of the tag.
    pub(super) fn described(mut self, meaning: &str) -> Self {
        self.0.mut_metadata().set_summary_description(meaning.into());
        self
    }
}

/// What an event says.
pub(super) enum What {
    /// The first event of a file.
    Version,
    /// Events of this step and later ones, which are before this one in the log, do not count.
    Start,
    /// Values of tags.
    Values(Vec<Value>),
}

/// An event that was read.
#[derive(Clone)]
pub(super) struct Event(Encoded);

impl Event {
    /// A frame with an event, to be appended to a file; `wall_time` in seconds since 1970.
    ///
    /// # Errors
    /// Messages that cannot be encoded, which is not expected.
    pub(super) fn frame(step: i64, wall_time: f64, what: What) -> io::Result<Vec<u8>> {
        let what = Some(match what {
            What::Version => Of::file_version("brain.Event:2".into()),
            What::Start => {
                let status = SessionLog_SessionStatus::START;
                Of::session_log(SessionLog { status, ..Default::default() })
            }
            What::Values(values) => {
                let value = values.into_iter().map(|value| value.0).collect();
                Of::summary(Summary { value, ..Default::default() })
            }
        });
        let bytes = Encoded { wall_time, step, what, ..Default::default() }.write_to_bytes()?;
        let mut frame = Vec::new();
        RecordWriter::new(&mut frame).write(&bytes)?;
        Ok(frame)
    }

    /// `None` for bytes that are no event.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        Encoded::parse_from_bytes(bytes).ok().map(Self)
    }

    /// The update; `None` in an event that this program did not write.
    pub(super) fn step(&self) -> Option<u64> {
        u64::try_from(self.0.get_step()).ok()
    }

    /// Tags of the values.
    pub(super) fn tags(&self) -> impl Iterator<Item = &str> {
        self.0.get_summary().get_value().iter().map(Summary_Value::get_tag)
    }

    /// The values as bytes, in which NaN is equal to itself.
    #[cfg(test)]
    pub(super) fn values(&self) -> Vec<Vec<u8>> {
        let values = self.0.get_summary().get_value().iter();
        values.map(|value| value.write_to_bytes().unwrap()).collect()
    }
}

fn bytes(message: &impl Message) -> Result<Vec<u8>> {
    message
        .write_to_bytes()
        .map_err(|error| Error::Encoding(format!("cannot encode a TensorBoard message: {error}")))
}

/// A chart of the page of custom charts.
pub(super) enum Chart {
    /// A curve in a band: tags of value, lower and upper end.
    Band(&'static str, [String; 3]),
    /// Curves of the tags that these regular expressions match from their beginning.
    Lines(&'static str, Vec<String>),
}

impl Chart {
    fn message(self) -> Shown {
        let (title, content) = match self {
            Self::Band(title, [value, lower, upper]) => {
                let series =
                    MarginChartContent_Series { value, lower, upper, ..Default::default() };
                let series = vec![series].into();
                let content = MarginChartContent { series, ..Default::default() };
                (title, Content::margin(content))
            }
            Self::Lines(title, tags) => {
                let content = MultilineChartContent { tag: tags.into(), ..Default::default() };
                (title, Content::multiline(content))
            }
        };
        Shown { title: title.into(), content: Some(content), ..Default::default() }
    }
}

/// The page of custom charts: titles of categories, and what is in them.
///
/// # Errors
/// Messages that cannot be encoded, which is not expected.
pub(super) fn layout(categories: Vec<(&'static str, Vec<Chart>)>) -> Result<Vec<u8>> {
    let category = |(title, charts): (&str, Vec<Chart>)| Category {
        title: title.into(),
        chart: charts.into_iter().map(Chart::message).collect(),
        ..Default::default()
    };
    let category = categories.into_iter().map(category).collect();
    bytes(&Layout { category, ..Default::default() })
}

/// Columns of the HParams tab: settings, and tags of metrics with the names that are shown.
///
/// # Errors
/// Messages that cannot be encoded, which is not expected.
pub(super) fn experiment(
    settings: &[(&'static str, Setting)],
    metrics: [(String, &str); 3],
) -> Result<Vec<u8>> {
    let metric = |(tag, shown): (String, &str)| {
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
    let mut data = HParamsPluginData::new();
    data.set_experiment(Experiment {
        hparam_infos: settings.iter().map(setting).collect(),
        metric_infos: metrics.into_iter().map(metric).collect(),
        ..Default::default()
    });
    bytes(&data)
}

/// The settings of a run, as messages of one value each, one after the other: readers merge them. A single message would contain a hash map,
/// whose order differs between two equal runs.
///
/// # Errors
/// Messages that cannot be encoded, which is not expected.
pub(super) fn session(settings: &[(&'static str, Setting)]) -> Result<Vec<u8>> {
    let mut session = Vec::new();
    for (name, setting) in settings {
        let mut value = Anything::new();
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
    fn settings_read_back_from_their_parts() {
        let settings = [
            ("model.hidden", Setting::Number(12.0)),
            ("training.update", Setting::Word("sgd".into())),
        ];
        let bytes = session(&settings).unwrap();
        assert_eq!(bytes, session(&settings).unwrap());
        let data = HParamsPluginData::parse_from_bytes(&bytes).unwrap();
        assert!(!data.get_session_start_info().hparams.is_empty());
    }

    #[test]
    fn a_histogram_is_stored_whole() {
        let (limits, counts) = (vec![-1.0, 0.0, 2.0], vec![0.0, 3.0, 1.0]);
        let (min, max, n, sum, sum_squares) = (-0.5, 1.0, 4.0, 0.25, 1.5);
        let found = Histogram { min, max, n, sum, sum_squares, limits, counts };
        let value = Value::histogram("weights", &found).0;
        let histo = value.get_histo();
        assert_eq!((histo.min, histo.max, histo.num), (min, max, n));
        assert_eq!((histo.sum, histo.sum_squares), (sum, sum_squares));
        assert_eq!((&histo.bucket_limit, &histo.bucket), (&found.limits, &found.counts));
    }
}
