//! What a person sees while log Z is estimated: a line on standard error for each step, once it takes longer than a second.

use std::time::Instant;

use super::output::tell;

/// Seconds before anything is told.
const PATIENCE: f64 = 1.0;

/// Tells of steps of an estimate.
pub struct Teller {
    start: Instant,
    method: String,
    /// Lines of the first second, told when it is over.
    waiting: Vec<String>,
}

impl Teller {
    /// Starts the clock.
    pub fn new() -> Self {
        Self { start: Instant::now(), method: "start".into(), waiting: Vec::new() }
    }

    /// The method that comes next, and whether it has work of its own to do.
    pub fn method(&mut self, name: &str, works: bool) {
        self.method = name.into();
        if works && self.start.elapsed().as_secs_f64() > PATIENCE {
            self.line("running");
        }
    }

    /// What was found by a step.
    pub fn line(&mut self, line: &str) {
        let seconds = self.start.elapsed().as_secs_f64();
        self.waiting.push(format!("{seconds:6.1} s  {}: {line}", self.method));
        if seconds > PATIENCE {
            self.waiting.drain(..).for_each(|line| tell(&line));
        }
    }
}
