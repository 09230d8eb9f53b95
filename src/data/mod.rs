//! Data: the data set itself, readers, generators, splits, binarization, description, download.

mod baselines;
mod binarization;
mod categories;
mod content;
mod dataset;
mod describe;
pub mod download;
pub mod generators;
mod input;
mod limits;
mod memory;
mod neighbours;
mod numbers;
mod readers;
mod source;
mod splits;
mod table;
#[cfg(feature = "burn")]
mod tensors;
mod variables;
mod weights;

pub use baselines::{
    Baseline, Groups, MOST_COMPONENTS, PartLikelihood, affordable_components, baselines,
};
pub use binarization::{Binarization, Binarizer, EVALUATION_EPOCH};
pub use categories::{Categories, Category, UNSEEN};
pub(crate) use content::sha256_hex;
pub use dataset::{Dataset, ImageShape, Intensities, Values};
pub use describe::{Description, checksum, describe};
pub(crate) use input::Input;
pub use memory::Rows;
pub use neighbours::{Neighbour, nearest_rows};
pub use readers::{
    Alphabet, FileOptions, Index, MIXED, Part, each_block, has_columns, is_there, load_file,
    read_bytes, refill,
};
pub(crate) use readers::{Kind, NpyHeader, npy_header, open_archive, open_entry};
pub use source::{Files, Source, find_folder, resolve_name};
pub use splits::{SplitOptions, Splits, load, load_as};
pub use table::{Column, Columns, Separator};
pub use variables::{Grouping, find_variables};
pub use weights::{check_weights, effective_rows, similarity_weights, weighted_counts};
