//! Display of a running training: live on a terminal, plain lines elsewhere, both on standard error.
//!
//! A separate thread draws the display, so that times, the progress of long tasks and the answer to a signal appear while the run is busy.
//! A closed or full standard error must not end a long run, so errors of the display are ignored.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::live_text::{Parts, task, wrap};
use super::notice::Level;
use super::plain::Plain;
use super::repeated::{Line, Repeated};
use super::screen::{Screen, redraw};
use super::{Notice, Progress, Record, Recorder, StandardStream};
use crate::context::Context;
use crate::context::progress::{Watch, lock};
use crate::error::Result;

/// Seconds of training between two plain lines; an evaluation prints one in any case.
const LINE_INTERVAL: f64 = 5.0;
/// Time between two drawings of the display.
const TICK: Duration = Duration::from_millis(100);
/// Spaces before the second line of a notice.
const INDENT: usize = 4;

/// Live displays in use.
static ON_SCREEN: AtomicUsize = AtomicUsize::new(0);

/// Shows progress and notices, each kind of notice once and then counted.
pub struct ProgressBar {
    output: Output,
    repeated: Repeated,
    shown_at: Option<f64>,
    evaluated: bool,
    /// The latest progress while it is not shown.
    pending: Option<Progress>,
}

enum Output {
    Live(Live),
    Lines(Plain),
    /// Warnings alone.
    Warnings(Box<dyn Write>),
}

impl ProgressBar {
    /// A live display if standard error is a terminal, plain lines on standard error elsewhere. The display shows long tasks of a context
    /// even before any progress is reported.
    pub fn new(context: &Context) -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if io::stderr().is_terminal() && !dumb {
            Self::with(Output::Live(Live::new(context)))
        } else {
            Self::lines(StandardStream::Error, context)
        }
    }

    /// Plain lines to any output.
    pub fn lines(out: impl Write + Send + 'static, context: &Context) -> Self {
        Self::with(Output::Lines(Plain::new(out, context)))
    }

    /// Warnings alone, on standard error (`--quiet`).
    pub fn quiet() -> Self {
        Self::warnings(StandardStream::Error)
    }

    /// Warnings alone, to any output.
    pub fn warnings(out: impl Write + 'static) -> Self {
        Self::with(Output::Warnings(Box::new(out)))
    }

    /// Whether there is a live display, which answers a signal itself; other output would break it.
    pub(crate) fn on_screen() -> bool {
        ON_SCREEN.load(Ordering::Relaxed) > 0
    }

    fn with(output: Output) -> Self {
        let repeated = Repeated::default();
        Self { output, repeated, shown_at: None, evaluated: false, pending: None }
    }

    /// Writes a line to a plain output, if one is due.
    fn show(&mut self, progress: &Progress) {
        if let Output::Lines(lines) = &self.output {
            lines.write(&format!("update {}", Parts::of(progress, 0.0).line()));
        }
        self.shown_at = Some(progress.seconds);
        self.evaluated = false;
        self.pending = None;
    }

    fn tell(&mut self, line: &Line) {
        let warning = line.level == Level::Warning;
        let text = format!("{}{}", if warning { "warning: " } else { "" }, line.text);
        match &mut self.output {
            Output::Live(live) => live.print(&text),
            Output::Warnings(_) if !warning => {}
            Output::Lines(lines) => lines.write(&text),
            Output::Warnings(out) => {
                let _ = writeln!(out, "{text}").and_then(|()| out.flush());
            }
        }
    }
}

impl Recorder for ProgressBar {
    /// A record with a log-likelihood is an evaluation: the next progress is shown without delay.
    fn record(&mut self, record: &Record) -> Result<()> {
        self.evaluated |= record.entries.iter().any(|entry| entry.tag == "log_likelihood");
        Ok(())
    }

    fn progress(&mut self, progress: &Progress) {
        match &self.output {
            Output::Live(live) => live.show(progress),
            Output::Warnings(_) => {}
            Output::Lines(_) => {
                let due = |shown_at: f64| progress.seconds - shown_at >= LINE_INTERVAL;
                if self.evaluated || self.shown_at.is_none_or(due) {
                    self.show(progress);
                } else {
                    self.pending = Some(progress.clone());
                }
            }
        }
    }

    fn notice(&mut self, notice: &Notice, update: u64) -> Result<()> {
        if let Some(line) = self.repeated.line(notice, update) {
            self.tell(&line);
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        for line in self.repeated.rest() {
            self.tell(&line);
        }
        if let Some(progress) = self.pending.take() {
            self.show(&progress);
        }
        if let Output::Live(live) = &self.output {
            live.end();
        }
        Ok(())
    }
}

/// A display on a terminal, drawn by a thread until it is dropped.
struct Live {
    shown: Arc<Mutex<Shown>>,
}

/// State of the drawing thread.
struct Shown {
    screen: Screen,
    context: Context,
    watch: Watch,
    progress: Option<Progress>,
    /// Time of the progress.
    at: Instant,
    ended: bool,
}

impl Live {
    fn new(context: &Context) -> Self {
        ON_SCREEN.fetch_add(1, Ordering::Relaxed);
        let shown = Arc::new(Mutex::new(Shown::new(context)));
        redraw(&shown, TICK, |shown| {
            if !shown.ended {
                shown.draw(&[]);
            }
            shown.ended
        });
        Self { shown }
    }

