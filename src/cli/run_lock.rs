//! One process per run folder: a lock that ends with the process in any case.
//!
//! The system releases the lock when the process dies, so no lock is stale. The file remains; only the lock on it has a meaning.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::output::tell;
use crate::limited::{open_regular, read_text_of_run};
use crate::record::HeldFile;

/// Name of the lock in a run folder.
pub const LOCK: &str = "run.lock";

/// A run folder that no other process writes to.
pub struct RunLock {
    file: HeldFile,
}

impl RunLock {
    /// Locks an existing folder; an error with the process id if another process has it.
    pub fn take(folder: &Path) -> Result<Self> {
        let path = folder.join(LOCK);
        let mut file = open(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!("{}", in_use(folder, &path)),
            Err(TryLockError::Error(error)) => tell(&format!(
                "warning: {} cannot be locked ({error}): nothing keeps a second process from this run",
                path.display()
            )),
        }
        // Text for the file, and for the message of a second process.
        file.set_len(0)
            .and_then(|()| writeln!(file, "{}", std::process::id()))
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { file: HeldFile::new(&path, file) })
    }

    /// Refuses a folder that another process has locked; changes nothing.
    pub fn refuse_if_taken(folder: &Path) -> Result<()> {
        let path = folder.join(LOCK);
        // A pipe in the place of the lock would be waited for, and locks nothing.
        let Ok(Some(file)) = open_regular(&path) else { return Ok(()) };
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => bail!("{}", in_use(folder, &path)),
            _ => Ok(()),
        }
    }

    /// Whether the folder still has its path.
    pub fn check(&self) -> crate::Result<()> {
        self.file.check()
    }
}

/// Opens or creates the file; never through a link, whose target could belong to someone else.
fn open(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW);
    if std::fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
        bail!("{} is a link or a folder, not the lock of a run: delete it", path.display());
    }
    options.open(path).with_context(|| format!("cannot open {}", path.display()))
}

fn in_use(folder: &Path, lock: &Path) -> String {
    let text = read_text_of_run(lock, 64, "a process number").ok().flatten().unwrap_or_default();
    let process = match text.trim() {
        "" => "another process".to_string(),
        number => format!("process {number}"),
    };
    format!(
        "run folder {} is in use by {process}: wait until it ends, or stop it first",
        folder.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_is_first() {
        let folder = tempfile::tempdir().unwrap();
        RunLock::refuse_if_taken(folder.path()).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "asking leaves nothing");
        let lock = RunLock::take(folder.path()).unwrap();
        let expected = format!("in use by process {}", std::process::id());
        for refused in [
            RunLock::take(folder.path()).err().unwrap(),
            RunLock::refuse_if_taken(folder.path()).unwrap_err(),
        ] {
            assert!(refused.to_string().contains(&expected), "{refused}");
        }
        lock.check().unwrap();
        drop(lock);
        RunLock::refuse_if_taken(folder.path()).unwrap();
        RunLock::take(folder.path()).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_written_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("other");
        std::fs::write(&other, "anybody's").unwrap();
        std::os::unix::fs::symlink(&other, folder.path().join(LOCK)).unwrap();
        let refused = RunLock::take(folder.path()).err().unwrap().to_string();
        assert!(refused.contains("is a link"), "{refused}");
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "anybody's");
    }

    #[test]
    fn a_lock_left_behind_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(LOCK), "999999999\n").unwrap();
        RunLock::take(folder.path()).unwrap();
        let text = std::fs::read_to_string(folder.path().join(LOCK)).unwrap();
        assert_eq!(text, format!("{}\n", std::process::id()));
    }
}
