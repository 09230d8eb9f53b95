//! One HTTP request that fills a `.part` file, from its end on where the server can.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::time::Duration;

use ureq::Agent;
use ureq::http::{Response, StatusCode, header};

/// How an attempt ended, short of success.
#[derive(Debug)]
pub(super) enum Failure {
    /// The server has nothing for us, or cannot be reached: go to the next mirror.
    Mirror(String),
    /// The connection broke; what came is in the file, and asking again goes on from there.
    Broken(String),
    /// The local file cannot be written.
    Local(std::io::Error),
}

/// An agent that waits at most half a minute for a sign of life.
pub(super) fn agent() -> Agent {
    let patience = Some(Duration::from_secs(30));
    Agent::config_builder()
        .http_status_as_error(false)
        .timeout_resolve(patience)
        .timeout_connect(patience)
        .timeout_recv_response(patience)
        .timeout_per_read(patience)
        .user_agent(concat!("ztrack/", env!("CARGO_PKG_VERSION")))
        .build()
        .new_agent()
}

/// Appends to `part` what it lacks, or writes it from the start where the server sends everything. Refuses to write
/// more than `limit` bytes. Calls `progress` with bytes so far and in all.
pub(super) fn transfer(
    agent: &Agent,
    url: &str,
    part: &mut File,
    limit: u64,
    progress: &mut dyn FnMut(u64, Option<u64>),
) -> Result<(), Failure> {
    let have = part.metadata().map_err(Failure::Local)?.len();
    let mut response = request(agent, url, have)?;
    if have > 0 && response.status() == StatusCode::RANGE_NOT_SATISFIABLE {
        // The part is as long as the file or longer, and it is not right: it was looked at before.
        response = request(agent, url, 0)?;
    }
    let start = match response.status() {
        StatusCode::OK => 0,
        StatusCode::PARTIAL_CONTENT if have > 0 && range_start(&response) == Some(have) => have,
        StatusCode::PARTIAL_CONTENT => {
            response = request(agent, url, 0)?;
            if response.status() != StatusCode::OK {
                return Err(Failure::Mirror("server sends another range than asked for".into()));
            }
            0
        }
        status => return Err(Failure::Mirror(format!("server answers {status}"))),
    };
    part.set_len(start).map_err(Failure::Local)?;
    part.seek(SeekFrom::Start(start)).map_err(Failure::Local)?;

    let total = response.body().content_length().map(|length| start.saturating_add(length));
    if total.unwrap_or(0) > limit {
        return Err(Failure::Mirror(format!("file is larger than the {limit} bytes expected")));
    }
    let mut body = response.into_body().into_reader();
    let mut buffer = vec![0; 1 << 16];
    let mut received = start;
    progress(received, total);
    loop {
        let count = match body.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(source) => {
                part.flush().map_err(Failure::Local)?;
                return Err(Failure::Broken(format!("connection broke: {source}")));
            }
        };
        received += count as u64;
        if received > limit {
            return Err(Failure::Mirror(format!("server sends more than {limit} bytes")));
        }
        part.write_all(&buffer[..count]).map_err(Failure::Local)?;
        progress(received, total);
    }
    match total {
        Some(total) if received < total => {
            Err(Failure::Broken(format!("connection ended after {received} of {total} bytes")))
        }
        _ => part.sync_all().map_err(Failure::Local),
    }
}

fn request(agent: &Agent, url: &str, have: u64) -> Result<Response<ureq::Body>, Failure> {
    let mut request = agent.get(url).header(header::ACCEPT_ENCODING, "identity");
    if have > 0 {
        request = request.header(header::RANGE, format!("bytes={have}-"));
    }
    request.call().map_err(|source| Failure::Mirror(source.to_string()))
}

/// The first byte of `Content-Range: bytes FIRST-LAST/TOTAL`.
fn range_start<T>(response: &Response<T>) -> Option<u64> {
    let range = response.headers().get(header::CONTENT_RANGE)?.to_str().ok()?;
    range.trim().strip_prefix("bytes")?.trim_start().split_once('-')?.0.parse().ok()
}
