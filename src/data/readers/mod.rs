//! Readers, one per format; rows become bits or levels as they are read.

mod blocks;
mod cells;
mod csv;
mod encoding;
mod fasta;
mod file;
mod idx;
mod index;
mod labels;
mod layout;
mod levels;
mod libsvm;
mod missing;
mod npy;
mod npy_header;
mod npz;
#[cfg(feature = "parquet")]
mod parquet;
mod refill;
mod rows;
mod states;
mod weights;

pub(crate) use npy_header::{Kind, NpyHeader, write as npy_header};
pub(crate) use npz::{array_of, has_part, open_archive, open_entry};

pub(super) use levels::Levels;
pub(super) use weights::read_weights;

pub use blocks::each_block;
pub use fasta::Alphabet;
pub use file::{FileOptions, MIXED, has_columns, load_file, read_bytes};
pub use index::Index;
pub use npz::{Part, is_there};
pub use refill::refill;
