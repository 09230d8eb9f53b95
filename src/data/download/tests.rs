//! Servers on 127.0.0.1 that redirect or are silent.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use ureq::tls::TlsConfig;

use super::fetch::{agent, download};
use super::{Check, RemoteFile};
use crate::context::progress::Progress;

const LONG: [Duration; 2] = [Duration::from_secs(300); 2];

fn unverified() -> TlsConfig {
    TlsConfig::builder().disable_verification(true).build()
}

/// Reads a request and returns its path.
fn path_of(stream: impl Read) -> String {
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let first = lines.next().unwrap();
    lines.take_while(|line| !line.is_empty()).for_each(drop);
    first.split(' ').nth(1).unwrap().to_string()
}

fn redirect(to: &str) -> String {
    format!(
        "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )
}

fn whole(text: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}", text.len())
}

/// A server whose answers are functions of the path and its own address; also counts requests.
fn server(
    secured: bool,
    respond: impl Fn(&str, &str) -> String + Send + 'static,
) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let scheme = if secured { "https" } else { "http" };
    let base = format!("{scheme}://{}", listener.local_addr().unwrap());
    let (own, count) = (base.clone(), Arc::new(AtomicUsize::new(0)));
    let counted = count.clone();
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["localhost".into()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(signing_key.serialize_der().into());
    let provider = rustls::crypto::ring::default_provider().into();
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            counted.fetch_add(1, Ordering::SeqCst);
            let mut stream = stream.unwrap();
            if secured {
                let connection = ServerConnection::new(config.clone()).unwrap();
                let mut stream = StreamOwned::new(connection, stream);
                let response = respond(&path_of(&mut stream), &own);
                stream.write_all(response.as_bytes()).unwrap();
                stream.conn.send_close_notify();
                stream.flush().unwrap();
            } else {
                let response = respond(&path_of(&stream), &own);
                stream.write_all(response.as_bytes()).unwrap();
            }
        }
    });
    (base, count)
}

/// From https a redirect leads to https alone; from http, which promises nothing, anywhere.
#[test]
fn a_secured_address_leads_to_no_open_connection() {
    let (open, opened) = server(false, |path, own| match path {
        "/near" => redirect(&format!("{own}/file")),
        _ => whole("open"),
    });
    let away = open.clone();
    let (secured, _) = server(true, move |path, own| match path {
        "/near" => redirect(&format!("{own}/file")),
        "/away" => redirect(&format!("{away}/file")),
        _ => whole("secured"),
    });
    let get = |url: String| {
        let response = agent(&url, LONG, unverified()).get(&url).call();
        response.map(|mut it| it.body_mut().read_to_string().unwrap())
    };
    assert_eq!(get(format!("{secured}/near")).unwrap(), "secured");
    let error = get(format!("{secured}/away")).unwrap_err();
    assert!(matches!(error, ureq::Error::RequireHttpsOnly(_)), "{error}");
    assert_eq!(opened.load(Ordering::SeqCst), 0, "the open server was asked");
    assert_eq!(get(format!("{open}/near")).unwrap(), "open");
    // A certificate that nobody vouches for.
    let url = format!("{secured}/file");
    let error = agent(&url, LONG, TlsConfig::default()).get(&url).call().unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
}

/// A server that says nothing, stops in the midst, or sends a byte now and then without an end is given up.
#[test]
fn silent_and_slow_servers_are_given_up() {
    const PATIENCE: Duration = Duration::from_millis(100);
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n";
    for (first, drips, times) in [
        ("", false, [PATIENCE, LONG[1]]),
        (head, false, [PATIENCE, LONG[1]]),
        (head, true, [LONG[0], PATIENCE]),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/file", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            path_of(&stream);
            stream.write_all(first.as_bytes()).unwrap();
            while drips && stream.write_all(b"x").is_ok() {
                std::thread::sleep(Duration::from_millis(1));
            }
            // Until the other side has gone.
            let _ = stream.read(&mut [0]);
        });
        let (ended, end) = mpsc::channel();
        std::thread::spawn(move || {
            let check = Check::Sha256("");
            let file = RemoteFile { name: "file", bytes: 1 << 20, check };
            ended.send(download(
                &file,
                &url,
                &agent(&url, times, TlsConfig::default()),
                &Progress::default(),
            ))
        });
        // The limit ends a test that hangs.
        let problem = end.recv_timeout(LONG[0]).expect("it waits for ever").unwrap_err();
        assert!(problem.contains("timeout"), "{problem}");
    }
}
