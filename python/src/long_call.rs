//! Calls that take long: Python's lock is free meanwhile, Ctrl-C ends them, and so does a callback that raises.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pyo3::prelude::*;
use ztrack::interrupt;

use super::errors::{exception, named};

/// Between two looks at signals.
const LOOK: Duration = Duration::from_millis(50);

/// Runs `work` on other threads; what it sends goes to `progress`, a callable of one string. An exception of a signal handler
/// or of `progress` ends the work and is raised; `progress` ends it too by returning False, as `Interrupted`.
pub fn long<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(Sender<String>) -> ztrack::Result<T> + Send,
) -> PyResult<T> {
    let flag = Arc::new(AtomicBool::new(false));
    let mut raised: Option<PyErr> = None;
    let joined = std::thread::scope(|scope| {
        let (tell, told) = channel();
        let told = Mutex::new(told);
        let own = Arc::clone(&flag);
        let worker = scope.spawn(move || interrupt::with_flag(own, move || work(tell)));
        loop {
            let next = py.detach(|| match told.lock() {
                Ok(told) => told.recv_timeout(LOOK),
                Err(_) => Err(RecvTimeoutError::Disconnected),
            });
            let outcome = match (next, progress) {
                (Err(RecvTimeoutError::Disconnected), _) => break,
                (Ok(line), Some(progress)) => progress.call1((line,)).map(|go_on| {
                    if go_on.is_none() { true } else { go_on.is_truthy().unwrap_or(true) }
                }),
                _ => Ok(true),
            };
            let outcome = outcome.and_then(|go_on| py.check_signals().map(|()| go_on));
            match outcome {
                Ok(true) => {}
                Ok(false) => flag.store(true, Ordering::Relaxed),
                Err(error) => {
                    raised.get_or_insert(error);
                    flag.store(true, Ordering::Relaxed);
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

/// A call that is short: Python's lock is free, nothing ends it.
pub fn short<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> ztrack::Result<T> + Send,
) -> PyResult<T> {
    py.detach(work).map_err(|error| exception(py, &error))
}

fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
    format!("a mistake of ztrack, please report it: {text}")
}
