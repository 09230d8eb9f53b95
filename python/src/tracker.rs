//! The tracker of a loop in Python.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use ztrack::live::Diagnostics;
use ztrack::model::Parameters;
use ztrack::units::Variables;
use ztrack::{Context, Error, Interface, LogZ, LogZTracker};

use super::arrays::{cells, model_bytes, parameters, rows, table_columns};
use super::errors::named;
use super::long_call::{long, short};

/// Bytes of weights, visible bias and hidden bias.
type Parts<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>);
fn parts<'py>(py: Python<'py>, model: &Parameters) -> Parts<'py> {
    let [weights, visible, hidden] = model_bytes(model).map(|it| PyBytes::new(py, &it));
    (weights, visible, hidden)
}

/// See [`evaluation`].
pub type Evaluation = (u64, f64, f64, Vec<(String, String)>, String);

/// Threads of Python may share one: each call waits for the one before, with Python's lock free.
#[pyclass(frozen)]
pub struct Tracker(Mutex<LogZTracker>, Context);

/// What a tracker is made with, unless its default will do.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Settings {
    hidden: usize,
    chains: Option<usize>,
    temperatures: Option<usize>,
    sweeps: Option<usize>,
    every: Option<u64>,
    averaging: f64,
    settling: Option<(usize, usize)>,
    seed: u64,
    groups: String,
}

impl Tracker {
    fn of(tracker: LogZTracker) -> Self {
        let context = tracker.context().clone();
        Self(Mutex::new(tracker), context)
    }

    /// Works on a copy, which takes the tracker's place at the end: what is interrupted leaves it as it was.
    fn on_copy<T: Send>(
        &self,
        py: Python<'_>,
        progress: Option<&Bound<'_, PyAny>>,
        work: impl FnOnce(&mut LogZTracker) -> ztrack::Result<T> + Send,
    ) -> PyResult<T> {
        long(py, progress, true, self.1.clone(), |_tell, turn| {
            let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let _at_work = turn.begin()?;
            let mut copy = held.clone();
            let found = work(&mut copy)?;
            *held = copy;
            Ok(found)
        })
    }

