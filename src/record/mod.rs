//! What a run leaves behind while it trains: training hands over flat records, recorders write them.

mod chart;
mod csv;
mod events;
mod held_file;
mod histogram;
mod image;
mod memory;
mod palette;
mod progress;
#[allow(clippy::module_inception)] // the room is named after what it keeps
mod record;
mod recorder;
pub mod tags;
mod tee;
mod tensorboard;
mod written;

pub use chart::{Chart, Series};
pub use csv::Csv;
pub use held_file::HeldFile;
pub use image::Image;
pub use memory::Memory;
pub use progress::ProgressBar;
pub use record::{Content, Entry, Notice, Record, Run};
pub use recorder::{AuditedLogZ, Progress, Recorder};
pub use tee::Tee;
pub use tensorboard::TensorBoard;
pub use written::Written;
