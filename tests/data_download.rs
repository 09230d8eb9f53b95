//! Fetching data, against a small server on 127.0.0.1.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use ztrack::data::download::{
    Check, FetchProgress, Mirrors, RemoteFile, RemoteSet, fetch, fetch_files,
};

/// A request: path, and where the range asked for starts.
type Request = (String, Option<usize>);

/// Serves what `respond` says, as raw HTTP, and remembers the requests.
struct Server {
    base: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    fn new(respond: impl Fn(&Request) -> Vec<u8> + Send + 'static) -> Self {
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

    /// Starts of the ranges asked for, request by request.
    fn ranges(&self) -> Vec<Option<usize>> {
        self.requests.lock().unwrap().iter().map(|request| request.1).collect()
    }
}

/// A response that claims `length` bytes.
fn response(status: &str, headers: &str, length: usize, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n"
    );
    [head.as_bytes(), body].concat()
}

fn whole(body: &[u8]) -> Vec<u8> {
    response("200 OK", "", body.len(), body)
}

/// From `start` on, as a server with range support answers.
fn range(body: &[u8], start: usize) -> Vec<u8> {
    let total = body.len();
    if start >= total {
        let headers = format!("Content-Range: bytes */{total}\r\n");
        return response("416 Range Not Satisfiable", &headers, 0, b"");
    }
    let headers = format!("Content-Range: bytes {start}-{}/{total}\r\n", total - 1);
    response("206 Partial Content", &headers, total - start, &body[start..])
}

fn not_found() -> Vec<u8> {
    response("404 Not Found", "", 4, b"none")
}