    fn reading<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut LogZTracker) -> ztrack::Result<T> + Send,
    ) -> PyResult<T> {
        short(py, || work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// Update, log Z, its standard error, names and texts of the doubts, and JSON of the diagnostics.
pub fn evaluation(
    py: Python<'_>,
    (update, found, diagnostics): (u64, LogZ, Diagnostics),
) -> PyResult<Evaluation> {
    let LogZ { value, std_error, trust } = found;
    let diagnostics = serde_json::to_string(&diagnostics)
        .map_err(|error| named(py, "InternalError", error.to_string()))?;
    let doubts = trust.doubts().iter();
    let doubts =
        doubts.map(|doubt| (doubt.name().to_string(), doubt.text(Interface::Python))).collect();
    Ok((update, value, std_error, doubts, diagnostics))
}

#[pymethods]
impl Tracker {
    #[new]
    #[pyo3(signature = (rows, marginals, columns, settings))]
    fn new(
        py: Python<'_>,
        rows: Option<&[u8]>,
        marginals: Option<Vec<f64>>,
        columns: usize,
        settings: Settings,
    ) -> PyResult<Self> {
        let tracker = short(py, || {
            let variables: Variables = settings.groups.parse()?;
            let bits = rows.map(|cells| self::rows(cells, columns, &variables)).transpose()?;
            let mut builder = match (&bits, &marginals) {
                (Some(bits), _) => LogZTracker::builder(bits),
                (None, Some(marginals)) => LogZTracker::builder(marginals.as_slice()),
                (None, None) => {
                    return Err(Error::Invalid("a tracker needs data or marginals".into()));
                }
            };
            let Settings { hidden, chains, temperatures, sweeps, every, .. } = settings;
            let Settings { averaging, settling, seed, .. } = settings;
            builder = builder.hidden(hidden).averaging(averaging).seed(seed);
            builder = builder.variables(variables);
            if let Some(every) = every {
                builder = builder.every(every);
            }
            if let Some(chains) = chains {
                builder = builder.chains(chains);
            }
            if let Some(temperatures) = temperatures {
                builder = builder.temperatures(temperatures);
            }
            if let Some(sweeps) = sweeps {
                builder = builder.sweeps(sweeps);
            }
            if let Some((sweeps, most)) = settling {
                builder = builder.settling(sweeps, most);
            }
            builder.build()
        })?;
        Ok(Self::of(tracker))
    }

    /// Starts the chains at the first call, which may take long, and follows the parameters at the others.
    fn update(
        &self,
        py: Python<'_>,
        weights: &[u8],
        visible_bias: &[u8],
        hidden_bias: &[u8],
    ) -> PyResult<()> {
        let started = self.reading(py, |tracker| Ok(tracker.running().is_ok()))?;
        let step = |tracker: &mut LogZTracker| {
            let variables = tracker.variables().clone();
            let new = parameters(weights, visible_bias, hidden_bias, &variables)?;
            tracker.update(&new).map(|_| ())
        };
        if started { self.reading(py, step) } else { self.on_copy(py, None, step) }
    }

    fn set_particles(&self, py: Python<'_>, particles: &[u8]) -> PyResult<()> {
        self.reading(py, |tracker| {
            let variables = tracker.variables().clone();
            let columns = table_columns(tracker.visible(), &variables);
            tracker.set_particles(&rows(particles, columns, &variables)?)
        })
    }

    /// See [`evaluation`]; and the model that it is about, as of `parameters`.
    #[pyo3(signature = (progress))]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Evaluation, Option<Parts<'py>>)> {
        let (found, model) = self.on_copy(py, progress.as_ref(), |tracker| {
            let found = tracker.evaluate()?;
            let model = tracker.parameters().cloned();
            Ok(((tracker.updates(), found, tracker.diagnostics()), model))
        })?;
        Ok((evaluation(py, found)?, model.map(|model| parts(py, &model))))
    }

    fn running(&self, py: Python<'_>) -> PyResult<(f64, f64)> {
        self.reading(py, |tracker| tracker.running())
    }

    /// Weights [M, J] and biases of the model that values are about, f32; None before the first update.
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Option<Parts<'py>>> {
        let found = self.reading(py, |tracker| Ok(tracker.parameters().cloned()))?;
        Ok(found.map(|model| parts(py, &model)))
    }

    /// States, one byte a cell, and their weights.
    fn samples<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyBytes>, Vec<f64>)> {
        let (states, variables) =
            self.reading(py, |tracker| Ok((tracker.samples()?, tracker.variables().clone())))?;
        Ok((PyBytes::new(py, &cells(&states.visible, &variables)), states.weights))
    }

    /// E[vh'] [M, J], E[v] and E[h]; the first as f32 bytes.
    fn negative_phase<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyBytes>, Vec<f64>, Vec<f64>)> {
        let found = self.reading(py, |tracker| tracker.negative_phase())?;
        let rows = (0..found.visible.len()).flat_map(|i| found.products.row(i).iter());
        let bytes: Vec<u8> = rows.flat_map(|value| value.to_le_bytes()).collect();
        Ok((PyBytes::new(py, &bytes), found.visible, found.hidden))
    }

    /// What the visible columns stand for.
    fn groups(&self, py: Python<'_>) -> PyResult<String> {
        self.reading(py, |tracker| Ok(tracker.variables().to_string()))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.reading(py, |tracker| tracker.to_bytes())?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let tracker = short(py, || LogZTracker::from_bytes(bytes.to_vec()))?;
        Ok(Self::of(tracker))
    }

    /// visible, hidden, chains, updates, restarts.
    fn counts(&self, py: Python<'_>) -> PyResult<(usize, usize, usize, u64, u64)> {
        self.reading(py, |tracker| {
            let (visible, hidden) = (tracker.visible(), tracker.hidden());
            Ok((visible, hidden, tracker.chains(), tracker.updates(), tracker.restarts()))
        })
    }
}
