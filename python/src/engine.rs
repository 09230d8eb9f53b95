//! The tracker of models of one's own: an engine in Python, whose states stay there. The library sees numbers of states: the batch that
//! a state is in, and its row. Methods are called on the thread that called the tracker, with what that thread has set.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::Duration;

use pyo3::prelude::*;
use ztrack::config::{Automatic, TemperingConfig};
use ztrack::engine::random::{Purpose, Stream, derived_seed};
use ztrack::engine::{BitMatrix, States, SweepStreams, Walker};
use ztrack::interrupt;
use ztrack::live::PathTracker;
use ztrack::tempering::{Ladder, TemperedPath};

use super::errors::{exception, named};
use super::long_call::{Message, long};
use super::tracker::{Evaluation, evaluation};

type Object = Arc<Py<PyAny>>;

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What all paths of a tracker share.
#[derive(Default)]
struct Shared {
    /// To the thread that may call methods, while there is one.
    line: Mutex<Option<Sender<Message>>>,
    /// Arrays of states, which do not change.
    batches: Mutex<HashMap<u64, Object>>,
    next: AtomicU64,
}

impl Shared {
    /// Has the calling thread do something; leaves the computation where that raises.
    fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(Python<'_>) -> PyResult<T> + Send + 'static,
    ) -> T {
        let (reply, answer) = channel();
        let call = Message::Call(Box::new(move |py| {
            let _ = reply.send(work(py)?);
            Ok(())
        }));
        if let Some(line) = &*lock(&self.line) {
            let _ = line.send(call);
        }
        answer.recv().unwrap_or_else(|_| {
            loop {
                interrupt::point();
                std::thread::sleep(Duration::from_millis(1));
            }
        })
    }

    /// Numbers of the states of a new batch.
    fn keep(&self, states: Object, rows: usize) -> Vec<u64> {
        let batch = self.next.fetch_add(1, Ordering::Relaxed);
        lock(&self.batches).insert(batch, states);
        (0..rows as u64).map(|row| batch << 32 | row).collect()
    }

    /// Forgets the batches that none of these states is in.
    fn forget_all_but(&self, states: &[u64]) {
        lock(&self.batches).retain(|batch, _| states.iter().any(|state| state >> 32 == *batch));
    }

    /// The batch of states, which chains share, and their rows in it.
    fn find(&self, states: &[u64]) -> (Object, Vec<usize>) {
        let batch = states.first().map_or(0, |state| state >> 32);
        let found = lock(&self.batches).get(&batch).map(Arc::clone);
        let rows = states.iter().map(|state| (state & 0xFFFF_FFFF) as usize).collect();
        (found.expect("batches of the chains are kept"), rows)
    }
}

/// A copy of some rows of states.
fn taken(py: Python<'_>, engine: &Object, states: &Object, rows: Vec<usize>) -> PyResult<Object> {
    Ok(Arc::new(engine.call_method1(py, "take", (&**states, rows))?))
}

/// An engine at one time, behind `_engine.Adapter`.
#[derive(Clone)]
struct PythonPath {
    engine: Object,
    log_z_base: f64,
    ladder: Arc<Ladder>,
    shared: Arc<Shared>,
}

impl PythonPath {
    fn betas(&self, at: impl Iterator<Item = usize>) -> Vec<f64> {
        at.map(|k| self.ladder.betas()[k]).collect()
    }
}

impl TemperedPath for PythonPath {
    fn ladder(&self) -> &Ladder {
        &self.ladder
    }

    /// Bits of a state's number.
    fn n_visible(&self) -> usize {
        64
    }

    fn log_z_base(&self) -> f64 {
        self.log_z_base
    }

    fn sample_base(&self, rows: usize, seed: u64, step: u64) -> BitMatrix {
        let engine = Arc::clone(&self.engine);
        let seed = derived_seed(seed, Purpose::ChainStart, step) >> 1;
        let states = self
            .shared
            .ask(move |py| Ok(Arc::new(engine.call_method1(py, "sample_base", (rows, seed))?)));
        let states = self.shared.keep(states, rows);
        BitMatrix::from_words(rows, 64, states).expect("one word a row")
    }

    fn takes_all_rows(&self) -> bool {
        true
    }

    fn walker<'a>(&'a self, states: States<'a>) -> Box<dyn Walker + 'a> {
        let (held, rows) = self.shared.find(states.visible);
        Box::new(Chains { path: self, states, held, rows: Some(rows) })
    }
}

