//! TensorBoard event files: appending, and removing what a killed run wrote after its last checkpoint.
//!
//! A file is a sequence of frames: length (u64), its masked CRC-32C (u32), a serialized `Event`, its masked CRC-32C,
//! all little-endian. A kill can only leave a prefix of a frame at the end; anything else unreadable is damage.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::messages::{Event, What, masked_crc32c};
use super::{HeldFile, Written};
use crate::checkpoint::write_atomically;
use crate::error::{Error, Result};
use crate::limited::{open_regular, read_up_to};

/// TensorBoard takes a file for an event file when its name holds "tfevents".
const PREFIX: &str = "events.out.tfevents.";
const SUFFIX: &str = ".ztrack";
/// Bytes of a frame before its event.
const HEADER: u64 = 12;
/// Bytes of a frame beside its event.
const FRAME: u64 = HEADER + 4;
/// Longest event: some hundred times the pictures and histograms of an evaluation.
const LONGEST: u64 = 256 << 20;

/// A new file in `folder` whose name sorts after all there: TensorBoard reads files in order of names.
///
/// # Errors
/// [`Error::Io`] if it cannot be created or written.
pub(super) fn create(folder: &Path) -> Result<HeldFile> {
    let latest = event_files(folder)?.iter().filter_map(|path| stamp(path)).max();
    let stamp = (wall_time() as u64).max(latest.map_or(0, |stamp| stamp.saturating_add(1)));
    let path = folder.join(format!("{PREFIX}{stamp:010}{SUFFIX}"));
    let file = OpenOptions::new().write(true).create_new(true).open(&path);
    let mut file = HeldFile::new(&path, file.map_err(Error::io("create", &path))?);
    append(&mut file, 0, What::Version)?;
    Ok(file)
}

/// Appends an event of a step with the current time, and writes it at once.
///
/// # Errors
/// [`Error::Io`] if writing fails, [`Error::File`] if the file is gone.
pub(super) fn append(file: &mut HeldFile, step: i64, what: What) -> Result<()> {
    let frame = Event::frame(step, wall_time(), what);
    file.write(&frame.map_err(Error::io("write", file.path()))?)
}

/// The event files in a folder, oldest first: TensorBoard reads them in order of names, whose numbers have ten digits until 2286.
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
    files.sort_by_cached_key(|path| (stamp(path), path.clone()));
    Ok(files)
}

/// Events with values of steps up to `after_update` in the files of a folder.
///
/// # Errors
/// [`Error::File`] with the byte offset of a damaged frame, or of one whose step does not come after those before it;
/// [`Error::Io`] if a file cannot be read.
pub(super) fn written(folder: &Path, after_update: u64) -> Result<Written> {
    let mut written = Written { sum: None, ..Written::default() };
    for path in event_files(folder)? {
        each_event(&path, |event, place| {
            let Some(step) = event.step().filter(|&step| step <= after_update) else {
                return Ok(());
            };
            if event.tags().next().is_none() || written.add(step, None) {
                return Ok(());
            }
            Err(Error::file(
                &path,
                format!(
                    "the event at byte {} is of update {step}, which does not come after those before it; restore the file to resume",
                    place.start
                ),
            ))
        })?;
    }
    Ok(written)
}

/// Drops events of steps after `after_update` and a torn last frame; a file without either is not touched. Tags of the
/// values that are kept go into `tags`.
///
/// # Errors
/// [`Error::File`] with the byte offset of a damaged frame; [`Error::Io`] if the file cannot be read or replaced.
pub(super) fn trim(path: &Path, after_update: u64, tags: &mut HashSet<String>) -> Result<()> {
    let mut kept: Vec<Range<u64>> = Vec::new();
    each_event(path, |event, place| {
        if event.step().is_some_and(|step| step <= after_update) {
            tags.extend(event.tags().map(str::to_owned));
            match kept.last_mut() {
                Some(last) if last.end == place.start => last.end = place.end,
                _ => kept.push(place),
            }
        }
        Ok(())
    })?;
    let mut file = File::open(path).map_err(Error::io("open", path))?;
    let length = file.metadata().map_err(Error::io("read", path))?.len();
    if kept.iter().map(|part| part.end - part.start).sum::<u64>() == length {
        return Ok(());
    }
    write_atomically(path, |out| {
        kept.iter().try_for_each(|part| {
            file.seek(SeekFrom::Start(part.start))?;
            io::copy(&mut file.by_ref().take(part.end - part.start), out).map(drop)
        })
    })
}

