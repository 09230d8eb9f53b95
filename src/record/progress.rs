//! What a person sees while a run goes on: a bar on a terminal, plain lines elsewhere, both on standard error.
//!
//! A closed or full standard error must not end a long run, so failures to show are ignored.

use std::io::{self, IsTerminal, Write};

use indicatif::{ProgressFinish, ProgressStyle};

use super::{Notice, Progress, Record, Recorder};
use crate::error::Result;

/// Seconds of training between two plain lines; an evaluation prints one in any case.
const LINE_INTERVAL: f64 = 5.0;
/// Seconds of training between two looks of the bar.
const BAR_INTERVAL: f64 = 0.1;

/// Shows progress and notices.
pub struct ProgressBar {
    output: Output,
    shown_at: Option<f64>,
    evaluated: bool,
    /// The latest progress while it is not shown.
    pending: Option<Progress>,
}

enum Output {
    Bar(indicatif::ProgressBar),
    Lines(Box<dyn Write>),
    Quiet,
}

impl ProgressBar {
    /// A bar where standard error is a terminal, plain lines on standard error elsewhere.
    pub fn new() -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if io::stderr().is_terminal() && !dumb { Self::bar() } else { Self::lines(io::stderr()) }
    }

    /// Plain lines to anywhere.
    pub fn lines(out: impl Write + 'static) -> Self {
        Self::with(Output::Lines(Box::new(out)))
    }

    /// Nothing at all, warnings included (`--quiet`).
    pub fn quiet() -> Self {
        Self::with(Output::Quiet)
    }

    fn bar() -> Self {
        let style = ProgressStyle::with_template("{bar:16} {prefix}\n{wide_msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar())
            .progress_chars("=> ");
        // Left as it stands when dropped on an error, so that it tells how far the run came.
        let bar = indicatif::ProgressBar::new(0).with_style(style);
        Self::with(Output::Bar(bar.with_finish(ProgressFinish::Abandon)))
    }

    fn with(output: Output) -> Self {
        Self { output, shown_at: None, evaluated: false, pending: None }
    }

    fn show(&mut self, progress: &Progress) {
        match &mut self.output {
            Output::Bar(bar) => {
                bar.set_length(progress.updates);
                bar.set_prefix(join([position(progress), times(progress), note(progress)]));
                bar.set_message(values(progress));
                bar.set_position(progress.update);
            }
            Output::Lines(out) => {
                let parts = [position, values, note, times].map(|part| part(progress));
                let _ = writeln!(out, "update {}", join(parts)).and_then(|()| out.flush());
            }
            Output::Quiet => {}
        }
        self.shown_at = Some(progress.seconds);
        self.evaluated = false;
        self.pending = None;
    }
}

impl Default for ProgressBar {
    fn default() -> Self {
        Self::new()
    }
}

impl Recorder for ProgressBar {
    /// A record with a log-likelihood is an evaluation: the next progress is shown without delay.
    fn record(&mut self, record: &Record) -> Result<()> {
        self.evaluated |= record.entries.iter().any(|entry| entry.tag == "log_likelihood");
        Ok(())
    }

    fn progress(&mut self, progress: &Progress) {
        let interval = match self.output {
            Output::Bar(_) => BAR_INTERVAL,
            Output::Lines(_) => LINE_INTERVAL,
            Output::Quiet => return,
        };
        let due = self.shown_at.is_none_or(|shown_at| progress.seconds - shown_at >= interval);
        if due || self.evaluated {
            self.show(progress);
        } else {
            self.pending = Some(progress.clone());
        }
    }

    fn notice(&mut self, notice: &Notice, update: u64) -> Result<()> {
        let level = if matches!(notice, Notice::Warning(_)) { "warning: " } else { "" };
        let line = format!("{level}update {update}: {}", notice.text());
        match &mut self.output {
            Output::Bar(bar) => bar.println(line),
            Output::Lines(out) => {
                let _ = writeln!(out, "{line}").and_then(|()| out.flush());
            }
            Output::Quiet => {}
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        if let Some(progress) = self.pending.take() {
            self.show(&progress);
        }
        if let Output::Bar(bar) = &self.output {
            bar.abandon();
        }
        Ok(())
    }
}

fn position(progress: &Progress) -> String {
    format!("{}/{}  epoch {:.2}", progress.update, progress.updates, progress.epoch)
}

fn values(progress: &Progress) -> String {
    let one = |name: &str, value: Option<(f64, f64)>| match value {
        Some((value, error)) => format!("{name} {}", estimate(value, error)),
        None => String::new(),
    };
    join([
        one("train", progress.train_log_likelihood),
        one("validation", progress.validation_log_likelihood),
        one("log Z", progress.log_z) + &audit(progress),
    ])
}

/// The audit in parentheses, to as many decimals as the tracked value; with its update where that has passed.
fn audit(progress: &Progress) -> String {
    let (Some(audit), Some((_, tracked_error))) = (progress.audited_log_z, progress.log_z) else {
        return String::new();
    };
    let decimals = decimals_of(tracked_error).unwrap_or(4);
    let value = match decimals_of(audit.std_error) {
        None => format!("{:.decimals$}", audit.value),
        Some(_) => estimate(audit.value, audit.std_error),
    };
    let at = match audit.update == progress.update {
        true => String::new(),
        false => format!(" at {}", audit.update),
    };
    format!(" ({} {value}{at})", audit.method)
}

fn note(progress: &Progress) -> String {
    progress.note.as_ref().map_or(String::new(), |note| format!("({note})"))
}

fn join<const N: usize>(parts: [String; N]) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ")
}

