//! What a run leaves behind while it trains: training hands over flat records, recorders write them.

mod axis;
mod chart;
mod chart_parts;
mod csv;
mod dashboard;
mod events;
mod held_file;
mod histogram;
mod image;
mod live_text;
pub mod markup;
mod memory;
mod notice;
mod notice_log;
mod palette;
mod progress;
#[allow(clippy::module_inception)] // the room is named after what it keeps
mod record;
mod recorder;
mod repeated;
mod screen;
pub mod tags;
mod tee;
mod tensorboard;
mod written;

pub(crate) use axis::Axis;
pub use axis::short;
pub use chart::{Chart, Guide, Look, Series, style};
pub use csv::Csv;
pub use dashboard::{About, Setting};
pub use held_file::HeldFile;
pub use image::Image;
pub use memory::Memory;
pub use notice::{Level, Notice};
pub use notice_log::NoticeLog;
pub use progress::ProgressBar;
pub use record::{Content, Entry, Record, Run};
pub use recorder::{AuditedLogZ, Patience, Progress, Recorder};
pub use tee::Tee;
pub use tensorboard::TensorBoard;
pub use written::Written;