/// Content that does not compress to nothing.
fn content() -> Vec<u8> {
    (0..50_000u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Fetches `file.gz` with the content above into `folder`; also gives the last events as words.
fn fetch_one(folder: &Path, bases: &[&str]) -> (ztrack::Result<Vec<PathBuf>>, Vec<&'static str>) {
    let content = content();
    let sum = sha256(&content);
    let file =
        RemoteFile { name: "file.gz", bytes: content.len() as u64, check: Check::Sha256(&sum) };
    let set = RemoteSet { name: "set", mirrors: &[], files: &[file] };
    let mirrors = Mirrors::Custom(bases.iter().map(|base| base.to_string()).collect());
    let mut events = Vec::new();
    let result = fetch_files(&set, folder, &mirrors, &mut |progress| {
        let word = match progress {
            FetchProgress::Kept { .. } => "kept",
            FetchProgress::Receiving { .. } => "receiving",
            FetchProgress::Failed { .. } => "failed",
            FetchProgress::Done { .. } => "done",
        };
        if events.last() != Some(&word) {
            events.push(word);
        }
    });
    (result, events)
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn names(folder: &TempDir) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder.path().join("set")) else { return vec![] };
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A base URL where nobody listens.
fn closed() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/", listener.local_addr().unwrap())
}

#[test]
fn a_file_is_fetched_once_and_then_kept() {
    let (folder, body) = (folder(), gzip(&content()));
    let expected = body.clone();
    let server = Server::new(move |_| whole(&body));
    let (result, events) = fetch_one(folder.path(), &[&server.base]);
    let path = folder.path().join("set/file.gz");
    assert_eq!((result.unwrap(), events), (vec![path.clone()], vec!["receiving", "done"]));
    assert_eq!(std::fs::read(&path).unwrap(), expected);
    assert_eq!(server.requests.lock().unwrap()[..], [("/data/file.gz".to_string(), None)]);

    let (result, events) = fetch_one(folder.path(), &[&server.base]);
    assert_eq!((result.unwrap(), events), (vec![path], vec!["kept"]));
    assert_eq!(server.ranges().len(), 1, "no second request");
    assert_eq!(names(&folder), ["file.gz"]);
}

#[test]
fn an_unzipped_copy_counts_and_a_wrong_file_is_replaced() {
    let (folder, body) = (folder(), gzip(&content()));
    std::fs::create_dir(folder.path().join("set")).unwrap();
    let unzipped = folder.path().join("set/file");
    std::fs::write(&unzipped, content()).unwrap();
    let (result, events) = fetch_one(folder.path(), &[]);
    assert_eq!((result.unwrap(), events), (vec![unzipped.clone()], vec!["kept"]));

    std::fs::remove_file(&unzipped).unwrap();
    let path = folder.path().join("set/file.gz");
    std::fs::write(&path, "wrong").unwrap();
    let server = Server::new(|_| not_found());
    assert!(fetch_one(folder.path(), &[&server.base]).0.is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"wrong", "kept until there is a right one");
    let server = Server::new(move |_| whole(&body));
    assert_eq!(fetch_one(folder.path(), &[&server.base]).0.unwrap(), vec![path.clone()]);
    assert_eq!(std::fs::read(&path).unwrap(), gzip(&content()));
}

#[test]
fn a_broken_connection_is_resumed_where_it_broke() {
    let (folder, body) = (folder(), gzip(&content()));
    let cut = body.len() / 3;
    let server = Server::new(move |request| match request.1 {
        None => response("200 OK", "", body.len(), &body[..cut]),
        Some(start) => range(&body, start),
    });
    let (result, events) = fetch_one(folder.path(), &[&server.base]);
    assert!(result.is_ok(), "{result:?}");
    assert_eq!(events, ["receiving", "failed", "receiving", "done"]);
    assert_eq!(server.ranges(), [None, Some(cut)]);
    assert_eq!(names(&folder), ["file.gz"]);
}

#[test]
fn a_part_of_an_earlier_run_is_resumed() {
    let (folder, body) = (folder(), gzip(&content()));
    let cut = body.len() / 2;
    let first = body.clone();
    // Breaks, and then there is nothing any more.
    let server = Server::new(move |request| match request.1 {
        None => response("200 OK", "", first.len(), &first[..cut]),
        Some(_) => not_found(),
    });
    assert!(fetch_one(folder.path(), &[&server.base]).0.is_err());
    assert_eq!(names(&folder), ["file.gz.part"], "no half file under the final name");

    let server = Server::new(move |request| range(&body, request.1.unwrap_or(0)));
    assert!(fetch_one(folder.path(), &[&server.base]).0.is_ok());
    assert_eq!(server.ranges(), [Some(cut)]);
    assert_eq!(names(&folder), ["file.gz"]);
}

#[test]
fn a_server_without_ranges_starts_again() {
    let (folder, body) = (folder(), gzip(&content()));
    let cut = body.len() / 2;
    let calls = Mutex::new(0);
    let server = Server::new(move |_| {
        let mut calls = calls.lock().unwrap();
        *calls += 1;
        let sent = if *calls == 1 { cut } else { body.len() };
        response("200 OK", "", body.len(), &body[..sent])
    });
    assert!(fetch_one(folder.path(), &[&server.base]).0.is_ok());
    assert_eq!(server.ranges(), [None, Some(cut)]);
    assert_eq!(std::fs::read(folder.path().join("set/file.gz")).unwrap(), gzip(&content()));
}

#[test]
fn a_wrong_or_overlong_part_is_thrown_away() {
    let body = gzip(&content());
    for part in [vec![7; 1000], [&body[..], b"too much"].concat()] {
        let (folder, body) = (folder(), body.clone());
        std::fs::create_dir(folder.path().join("set")).unwrap();
        std::fs::write(folder.path().join("set/file.gz.part"), &part).unwrap();
        let server = Server::new(move |request| match request.1 {
            None => whole(&body),
            Some(start) => range(&body, start),
        });
        let (result, _) = fetch_one(folder.path(), &[&server.base]);
        assert!(result.is_ok(), "{result:?}");
        assert_eq!(server.ranges(), [Some(part.len()), None]);
    }
}

#[test]
fn a_whole_part_needs_no_server() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("set")).unwrap();
    std::fs::write(folder.path().join("set/file.gz.part"), gzip(&content())).unwrap();
    assert!(fetch_one(folder.path(), &[&closed()]).0.is_ok());
    assert_eq!(names(&folder), ["file.gz"]);
}

#[test]
fn wrong_content_leaves_an_error_and_no_file() {
    let mut other = content();
    other[77] ^= 1;
    let bodies = [
        gzip(&other),
        content()[..40_000].to_vec(),
        b"<html>log in</html>".to_vec(),
        vec![],
        gzip(&vec![0; 1 << 20]),
    ];
    for body in bodies {
        let folder = folder();
        let server = Server::new(move |_| whole(&body));
        let (result, events) = fetch_one(folder.path(), &[&server.base]);
        let error = result.unwrap_err().to_string();
        assert!(error.contains("cannot be fetched (http://127.0.0.1"), "{error}");
        assert!(!error.contains('\n'), "{error}");
        assert_eq!(events.last(), Some(&"failed"));
        assert_eq!(names(&folder), [""; 0]);
    }
}

