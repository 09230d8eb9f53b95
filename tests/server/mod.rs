//! A small HTTP server on 127.0.0.1, one request a connection.

// Each test file is a crate of its own and uses a part of this.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// A request: path, and where the range asked for starts.
pub type Request = (String, Option<usize>);

/// Serves what `respond` says, as raw HTTP, and remembers the requests.
pub struct Server {
    pub base: String,
    pub requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    pub fn new(respond: impl Fn(&Request) -> Vec<u8> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}/data/", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = requests.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let first = lines.next().unwrap().unwrap();
                let path = first.split(' ').nth(1).unwrap().to_string();
                let mut range = None;
                for line in lines.map(Result::unwrap).take_while(|line| !line.is_empty()) {
                    if let Some(start) = line.to_ascii_lowercase().strip_prefix("range: bytes=") {
                        range = start.trim_end_matches('-').parse().ok();
                    }
                }
                let request = (path, range);
                let response = respond(&request);
                seen.lock().unwrap().push(request);
                let _ = stream.write_all(&response);
            }
        });
        Self { base, requests }
    }

    /// Serves the files of a folder; anything else is not found.
    pub fn of_files(folder: PathBuf) -> Self {
        Self::new(move |(path, _)| {
            let file = folder.join(path.trim_start_matches("/data/"));
            std::fs::read(file).map_or_else(|_| not_found(), |body| whole(&body))
        })
    }

    /// Starts of the ranges asked for, request by request.
    pub fn ranges(&self) -> Vec<Option<usize>> {
        self.requests.lock().unwrap().iter().map(|request| request.1).collect()
    }
}

/// A response that claims `length` bytes.
pub fn response(status: &str, headers: &str, length: usize, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n"
    );
    [head.as_bytes(), body].concat()
}

pub fn whole(body: &[u8]) -> Vec<u8> {
    response("200 OK", "", body.len(), body)
}

/// From `start` on, as a server with range support answers.
pub fn range(body: &[u8], start: usize) -> Vec<u8> {
    let total = body.len();
    if start >= total {
        let headers = format!("Content-Range: bytes */{total}\r\n");
        return response("416 Range Not Satisfiable", &headers, 0, b"");
    }
    let headers = format!("Content-Range: bytes {start}-{}/{total}\r\n", total - 1);
    response("206 Partial Content", &headers, total - start, &body[start..])
}

pub fn not_found() -> Vec<u8> {
    response("404 Not Found", "", 4, b"none")
}

/// A base URL where nobody listens.
pub fn closed() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/", listener.local_addr().unwrap())
}