    fn show(&self, progress: &Progress) {
        let mut shown = lock(&self.shown);
        (shown.progress, shown.at) = (Some(progress.clone()), Instant::now());
    }

    fn print(&self, text: &str) {
        let mut shown = lock(&self.shown);
        let above = wrap(text, shown.screen.width(), INDENT);
        shown.draw(&above);
    }

    /// Leaves the last values on the screen, without running and future tasks.
    fn end(&self) {
        let mut shown = lock(&self.shown);
        if !std::mem::replace(&mut shown.ended, true) {
            let waited = shown.at.elapsed().as_secs_f64();
            if let Some(progress) = &mut shown.progress {
                progress.seconds += waited;
                progress.seconds_left = None;
            }
            shown.draw(&[]);
            shown.screen.leave();
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.end();
        ON_SCREEN.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shown {
    fn new(context: &Context) -> Self {
        let (context, watch) = (context.clone(), context.watch());
        let (screen, at) = (Screen::new(), Instant::now());
        Self { screen, context, watch, progress: None, at, ended: false }
    }

    fn draw(&mut self, above: &[String]) {
        let lines = self.lines(self.screen.width());
        self.screen.draw(above, &lines);
    }

    fn lines(&self, width: usize) -> Vec<String> {
        let running = if self.ended { None } else { self.watch.task() };
        let interrupted = !self.ended && self.context.is_cancelled();
        let work = task(running.as_ref(), interrupted);
        let waited = if self.ended { 0.0 } else { self.at.elapsed().as_secs_f64() };
        let lines = |progress| Parts::of(progress, waited).lines(progress, width);
        let mut lines = self.progress.as_ref().map_or_else(Vec::new, lines);
        lines.extend(work.iter().flat_map(|text| wrap(text, width, INDENT)));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Run;

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Shared {
        fn text(&self) -> String {
            String::from_utf8(lock(&self.0).clone()).unwrap()
        }
    }

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            lock(&self.0).write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn at(update: u64, seconds: f64) -> Progress {
        Progress { update, updates: 100, epoch: 0.5, seconds, ..Progress::default() }
    }

    const FEW: Notice = Notice::FewEffectiveChains { effective: 5.0, chains: 100 };

    #[test]
    fn lines_come_every_few_seconds_at_evaluations_and_at_the_end() {
        let out = Shared::default();
        let mut bar = ProgressBar::lines(out.clone(), &Context::default());
        for update in 0..80 {
            if update == 33 {
                let mut record = Record::new(update, 0.0, 0.0);
                record.scalar(Run::Train, "log_likelihood", 0.0);
                bar.record(&record).unwrap();
            }
            bar.progress(&at(update, 0.25 * update as f64));
        }
        bar.notice(&FEW, 79).unwrap();
        bar.finish().unwrap();
        let text = out.text();
        let updates: Vec<_> = text.lines().map(|line| line.split("  ").next().unwrap()).collect();
        let expected = ["0", "20", "33", "53", "73"].map(|u| format!("update {u}/100"));
        assert_eq!(updates[..5], expected);
        assert!(updates[5].starts_with("warning: update 79: only 5 of 100 chains"));
        assert_eq!(updates[6..], ["update 79/100"]);
    }

    #[test]
    fn a_quiet_run_tells_its_warnings() {
        let out = Shared::default();
        let mut bar = ProgressBar::warnings(out.clone());
        bar.progress(&at(0, 0.0));
        bar.notice(&Notice::InitialRounds { rounds: 3 }, 0).unwrap();
        (1..=3).for_each(|update| bar.notice(&FEW, update).unwrap());
        bar.finish().unwrap();
        let text = out.text();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(lines[0].starts_with("warning: update 1: only 5 of 100 chains"), "{text}");
        assert_eq!(
            lines[1],
            "warning: only 5 of 100 chains carry the gradient (few-effective-chains, 3 times since update 1)"
        );
    }

    #[test]
    fn a_display_shows_progress_tasks_and_what_is_left_at_the_end() {
        let mut shown = Shown::new(&Context::default());
        assert!(shown.lines(80).is_empty());
        shown.progress = Some(Progress { seconds_left: Some(9.0), ..at(50, 9.0) });
        assert!(shown.lines(80)[0].ends_with("9s left"), "{:?}", shown.lines(80));
        shown.ended = true;
        assert_eq!(shown.lines(80).len(), 1);
    }

    #[test]
    fn a_closed_output_does_not_end_the_run() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
        }
        let mut bar = ProgressBar::lines(Closed, &Context::default());
        bar.progress(&at(1, 0.0));
        assert!(bar.notice(&Notice::ModeMissed, 1).is_ok());
        assert!(bar.finish().is_ok());
    }
}
