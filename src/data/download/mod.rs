//! Download of known data sets, checked before a file gets its name.

mod check;
mod fetch;
mod table;
mod transfer;

pub use check::Check;
pub use fetch::{Mirrors, Progress, fetch, fetch_files};
pub(super) use table::is_known;
pub use table::{REMOTE_SETS, RemoteFile, RemoteSet};
