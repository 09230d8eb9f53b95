//! Fetching a data set: correct files are kept, missing ones come from the first mirror that has them.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ureq::Agent;

use super::transfer::{Failure, agent, transfer};
use super::{REMOTE_SETS, RemoteFile, RemoteSet};
use crate::error::{Error, Result};

/// Failed requests to one mirror for one file before the next mirror is tried.
const ATTEMPTS: u32 = 5;
/// Pause before the second attempt; it roughly doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// Time limit for a file of any size.
const SHORTEST: Duration = Duration::from_secs(120);
/// Bytes per second below which a download is given up: 10 minutes for MNIST's 47 MB (compressed).
const SLOWEST: u64 = 80_000;

/// Where to fetch from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Mirrors {
    /// The base URLs of the table.
    #[default]
    Official,
    /// Other base URLs, in the order they are tried.
    Custom(Vec<String>),
}

/// Events of a download.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchProgress<'a> {
    /// It exists and is right.
    Kept {
        /// The file.
        file: &'a str,
    },
    /// It is being downloaded.
    Receiving {
        /// The file.
        file: &'a str,
        /// Where from.
        url: &'a str,
        /// Bytes so far.
        received: u64,
        /// Bytes in all, where the server says so.
        total: Option<u64>,
    },
    /// A mirror failed; another attempt follows, or an error.
    Failed {
        /// The file.
        file: &'a str,
        /// Where from.
        url: &'a str,
        /// Why.
        problem: &'a str,
    },
    /// It was downloaded and checked.
    Done {
        /// The file.
        file: &'a str,
    },
}

/// Fetches the data set `name` into `FOLDER/name` and returns the paths of its files.
///
/// Correct files are kept. A download grows in `NAME.part`, which a later call continues if the server supports it; it gets its name only
/// after its content was checked. A wrong file under the final name is replaced, but only by a correct one.
///
/// # Errors
/// A name that is not in [`REMOTE_SETS`], a folder that cannot be written, another fetch in the same folder, or no mirror with the right
/// content: the message then has each mirror's reason.
pub fn fetch(
    name: &str,
    folder: &Path,
    mirrors: &Mirrors,
    progress: &mut dyn FnMut(FetchProgress),
) -> Result<Vec<PathBuf>> {
    let set = REMOTE_SETS.iter().find(|set| set.name == name).ok_or_else(|| {
        let known: Vec<_> = REMOTE_SETS.iter().map(|set| set.name).collect();
        Error::Unknown(format!("data set `{name}` cannot be fetched, only {}", known.join(", ")))
    })?;
    fetch_files(set, folder, mirrors, progress)
}

/// [`fetch`] for a set outside the table.
pub fn fetch_files(
    set: &RemoteSet,
    folder: &Path,
    mirrors: &Mirrors,
    progress: &mut dyn FnMut(FetchProgress),
) -> Result<Vec<PathBuf>> {
    let folder = folder.join(set.name);
    let bases: Vec<String> = match mirrors {
        Mirrors::Official => set.mirrors.iter().map(|base| base.to_string()).collect(),
        Mirrors::Custom(bases) => bases.clone(),
    };
    let agent = agent();
    set.files.iter().map(|file| fetch_file(&agent, file, &folder, &bases, progress)).collect()
}

fn fetch_file(
    agent: &Agent,
    file: &RemoteFile,
    folder: &Path,
    bases: &[String],
    progress: &mut dyn FnMut(FetchProgress),
) -> Result<PathBuf> {
    let path = folder.join(file.name);
    let unzipped = folder.join(file.name.strip_suffix(".gz").unwrap_or(file.name));
    for present in [&path, &unzipped] {
        if present.is_file() && file.check.problem(present, file.bytes)?.is_none() {
            progress(FetchProgress::Kept { file: file.name });
            return Ok(present.clone());
        }
    }
    fs::create_dir_all(folder).map_err(Error::io("create folder", folder))?;
    let part_path = folder.join(format!("{}.part", file.name));
    let mut download = Download { agent, file, part: open_part(&part_path)?, part_path };
    let reasons = download.complete(bases, progress)?;
    let Download { part, part_path, .. } = download;
    if reasons.is_empty() {
        fs::rename(&part_path, &path).map_err(Error::io("rename", &part_path))?;
        progress(FetchProgress::Done { file: file.name });
        return Ok(path);
    }
    if part.metadata().is_ok_and(|metadata| metadata.len() == 0) {
        fs::remove_file(&part_path).map_err(Error::io("remove", &part_path))?;
    }
    let problem =
        format!("cannot be fetched ({}); try again or put the file there", reasons.join("; "));
    Err(Error::file(&path, problem))
}

