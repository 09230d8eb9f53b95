//! Output of a run during training: training produces flat records, recorders write them.

mod axis;
mod chart;
mod chart_drawing;
mod chart_parts;
mod csv;
#[cfg(feature = "tensorboard")]
mod dashboard;
#[cfg(feature = "cli")]
mod display;
#[cfg(feature = "tensorboard")]
mod events;
mod held_file;
#[cfg(feature = "tensorboard")]
mod histogram;
mod image;
#[cfg(feature = "cli")]
mod live_text;
pub mod markup;
mod memory;
#[cfg(feature = "tensorboard")]
mod messages;
mod notice;
mod notice_log;
mod palette;
#[cfg(feature = "cli")]
mod plain;
#[allow(clippy::module_inception)] // the room is named after what it keeps
mod record;
mod recorder;
#[cfg(feature = "cli")]
mod repeated;
#[cfg(feature = "cli")]
mod screen;
#[cfg(feature = "cli")]
mod standard_stream;
pub mod tags;
mod tee;
#[cfg(feature = "tensorboard")]
mod tensorboard;
mod written;

pub(crate) use axis::Axis;
pub use axis::short;
pub use chart::{Chart, Guide, Look, Series};
pub use chart_drawing::style;
pub use csv::Csv;
pub(crate) use csv::row;
#[cfg(feature = "tensorboard")]
pub use dashboard::{About, Setting};
#[cfg(feature = "cli")]
pub use display::ProgressBar;
pub use held_file::HeldFile;
pub use image::Image;
pub(crate) use image::SMALLEST_SIDE;
#[cfg(feature = "cli")]
pub(crate) use live_text::wrap;
pub use memory::Memory;
pub use notice::{Level, Notice, Remedy};
pub use notice_log::NoticeLog;
pub use record::{Content, Entry, Record, Run};
pub use recorder::{AuditedLogZ, Patience, Progress, Recorder};
#[cfg(feature = "cli")]
pub(crate) use screen::{Screen, for_terminal, redraw};
#[cfg(feature = "cli")]
pub use standard_stream::StandardStream;
pub use tee::Tee;
#[cfg(feature = "tensorboard")]
pub use tensorboard::TensorBoard;
pub use written::Written;
