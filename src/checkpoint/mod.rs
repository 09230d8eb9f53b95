//! Files that survive a kill: atomic writes, model files, training state.

mod atomic;
pub mod float;
mod model_file;
mod naming;
mod numbered;
mod safetensors;
mod state_reader;
mod state_writer;
#[cfg(test)]
mod tests;
mod trained_on;

pub(crate) use atomic::keep_start;
pub use atomic::{WriteSeek, remove_leftovers, write_atomically, write_bytes};
#[cfg(feature = "cli")]
pub(crate) use atomic::{is_leftover, parent};
pub use model_file::ModelFile;
pub use naming::Layout;
pub(crate) use numbered::sorted_files;
pub use state_reader::StateReader;
pub use state_writer::StateWriter;
pub use trained_on::TrainedOn;
