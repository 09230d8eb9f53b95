//! The trainer's early stopping, for loops in Python.

use pyo3::prelude::*;
use ztrack::Error;
use ztrack::training::{EarlyStopping, EarlyStoppingConfig, Evaluation};

use super::errors::{exception, named};

/// Adds an evaluation (update, value, standard error of log Z, sound) to a state, as JSON ("" for a new one), under settings, as JSON.
/// Returns the new state and whether the run ends, improved, and is at its best.
#[pyfunction]
pub fn observe(
    py: Python<'_>,
    state: &str,
    settings: &str,
    evaluation: (u64, f64, f64, bool),
) -> PyResult<(String, bool, bool, bool)> {
    let invalid = |error: serde_json::Error| named(py, "InvalidError", error.to_string());
    let mut stopping: EarlyStopping = match state {
        "" => EarlyStopping::new(),
        state => serde_json::from_str(state).map_err(invalid)?,
    };
    let config: EarlyStoppingConfig = serde_json::from_str(settings).map_err(invalid)?;
    config.check().map_err(|error| match error {
        Error::Config { field, problem, .. } => {
            named(py, "InvalidError", format!("`{field}`: {problem}"))
        }
        other => exception(py, &other),
    })?;
    let (update, value, log_z_std_error, sound) = evaluation;
    let decision = stopping.observe(&config, Evaluation { update, value, log_z_std_error, sound });
    let state = serde_json::to_string(&stopping)
        .map_err(|error| named(py, "InternalError", error.to_string()))?;
    Ok((state, decision.stop, decision.improved, decision.best))
}
