//! Requests that must get nothing, and must change nothing.

use crate::api::client::Socket;
use crate::api::{ENDLESS, watched};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::io::Write;

#[test]
fn a_page_of_another_site_gets_nothing() {
    let run = watched(["--request-count", "8"], &[], &[]);
    run.is_over();
    for host in ["evil.example", "localhost.evil.example:80", "127.0.0.1.evil.example", "169.254.169.254", ""] {
        let refused = run.client.ask("GET", "/api/config", &[("Host", host)]);
        assert!([400, 421].contains(&refused.status), "{host}: {}", refused.status);
        assert!(!refused.text().contains("endpoint"), "{host}");
    }
    let two = run.client.send(b"GET /api/config HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n").unwrap();
    assert_eq!(two.status, 421);
    let none = run.client.send(b"GET /api/config HTTP/1.1\r\n\r\n").unwrap();
    assert!([400, 421].contains(&none.status));
    let absolute = run.client.ask("GET", "http://evil.example/api/config", &[]);
    assert_eq!(absolute.status, 421);
    let foreign = ("Origin", "http://evil.example");
    let read = run.client.ask("GET", "/api/config", &[foreign]);
    assert_eq!((read.status, read.field("Access-Control-Allow-Origin")), (200, None), "a browser hides it");
    assert_eq!(run.client.ask("POST", "/api/shutdown", &[foreign]).status, 403);
    assert_eq!(run.client.ask("POST", "/api/shutdown", &[("Origin", "null")]).status, 403);
    assert_eq!(Socket::try_open(&run.client, &[foreign]).err(), Some(403));
    let preflight = run.client.ask("OPTIONS", "/api/shutdown", &[foreign]);
    assert_eq!((preflight.status, preflight.field("Access-Control-Allow-Methods")), (204, None));
    let own = format!("http://localhost:{}", run.client.port());
    assert!(Socket::try_open(&run.client, &[("Origin", &own)]).is_ok());
    assert_eq!(run.client.ask("POST", "/api/shutdown", &[("Origin", &own)]).status, 200);
    assert_eq!(run.running.finish_soon().code(), Some(0));
}

