//! Standard output and standard error of commands.
//!
//! `print!` panics when a reader is gone, as in `ztrack estimate MODEL | head -1`; these functions do not.

use std::io::{ErrorKind, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use super::terminal;
use crate::record::{StandardStream, for_terminal};
use crate::units::Variables;

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
    print_raw(&for_terminal(StandardStream::Output, &terminal::escaped(text)))
}

fn print_raw(text: &str) -> Result<()> {
    print_bytes(text.as_bytes())
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
    print_raw(&(terminal::escaped_json(&serde_json::to_string_pretty(value)?) + "\n"))
}

/// Prints a message on standard error, escaped for a terminal; a closed reader is not an error.
pub fn tell(line: &str) {
    if !SILENT.load(Ordering::Relaxed) {
        let line = for_terminal(StandardStream::Error, &(terminal::message(line) + "\n"));
        let _ = StandardStream::Error.write_all(line.as_bytes());
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
