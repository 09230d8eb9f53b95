//! A file that a run writes to for hours: every write checks that the file still has its name.
//!
//! A file that was deleted or renamed can be written to without an error as long as it is open, and the data are lost.

use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// An open file and its name.
#[derive(Debug)]
pub struct HeldFile {
    path: PathBuf,
    file: File,
}

impl HeldFile {
    /// An open file; `path` is its name.
    pub fn new(path: &Path, file: File) -> Self {
        Self { path: path.to_path_buf(), file }
    }

    /// A file that is there, to write at its end.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn append(path: &Path) -> Result<Self> {
        let file = File::options().append(true).open(path).map_err(Error::io("open", path))?;
        Ok(Self::new(path, file))
    }

    /// Its name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the name still leads to this file.
    ///
    /// # Errors
    /// [`Error::File`] where it does not.
    pub fn check(&self) -> Result<()> {
        let own = self.file.metadata().map_err(Error::io("look at", &self.path))?;
        match std::fs::metadata(&self.path) {
            Ok(found) if is_same(&own, &found) => Ok(()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::io("look at", &self.path)(error))
            }
            found => {
                let what = if found.is_ok() { "replaced" } else { "deleted or moved" };
                Err(Error::file(
                    &self.path,
                    format!("was {what} while this process was using it; the run cannot continue"),
                ))
            }
        }
    }

    /// Writes after [`HeldFile::check`].
    ///
    /// # Errors
    /// The file is not there any more, or cannot be written.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.check()?;
        self.file.write_all(bytes).map_err(Error::io("write", &self.path))
    }

    /// Makes the written data survive a power failure.
    ///
    /// # Errors
    /// The system cannot guarantee it.
    pub fn sync(&mut self) -> Result<()> {
        self.check()?;
        self.file.sync_data().map_err(Error::io("sync", &self.path))
    }
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_gone_or_another_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("file"), folder.path().join("other"));
        let mut held = HeldFile::new(&path, File::create(&path).unwrap());
        held.write(b"one").unwrap();
        held.sync().unwrap();
        std::fs::rename(&path, &other).unwrap();
        let error = held.write(b"two").unwrap_err().to_string();
        assert!(error.contains("deleted or moved"), "{error}");
        std::fs::write(&path, "").unwrap();
        let error = held.sync().unwrap_err().to_string();
        assert!(error.contains("replaced"), "{error}");
        assert_eq!(std::fs::read(&other).unwrap(), b"one");
        std::fs::rename(&other, &path).unwrap();
        held.check().unwrap();
    }
}