/// Calls `visit` with every event of a file and its bytes' place. One event is in memory at a time.
fn each_event(path: &Path, mut visit: impl FnMut(&Event, Range<u64>) -> Result<()>) -> Result<()> {
    let file = open_regular(path)?;
    let file = file.ok_or_else(|| Error::file(path, "was deleted while it was read"))?;
    let mut left = file.metadata().map_err(Error::io("read", path))?.len();
    let mut reader = BufReader::new(file);
    let mut start = 0;
    loop {
        let damaged = || {
            Error::file(
                path,
                format!("the event at byte {start} is damaged; move the file away to resume"),
            )
        };
        let found = match frame(&mut reader, left) {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => return Err(damaged()),
            found => found.map_err(Error::io("read", path))?,
        };
        let Some(bytes) = found else { return Ok(()) };
        let event = Event::parse(&bytes).ok_or_else(damaged)?;
        event.step().ok_or_else(damaged)?;
        let length = FRAME + bytes.len() as u64;
        visit(&event, start..start + length)?;
        (start, left) = (start + length, left.saturating_sub(length));
    }
}

/// The event in the next frame, of `left` bytes that follow; `None` at the end of the file or a torn frame, and
/// [`io::ErrorKind::InvalidData`] for damage.
fn frame(reader: &mut impl BufRead, left: u64) -> io::Result<Option<Vec<u8>>> {
    let Some(header) = exactly(reader, HEADER)? else { return Ok(None) };
    let (length, crc) = header.split_at(8);
    if masked_crc32c(length).to_le_bytes() != crc {
        // After a power cut some file systems show blocks of zeros that were never written.
        let zeros = header.iter().all(|&byte| byte == 0) && only_zeros(reader)?;
        return if zeros { Ok(None) } else { Err(io::ErrorKind::InvalidData.into()) };
    }
    let length = length.iter().rev().fold(0u64, |sum, &byte| sum << 8 | u64::from(byte));
    if length > left.saturating_sub(FRAME) {
        return Ok(None);
    }
    if length > LONGEST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let Some(event) = exactly(reader, length)? else { return Ok(None) };
    let Some(crc) = exactly(reader, FRAME - HEADER)? else { return Ok(None) };
    let sound = masked_crc32c(&event).to_le_bytes() == crc[..];
    if sound { Ok(Some(event)) } else { Err(io::ErrorKind::InvalidData.into()) }
}

/// So many bytes; `None` where the file ends before.
fn exactly(reader: &mut impl BufRead, count: u64) -> io::Result<Option<Vec<u8>>> {
    let bytes = read_up_to(reader, count)?;
    Ok((bytes.len() as u64 == count).then_some(bytes))
}

/// Whether nothing but zeros follows.
fn only_zeros(reader: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let bytes = reader.fill_buf()?;
        let (count, zeros) = (bytes.len(), bytes.iter().all(|&byte| byte == 0));
        if count == 0 || !zeros {
            return Ok(zeros);
        }
        reader.consume(count);
    }
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

/// Every event of a folder in order, for tests; torn frames end a file.
#[cfg(test)]
pub(super) fn read_all(folder: &Path) -> Vec<Event> {
    let mut events = Vec::new();
    for path in event_files(folder).unwrap() {
        each_event(&path, |event, _| {
            events.push(event.clone());
            Ok(())
        })
        .unwrap();
    }
    events
}
