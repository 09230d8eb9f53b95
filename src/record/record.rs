//! A record: all values of one evaluation, flat, for any recorder.

use super::Image;

/// The TensorBoard run of an entry; equal tags of two runs overlay in one chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Run {
    /// Measured on training data.
    Train,
    /// Measured on validation data.
    Validation,
    /// The model, its chains and its log Z.
    Tracker,
}

impl Run {
    /// Folder of its TensorBoard run. Values of the model are with those of its training data, as is usual there.
    pub const fn folder(self) -> &'static str {
        match self {
            Self::Train | Self::Tracker => "train",
            Self::Validation => "validation",
        }
    }

    /// Its name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Validation => "validation",
            Self::Tracker => "tracker",
        }
    }
}

/// The value of an entry. [`super::tags::TAGS`] has the kind of every tag.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// One number; NaN and infinities are values like any other.
    Scalar(f64),
    /// The numbers themselves; the recorder counts them into buckets.
    Histogram(Vec<f64>),
    /// A picture.
    Image(Image),
    /// Words, without commas or line ends.
    Text(String),
}

/// One tagged value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The run of the value.
    pub run: Run,
    /// Its name in [`super::tags::TAGS`].
    pub tag: &'static str,
    /// The value.
    pub content: Content,
}

/// All entries of one evaluation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Parameter updates done.
    pub update: u64,
    /// Passes through the training data done.
    pub epoch: f64,
    /// Training time so far in seconds, resumed parts included.
    pub seconds: f64,
    /// The values, each (run, tag) at most once.
    pub entries: Vec<Entry>,
}

impl Record {
    /// A record without entries.
    pub fn new(update: u64, epoch: f64, seconds: f64) -> Self {
        Self { update, epoch, seconds, entries: Vec::new() }
    }

    /// Adds a number.
    pub fn scalar(&mut self, run: Run, tag: &'static str, value: f64) {
        self.entries.push(Entry { run, tag, content: Content::Scalar(value) });
    }

    /// Adds words.
    pub fn text(&mut self, run: Run, tag: &'static str, text: String) {
        self.entries.push(Entry { run, tag, content: Content::Text(text) });
    }

    /// Adds numbers to be shown as a histogram.
    pub fn histogram(&mut self, run: Run, tag: &'static str, values: Vec<f64>) {
        self.entries.push(Entry { run, tag, content: Content::Histogram(values) });
    }

    /// Adds a picture.
    pub fn image(&mut self, run: Run, tag: &'static str, image: Image) {
        self.entries.push(Entry { run, tag, content: Content::Image(image) });
    }

    /// The number under (run, tag), if this record has one.
    pub fn get(&self, run: Run, tag: &str) -> Option<f64> {
        self.entries.iter().find_map(|entry| match entry.content {
            Content::Scalar(value) if entry.run == run && entry.tag == tag => Some(value),
            _ => None,
        })
    }
}
