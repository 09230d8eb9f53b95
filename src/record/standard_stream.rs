//! Standard output and standard error whose reader may have stopped reading.
//!
//! A write to a full pipe waits for its reader. Once a signal has asked for the end of the process, it waits no longer than
//! [`PATIENCE`] in all, and what cannot be written is dropped: a terminal or log collector that hangs must not keep a run from ending.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Milliseconds that a process which is about to end waits for readers.
#[cfg(unix)]
const PATIENCE: i32 = 1000;
/// Milliseconds between two checks of whether it is about to end.
#[cfg(unix)]
const LOOK: i32 = 50;
/// Longest single write: the amount that a pipe with free space accepts without waiting.
const PIECE: usize = 512;

/// Whether this process is about to end.
static ENDS: AtomicBool = AtomicBool::new(false);

/// One of the two streams.
#[derive(Clone, Copy, Debug)]
pub enum StandardStream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

impl StandardStream {
    /// A signal has asked for the end of this process.
    pub fn end_soon() {
        ENDS.store(true, Ordering::Relaxed);
    }

    /// Waits until the stream accepts a piece, or has an error for the following write.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if the process is about to end and the reader does not read.
    #[cfg(unix)]
    pub fn wait(self) -> io::Result<()> {
        use std::sync::atomic::AtomicI32;
        static WAITED: AtomicI32 = AtomicI32::new(0);
        let fd = match self {
            Self::Output => libc::STDOUT_FILENO,
            Self::Error => libc::STDERR_FILENO,
        };
        loop {
            let mut stream = libc::pollfd { fd, events: libc::POLLOUT, revents: 0 };
            // SAFETY: one descriptor, in a place that lives as long as the call.
            match unsafe { libc::poll(&mut stream, 1, LOOK) } {
                0 => {}
                -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                _ => return Ok(()),
            }
            if ENDS.load(Ordering::Relaxed) && WAITED.fetch_add(LOOK, Ordering::Relaxed) >= PATIENCE
            {
                return Err(io::ErrorKind::WouldBlock.into());
            }
        }
    }

    /// Elsewhere a signal ends the process itself.
    #[cfg(not(unix))]
    pub fn wait(self) -> io::Result<()> {
        Ok(())
    }
}

impl Write for StandardStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        fn piece(stream: StandardStream, mut out: impl Write, bytes: &[u8]) -> io::Result<usize> {
            stream.wait()?;
            let written = out.write(&bytes[..bytes.len().min(PIECE)])?;
            out.flush().map(|()| written)
        }
        // The lock is held while waiting, so that no other thread uses the free space.
        match self {
            Self::Output => piece(*self, io::stdout().lock(), bytes),
            Self::Error => piece(*self, io::stderr().lock(), bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
