//! A data file as a stream: decompressed as it is read, within a limit, with errors that name the file.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, ErrorKind, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::limits::{MAX_BYTES, MAX_LINE};
use crate::error::{Error, Result};
use crate::limited::read_up_to;
use crate::memory::DOES_NOT_FIT;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Bytes that are read to recognise the format.
const HEAD: u64 = 1 << 16;

/// The source of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The file itself, or memory.
    Plain,
    /// A gzip file.
    Gzip,
    /// An entry of an npz file.
    Npz,
}

/// Remaining bytes.
pub(crate) struct Input<'a> {
    path: &'a Path,
    reader: Box<dyn BufRead + 'a>,
    form: Form,
    head: Vec<u8>,
    /// Bytes so far.
    received: u64,
    limit: u64,
    before: usize,
}

impl<'a> Input<'a> {
    /// A file; gzip is recognised by its magic bytes, not by its name.
    pub fn open(path: &'a Path) -> Result<Self> {
        let file = File::open(path).map_err(Error::io("open", path))?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(Error::file(path, "is a folder, not a data file"));
        }
        Self::of(path, file)
    }

    /// The bytes of a file from another source; `path` is for messages.
    pub fn of(path: &'a Path, file: impl Read + 'a) -> Result<Self> {
        let mut raw = BufReader::new(file);
        let magic = read_up_to(raw.by_ref(), 2).map_err(Error::io("read", path))?;
        let gzip = magic == GZIP_MAGIC;
        let raw = Cursor::new(magic).chain(raw);
        if gzip {
            Self::new(path, BufReader::new(MultiGzDecoder::new(raw)), Form::Gzip)
        } else {
            Self::new(path, raw, Form::Plain)
        }
    }

    /// Decompressed bytes; `path` is for messages.
    pub fn new(path: &'a Path, mut reader: impl BufRead + 'a, form: Form) -> Result<Self> {
        let problem = |error| problem(path, form, error);
        let head = read_up_to(reader.by_ref(), HEAD).map_err(problem)?;
        let reader = Box::new(Cursor::new(head.clone()).chain(reader));
        Ok(Self { path, reader, form, head, received: 0, limit: MAX_BYTES, before: 0 })
    }

    /// The same without a limit, of which not all is kept in memory.
    pub fn of_any_size(self) -> Self {
        Self { limit: u64::MAX, ..self }
    }

    /// The same, for messages, after so many lines or rows of the file.
    pub fn after(self, before: usize) -> Self {
        Self { before, ..self }
    }

    /// Lines or rows of the file before these bytes.
    pub fn before(&self) -> usize {
        self.before
    }

    /// The first bytes, whether they were read already or not.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Bytes read so far.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// At most `limit` bytes, fewer at the end.
    pub fn take(&mut self, limit: u64) -> Result<Vec<u8>> {
        let bytes = read_up_to(self.reader.by_ref().take(limit), limit)
            .map_err(|error| problem(self.path, self.form, error))?;
        self.count(bytes.len())?;
        Ok(bytes)
    }

    /// All remaining bytes.
    pub fn rest(&mut self) -> Result<Vec<u8>> {
        self.take((MAX_BYTES + 1).saturating_sub(self.received))
    }

    /// Calls `use_it` with the remaining bytes, block by block.
    pub fn each(&mut self, mut use_it: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        loop {
            let buffer = match self.reader.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                buffer => buffer.map_err(|error| problem(self.path, self.form, error))?,
            };
            if buffer.is_empty() {
                return Ok(());
            }
            let length = buffer.len();
            use_it(buffer)?;
            self.reader.consume(length);
            self.count(length)?;
        }
    }

    /// The next line without its line end; false if there is none.
    pub fn line(&mut self, line: &mut Vec<u8>, number: usize) -> Result<bool> {
        line.clear();
        let count = (self.reader.by_ref().take(MAX_LINE + 1))
            .read_until(b'\n', line)
            .map_err(|error| problem(self.path, self.form, error))?;
        if count as u64 > MAX_LINE {
            let problem = format!("line {number} is longer than {} MiB, the limit", MAX_LINE >> 20);
            return Err(Error::file(self.path, problem));
        }
        self.count(count)?;
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        Ok(count > 0)
    }

    fn count(&mut self, bytes: usize) -> Result<()> {
        self.received += bytes as u64;
        if self.received > self.limit {
            let problem =
                format!("holds more than {} GiB, the limit for data files", MAX_BYTES >> 30);
            return Err(Error::file(self.path, problem));
        }
        Ok(())
    }
}

fn problem(path: &Path, form: Form, error: std::io::Error) -> Error {
    match (error.kind(), form) {
        (ErrorKind::OutOfMemory, _) => Error::file(path, DOES_NOT_FIT),
        (_, Form::Plain) => Error::io("read", path)(error),
        (_, Form::Npz) => Error::file(path, format!("is not a sound npz: {error}")),
        (ErrorKind::UnexpectedEof, Form::Gzip) => {
            Error::file(path, format!("gzip data is truncated ({error}); get the file again"))
        }
        (_, Form::Gzip) => {
            Error::file(path, format!("gzip data is damaged ({error}); get the file again"))
        }
    }
}
