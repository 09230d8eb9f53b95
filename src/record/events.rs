//! TensorBoard event files: appending, and removing what a killed run wrote after its last checkpoint.
//!
//! A file is a sequence of frames: length (u64), its masked CRC-32C (u32), a serialized `Event`, its masked CRC-32C,
//! all little-endian. A kill can only leave a prefix of a frame at the end; anything else unreadable is damage.

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use protobuf::Message;
use tensorboard_proto::event::Event;
use tensorboard_rs::masked_crc32c::masked_crc32c;
use tensorboard_rs::record_writer::RecordWriter;

use super::{HeldFile, Written};
use crate::checkpoint::write_atomically;
use crate::error::{Error, Result};

/// TensorBoard takes a file for an event file when its name holds "tfevents".
const PREFIX: &str = "events.out.tfevents.";
const SUFFIX: &str = ".ztrack";

/// Appends events to a new file.
pub(super) struct EventFile {
    file: HeldFile,
}

impl EventFile {
    /// A new file in `folder` whose name sorts after all there: TensorBoard reads files in order of names.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be created or written.
    pub(super) fn create(folder: &Path) -> Result<Self> {
        let latest = event_files(folder)?.iter().filter_map(|path| stamp(path)).max();
        let stamp = (wall_time() as u64).max(latest.map_or(0, |stamp| stamp.saturating_add(1)));
        let path = folder.join(format!("{PREFIX}{stamp:010}{SUFFIX}"));
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let file = file.map_err(Error::io("create", &path))?;
        let mut out = Self { file: HeldFile::new(&path, file) };
        let mut event = Event::new();
        event.set_file_version("brain.Event:2".into());
        out.append(event)?;
        Ok(out)
    }

    /// Appends an event with the current time, and writes it at once.
    ///
    /// # Errors
    /// [`Error::Io`] if writing fails, [`Error::File`] if the file is gone.
    pub(super) fn append(&mut self, mut event: Event) -> Result<()> {
        event.set_wall_time(wall_time());
        let mut frame = Vec::new();
        event
            .write_to_bytes()
            .map_err(io::Error::from)
            .and_then(|bytes| RecordWriter::new(&mut frame).write(&bytes))
            .map_err(Error::io("write", self.file.path()))?;
        self.file.write(&frame)
    }

    /// Writes the appended events to the disk (fsync).
    ///
    /// # Errors
    /// As [`EventFile::append`].
    pub(super) fn sync(&mut self) -> Result<()> {
        self.file.sync()
    }
}

/// The event files in a folder, in the order TensorBoard reads them.
///
/// # Errors
/// [`Error::Io`] if the folder cannot be read.
pub(super) fn event_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(Error::io("read folder", folder))? {
        let path = entry.map_err(Error::io("read folder", folder))?.path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX)) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Events with values of steps up to `after_update` in the files of a folder.
///
/// # Errors
/// [`Error::File`] with the byte offset of a damaged frame, or of one whose step does not come after those before it;
/// [`Error::Io`] if a file cannot be read.
pub(super) fn written(folder: &Path, after_update: u64) -> Result<Written> {
    let mut written = Written::default();
    for path in event_files(folder)? {
        let bytes = fs::read(&path).map_err(Error::io("read", &path))?;
        for frame in
            frames(&path, &bytes, after_update)?.into_iter().filter(|frame| !frame.tags.is_empty())
        {
            if !written.add(frame.step) {
                return Err(Error::file(
                    &path,
                    format!(
                        "the event at byte {} is of update {}, which does not come after those before it; restore the file to resume",
                        frame.start, frame.step
                    ),
                ));
            }
        }
    }
    Ok(written)
}

/// Drops events of steps after `after_update` and a torn last frame; a file without either is not touched. Tags of the
/// values that are kept go into `tags`.
///
/// # Errors
/// [`Error::File`] with the byte offset of a damaged frame; [`Error::Io`] if the file cannot be read or replaced.
pub(super) fn trim(path: &Path, after_update: u64, tags: &mut HashSet<String>) -> Result<()> {
    let bytes = fs::read(path).map_err(Error::io("read", path))?;
    let mut kept = frames(path, &bytes, after_update)?;
    tags.extend(kept.iter_mut().flat_map(|frame| std::mem::take(&mut frame.tags)));
    if kept.iter().map(|frame| frame.end - frame.start).sum::<usize>() == bytes.len() {
        return Ok(());
    }
    write_atomically(path, |file| {
        kept.iter().try_for_each(|frame| file.write_all(&bytes[frame.start..frame.end]))
    })
}

/// Position of an event in its file, and its fields.
struct Frame {
    start: usize,
    end: usize,
    step: u64,
    tags: Vec<String>,
}

/// The frames of events of steps up to `after_update`.
fn frames(path: &Path, bytes: &[u8], after_update: u64) -> Result<Vec<Frame>> {
    let after = i64::try_from(after_update).unwrap_or(i64::MAX);
    let damaged = |at: usize| {
        Error::file(
            path,
            format!("the event at byte {at} is damaged; move the file away to resume"),
        )
    };
    let mut kept = Vec::new();
    let mut start = 0;
    while let Some((event, end)) = frame(bytes, start).map_err(|()| damaged(start))? {
        let event = Event::parse_from_bytes(event).map_err(|_| damaged(start))?;
        if event.get_step() <= after {
            let step = u64::try_from(event.get_step()).map_err(|_| damaged(start))?;
            let tags = event.get_summary().get_value().iter().map(|v| v.get_tag().into()).collect();
            kept.push(Frame { start, end, step, tags });
        }
        start = end;
    }
    Ok(kept)
}

/// The event in the frame at `start` and the frame's end; `None` at the end of the file or a torn frame.
fn frame(bytes: &[u8], start: usize) -> std::result::Result<Option<(&[u8], usize)>, ()> {
    let rest = &bytes[start..];
    let Some((header, rest)) = rest.split_at_checked(12) else { return Ok(None) };
    let (length, crc) = header.split_at(8);
    if masked_crc32c(length).to_le_bytes() != crc {
        // After a power cut some file systems show blocks of zeros that were never written.
        return if bytes[start..].iter().all(|&byte| byte == 0) { Ok(None) } else { Err(()) };
    }
    let length = length.iter().rev().fold(0u64, |sum, &byte| sum << 8 | u64::from(byte));
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let Some((event, rest)) = rest.split_at_checked(length) else { return Ok(None) };
    let Some((crc, _)) = rest.split_at_checked(4) else { return Ok(None) };
    if masked_crc32c(event).to_le_bytes() != crc {
        return Err(());
    }
    Ok(Some((event, start + 12 + length + 4)))
}

/// Seconds since 1970 in a file's name.
fn stamp(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?.strip_prefix(PREFIX)?;
    name.split('.').next()?.parse().ok()
}

/// Seconds since 1970.
fn wall_time() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

/// Every event of a folder in order, for tests: step and event; torn frames end a file.
#[cfg(test)]
pub(super) fn read_all(folder: &Path) -> Vec<Event> {
    let mut events = Vec::new();
    for path in event_files(folder).unwrap() {
        let bytes = fs::read(path).unwrap();
        let mut at = 0;
        while let Some((event, end)) = frame(&bytes, at).unwrap() {
            events.push(Event::parse_from_bytes(event).unwrap());
            at = end;
        }
    }
    events
}
