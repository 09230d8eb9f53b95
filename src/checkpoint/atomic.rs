//! Atomic writes: temporary file in the same folder, fsync, rename.

use std::io::Write;
use std::path::Path;

use crate::error::{Error, Result};

/// Writes `bytes` so that `path` holds either its old content or all of the new.
///
/// # Errors
/// The folder is missing or not writable, or the disk is full.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(Error::io("write", path))?;
    file.write_all(bytes).map_err(Error::io("write", path))?;
    file.as_file().sync_all().map_err(Error::io("write", path))?;
    file.persist(path).map_err(|e| Error::io("write", path)(e.error))?;
    Ok(())
}