fn times(progress: &Progress) -> String {
    let left = progress.seconds_left.map(|left| format!(", {} left", duration(left)));
    format!("{}{}", duration(progress.seconds), left.unwrap_or_default())
}

/// Value ± error to two digits of the error; an exact value to four decimals.
fn estimate(value: f64, error: f64) -> String {
    match decimals_of(error) {
        None => format!("{value:.4}"),
        Some(decimals) => format!("{value:.decimals$} ± {error:.decimals$}"),
    }
}

/// Decimals that show two digits of an error; `None` for the error of an exact value.
fn decimals_of(error: f64) -> Option<usize> {
    let known = error.is_finite() && error > 0.0;
    known.then(|| (1.0 - error.log10().floor()).clamp(0.0, 6.0) as usize)
}

/// The two largest of hours, minutes and seconds.
fn duration(seconds: f64) -> String {
    let seconds = seconds.max(0.0).round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s}s"),
        (0, m, s) => format!("{m}m {s:02}s"),
        (h, m, _) => format!("{h}h {m:02}m"),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;
    use crate::record::{AuditedLogZ, Run};

    #[derive(Clone, Default)]
    struct Shared(Rc<RefCell<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn at(update: u64, seconds: f64) -> Progress {
        Progress { update, updates: 100, epoch: 0.5, seconds, ..Progress::default() }
    }

    #[test]
    fn lines_come_every_few_seconds_at_evaluations_and_at_the_end() {
        let out = Shared::default();
        let mut bar = ProgressBar::lines(out.clone());
        for update in 0..80 {
            if update == 33 {
                let mut record = Record::new(update, 0.0, 0.0);
                record.scalar(Run::Train, "log_likelihood", 0.0);
                bar.record(&record).unwrap();
            }
            bar.progress(&at(update, 0.25 * update as f64));
        }
        bar.notice(&Notice::Warning("few effective samples".into()), 79).unwrap();
        bar.finish().unwrap();
        let text = String::from_utf8(out.0.take()).unwrap();
        let updates: Vec<_> = text.lines().map(|line| line.split("  ").next().unwrap()).collect();
        let expected = ["0", "20", "33", "53", "73"].map(|u| format!("update {u}/100"));
        assert_eq!(updates[..5], expected);
        assert_eq!(updates[5], "warning: update 79: few effective samples");
        assert_eq!(updates[6..], ["update 79/100"]);
    }

    #[test]
    fn a_line_tells_estimates_with_errors_and_times() {
        let out = Shared::default();
        ProgressBar::lines(out.clone()).progress(&Progress {
            seconds_left: Some(250.0),
            train_log_likelihood: Some((-88.21234, 0.0523)),
            validation_log_likelihood: Some((-90.1, 0.31)),
            log_z: Some((226.113155, 0.0)),
            note: Some("in doubt: lag".into()),
            ..at(12, 3725.0)
        });
        assert_eq!(
            String::from_utf8(out.0.take()).unwrap(),
            "update 12/100  epoch 0.50  train -88.212 ± 0.052  validation -90.10 ± 0.31  log Z 226.1132  (in doubt: lag)  1h 02m, 4m 10s left\n"
        );
    }

    #[test]
    fn an_audit_stands_beside_the_tracked_log_z() {
        let audit = |update, std_error| {
            let audited = AuditedLogZ { method: "exact", update, value: 26.190_123, std_error };
            let mut progress = at(12, 1.0);
            (progress.log_z, progress.audited_log_z) = (Some((26.11, 0.05)), Some(audited));
            values(&progress)
        };
        assert_eq!(audit(12, 0.0), "log Z 26.110 ± 0.050 (exact 26.190)");
        assert_eq!(audit(10, 0.2), "log Z 26.110 ± 0.050 (exact 26.19 ± 0.20 at 10)");
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
        let mut bar = ProgressBar::lines(Closed);
        bar.progress(&at(1, 0.0));
        assert!(bar.notice(&Notice::Info("hello".into()), 1).is_ok());
        assert!(bar.finish().is_ok());
    }
}
