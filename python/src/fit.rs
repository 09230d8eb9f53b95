//! Training on an array.

use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Serialize;
use serde_json::{Value, json};
use ztrack::data::Rows;
use ztrack::estimators::Estimate;
use ztrack::fit::{Options, fit_recording};
use ztrack::record::{Content, Progress, Record, Recorder};
use ztrack::tracking::LogLikelihood;
use ztrack::units::Variables;
use ztrack::{Context, Error};

use super::arrays::{bits, model_bytes, table};
use super::errors::named;
use super::long_call::{Message, long};

/// Between two reports of progress.
const APART: Duration = Duration::from_millis(100);

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Settings {
    hidden: usize,
    epochs: u64,
    batch: Option<usize>,
    learning_rate: f64,
    validation_fraction: f64,
    evaluations: u64,
    chains: usize,
    seed: u64,
    settings: Vec<String>,
    /// The columns, where some are real.
    groups: String,
}

#[derive(Serialize)]
struct Found {
    update: u64,
    log_z: Estimate,
    train: LogLikelihood,
    validation: Option<LogLikelihood>,
    reason: String,
    curves: Vec<Value>,
    groups: String,
}

/// Tells what it hears to Python.
struct Teller {
    tell: Sender<Message>,
    last: Instant,
}

impl Recorder for Teller {
    fn record(&mut self, _record: &Record) -> ztrack::Result<()> {
        Ok(())
    }

    fn progress(&mut self, progress: &Progress) {
        if self.last.elapsed() < APART {
            return;
        }
        self.last = Instant::now();
        let line = json!({
            "update": progress.update,
            "updates": progress.updates,
            "epoch": progress.epoch,
            "seconds": progress.seconds,
            "seconds_left": progress.seconds_left,
            "log_z": progress.log_z,
            "train_log_likelihood": progress.train_log_likelihood,
            "validation_log_likelihood": progress.validation_log_likelihood,
            "note": progress.note,
        });
        // Nobody listens any more where the call is being ended.
        let _ = self.tell.send(Message::Line(line.to_string()));
    }
}

type Fitted<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>, String);

/// Weights [M, J] and biases of the best model, f32, and JSON of everything else.
#[pyfunction]
#[pyo3(signature = (rows, columns, settings, progress))]
pub fn fit<'py>(
    py: Python<'py>,
    rows: &[u8],
    columns: usize,
    settings: Settings,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Fitted<'py>> {
    let fit = long(py, progress.as_ref(), false, Context::default(), |tell, turn| {
        let at_work = turn.begin()?;
        let rows = match settings.groups.parse()? {
            variables if Variables::has_reals(&variables) => table(rows, columns, &variables)?,
            _ => bits(rows, columns)?.dataset()?,
        };
        let Settings { hidden, epochs, batch, learning_rate, validation_fraction, .. } = settings;
        let Settings { evaluations, chains, seed, settings, .. } = settings;
        let options = Options {
            hidden,
            epochs,
            batch,
            learning_rate,
            validation_fraction,
            evaluations,
            chains,
            seed,
            settings,
        };
        let mut teller = Teller { tell, last: Instant::now() };
        fit_recording(&rows, options, &mut teller, at_work.context()).map_err(of_arguments)
    })?;
    let found = Found {
        update: fit.update,
        log_z: fit.log_z,
        train: fit.train,
        validation: fit.validation,
        reason: serde_json::to_value(fit.reason)
            .ok()
            .and_then(|value| value.as_str().map(String::from))
            .unwrap_or_default(),
        curves: fit.curves.records.iter().map(row).collect(),
        groups: fit.parameters.variables.to_string(),
    };
    let found = serde_json::to_string(&found)
        .map_err(|error| named(py, "InternalError", error.to_string()))?;
    let [weights, visible, hidden] = model_bytes(&fit.parameters).map(|it| PyBytes::new(py, &it));
    Ok((weights, visible, hidden, found))
}

/// An error with the estimator's arguments in place of the library's options.
fn of_arguments(error: Error) -> Error {
    let Error::Config { field, problem, .. } = &error else { return error };
    let argument = match field.as_str() {
        "hidden" => "n_hidden",
        "epochs" => "n_iter",
        "batch" => "batch_size",
        same => same,
    };
    let place = Some(format!("`{argument}`"));
    Error::Config { field: argument.into(), place, problem: problem.clone() }
}

/// The scalars of a record, as `run/tag`.
fn row(record: &Record) -> Value {
    let mut row = serde_json::Map::new();
    row.insert("update".into(), json!(record.update));
    row.insert("epoch".into(), json!(record.epoch));
    row.insert("seconds".into(), json!(record.seconds));
    for entry in &record.entries {
        let name = format!("{}/{}", entry.run.name(), entry.tag);
        match &entry.content {
            Content::Scalar(value) => row.insert(name, json!(value)),
            Content::Text(text) => row.insert(name, json!(text)),
            Content::Histogram(_) | Content::Image(_) => None,
        };
    }
    Value::Object(row)
}
