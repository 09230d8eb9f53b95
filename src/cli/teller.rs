//! Progress of a command that takes longer than a second: on a terminal a line with the current step, its progress and results so far. With
//! `--verbose` a permanent line for each completed step. On standard error.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::output::{LiveLines, tell};
use crate::context::Context;
use crate::context::progress::{Watch, lock};
use crate::estimators::Step;
use crate::record::redraw;

/// Time before the first output.
const PATIENCE: Duration = Duration::from_secs(1);
/// Time between two updates of the progress line.
const LOOK: Duration = Duration::from_millis(250);
/// Time between two lines without a terminal, on which a line could be overwritten.
const LINES: Duration = Duration::from_secs(10);

/// Shows the steps of a computation.
pub struct Teller {
    shown: Arc<Mutex<Shown>>,
    verbose: bool,
}

/// State of the thread that shows progress.
struct Shown {
    start: Instant,
    watch: Watch,
    method: String,
    live: LiveLines,
    /// The last line without a terminal.
    told: Option<Instant>,
    ended: bool,
}

impl Teller {
    /// Starts the clock; `verbose`: whether results of steps are printed; `method`: the first one.
    pub fn new(context: &Context, verbose: bool, method: &str) -> Self {
        let shown = Arc::new(Mutex::new(Shown {
            start: Instant::now(),
            watch: context.watch(),
            method: method.into(),
            live: LiveLines::new(),
            told: None,
            ended: false,
        }));
        redraw(&shown, LOOK, |shown| {
            shown.look();
            shown.ended
        });
        Self { shown, verbose }
    }

    /// Shows a step of an estimate.
    pub fn step(&mut self, step: Step<'_>) {
        match step.line {
            "" => self.method(step.method, step.begins),
            line => self.line(line),
        }
    }

    /// The method that comes next, and whether it does work of its own.
    fn method(&self, name: &str, works: bool) {
        let mut shown = lock(&self.shown);
        shown.method = name.into();
        shown.watch.forget();
        if works && !shown.live.are_drawn() && shown.start.elapsed() > PATIENCE {
            tell(&format!("{}: running", shown.place()));
        }
    }

    /// Result of a step, for `--verbose`.
    pub fn line(&mut self, line: &str) {
        if !self.verbose {
            return;
        }
        let mut shown = lock(&self.shown);
        let line = format!("{}: {line}", shown.place());
        shown.live.say(&line);
    }

    /// Prints a line at once.
    pub fn say(&self, line: &str) {
        lock(&self.shown).live.say(line);
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        let mut shown = lock(&self.shown);
        shown.ended = true;
        shown.live.draw([]);
    }
}

impl Shown {
    /// When, and by which method.
    fn place(&self) -> String {
        format!("{:6.1} s  {}", self.start.elapsed().as_secs_f64(), self.method)
    }

    fn look(&mut self) {
        let stage = self.watch.now().filter(|_| self.start.elapsed() > PATIENCE);
        let Some(stage) = stage.filter(|_| !self.ended) else { return };
        let line = format!("{}: {}", self.place(), stage);
        if self.live.are_drawn() {
            self.live.draw([line]);
        } else if self.told.is_none_or(|told| told.elapsed() > LINES) {
            self.told = Some(Instant::now());
            tell(&line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::progress::Stage;

    #[test]
    fn a_watched_computation_says_how_far_it_is() {
        let stage = Stage { what: "annealing", done: 450, of: 1000, log_z: None };
        assert_eq!(stage.to_string(), "annealing, 450 of 1000 (45 %)");
        let stage = Stage { log_z: Some(1.23456), of: 0, done: 0, ..stage };
        assert_eq!(stage.to_string(), "annealing, 0 of 0 (0 %), log Z so far 1.235");
        let context = Context::default();
        context.progress().at("this test", 2, 9);
        let watch = context.watch();
        assert_eq!(watch.now(), None, "nobody watched");
        context.progress().at_log_z("this test", 3, 9, || 2.5);
        let found = watch.now().map(|stage| (stage.done, stage.log_z));
        assert_eq!(found, Some((3, Some(2.5))));
    }
}