#[test]
fn an_origin_that_the_user_named_may_read() {
    let run = watched(ENDLESS, &[], &[("AIPERF_API_SERVER_CORS_ORIGINS", r#"["https://grafana.example"]"#)]);
    let named = ("Origin", "https://grafana.example");
    let read = run.client.ask("GET", "/api/progress", &[named]);
    assert_eq!(read.field("Access-Control-Allow-Origin"), Some("https://grafana.example"));
    let preflight = run.client.ask("OPTIONS", "/api/progress", &[named]);
    assert_eq!(preflight.field("Access-Control-Allow-Methods"), Some("GET, HEAD"));
    assert!(Socket::try_open(&run.client, &[named]).is_ok());
    let other = run.client.ask("GET", "/api/progress", &[("Origin", "https://other.example")]);
    assert_eq!(other.field("Access-Control-Allow-Origin"), None);
    run.stop();
}

#[test]
fn no_file_outside_the_artifact_directory_can_be_downloaded() {
    let run = watched(["--request-count", "8"], &[], &[]);
    run.is_over();
    let dir = run.running.dir.path();
    std::fs::write(dir.join("secret"), "outside").unwrap();
    std::os::unix::fs::symlink(dir.join("secret"), dir.join("out/link")).unwrap();
    std::os::unix::fs::symlink(dir, dir.join("out/folder")).unwrap();
    let absolute = dir.join("secret").display().to_string();
    for path in [
        "../secret",
        "%2e%2e/secret",
        "..%2fsecret",
        "logs/../../secret",
        "link",
        "folder/secret",
        "%252e%252e%252fsecret",
        "/etc/passwd",
        &absolute,
        "..%5csecret",
        "%00",
        "",
    ] {
        let refused = run.client.get(&format!("/api/results/files/{path}"));
        assert!([400, 404].contains(&refused.status), "{path}: {}", refused.status);
        assert!(!refused.text().contains("outside"), "{path}");
    }
    let listed = run.client.get("/api/results/list").json().to_string();
    assert!(!listed.contains("link") && !listed.contains("secret"), "{listed}");
    run.client.ask("POST", "/api/shutdown", &[]);
    run.running.finish_soon();
}

#[test]
fn too_large_and_too_many_requests_are_refused() {
    let run = watched(ENDLESS, &[], &[]);
    let long = "x".repeat(100_000);
    let head = run.client.send(format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {long}\r\n\r\n").as_bytes());
    assert!(head.is_none_or(|refused| refused.status == 431));
    let line = run.client.send(format!("GET /{long} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes());
    assert!(line.is_none_or(|refused| [414, 431].contains(&refused.status)));
    let body = run.client.ask("POST", "/api/shutdown", &[("Content-Length", "1000000")]);
    assert_eq!(body.status, 413);
    // More connections than the limit: the rest are closed, and idle ones do not disturb other clients.
    let idle: Vec<_> = (0..300).map(|_| run.client.connect()).collect();
    drop(idle);
    let asked = || run.client.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let answered = std::iter::repeat_with(asked).find_map(|answered| answered).unwrap();
    assert_eq!(answered.text(), "ok");
    run.stop();
}

#[test]
fn nothing_that_is_sent_ends_the_api_or_the_run() {
    let run = watched(ENDLESS, &[], &[]);
    let words = prop_oneof![
        Just(b"GET /api/results/files/".to_vec()),
        Just(b" HTTP/1.1\r\nHost: localhost\r\n".to_vec()),
        Just(b"Transfer-Encoding: chunked\r\n".to_vec()),
        Just(b"Content-Length: 5\r\n".to_vec()),
        Just(b"Upgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Version: 13\r\n".to_vec()),
        Just(b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n".to_vec()),
        Just(b"\r\n\r\n".to_vec()),
        Just(b"POST /ws".to_vec()),
        Just(b"GET /ws HTTP/1.1\r\nHost: localhost\r\n".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..40),
    ];
    let requests = proptest::collection::vec(words, 0..8).prop_map(|words| words.concat());
    let mut runner = TestRunner::new(Config { cases: 300, failure_persistence: None, ..Config::default() });
    runner
        .run(&requests, |request| {
            let mut stream = run.client.connect();
            let _ = stream.write_all(&request);
            drop(stream);
            Ok(())
        })
        .unwrap();
    assert_eq!(run.client.get("/healthz").text(), "ok");
    run.is_on();
    run.stop();
}

#[test]
fn no_frame_of_a_websocket_ends_the_api_or_the_run() {
    let run = watched(ENDLESS, &[], &[]);
    let frames =
        prop_oneof![
            // A valid text frame whose mask is all zeroes.
            "(\\{\"type\":\"(subscribe|ping)\"|,\"message_types\":|\\[|\\*|\\]|\\}|\\PC){0,6}".prop_map(|text| {
                let text: Vec<u8> = text.into_bytes().into_iter().take(125).collect();
                [&[0x81, 0x80 | text.len() as u8, 0, 0, 0, 0], text.as_slice()].concat()
            }),
            // Frame headers with any opcode, fragmentation and length.
            (any::<u8>(), any::<u8>(), proptest::collection::vec(any::<u8>(), 0..20))
                .prop_map(|(kind, length, rest)| [&[kind, length], rest.as_slice()].concat()),
            Just([&[0x81, 0xff], u64::MAX.to_be_bytes().as_slice()].concat()),
            Just([&[0x82, 0xff], (i64::MAX as u64).to_be_bytes().as_slice()].concat()),
            Just(vec![0x01, 0x80, 0, 0, 0, 0]),
        ];
    let bytes = proptest::collection::vec(frames, 1..5).prop_map(|frames| frames.concat());
    let mut runner = TestRunner::new(Config { cases: 200, failure_persistence: None, ..Config::default() });
    runner
        .run(&bytes, |bytes| {
            Socket::open(&run.client).send(&bytes);
            Ok(())
        })
        .unwrap();
    let mut steady = Socket::open(&run.client);
    steady.send_text(r#"{"type":"ping"}"#);
    assert_eq!(steady.text()["type"], "pong");
    run.is_on();
    run.stop();
}
