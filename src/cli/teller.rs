//! Progress of a command that takes longer than a second: on a terminal a line with the current step, its progress and results so far; a
//! permanent line for each completed step. On standard error.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::output::tell;
use super::terminal::message;
use crate::estimators::Step;
use crate::progress::Watch;
use crate::record::{Screen, wrap};

/// Time before the first output.
const PATIENCE: Duration = Duration::from_secs(1);
/// Time between two updates of the progress line.
const LOOK: Duration = Duration::from_millis(250);
/// Time between two lines without a terminal, on which a line could be overwritten.
const LINES: Duration = Duration::from_secs(10);
/// Spaces before the second line of a long progress line.
const INDENT: usize = 4;

/// Shows the steps of a computation.
pub struct Teller {
    shared: Arc<Shared>,
    verbose: bool,
    /// Lines of the first second, shown after it.
    waiting: Vec<String>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// State of the thread.
struct Shared {
    start: Instant,
    watch: Watch,
    method: Mutex<String>,
    /// The bottom of the terminal; `None` without one.
    screen: Option<Mutex<Screen>>,
}

impl Teller {
    /// Starts the clock; `verbose`: whether results of steps are printed.
    pub fn new(verbose: bool) -> Self {
        let screen = io::stderr().is_terminal().then(|| Mutex::new(Screen::new()));
        let method = Mutex::new("start".to_string());
        let start = Instant::now();
        let shared = Arc::new(Shared { start, watch: Watch::start(), method, screen });
        let (stop, stopped) = channel::<()>();
        let looker = Arc::clone(&shared);
        let looks = move || {
            let mut told = None;
            while matches!(stopped.recv_timeout(LOOK), Err(RecvTimeoutError::Timeout)) {
                looker.look(&mut told);
            }
        };
        // Without a thread there is no progress, and the work continues.
        let thread = std::thread::Builder::new().name("teller".into()).spawn(looks).ok();
        Self { shared, verbose, waiting: Vec::new(), stop: Some(stop), thread }
    }

    /// Shows a step of an estimate.
    pub fn step(&mut self, step: Step<'_>) {
        match step.line {
            "" => self.method(step.method, step.begins),
            line => self.line(line),
        }
    }

    /// The method that comes next, and whether it does work of its own.
    pub fn method(&mut self, name: &str, works: bool) {
        *lock(&self.shared.method) = name.into();
        self.shared.watch.forget();
        if works && self.shared.screen.is_none() && self.shared.start.elapsed() > PATIENCE {
            tell(&format!("{}: running", self.shared.place()));
        }
    }

    /// Result of a step.
    pub fn line(&mut self, line: &str) {
        if !self.verbose {
            return;
        }
        let line = format!("{}: {line}", self.shared.place());
        self.waiting.push(line);
        if self.shared.start.elapsed() > PATIENCE {
            self.waiting.drain(..).for_each(|line| self.shared.say(&line));
        }
    }

    /// Prints a line at once.
    pub fn say(&self, line: &str) {
        self.shared.say(line);
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        // The thread ends when no sender is left.
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.shared.draw(&[], &[]);
    }
}

impl Shared {
    /// Draws lines at the bottom of a terminal, and permanent ones above.
    fn draw(&self, above: &[String], lines: &[String]) {
        if let Some(screen) = &self.screen {
            lock(screen).draw(above, lines);
        }
    }

    fn say(&self, line: &str) {
        match self.screen {
            Some(_) => self.draw(&[message(line)], &[]),
            None => tell(line),
        }
    }

    /// When, and by which method.
    fn place(&self) -> String {
        format!("{:6.1} s  {}", self.start.elapsed().as_secs_f64(), lock(&self.method))
    }

    fn look(&self, told: &mut Option<Instant>) {
        let Some(stage) = self.watch.now().filter(|_| self.start.elapsed() > PATIENCE) else {
            return;
        };
        let line = format!("{}: {}", self.place(), stage);
        if let Some(screen) = &self.screen {
            let mut screen = lock(screen);
            let lines = wrap(&message(&line), screen.width(), INDENT);
            screen.draw(&[], &lines);
        } else if told.is_none_or(|told| told.elapsed() > LINES) {
            *told = Some(Instant::now());
            tell(&line);
        }
    }
}

/// The value is complete even if a thread panicked with the lock.
fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::{self, Stage};

    #[test]
    fn a_watched_computation_says_how_far_it_is() {
        let stage = Stage { what: "annealing", done: 450, of: 1000, log_z: None };
        assert_eq!(stage.to_string(), "annealing, 450 of 1000 (45 %)");
        let stage = Stage { log_z: Some(1.23456), of: 0, done: 0, ..stage };
        assert_eq!(stage.to_string(), "annealing, 0 of 0 (0 %), log Z so far 1.235");
        let watch = Watch::start();
        progress::at_log_z("this test", 3, 9, || 2.5);
        let found = watch.now().filter(|stage| stage.what == "this test");
        // Other tests may print at the same time.
        assert!(found.is_none_or(|stage| (stage.done, stage.log_z) == (3, Some(2.5))));
    }
}
