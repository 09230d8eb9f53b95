//! The tracker of models of one's own.

use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use ztrack::Context;
use ztrack::config::{Automatic, TemperingConfig};
use ztrack::live::PathTracker;
use ztrack::tempering::Ladder;

use super::engine_path::{PythonPath, Shared, lock, taken};
use super::errors::{exception, named};
use super::long_call::long;
use super::tracker::{Evaluation, evaluation};

/// See [`EngineTracker::to_state`].
type State<'py> =
    (Bound<'py, PyBytes>, Option<(Py<PyAny>, u64)>, Option<Py<PyAny>>, Option<Py<PyAny>>);

/// What a tracker is made with, unless its default will do.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Settings {
    chains: usize,
    temperatures: Option<usize>,
    sweeps: Option<usize>,
    every: u64,
    settling: Option<(usize, usize)>,
    seed: u64,
}

/// The engine of the chains' last step.
fn followed(tracker: &PathTracker<PythonPath>) -> Option<Arc<Py<PyAny>>> {
    tracker.tracked().map(|(path, _)| Arc::clone(&path.engine))
}

/// Threads of Python may share one: each call waits for the one before.
#[pyclass(frozen)]
pub struct EngineTracker {
    tracker: Mutex<PathTracker<PythonPath>>,
    ladder: Arc<Ladder>,
    shared: Arc<Shared>,
    context: Context,
    /// The thread that methods of the engine are called on.
    caller: Mutex<Option<ThreadId>>,
}

impl EngineTracker {
    fn path(&self, engine: Py<PyAny>, log_z_base: f64) -> PythonPath {
        let (ladder, shared) = (Arc::clone(&self.ladder), Arc::clone(&self.shared));
        let context = self.context.clone();
        PythonPath { engine: Arc::new(engine), log_z_base, ladder, shared, context }
    }

    /// Works on a copy, which takes the tracker's place at the end: what fails leaves it as it was.
    fn on_copy<T: Send>(
        &self,
        py: Python<'_>,
        progress: Option<&Bound<'_, PyAny>>,
        work: impl FnOnce(&mut PathTracker<PythonPath>) -> ztrack::Result<T> + Send,
    ) -> PyResult<T> {
        struct Hung<'a>(&'a EngineTracker);
        impl Drop for Hung<'_> {
            fn drop(&mut self) {
                *lock(&self.0.shared.line) = None;
                *lock(&self.0.caller) = None;
            }
        }
        let here = std::thread::current().id();
        if *lock(&self.caller) == Some(here) {
            let text = "a method of the engine calls the tracker that called it";
            return Err(named(py, "InvalidError", text.into()));
        }
        long(py, progress, true, self.context.clone(), |tell, turn| {
            let mut held = lock(&self.tracker);
            let _at_work = turn.begin()?;
            *lock(&self.shared.line) = Some(tell);
            *lock(&self.caller) = Some(here);
            let _hung = Hung(self);
            let mut copy = held.clone();
            let found = work(&mut copy);
            // The engine may have raised after the last place where work is left.
            let cancelled = self.context.is_cancelled();
            let found = if cancelled { Err(ztrack::Error::Interrupted) } else { found };
            if found.is_ok() {
                *held = copy;
            }
            let kept = held.tracked().map(|(_, chains)| chains.chains.visible.words());
            self.shared.forget_all_but(kept.unwrap_or_default());
            found
        })
    }

    fn reading<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&PathTracker<PythonPath>) -> ztrack::Result<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| work(&lock(&self.tracker))).map_err(|error| exception(py, &error))
    }
}

#[pymethods]
impl EngineTracker {
    #[new]
    fn new(py: Python<'_>, settings: Settings) -> PyResult<Self> {
        let Settings { chains, temperatures, sweeps, every, settling, seed } = settings;
        let mut tempering =
            TemperingConfig { chains, every: Automatic::Given(every), ..Default::default() };
        if let Some(temperatures) = temperatures {
            tempering.temperatures = Automatic::Given(temperatures);
        }
        if let Some(sweeps) = sweeps {
            tempering.sweeps = Automatic::Given(sweeps);
        }
        if let Some((sweeps, most)) = settling {
            tempering.settling.sweeps = Automatic::Given(sweeps);
            tempering.settling.most = Automatic::Given(most);
        }
        let ladder = PathTracker::<PythonPath>::ladder(&tempering);
        Ok(Self {
            ladder: Arc::new(ladder.map_err(|error| exception(py, &error))?),
            tracker: Mutex::new(PathTracker::new(tempering, seed)),
            shared: Arc::new(Shared::new(Arc::new(py.None()))),
            context: Context::default(),
            caller: Mutex::default(),
        })
    }