#[test]
fn endless_answers_are_cut_off() {
    let folder = folder();
    // No length given: the body ends with the connection.
    let body = vec![1; 1 << 20];
    let server = Server::new(move |_| {
        [&b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"[..], &body].concat()
    });
    let error = fetch_one(folder.path(), &[&server.base]).0.unwrap_err().to_string();
    assert!(error.contains("server sends more than"), "{error}");
    let server = Server::new(|_| response("200 OK", "", 1 << 40, b"x"));
    let error = fetch_one(folder.path(), &[&server.base]).0.unwrap_err().to_string();
    assert!(error.contains("file is larger than"), "{error}");
}

#[test]
fn mirrors_are_tried_in_turn() {
    let (folder, body) = (folder(), gzip(&content()));
    let missing = Server::new(|_| not_found());
    let mut wrong = body.clone();
    wrong[100] ^= 1;
    let wrong = Server::new(move |_| whole(&wrong));
    let good = Server::new(move |_| whole(&body));
    let refusing = closed();
    let bases = [&missing.base, &refusing, &wrong.base, &good.base].map(String::as_str);
    let (result, _) = fetch_one(folder.path(), &bases);
    assert!(result.is_ok(), "{result:?}");
    assert_eq!([&missing, &wrong, &good].map(|server| server.ranges().len()), [1, 1, 1]);
    assert_eq!(names(&folder), ["file.gz"]);
}

#[test]
fn every_mirror_has_its_say_when_none_works() {
    let folder = folder();
    let missing = Server::new(|_| not_found());
    let closed = closed();
    let error = fetch_one(folder.path(), &[&missing.base, &closed]).0.unwrap_err().to_string();
    for expected in ["404", closed.as_str(), "efused", "file.gz: cannot be fetched"] {
        assert!(error.contains(expected), "{expected}: {error}");
    }
    assert_eq!(names(&folder), [""; 0], "nothing is left");
    let error = fetch_one(folder.path(), &[]).0.unwrap_err().to_string();
    assert!(error.contains("no mirrors"), "{error}");
}

#[test]
fn a_mirror_that_always_breaks_is_given_up() {
    let folder = folder();
    let server = Server::new(|_| response("200 OK", "", 1000, b"x"));
    let error = fetch_one(folder.path(), &[&server.base]).0.unwrap_err().to_string();
    assert!(error.contains("cannot be fetched"), "{error}");
    assert!((2..=10).contains(&server.ranges().len()), "{:?}", server.ranges());
}

/// A server that closes a connection it kept open, or is overloaded for a moment.
#[test]
fn resets_and_server_errors_are_asked_again_after_a_pause() {
    for trouble in ["reset", "503 Service Unavailable", "500 Internal Server Error", "429 Slow"] {
        let (folder, body) = (folder(), gzip(&content()));
        let calls = Mutex::new(0);
        let server = Server::new(move |_| {
            let mut calls = calls.lock().unwrap();
            *calls += 1;
            match (*calls, trouble) {
                (3, _) => whole(&body),
                // The connection is closed without a word.
                (_, "reset") => vec![],
                (_, status) => response(status, "", 4, b"busy"),
            }
        });
        let started = std::time::Instant::now();
        let (result, _) = fetch_one(folder.path(), &[&server.base]);
        assert!(result.is_ok(), "{trouble}: {result:?}");
        assert_eq!(server.ranges().len(), 3, "{trouble}");
        assert!(started.elapsed() >= std::time::Duration::from_millis(500), "no pause");
    }
}

#[cfg(unix)]
#[test]
fn a_part_that_is_a_link_is_not_followed() {
    let (folder, body) = (folder(), gzip(&content()));
    std::fs::create_dir(folder.path().join("set")).unwrap();
    let victim = folder.path().join("victim");
    std::fs::write(&victim, "precious").unwrap();
    let part = folder.path().join("set/file.gz.part");
    for target in [victim.clone(), folder.path().join("not-there")] {
        std::os::unix::fs::symlink(&target, &part).unwrap();
        let body = body.clone();
        let server = Server::new(move |_| whole(&body));
        let error = fetch_one(folder.path(), &[&server.base]).0.unwrap_err().to_string();
        assert!(error.contains("file.gz.part") && error.contains("is a link"), "{error}");
        std::fs::remove_file(&part).unwrap();
    }
    assert_eq!(std::fs::read(&victim).unwrap(), b"precious");
    assert!(!folder.path().join("not-there").exists());
}

#[test]
fn rows_in_another_order_are_the_same_lines() {
    let sum = sha256(b"a\nb\nc\n");
    let fetch_text = |body: &'static [u8]| {
        let folder = folder();
        let server = Server::new(move |_| whole(body));
        let file = RemoteFile { name: "t", bytes: 6, check: Check::SortedLines(&sum) };
        let set = RemoteSet { name: "set", mirrors: &[], files: &[file] };
        let mirrors = Mirrors::Custom(vec![server.base.clone()]);
        fetch_files(&set, folder.path(), &mirrors, &mut |_| {}).map(|_| ())
    };
    assert!(fetch_text(b"c\na\nb\n").is_ok());
    assert!(fetch_text(b"b\nc\na").is_ok());
    assert!(fetch_text(b"b\nc\n").is_err());
}

