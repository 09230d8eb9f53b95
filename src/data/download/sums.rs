//! Checksums beside those of the table: what a user states, and what the first download of a file had.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::{Check, RemoteFile, RemoteSet};
use crate::checkpoint::write_bytes;
use crate::data::content::sha256_hex;
use crate::error::{Error, Result};
use crate::limited::read_text_of_run;

/// Sums of the files of a set.
pub(super) struct Sums<'a> {
    folder: &'a Path,
    stated: &'a [(String, String)],
}

impl<'a> Sums<'a> {
    /// `stated`: SHA-256 in hexadecimal by names of files.
    pub(super) fn new(
        set: &RemoteSet,
        folder: &'a Path,
        stated: &'a [(String, String)],
    ) -> Result<Self> {
        for (name, sum) in stated {
            let names: Vec<_> = set.files.iter().map(|file| file.name).collect();
            if !names.contains(&name.as_str()) {
                let known = names.join(", ");
                let text = format!("a SHA-256 is stated of `{name}`, but {} is {known}", set.name);
                return Err(Error::Unknown(text));
            }
            if !is_sum(sum) {
                let text =
                    format!("`{sum}`, stated of {name}, is not a SHA-256: 64 digits of 0-9a-f");
                return Err(Error::Unknown(text));
            }
        }
        Ok(Self { folder, stated })
    }

    /// `None` if the content is right, else the problem.
    pub(super) fn problem<R: Read>(
        &self,
        file: &RemoteFile,
        path: &Path,
        open: impl Fn() -> Result<R>,
    ) -> Result<Option<String>> {
        if let Some(problem) = file.check.problem(path, open()?, file.bytes)? {
            return Ok(Some(problem));
        }
        let Some((sum, of)) = self.expected(file)? else { return Ok(None) };
        let problem = Check::Sha256(&sum).problem(path, open()?, file.bytes)?;
        Ok(problem.map(|problem| format!("{problem} ({of})")))
    }

    /// The stated sum, else that of the first download; with where it comes from.
    fn expected(&self, file: &RemoteFile) -> Result<Option<(String, String)>> {
        if let Some((_, sum)) = self.stated.iter().find(|(name, _)| name == file.name) {
            return Ok(Some((sum.clone(), "as stated".into())));
        }
        let path = self.first(file);
        let Some(text) = read_text_of_run(&path, 4096, "a checksum")? else { return Ok(None) };
        let sum = text.split_whitespace().next().unwrap_or_default();
        if !is_sum(sum) {
            let problem = "does not begin with a SHA-256: delete it to accept the next download";
            return Err(Error::file(&path, problem));
        }
        let of = format!("that of its first download, in {}", path.display());
        Ok(Some((sum.into(), of)))
    }

    /// Keeps the sum of a file that was fetched, unless the table has it, in the format of `sha256sum`.
    pub(super) fn keep(&self, file: &RemoteFile, bytes: &[u8]) -> Result<()> {
        if !matches!(file.check, Check::Table { .. }) {
            return Ok(());
        }
        let line = format!("{}  {}\n", sha256_hex([bytes]), file.name);
        write_bytes(self.first(file), line.as_bytes())
    }

    fn first(&self, file: &RemoteFile) -> PathBuf {
        self.folder.join(format!("{}.sha256", file.name))
    }
}

fn is_sum(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