    /// Takes in an engine that does not change: starts the chains at the first call, and moves them at the others.
    fn update(&self, py: Python<'_>, engine: Py<PyAny>, log_z_base: f64) -> PyResult<()> {
        let path = self.path(engine, log_z_base);
        self.on_copy(py, None, |tracker| tracker.update(path))
    }

    /// See [`evaluation`]; and the engine that it is about, as of `engine`.
    #[pyo3(signature = (progress))]
    fn evaluate(
        &self,
        py: Python<'_>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<(Evaluation, Option<Py<PyAny>>)> {
        let (found, engine) = self.on_copy(py, progress.as_ref(), |tracker| {
            let found = tracker.evaluate()?;
            Ok(((tracker.updates(), found, tracker.diagnostics()), followed(tracker)))
        })?;
        Ok((evaluation(py, found)?, engine.map(|engine| engine.clone_ref(py))))
    }

    fn running(&self, py: Python<'_>) -> PyResult<(f64, f64)> {
        self.reading(py, |tracker| {
            let (_, chains) = tracker.tracked().ok_or_else(ztrack::live::not_started)?;
            Ok((chains.log_z(), chains.std_error()))
        })
    }

    /// The chains' states and their weights.
    fn samples(&self, py: Python<'_>) -> PyResult<(Py<PyAny>, Vec<f64>)> {
        let (engine, (batch, rows), weights) = self.reading(py, |tracker| {
            let (path, chains) = tracker.tracked().ok_or_else(ztrack::live::not_started)?;
            let states = self.shared.find(chains.chains.visible.words());
            Ok((Arc::clone(&path.engine), states, chains.weights()))
        })?;
        Ok((taken(py, &engine, &batch, rows)?.clone_ref(py), weights))
    }

    /// The engine of the chains' last step, or nothing before the first.
    fn engine(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let engine = self.reading(py, |tracker| Ok(followed(tracker)))?;
        Ok(engine.map(|engine| engine.clone_ref(py)))
    }

    /// Bytes of the tracker, the batch that its chains are in with the number of that, and the engines of their last step and of the last
    /// update, if they have made no step to it.
    fn to_state<'py>(&self, py: Python<'py>) -> PyResult<State<'py>> {
        let (bytes, batch, engines) = self.reading(py, |tracker| {
            let words = tracker.tracked().map(|(_, chains)| chains.chains.visible.words());
            let batch = words.map(|words| (self.shared.find(words).0, words[0] >> 32));
            let engine = |path: &PythonPath| Arc::clone(&path.engine);
            let engines = [tracker.tracked().map(|it| engine(it.0)), tracker.newest().map(engine)];
            Ok((tracker.to_bytes()?, batch, engines))
        })?;
        let batch = batch.map(|(states, number)| (states.clone_ref(py), number));
        let [tracked, newest] = engines.map(|engine| engine.map(|engine| engine.clone_ref(py)));
        Ok((PyBytes::new(py, &bytes), batch, tracked, newest))
    }

    /// Goes on from what `to_state` of a tracker with the same settings gave.
    #[pyo3(signature = (bytes, batch, tracked, newest))]
    fn load_state(
        &self,
        py: Python<'_>,
        bytes: Vec<u8>,
        batch: Option<(Py<PyAny>, u64)>,
        tracked: Option<(Py<PyAny>, f64)>,
        newest: Option<(Py<PyAny>, f64)>,
    ) -> PyResult<()> {
        if let Some((states, number)) = batch {
            self.shared.keep_again(Arc::new(states), number);
        }
        let path = |(engine, log_z_base)| self.path(engine, log_z_base);
        let (tracked, newest) = (tracked.map(path), newest.map(path));
        self.on_copy(py, None, |tracker| {
            *tracker = PathTracker::from_bytes(bytes, tracked, newest)?;
            Ok(())
        })
    }

    /// chains, updates, restarts.
    fn counts(&self, py: Python<'_>) -> PyResult<(usize, u64, u64)> {
        self.reading(py, |tracker| Ok((tracker.chains(), tracker.updates(), tracker.restarts())))
    }
}
