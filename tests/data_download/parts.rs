//! Parts: what a connection that broke or an earlier fetch left.

use std::sync::Mutex;

use crate::files::gzip;
use crate::server::{Server, closed, not_found, range, response, whole};
use crate::{content, fetch_one, folder, names};

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
fn two_fetches_do_not_share_a_part() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("set")).unwrap();
    let other = std::fs::File::create(folder.path().join("set/file.gz.part")).unwrap();
    other.try_lock().unwrap();
    let error = fetch_one(folder.path(), &[]).0.unwrap_err().to_string();
    assert!(error.contains("another fetch is at work"), "{error}");
}
