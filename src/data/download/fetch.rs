//! Fetching a data set: correct files are kept, missing ones come from the first address that has them.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ureq::Agent;
use ureq::tls::TlsConfig;

use super::sums::Sums;
use super::{REMOTE_SETS, RemoteFile, RemoteSet};
use crate::checkpoint::write_bytes;
use crate::context::progress::Progress;
use crate::error::{Error, Result};

/// Longest wait for a sign of life, and time limit of a file: 10 minutes.
const TIMES: [Duration; 2] = [Duration::from_secs(30), Duration::from_secs(600)];

/// Where to fetch from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Mirrors {
    /// The base URLs of the table.
    #[default]
    Official,
    /// Other base URLs, in the order they are tried.
    Custom(Vec<String>),
}

/// Fetches the data set `name` into `FOLDER/name` and returns the paths of its files.
///
/// Correct files are kept. A wrong file is replaced, but only by a correct one. `tell` gets a line on each file and address. `stated`
/// are SHA-256 of contents by names of files. A file whose checksum [`REMOTE_SETS`] does not have is also compared with its first
/// download, whose SHA-256 is kept beside it in `FILE.sha256`.
///
/// # Errors
/// A name that is not in [`REMOTE_SETS`], stated sums of other files, a folder that cannot be written, or no address with the right
/// content: the message then has the reason of each.
pub fn fetch(
    name: &str,
    folder: &Path,
    mirrors: &Mirrors,
    stated: &[(String, String)],
    progress: &Progress,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<PathBuf>> {
    let set = REMOTE_SETS.iter().find(|set| set.name == name).ok_or_else(|| {
        let known: Vec<_> = REMOTE_SETS.iter().map(|set| set.name).collect();
        Error::Unknown(format!("data set `{name}` cannot be fetched, only {}", known.join(", ")))
    })?;
    fetch_files(set, folder, mirrors, stated, progress, tell)
}

/// [`fetch`] for a set outside the table.
pub fn fetch_files(
    set: &RemoteSet,
    folder: &Path,
    mirrors: &Mirrors,
    stated: &[(String, String)],
    progress: &Progress,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<PathBuf>> {
    let folder = folder.join(set.name);
    let bases: Vec<&str> = match mirrors {
        Mirrors::Official => set.mirrors.to_vec(),
        Mirrors::Custom(bases) => bases.iter().map(String::as_str).collect(),
    };
    let sums = Sums::new(set, &folder, stated)?;
    set.files.iter().map(|file| fetch_file(file, &folder, &bases, &sums, progress, tell)).collect()
}

fn fetch_file(
    file: &RemoteFile,
    folder: &Path,
    bases: &[&str],
    sums: &Sums,
    progress: &Progress,
    tell: &mut dyn FnMut(&str),
) -> Result<PathBuf> {
    let path = folder.join(file.name);
    let unzipped = folder.join(file.name.strip_suffix(".gz").unwrap_or(file.name));
    for present in [&path, &unzipped] {
        let open = || fs::File::open(present).map_err(Error::io("open", present));
        if present.is_file() && sums.problem(file, present, open)?.is_none() {
            tell(&format!("{}: there already, checked", file.name));
            return Ok(present.clone());
        }
    }
    fs::create_dir_all(folder).map_err(Error::io("create folder", folder))?;
    let mut reasons = Vec::new();
    for base in bases {
        let url = format!("{}/{}", base.trim_end_matches('/'), file.name);
        let agent = agent(&url, TIMES, TlsConfig::default());
        let problem = match download(file, &url, &agent, progress) {
            Ok(bytes) => match sums.problem(file, &path, || Ok(&bytes[..]))? {
                None => {
                    write_bytes(&path, &bytes)?;
                    sums.keep(file, &bytes)?;
                    tell(&format!("{}: fetched, checked", file.name));
                    return Ok(path);
                }
                Some(problem) => problem,
            },
            Err(problem) => problem,
        };
        tell(&format!("{}: {url}: {problem}", file.name));
        reasons.push(format!("{url}: {problem}"));
    }
    if reasons.is_empty() {
        reasons.push("no mirrors".into());
    }
    let problem =
        format!("cannot be fetched ({}); try again or put the file there", reasons.join("; "));
    Err(Error::file(&path, problem))
}

/// The bytes at an address, or why there are none.
pub(super) fn download(
    file: &RemoteFile,
    url: &str,
    agent: &Agent,
    progress: &Progress,
) -> std::result::Result<Vec<u8>, String> {
    // Compressed content can be a little longer than plain content, and text can have longer line ends.
    let limit = file.bytes + file.bytes / 8 + 1024;
    let response = agent.get(url).header("Accept-Encoding", "identity").call();
    let response = response.map_err(|error| error.to_string())?;
    if response.status() != 200 {
        return Err(format!("server answers {}", response.status()));
    }
    let total = response.body().content_length();
    if total.unwrap_or(0) > limit {
        return Err(format!("file is larger than the {limit} bytes expected"));
    }
    let mut body = response.into_body().into_reader();
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        progress.at("kB received", bytes.len() / 1000, total.unwrap_or(limit) as usize / 1000);
        match body.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
            Err(error) => return Err(format!("connection broke: {error}")),
        }
        if bytes.len() as u64 > limit {
            return Err(format!("server sends more than {limit} bytes"));
        }
    }
    match total {
        _ if bytes.is_empty() => Err("server sends nothing".into()),
        Some(total) if (bytes.len() as u64) < total => {
            Err(format!("connection ended after {} of {total} bytes", bytes.len()))
        }
        _ => Ok(bytes),
    }
}

/// An agent for an address: where that is https, a redirect must not lead to a connection that anybody can write into.
pub(super) fn agent(url: &str, [patience, longest]: [Duration; 2], tls: TlsConfig) -> Agent {
    Agent::config_builder()
        .http_status_as_error(false)
        .timeout_resolve(Some(patience))
        .timeout_connect(Some(patience))
        .timeout_recv_response(Some(patience))
        .timeout_per_read(Some(patience))
        .timeout_global(Some(longest))
        .https_only(url.starts_with("https:"))
        .tls_config(tls)
        .user_agent(concat!("ztrack/", env!("CARGO_PKG_VERSION")))
        .build()
        .new_agent()
}
