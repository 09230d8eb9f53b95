//! Errors of the library as the exceptions of `ztrack/_errors.py`, which have Python's own kinds among their bases.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use ztrack::Error;

/// The exception for an error.
pub fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let name = match error {
        Error::Io { .. } => "IoError",
        Error::File { .. } => "FileError",
        Error::Config { .. } => "ConfigError",
        Error::Interrupted => "Interrupted",
        Error::Invalid(_) => "InvalidError",
    };
    // Options of the command are arguments here.
    named(py, name, error.to_string().replace("--", ""))
}

/// An exception of the package by its name.
pub fn named(py: Python<'_>, name: &str, message: String) -> PyErr {
    let class = py.import("ztrack._errors").and_then(|module| module.getattr(name));
    match class.and_then(|class| class.call1((message.clone(),))) {
        Ok(value) => PyErr::from_value(value),
        Err(_) => PyRuntimeError::new_err(message),
    }
}
