//! Errors of the library as the exceptions of `package/ztrack/_errors.py`, which have Python's own kinds among their bases.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use ztrack::Error;

/// Options and keys of the command, and the arguments here that do the same. Longer ones come before their beginnings.
const ARGUMENTS: &[(&str, &str)] = &[
    ("training.learning_rate.initial", "`learning_rate`"),
    ("tempering.chains", "`chains`"),
    ("try --method auto", "try method=\"auto\""),
    ("or another --start", "or give `data`"),
    ("--temperatures", "`temperatures`"),
    ("--chains", "`chains`"),
    ("--sweeps", "`sweeps`"),
    ("--budget", "`budget`"),
    ("--method", "`method`"),
];

/// A sentence with arguments in place of the command's options.
pub fn of_arguments(text: &str) -> String {
    ARGUMENTS.iter().fold(text.to_string(), |text, (option, name)| text.replace(option, name))
}

/// The exception for an error.
pub fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let name = match error {
        Error::Io { .. } => "IoError",
        Error::File { .. } => "FileError",
        Error::Config { .. } => "ConfigError",
        Error::Interrupted => "Interrupted",
        Error::TooLarge(_) => "TooLargeError",
        Error::NotMixed(_) => "NotMixedError",
        Error::Diverged(_) => "DivergedError",
        Error::Encoding(_) => "InternalError",
        // Whoever calls with the wrong arguments has one thing to catch.
        Error::Mismatch(_) | Error::Unknown(_) | Error::Invalid(_) => "InvalidError",
    };
    named(py, name, of_arguments(&error.to_string()))
}

/// An exception of the package by its name.
pub fn named(py: Python<'_>, name: &str, message: String) -> PyErr {
    let class = py.import("ztrack._errors").and_then(|module| module.getattr(name));
    match class.and_then(|class| class.call1((message.clone(),))) {
        Ok(value) => PyErr::from_value(value),
        Err(_) => PyRuntimeError::new_err(message),
    }
}
