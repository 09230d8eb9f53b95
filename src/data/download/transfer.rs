//! One HTTP request that fills a `.part` file, continuing at its end if the server supports it.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::time::Duration;

use ureq::http::{Response, StatusCode, header};
use ureq::typestate::WithoutBody;
use ureq::{Agent, RequestBuilder};

/// Failure of an attempt.
#[derive(Debug)]
pub(super) enum Failure {
    /// The server does not have the file, or cannot be reached: try the next mirror.
    Mirror(String),
    /// The connection broke, or the server has a temporary error; the received bytes are in the file, and a new request continues from
    /// there.
    Broken(String),
    /// The time limit was exceeded.
    Late(String),
    /// The local file cannot be written.
    Local(std::io::Error),
}

/// An agent that waits at most half a minute for any data.
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

/// Appends the missing bytes to `part`, or writes it from the start if the server sends everything. Refuses to write more than `limit`
/// bytes, and stops when `late` says so. Calls `progress` with bytes so far and in total.
pub(super) fn transfer(
    agent: &Agent,
    url: &str,
    part: &mut File,
    limit: u64,
    late: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(u64, Option<u64>),
) -> Result<(), Failure> {
    let have = part.metadata().map_err(Failure::Local)?.len();
    let (response, start) = begin(agent, url, have)?;
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
        if late() {
            part.write_all(&buffer[..count]).map_err(Failure::Local)?;
            return Err(Failure::Late(format!("too slow: {received} bytes when the time was up")));
        }
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

/// An answer, and the byte its body starts at: `have` if the server continues from there, else 0.
fn begin(agent: &Agent, url: &str, have: u64) -> Result<(Response<ureq::Body>, u64), Failure> {
    let mut response = request(agent, url, have)?;
    if have > 0 && response.status() == StatusCode::RANGE_NOT_SATISFIABLE {
        // The part is as long as the file or longer, and it is wrong or cannot be checked.
        response = request(agent, url, 0)?;
    }
    match response.status() {
        StatusCode::OK => Ok((response, 0)),
        StatusCode::PARTIAL_CONTENT if have > 0 && range_start(&response) == Some(have) => {
            Ok((response, have))
        }
        StatusCode::PARTIAL_CONTENT => {
            response = request(agent, url, 0)?;
            if response.status() != StatusCode::OK {
                return Err(Failure::Mirror("server sends another range than asked for".into()));
            }
            Ok((response, 0))
        }
        status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
            Err(Failure::Broken(format!("server answers {status}")))
        }
        status => Err(Failure::Mirror(format!("server answers {status}"))),
    }
}

fn request(agent: &Agent, url: &str, have: u64) -> Result<Response<ureq::Body>, Failure> {
    let mut request = get(agent, url, url).header(header::ACCEPT_ENCODING, "identity");
    if have > 0 {
        request = request.header(header::RANGE, format!("bytes={have}-"));
    }
    request.call().map_err(|source| match &source {
        // A server that closes a connection it kept open does so before it answers.
        ureq::Error::Io(error) if is_reset(error) => Failure::Broken(source.to_string()),
        _ => Failure::Mirror(source.to_string()),
    })
}

/// A request of `url` on the way from the address `asked`: where that is https, a redirect must not lead to a connection that anybody can
/// write into.
fn get(agent: &Agent, url: &str, asked: &str) -> RequestBuilder<WithoutBody> {
    agent.get(url).config().https_only(asked.starts_with("https:")).build()
}

fn is_reset(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), ConnectionReset | ConnectionAborted | BrokenPipe | UnexpectedEof)
}

/// The first byte of `Content-Range: bytes FIRST-LAST/TOTAL`.
fn range_start<T>(response: &Response<T>) -> Option<u64> {
    let range = response.headers().get(header::CONTENT_RANGE)?.to_str().ok()?;
    range.trim().strip_prefix("bytes")?.trim_start().split_once('-')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::io::BufRead;

    use super::*;

    #[test]
    fn a_secured_address_leads_to_no_open_connection() {
        let open = "http://127.0.0.1:9/file";
        let error = get(&agent(), open, "https://example.org/file").call().unwrap_err();
        assert!(matches!(error, ureq::Error::RequireHttpsOnly(_)), "{error}");
        let error = get(&agent(), open, open).call().unwrap_err();
        assert!(!matches!(error, ureq::Error::RequireHttpsOnly(_)), "{error}");
    }

    /// One byte at a time, for ever: each comes within the patience for a sign of life.
    #[test]
    fn a_server_that_drips_is_left_when_the_time_is_up() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/file", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let lines = std::io::BufReader::new(stream.try_clone().unwrap()).lines();
            lines.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
            while stream.write_all(b"x").is_ok() {}
        });
        let mut part = tempfile::tempfile().unwrap();
        let looks = std::cell::Cell::new(0);
        let late = || looks.replace(looks.get() + 1) == 3;
        let failure = transfer(&agent(), &url, &mut part, 200_000, &late, &mut |_, _| {});
        assert!(matches!(failure, Err(Failure::Late(_))), "{failure:?}");
        assert!(part.metadata().unwrap().len() >= 4, "what came is kept");
    }
}
