//! The library's error type: what is wrong, where, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

/// Everything that can go wrong because of input, files or limits.
///
/// Numerical problems during training are not here: they are data in the record (see [`crate::training`]).
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused a file operation.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The attempted action, as in "cannot {action} PATH".
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file's content is wrong; the problem names line or field.
    #[error("{}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong, where in the file, and what to do.
        problem: String,
    },
    /// A configuration value cannot be used.
    #[error("{}: {problem}", place.as_ref().map_or_else(|| format!("configuration key {field}"), Clone::clone))]
    Config {
        /// Dotted path of the key, as `--set` takes it.
        field: String,
        /// Where it was given, in words, including the key; `None` if that is not known (yet).
        place: Option<String>,
        /// What is wrong and what is allowed.
        problem: String,
    },
    /// A signal ended the computation; its result must not be used.
    #[error("interrupted")]
    Interrupted,
    /// More memory than is available, or more states than can be enumerated.
    #[error("{0}")]
    TooLarge(String),
    /// Chains do not mix enough for the request.
    #[error("{0}")]
    NotMixed(String),
    /// Parameters became NaN, infinite or far too large: a lower learning rate, or more chains, is needed.
    #[error("{0}")]
    Diverged(String),
    /// Things that do not fit together: rows of another width than the model, a checkpoint of another run.
    #[error("{0}")]
    Mismatch(String),
    /// An unknown name; the message lists the known ones.
    #[error("{0}")]
    Unknown(String),
    /// Data in memory that cannot be written in the requested format.
    #[error("{0}")]
    Encoding(String),
    /// An argument outside of its documented range, or a call that is too early.
    #[error("{0}")]
    Invalid(String),
}

/// Result with the library's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An [`Error::Io`] for use in `map_err`.
    pub fn io(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_path_buf();
        move |source| Self::Io { action, path, source }
    }

    /// An [`Error::File`].
    pub fn file(path: impl AsRef<Path>, problem: impl Into<String>) -> Self {
        Self::File { path: path.as_ref().to_path_buf(), problem: problem.into() }
    }

    /// The same, its field in a section: settings name their own fields, and the code that knows the section adds it.
    #[must_use]
    pub fn within(self, section: &str) -> Self {
        match self {
            Self::Config { field, place, problem } => {
                Self::Config { field: format!("{section}.{field}"), place, problem }
            }
            other => other,
        }
    }

    /// An [`Error::Config`] of what is not the value of a key, with its place.
    pub(crate) fn config_at(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Config { field: String::new(), place: Some(place.into()), problem: problem.into() }
    }

    /// An [`Error::Config`].
    pub fn config(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Config { field: field.into(), place: None, problem: problem.into() }
    }
}
