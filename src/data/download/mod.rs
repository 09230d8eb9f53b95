//! Download of known data sets. A file gets its name only after its content was checked.

mod check;
#[cfg(feature = "download")]
mod fetch;
#[cfg(feature = "download")]
mod sums;
mod table;
#[cfg(all(test, feature = "download"))]
mod tests;

pub use check::Check;
#[cfg(feature = "download")]
pub use fetch::{Mirrors, fetch, fetch_files};
pub(super) use table::is_known;
pub use table::{REMOTE_SETS, RemoteFile, RemoteSet};