/// A file being downloaded.
struct Download<'a> {
    agent: &'a Agent,
    file: &'a RemoteFile<'a>,
    part: File,
    part_path: PathBuf,
}

impl Download<'_> {
    /// Fills the part from the first mirror that has the file; if none has, the reasons, one per mirror.
    fn complete(
        &mut self,
        bases: &[String],
        progress: &mut dyn FnMut(FetchProgress),
    ) -> Result<Vec<String>> {
        // A fetch that was interrupted between the last byte and the renaming leaves a complete part.
        if self.file.check.tells_a_part_from_the_whole() && self.problem()?.is_none() {
            return Ok(Vec::new());
        }
        let mut reasons = Vec::new();
        for base in bases {
            let url = format!("{}/{}", base.trim_end_matches('/'), self.file.name);
            let mut first = None;
            for attempt in 0..ATTEMPTS {
                // A failed server may need a moment.
                std::thread::sleep(pause(attempt));
                let Some((problem, again)) = self.attempt(&url, progress)? else {
                    return Ok(Vec::new());
                };
                progress(FetchProgress::Failed {
                    file: self.file.name,
                    url: &url,
                    problem: &problem,
                });
                if !again {
                    first = Some(problem);
                    break;
                }
                first.get_or_insert(problem);
            }
            reasons.extend(first.map(|problem| format!("{url}: {problem}")));
        }
        if reasons.is_empty() {
            reasons.push("no mirrors".into());
        }
        Ok(reasons)
    }

    /// One request: `None` if the file is complete and right, else the problem, and whether to try again.
    fn attempt(
        &mut self,
        url: &str,
        progress: &mut dyn FnMut(FetchProgress),
    ) -> Result<Option<(String, bool)>> {
        let Self { agent, file, part, part_path } = self;
        let resumed = part.metadata().map_err(Error::io("read", &*part_path))?.len() > 0;
        // Compressed content can be a little longer than plain content, and text can have longer line ends.
        let limit = file.bytes + file.bytes / 8 + 1024;
        let deadline = Instant::now() + time_for(limit);
        let late = || Instant::now() > deadline;
        let result = transfer(agent, url, part, limit, &late, &mut |received, total| {
            progress(FetchProgress::Receiving { file: file.name, url, received, total });
        });
        match result {
            Ok(()) => match self.problem()? {
                None => Ok(None),
                Some(problem) => {
                    self.part.set_len(0).map_err(Error::io("write", &self.part_path))?;
                    // Perhaps only the part before it was wrong: once more from the start.
                    Ok(Some((problem, resumed)))
                }
            },
            Err(Failure::Broken(problem)) => Ok(Some((problem, true))),
            Err(Failure::Mirror(problem) | Failure::Late(problem)) => Ok(Some((problem, false))),
            Err(Failure::Local(source)) => Err(Error::io("write", &self.part_path)(source)),
        }
    }

    /// The problem of the part, if there is one.
    fn problem(&self) -> Result<Option<String>> {
        match self.part.metadata().map_err(Error::io("read", &self.part_path))?.len() {
            0 => Ok(Some("server sends nothing".into())),
            _ => self.file.check.problem(&self.part_path, self.file.bytes),
        }
    }
}

/// Pause before an attempt, from 0.
fn pause(attempt: u32) -> Duration {
    FIRST_PAUSE * ((1 << attempt) - 1)
}

/// Time for a file of so many bytes, per request.
fn time_for(bytes: u64) -> Duration {
    SHORTEST.max(Duration::from_secs(bytes / SLOWEST))
}

/// Opens the part for one process at a time; never through a link, whose target could be someone else's file.
fn open_part(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW);
    if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(Error::file(path, "is a link or a folder, not part of a download: delete it"));
    }
    let part = options.open(path).map_err(Error::io("create", path))?;
    match part.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(Error::file(path, "another fetch is at work on this file; wait until it is done"))
        }
        // A file system without locks still has the checksum.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(part),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double() {
        let pauses: Vec<_> = (0..4).map(|attempt| pause(attempt).as_millis()).collect();
        assert_eq!(pauses, [0, 200, 600, 1400]);
    }
}