#[test]
fn a_table_without_a_checksum_has_its_rows_and_columns() {
    let fetch_text = |body: &'static [u8]| {
        let folder = folder();
        let server = Server::new(move |_| whole(body));
        let check = Check::Table { rows: 2, columns: 3 };
        let file = RemoteFile { name: "t", bytes: 60, check };
        let set = RemoteSet { name: "set", mirrors: &[], files: &[file] };
        let mirrors = Mirrors::Custom(vec![server.base.clone()]);
        let fetched = fetch_files(&set, folder.path(), &mirrors, &mut |_| {});
        fetched.map(|paths| std::fs::read(&paths[0]).unwrap()).map_err(|error| error.to_string())
    };
    assert_eq!(fetch_text(b"+1 1:1 3:1 \n-1 2:1 \n").unwrap(), b"+1 1:1 3:1 \n-1 2:1 \n");
    assert!(fetch_text(b"1 1:1\n2\n").is_ok());
    for (body, problem) in [
        (&b"1 1:1\n"[..], "content has 1 rows, expected 2"),
        (b"1 1:1\n1 1:1\n2 2:1\n", "content has 3 rows, expected 2"),
        (b"1 1:1\n1 4:1\n", "line 2: feature index 4 is outside 1..3"),
        (b"1 1:1\n1 2:0.5\n", "line 2: value `0.5` of feature 2"),
        (b"<!DOCTYPE html><title>moved</title>\n", "is in no known format"),
    ] {
        let error = fetch_text(body).unwrap_err();
        assert!(error.contains(problem), "{error}");
    }
}

/// The last row lost a value, and the number of rows is right.
#[test]
fn a_table_cut_within_its_last_row_is_completed() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("set")).unwrap();
    let body = b"1 1:1\n1 2:1 3:1\n";
    for cut in [body.len() - 5, body.len()] {
        std::fs::write(folder.path().join("set/t.part"), &body[..cut]).unwrap();
        let server =
            Server::new(|request| request.1.map_or(whole(body), |start| range(body, start)));
        let check = Check::Table { rows: 2, columns: 3 };
        let file = RemoteFile { name: "t", bytes: 60, check };
        let set = RemoteSet { name: "set", mirrors: &[], files: &[file] };
        let mirrors = Mirrors::Custom(vec![server.base.clone()]);
        let paths = fetch_files(&set, folder.path(), &mirrors, &mut |_| {}).unwrap();
        assert_eq!(std::fs::read(&paths[0]).unwrap(), body);
        std::fs::remove_file(&paths[0]).unwrap();
    }
}

#[test]
fn unknown_names_and_unwritable_folders_are_told() {
    let folder = folder();
    let fetch_name = |name, folder: &Path| {
        fetch(name, folder, &Mirrors::Custom(vec![closed()]), &mut |_| {}).unwrap_err().to_string()
    };
    let error = fetch_name("binarized-mnist", folder.path());
    assert!(
        error.contains("`binarized-mnist`")
            && error.contains("mnist, dna, adult, connect-4, mushrooms, web"),
        "{error}"
    );
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = fetch_name("dna", &file);
    assert!(error.starts_with("cannot create folder"), "{error}");
}

#[test]
fn two_fetches_do_not_share_a_part() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("set")).unwrap();
    let other = std::fs::File::create(folder.path().join("set/file.gz.part")).unwrap();
    other.try_lock().unwrap();
    let error = fetch_one(folder.path(), &[]).0.unwrap_err().to_string();
    assert!(error.contains("another fetch is at work"), "{error}");
}

#[test]
fn the_table_agrees_with_the_real_files() {
    for name in ["mnist", "dna"] {
        let Some(real) = common::shared(&format!("datasets/{name}")) else { continue };
        let folder = folder();
        let server = Server::new(move |request| {
            whole(&std::fs::read(real.join(request.0.trim_start_matches("/data/"))).unwrap())
        });
        let mirrors = Mirrors::Custom(vec![server.base.clone()]);
        let paths = fetch(name, folder.path(), &mirrors, &mut |_| {}).unwrap();
        assert_eq!(paths.len(), 4);
        let sum = |path: &PathBuf| std::fs::metadata(path).unwrap().len();
        assert!(paths.iter().all(|path| path.starts_with(folder.path()) && sum(path) > 0));
    }
}
