//! A small HTTP server on 127.0.0.1, one request a connection.

// Several crates of tests use this, each a part of it.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// Serves what `respond` says, as raw HTTP, and remembers the requests.
pub struct Server {
    pub base: String,
    pub requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub fn new(respond: impl Fn(&str) -> Vec<u8> + Send + 'static) -> Self {
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
                lines.map(Result::unwrap).take_while(|line| !line.is_empty()).for_each(drop);
                let response = respond(&path);
                seen.lock().unwrap().push(path);
                let _ = stream.write_all(&response);
            }
        });
        Self { base, requests }
    }

    /// Serves the files of a folder; anything else is not found.
    pub fn of_files(folder: PathBuf) -> Self {
        Self::new(move |path| {
            let file = folder.join(path.trim_start_matches("/data/"));
            std::fs::read(file).map_or_else(|_| not_found(), |body| whole(&body))
        })
    }

    /// Number of requests so far.
    pub fn count(&self) -> usize {
        self.requests.lock().unwrap().len()
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

pub fn not_found() -> Vec<u8> {
    response("404 Not Found", "", 4, b"none")
}

/// A base URL where nobody listens.
pub fn closed() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/", listener.local_addr().unwrap())
}