struct Chains<'a> {
    path: &'a PythonPath,
    states: States<'a>,
    held: Object,
    /// Rows of `held`, a batch that is not to be changed; `None` for all of an object of one's own.
    rows: Option<Vec<usize>>,
}

impl Chains<'_> {
    /// The chains' states, to be changed at will.
    fn own(&mut self) -> Object {
        if let Some(rows) = self.rows.take() {
            let (engine, held) = (Arc::clone(&self.path.engine), Arc::clone(&self.held));
            self.held = self.path.shared.ask(move |py| taken(py, &engine, &held, rows));
        }
        Arc::clone(&self.held)
    }
}

impl Walker for Chains<'_> {
    fn log_f(&mut self, at: &[usize], out: &mut [f64]) {
        let (held, engine) = (self.own(), Arc::clone(&self.path.engine));
        let betas = self.path.betas(at.iter().copied());
        let rows = self.states.visible.len();
        let found: Vec<u8> = self
            .path
            .shared
            .ask(move |py| engine.call_method1(py, "log_f", (&*held, betas, rows))?.extract(py));
        for (out, bytes) in out.iter_mut().zip(found.as_chunks().0) {
            *out = f64::from_le_bytes(*bytes);
        }
    }

    fn sweep(&mut self, at: &[u32], streams: &SweepStreams) {
        let (held, engine) = (self.own(), Arc::clone(&self.path.engine));
        let betas = self.path.betas(at.iter().map(|&k| k as usize));
        let seed = whole(streams.visible.row(self.states.first_row));
        self.held = self.path.shared.ask(move |py| {
            Ok(Arc::new(engine.call_method1(py, "sweep", (&*held, betas, seed))?))
        });
    }

    fn store(&mut self) {
        let rows = self.states.visible.len();
        let (engine, held) = (Arc::clone(&self.path.engine), Arc::clone(&self.held));
        let rows = self.rows.take().unwrap_or_else(|| (0..rows).collect());
        // A copy: an engine may write into what it returned.
        let kept = self.path.shared.ask(move |py| taken(py, &engine, &held, rows));
        let states = self.path.shared.keep(kept, self.states.visible.len());
        self.states.visible.copy_from_slice(&states);
    }
}

/// A seed that a signed integer holds.
fn whole(mut stream: Stream) -> u64 {
    (u64::from(stream.next_word()) << 32 | u64::from(stream.next_word())) >> 1
}

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

/// Threads of Python may share one: each call waits for the one before.
#[pyclass(frozen)]
pub struct EngineTracker {
    tracker: Mutex<PathTracker<PythonPath>>,
    ladder: Arc<Ladder>,
    shared: Arc<Shared>,
    /// The thread that methods of the engine are called on.
    caller: Mutex<Option<ThreadId>>,
}

impl EngineTracker {
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
        long(py, progress, true, |tell| {
            let mut held = lock(&self.tracker);
            *lock(&self.shared.line) = Some(tell);
            *lock(&self.caller) = Some(here);
            let _hung = Hung(self);
            let mut copy = held.clone();
            let found = work(&mut copy);
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
            shared: Arc::default(),
            caller: Mutex::default(),
        })
    }

    /// Takes in an engine that does not change: starts the chains at the first call, and moves them at the others.
    fn update(&self, py: Python<'_>, engine: Py<PyAny>, log_z_base: f64) -> PyResult<()> {
        let (ladder, shared) = (Arc::clone(&self.ladder), Arc::clone(&self.shared));
        let path = PythonPath { engine: Arc::new(engine), log_z_base, ladder, shared };
        self.on_copy(py, None, |tracker| tracker.update(path))
    }

    /// See [`evaluation`].
    #[pyo3(signature = (progress))]
    fn evaluate(&self, py: Python<'_>, progress: Option<Bound<'_, PyAny>>) -> PyResult<Evaluation> {
        let found = self.on_copy(py, progress.as_ref(), |tracker| {
            let found = tracker.evaluate()?;
            Ok((tracker.updates(), found, tracker.diagnostics()))
        })?;
        evaluation(py, found)
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
        let engine = |tracker: &PathTracker<PythonPath>| {
            tracker.tracked().map(|(path, _)| Arc::clone(&path.engine))
        };
        Ok(self.reading(py, |tracker| Ok(engine(tracker)))?.map(|engine| engine.clone_ref(py)))
    }

    /// chains, updates, restarts.
    fn counts(&self, py: Python<'_>) -> PyResult<(usize, u64, u64)> {
        self.reading(py, |tracker| Ok((tracker.chains(), tracker.updates(), tracker.restarts())))
    }
}
