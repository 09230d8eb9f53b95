//! Atomic file writes: a reader sees the old file or the new one, never an incomplete one, whenever the process dies.
//!
//! Temporary file in the same folder (rename works within one file system only), fsync, rename, fsync of the folder.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, Write};
use std::path::Path;

use crate::error::{Error, Result};

/// Ends every temporary file's name; [`remove_leftovers`] looks for it.
const SUFFIX: &str = ".ztrack-tmp";

/// A file that is written, in any order.
pub trait WriteSeek: Write + Seek {}

impl<T: Write + Seek> WriteSeek for T {}

/// Replaces `path` by the output of `write`, or leaves it unchanged; the parent folder is created if missing.
///
/// # Errors
/// [`Error::Io`] with the path: from `write` itself, or when the folder or file cannot be created, synced or renamed. [`Error::File`] where
/// the folder is deleted or moved meanwhile, and for a device or a pipe, which would be replaced by a file.
pub fn write_atomically(
    path: impl AsRef<Path>,
    write: impl FnOnce(&mut dyn WriteSeek) -> io::Result<()>,
) -> Result<()> {
    let path = path.as_ref();
    if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return Err(Error::file(path, "is a device or a pipe: choose the name of a file"));
    }
    let folder = parent(path);
    fs::create_dir_all(folder).map_err(Error::io("create folder", folder))?;
    replace(path, folder, write).map_err(|error| match error.kind() {
        // The folder was there a moment ago.
        io::ErrorKind::NotFound => {
            Error::file(path, "its folder was deleted or moved while it was written")
        }
        _ => Error::io("write", path)(without_name(error)),
    })
}

/// The error of the system, without the name of the temporary file that tempfile adds to it.
fn without_name(error: io::Error) -> io::Error {
    let text = error.to_string();
    let named = error.raw_os_error().is_none().then(|| text.split_once(" at path ")).flatten();
    named.map_or(error, |(system, _)| io::Error::other(system))
}

/// [`write_atomically`] of bytes at hand.
///
/// # Errors
/// [`Error::Io`] with the path.
pub fn write_bytes(path: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
    write_atomically(path, |file| file.write_all(bytes))
}

/// Cuts a file to its first `length` bytes.
///
/// # Errors
/// [`Error::Io`] with the path.
pub(crate) fn keep_start(path: &Path, length: u64) -> Result<()> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    write_atomically(path, |out| io::copy(&mut file.take(length), out).map(drop))
}

/// Deletes the temporary files a killed process left in `folder`; a missing folder has none.
///
/// Only for a folder that no other process writes to, such as the run folder before a resume.
///
/// # Errors
/// [`Error::Io`] when the folder cannot be read or a file not deleted.
pub fn remove_leftovers(folder: impl AsRef<Path>) -> Result<()> {
    let folder = folder.as_ref();
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(Error::io("read folder", folder))?,
    };
    for entry in entries {
        let path = entry.map_err(Error::io("read folder", folder))?.path();
        if is_leftover(&path) {
            fs::remove_file(&path).map_err(Error::io("delete", &path))?;
        }
    }
    Ok(())
}

/// Whether a name is that of a temporary file.
pub(crate) fn is_leftover(path: &Path) -> bool {
    path.to_string_lossy().ends_with(SUFFIX)
}

fn replace(
    path: &Path,
    folder: &Path,
    write: impl FnOnce(&mut dyn WriteSeek) -> io::Result<()>,
) -> io::Result<()> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".").suffix(SUFFIX);
    // tempfile's default is 0600; a result file should obey the umask like any other.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = BufWriter::new(builder.tempfile_in(folder)?);
    write(&mut file)?;
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    // The rename itself must reach the disk too; some file systems refuse to sync a folder, which is no failure.
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// The folder of a file.
pub(crate) fn parent(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn writing_creates_the_folder_and_replaces_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/file");
        write_bytes(&path, b"old").unwrap();
        write_bytes(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(path.parent().unwrap()), ["file"]);
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_leftover() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write_bytes(&path, b"old").unwrap();
        let error = write_atomically(&path, |file| {
            file.write_all(b"half")?;
            Err(io::Error::other("no space left"))
        })
        .unwrap_err()
        .to_string();
        assert!(error.contains("file") && error.contains("no space left"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["file"]);
    }

    #[test]
    fn a_folder_deleted_in_mid_write_is_told_as_that_and_stays_deleted() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("folder");
        let error = write_atomically(folder.join("file"), |_| fs::remove_dir_all(&folder));
        let error = error.unwrap_err().to_string();
        assert!(error.contains("file") && error.contains("deleted or moved"), "{error}");
        assert!(!folder.exists());
    }

    #[test]
    fn a_file_in_the_way_of_the_folder_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        write_bytes(folder.path().join("file"), b"").unwrap();
        let error = write_bytes(folder.path().join("file/below"), b"").unwrap_err().to_string();
        assert!(error.contains("file"), "{error}");
    }

    #[test]
    fn errors_do_not_name_the_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let error = replace(&file, &file, |_| Ok(())).unwrap_err();
        assert!(error.to_string().contains(SUFFIX), "{error}");
        let system = fs::read_dir(&file).unwrap_err().to_string();
        assert_eq!(without_name(error).to_string(), system);
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        let error = write_bytes(&link, b"text").unwrap_err().to_string();
        assert!(error.contains("link") && error.contains("is a device or a pipe"), "{error}");
        assert!(link.is_symlink());
    }

    #[cfg(unix)]
    #[test]
    fn a_new_file_is_as_readable_as_any_other() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (ours, plain) = (folder.path().join("ours"), folder.path().join("plain"));
        write_bytes(&ours, b"").unwrap();
        fs::write(&plain, b"").unwrap();
        let mode = |path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&ours), mode(&plain));
    }

    #[test]
    fn leftovers_of_a_kill_are_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(format!(".abc{SUFFIX}")), b"half").unwrap();
        fs::write(folder.path().join("kept"), b"").unwrap();
        remove_leftovers(folder.path()).unwrap();
        assert_eq!(names(folder.path()), ["kept"]);
        remove_leftovers(folder.path().join("missing")).unwrap();
    }
}
