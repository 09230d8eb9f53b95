//! Standard output and standard error of commands.
//!
//! `print!` panics when a reader is gone, as in `ztrack estimate MODEL | head -1`; these functions do not.

use std::io::{ErrorKind, IsTerminal, Write, stderr};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use super::terminal;
use crate::record::{Screen, StandardStream, for_terminal, wrap};
use crate::units::Variables;

/// Spaces before the second line of a long progress line.
const INDENT: usize = 4;

/// Whether another process prints for this one.
static SILENT: AtomicBool = AtomicBool::new(false);

/// Switches output off or on: of several ranks only the first one prints.
#[cfg(feature = "mpi")]
pub fn be_silent(silent: bool) {
    SILENT.store(silent, Ordering::Relaxed);
}

/// Refuses a file that is there, unless it may be overwritten.
pub fn may_write(path: &Path, force: bool) -> Result<()> {
    let advice = "exists: overwrite it with --force or choose another name";
    ensure!(force || !path.exists(), "{} {advice}", path.display());
    Ok(())
}

/// Writes a command's result to standard output, control characters escaped; a closed reader is not an error.
pub fn print(text: &str) -> Result<()> {
    print_bytes(for_terminal(StandardStream::Output, &terminal::escaped(text)).as_bytes())
}

/// Writes text of the program itself, such as completions, to standard output.
pub fn print_bytes(bytes: &[u8]) -> Result<()> {
    if SILENT.load(Ordering::Relaxed) {
        return Ok(());
    }
    match StandardStream::Output.write_all(bytes) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to standard output"),
    }
}

/// [`print`] of JSON, indented.
pub fn print_json(value: &impl Serialize) -> Result<()> {
    let json = terminal::escaped_json(&serde_json::to_string_pretty(value)?) + "\n";
    print_bytes(json.as_bytes())
}

/// The result of a command: as JSON if that is asked for, else as text.
pub fn print_report<T: Serialize>(
    report: &T,
    json: bool,
    text: impl Fn(&T) -> String,
) -> Result<()> {
    if json { print_json(report) } else { print(&text(report)) }
}

/// Prints a message on standard error, escaped for a terminal; a closed reader is not an error.
pub fn tell(line: &str) {
    if !SILENT.load(Ordering::Relaxed) {
        let line = for_terminal(StandardStream::Error, &(terminal::message(line) + "\n"));
        let _ = StandardStream::Error.write_all(line.as_bytes());
    }
}

/// Lines on standard error: some that stay, and on a terminal the progress below them, which goes with this value.
pub struct LiveLines(Option<Screen>);

impl LiveLines {
    /// Nothing drawn.
    pub fn new() -> Self {
        Self(stderr().is_terminal().then(Screen::new))
    }

    /// Whether progress is drawn: on a terminal.
    pub fn are_drawn(&self) -> bool {
        self.0.is_some()
    }

    /// Prints a line that stays.
    pub fn say(&mut self, line: &str) {
        match &mut self.0 {
            Some(screen) => screen.draw(&[terminal::message(line)], &[]),
            None => tell(line),
        }
    }

    /// Draws progress in place of what is drawn.
    pub fn draw(&mut self, lines: impl IntoIterator<Item = String>) {
        let Some(screen) = &mut self.0 else { return };
        let wrapped = |line: String| wrap(&terminal::message(&line), screen.width(), INDENT);
        let lines: Vec<String> = lines.into_iter().flat_map(wrapped).collect();
        screen.draw(&[], &lines);
    }
}

impl Drop for LiveLines {
    fn drop(&mut self) {
        self.draw([]);
    }
}

/// Says what log-likelihoods of real variables are.
pub fn tell_density(variables: &Variables) {
    if variables.has_reals() {
        tell(
            "real columns are standardised by the training rows; log Z and log-likelihoods are those of densities, in the table's own units",
        );
    }
}
