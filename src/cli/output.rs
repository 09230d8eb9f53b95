//! Standard output and standard error of commands.
//!
//! `print!` panics when a reader is gone, as in `ztrack estimate MODEL | head -1`; these do not.

use std::io::{ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use serde::Serialize;

use super::terminal;
use crate::record::StandardStream;

/// Whether another process speaks for this one.
static SILENT: AtomicBool = AtomicBool::new(false);

/// From now on nothing is written here, or all is again: of several ranks the first one speaks.
#[cfg(feature = "mpi")]
pub fn be_silent(silent: bool) {
    SILENT.store(silent, Ordering::Relaxed);
}

/// Writes a command's result to standard output, control characters escaped; a reader that has gone is no failure.
pub fn print(text: &str) -> Result<()> {
    print_raw(&terminal::escaped(text))
}

fn print_raw(text: &str) -> Result<()> {
    print_bytes(text.as_bytes())
}

/// Writes what the program made itself, as completions, to standard output.
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

/// Tells a person something on standard error, made safe for a terminal; nobody listening is no failure.
pub fn tell(line: &str) {
    if !SILENT.load(Ordering::Relaxed) {
        let line = format!("{}\n", terminal::message(line));
        let _ = StandardStream::Error.write_all(line.as_bytes());
    }
}
