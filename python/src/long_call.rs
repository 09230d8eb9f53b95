//! Calls that take long: Python's lock is free meanwhile, Ctrl-C ends them, and so does a callback that raises.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use ztrack::context::Context;

use super::errors::{exception, named};

/// Between two looks at signals.
const LOOK: Duration = Duration::from_millis(50);
/// Between two lines that say how far a step is.
const LINES: Duration = Duration::from_secs(1);
/// Longest time the interpreter waits at its exit for calls of other threads to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// The calls at work; `None` once the interpreter is at its exit.
static CALLS: Mutex<Option<Vec<Arc<Turn>>>> = Mutex::new(Some(Vec::new()));

/// The process that made the first call.
static PROCESS: OnceLock<u32> = OnceLock::new();

fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A call's turn in a context, which calls of several threads may share.
pub struct Turn {
    context: Context,
    state: Mutex<State>,
}

#[derive(PartialEq)]
enum State {
    Waits,
    AtWork,
    Ended,
}

impl Turn {
    /// Begins, once no other call is at work in the context.
    ///
    /// # Errors
    /// The call was ended before.
    pub fn begin(&self) -> ztrack::Result<AtWork<'_>> {
        let mut state = locked(&self.state);
        if *state == State::Ended {
            return Err(ztrack::Error::Interrupted);
        }
        *state = State::AtWork;
        self.context.renew();
        Ok(AtWork(self))
    }

    /// Ends the call, and no other one.
    fn cancel(&self) {
        let before = std::mem::replace(&mut *locked(&self.state), State::Ended);
        if before == State::AtWork {
            self.context.cancel();
        }
    }
}

/// While it exists, its call is at work.
pub struct AtWork<'a>(&'a Turn);

impl AtWork<'_> {
    /// The context.
    pub fn context(&self) -> &Context {
        &self.0.context
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        *locked(&self.0.state) = State::Ended;
    }
}

/// A call, which [`end_all`] ends.
struct Listed(Arc<Turn>);

impl Listed {
    /// # Errors
    /// The interpreter is at its exit: a thread that waits for Python's lock is ended by it in the midst of a call, and that aborts
    /// the process.
    fn new(context: Context) -> ztrack::Result<Self> {
        let turn = Arc::new(Turn { context, state: Mutex::new(State::Waits) });
        locked(&CALLS).as_mut().ok_or(ztrack::Error::Interrupted)?.push(Arc::clone(&turn));
        Ok(Self(turn))
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        if let Some(calls) = locked(&CALLS).as_mut() {
            calls.retain(|call| !Arc::ptr_eq(call, &self.0));
        }
    }
}

/// Ends the calls of other threads, as those of daemons, before the interpreter goes: registered with `atexit`.
#[pyfunction]
pub fn end_all(py: Python<'_>) {
    let left = locked(&CALLS).take().unwrap_or_default();
    left.iter().for_each(|call| call.cancel());
    let start = Instant::now();
    py.detach(|| {
        while left.iter().any(|call| Arc::strong_count(call) > 1) && start.elapsed() < PATIENCE {
            std::thread::sleep(LOOK);
        }
    });
}

/// What work on other threads asks of the thread that called.
pub enum Message {
    /// A line for `progress`.
    Line(String),
    /// To be called there; not after an exception.
    Call(Call),
}

type Call = Box<dyn FnOnce(Python<'_>) -> PyResult<()> + Send>;

/// Work that waits for Python would hold up other work on the same threads.
fn on_own_threads<T: Send>(work: impl FnOnce() -> ztrack::Result<T> + Send) -> ztrack::Result<T> {
    let pool = rayon::ThreadPoolBuilder::new().build();
    let invalid = |error| ztrack::Error::Invalid(format!("cannot start threads: {error}"));
    pool.map_err(invalid)?.install(work)
}

/// Runs `work` on other threads in a context, from its turn on; the lines it sends go to `progress`, a callable of one string. An exception of a signal handler
/// or of `progress` ends the work and is raised; `progress` ends it too by returning False, as `Interrupted`. With `within`, it also
/// hears about every second how far the step at work is, or that it is at work.
pub fn long<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    within: bool,
    context: Context,
    work: impl FnOnce(Sender<Message>, &Turn) -> ztrack::Result<T> + Send,
) -> PyResult<T> {
    let watch = progress.filter(|_| within).map(|_| context.watch());
    let call = Listed::new(context).map_err(|error| exception(py, &error))?;
    let turn = &*call.0;
    let mut told_at = Instant::now();
    let mut raised: Option<PyErr> = None;
    let joined = std::thread::scope(|scope| {
        let (tell, told) = channel();
        let told = Mutex::new(told);
        let worker = scope.spawn(move || on_own_threads(move || work(tell, turn)));
        loop {
            let next = py.detach(|| match told.lock() {
                Ok(told) => told.recv_timeout(LOOK),
                Err(_) => Err(RecvTimeoutError::Disconnected),
            });
            let line = match next {
                Err(RecvTimeoutError::Disconnected) => break,
                Ok(Message::Line(line)) => Some(line),
                Ok(Message::Call(call)) => {
                    if raised.is_none()
                        && let Err(error) = call(py)
                    {
                        raised = Some(error);
                        turn.cancel();
                    }
                    None
                }
                Err(RecvTimeoutError::Timeout) => None,
            };
            // Between calls of an engine there may be no pause as long as `LOOK`.
            let line = line.or_else(|| {
                let watch = watch.as_ref().filter(|_| told_at.elapsed() > LINES)?;
                Some(watch.now().map_or("at work".into(), |stage| stage.to_string()))
            });
            let outcome = match (line, progress) {
                (Some(line), Some(progress)) if raised.is_none() => {
                    told_at = Instant::now();
                    progress.call1((line,)).map(|go_on| {
                        if go_on.is_none() { true } else { go_on.is_truthy().unwrap_or(true) }
                    })
                }
                _ => Ok(true),
            };
            let outcome = outcome.and_then(|go_on| py.check_signals().map(|()| go_on));
            match outcome {
                Ok(true) => {}
                Ok(false) => turn.cancel(),
                Err(error) => {
                    raised.get_or_insert(error);
                    turn.cancel();
                }
            }
        }
        py.detach(|| worker.join())
    });
    if let Some(error) = raised {
        return Err(error);
    }
    match joined {
        Ok(result) => result.map_err(|error| exception(py, &error)),
        Err(payload) => Err(named(py, "InternalError", panic_text(payload.as_ref()))),
    }
}

/// A call that is short: Python's lock is free, nothing ends it. On rayon's own threads, but in a process that was forked: these are its
/// parent's.
pub fn short<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> ztrack::Result<T> + Send,
) -> PyResult<T> {
    let forked = *PROCESS.get_or_init(std::process::id) != std::process::id();
    let found = py.detach(|| if forked { on_own_threads(work) } else { work() });
    found.map_err(|error| exception(py, &error))
}

fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
    format!("a mistake of ztrack, please report it: {text}")
}
