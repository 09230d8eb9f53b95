//! An engine in Python as a path, whose states stay there. The library sees numbers of states: the batch that a state is in, and its
//! row. Methods are called on the thread that called the tracker, with what that thread has set.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use ztrack::Context;
use ztrack::engine::random::{Purpose, Stream, derived_seed};
use ztrack::engine::{BitMatrix, States, SweepStreams, Walker};
use ztrack::tempering::{Ladder, TemperedPath};

use super::long_call::Message;

pub type Object = Arc<Py<PyAny>>;

pub fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What all paths of a tracker share.
pub struct Shared {
    /// To the thread that may call methods, while there is one.
    pub line: Mutex<Option<Sender<Message>>>,
    /// Arrays of states, which do not change.
    batches: Mutex<HashMap<u64, Object>>,
    next: AtomicU64,
    /// In place of the states of a batch where a method has raised.
    nothing: Object,
}

impl Shared {
    /// Without batches.
    pub fn new(nothing: Object) -> Self {
        Self { line: Mutex::default(), batches: Mutex::default(), next: AtomicU64::new(0), nothing }
    }

    /// Has the calling thread do something. `None` where that raises, which ends the computation.
    fn ask<T: Send + 'static>(
        &self,
        context: &Context,
        work: impl FnOnce(Python<'_>) -> PyResult<T> + Send + 'static,
    ) -> Option<T> {
        if context.is_cancelled() {
            return None;
        }
        let (reply, answer) = channel();
        let call = Message::Call(Box::new(move |py| {
            let _ = reply.send(work(py)?);
            Ok(())
        }));
        if let Some(line) = &*lock(&self.line) {
            let _ = line.send(call);
        }
        let answer = answer.recv().ok();
        if answer.is_none() {
            context.cancel();
        }
        answer
    }

    /// Numbers of the states of a new batch.
    fn keep(&self, states: Object, rows: usize) -> Vec<u64> {
        let batch = self.next.fetch_add(1, Ordering::Relaxed);
        lock(&self.batches).insert(batch, states);
        (0..rows as u64).map(|row| batch << 32 | row).collect()
    }

    /// Has a batch under the number that it had in another tracker.
    pub fn keep_again(&self, states: Object, batch: u64) {
        lock(&self.batches).insert(batch, states);
        self.next.store(batch + 1, Ordering::Relaxed);
    }

    /// Forgets the batches that none of these states is in.
    pub fn forget_all_but(&self, states: &[u64]) {
        lock(&self.batches).retain(|batch, _| states.iter().any(|state| state >> 32 == *batch));
    }

    /// The batch of states, which chains share, and their rows in it.
    pub fn find(&self, states: &[u64]) -> (Object, Vec<usize>) {
        let batch = states.first().map_or(0, |state| state >> 32);
        let found = lock(&self.batches).get(&batch).map(Arc::clone);
        let found = found.unwrap_or_else(|| Arc::clone(&self.nothing));
        let rows = states.iter().map(|state| (state & 0xFFFF_FFFF) as usize).collect();
        (found, rows)
    }
}

/// A copy of some rows of states.
pub fn taken(
    py: Python<'_>,
    engine: &Object,
    states: &Object,
    rows: Vec<usize>,
) -> PyResult<Object> {
    Ok(Arc::new(engine.call_method1(py, "take", (&**states, rows))?))
}

/// An engine at one time, behind `_engine.Adapter`.
#[derive(Clone)]
pub struct PythonPath {
    pub engine: Object,
    pub log_z_base: f64,
    pub ladder: Arc<Ladder>,
    pub shared: Arc<Shared>,
    pub context: Context,
}

impl PythonPath {
    fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(Python<'_>) -> PyResult<T> + Send + 'static,
    ) -> Option<T> {
        self.shared.ask(&self.context, work)
    }

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

    fn context(&self) -> &Context {
        &self.context
    }

    fn sample_base(&self, rows: usize, seed: u64, step: u64) -> BitMatrix {
        let engine = Arc::clone(&self.engine);
        let seed = derived_seed(seed, Purpose::ChainStart, step) >> 1;
        let states = self
            .ask(move |py| Ok(Arc::new(engine.call_method1(py, "sample_base", (rows, seed))?)));
        let Some(states) = states else { return BitMatrix::zeros(rows, 64) };
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
            if let Some(own) = self.path.ask(move |py| taken(py, &engine, &held, rows)) {
                self.held = own;
            }
        }
        Arc::clone(&self.held)
    }
}

impl Walker for Chains<'_> {
    fn log_f(&mut self, at: &[usize], out: &mut [f64]) {
        let (held, engine) = (self.own(), Arc::clone(&self.path.engine));
        let betas = self.path.betas(at.iter().copied());
        let rows = self.states.visible.len();
        let found: Option<Vec<u8>> = self
            .path
            .ask(move |py| engine.call_method1(py, "log_f", (&*held, betas, rows))?.extract(py));
        for (out, bytes) in out.iter_mut().zip(found.unwrap_or_default().as_chunks().0) {
            *out = f64::from_le_bytes(*bytes);
        }
    }

    fn sweep(&mut self, at: &[u32], streams: &SweepStreams) {
        let (held, engine) = (self.own(), Arc::clone(&self.path.engine));
        let betas = self.path.betas(at.iter().map(|&k| k as usize));
        let seed = whole(streams.visible.row(self.states.first_row));
        let swept = self.path.ask(move |py| {
            Ok(Arc::new(engine.call_method1(py, "sweep", (&*held, betas, seed))?))
        });
        if let Some(swept) = swept {
            self.held = swept;
        }
    }

    fn store(&mut self) {
        let rows = self.states.visible.len();
        let (engine, held) = (Arc::clone(&self.path.engine), Arc::clone(&self.held));
        let rows = self.rows.take().unwrap_or_else(|| (0..rows).collect());
        // A copy: an engine may write into what it returned.
        let kept = self.path.ask(move |py| taken(py, &engine, &held, rows));
        let Some(kept) = kept else { return };
        let states = self.path.shared.keep(kept, self.states.visible.len());
        self.states.visible.copy_from_slice(&states);
    }
}

/// A seed that a signed integer holds.
fn whole(mut stream: Stream) -> u64 {
    (u64::from(stream.next_word()) << 32 | u64::from(stream.next_word())) >> 1
}
