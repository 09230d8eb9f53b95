//! Readers, one a format; all take bytes already in memory.

mod csv;
mod file;
mod idx;
mod libsvm;
mod npy;
mod npy_header;
mod npz;

pub(crate) use npy_header::{Kind, NpyHeader};
pub(crate) use npz::read_entry;

pub use file::{FileOptions, load_file, read_bytes};
