//! Everything that goes wrong on purpose.

use std::time::{Duration, Instant};

use aiperf_sim::{Sim, SimConfig, SimHandle};

use crate::client::{CHAT, Client, Response, chat, quick, request, serve};

fn faulty(fault: &str) -> SimHandle {
    serve(SimConfig { faults: vec![fault.parse().unwrap()], ..quick() })
}

fn stream(client: &mut Client) -> std::io::Result<Response> {
    client.send(&request(CHAT, &chat(r#""stream":true,"max_tokens":8"#), "f"));
    client.response()
}

fn whole(client: &mut Client) -> std::io::Result<Response> {
    client.send(&request(CHAT, &chat(r#""max_tokens":8"#), "f"));
    client.response()
}

#[test]
fn a_status_is_answered_and_the_connection_lives_on() {
    let server = faulty("status:503=1");
    let mut client = Client::connect(server.addr);
    for _ in 0..2 {
        let response = stream(&mut client).unwrap();
        assert_eq!(response.status, 503);
        assert_eq!(response.json()["error"]["code"], 503);
    }
}

#[test]
fn a_refused_connection_is_reset_before_anything_is_read() {
    let server = faulty("refuse=1");
    let mut client = Client::connect(server.addr);
    assert!(client.response().is_err());
}

#[test]
fn a_reset_request_gets_no_response() {
    let server = faulty("reset=1");
    let error = stream(&mut Client::connect(server.addr)).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}

#[test]
fn a_cut_stream_ends_midway_without_its_last_chunk() {
    for fault in ["cut=1", "reset-midway=1"] {
        let server = faulty(fault);
        let response = stream(&mut Client::connect(server.addr)).unwrap();
        assert!(!response.complete, "{fault}");
        // A reset may take away what was sent just before it.
        assert!(response.pieces().len() <= 4, "{fault}");
        assert!(!response.text().contains("[DONE]"), "{fault}");
        let response = whole(&mut Client::connect(server.addr));
        assert!(response.map_or(true, |response| !response.complete), "{fault}");
    }
    let server = faulty("cut=1");
    assert_eq!(stream(&mut Client::connect(server.addr)).unwrap().pieces().len(), 4);
}

#[test]
fn a_stall_ends_after_its_time() {
    let server = faulty("stall:60ms=1");
    for ask in [stream, whole] {
        let begin = Instant::now();
        let response = ask(&mut Client::connect(server.addr)).unwrap();
        assert!(response.complete);
        assert!(begin.elapsed() >= Duration::from_millis(60));
    }
    let server = faulty("stall=1");
    let mut client = Client::connect(server.addr);
    client.send(&request(CHAT, &chat(r#""stream":true,"max_tokens":8"#), "f"));
    client.read_head();
    let mut response = Response::default();
    while response.pieces().len() < 4 {
        assert!(client.next_chunk(&mut response.body) > 0);
    }
    assert!(client.is_silent(Duration::from_millis(80)));
}

#[test]
fn malformed_events_stand_among_good_ones() {
    for fault in ["malformed-sse=1", "malformed-json=1"] {
        let server = faulty(fault);
        let response = stream(&mut Client::connect(server.addr)).unwrap();
        assert!(response.complete);
        assert_eq!(response.pieces().len(), 8);
        let bad =
            response.data().iter().filter(|data| serde_json::from_str::<serde_json::Value>(data).is_err()).count();
        assert_eq!(bad, 2, "one malformed, and [DONE]");
        assert_eq!(
            response.text().lines().any(|line| !line.is_empty() && !line.starts_with("data: ")),
            fault == "malformed-sse=1"
        );
        let response = whole(&mut Client::connect(server.addr)).unwrap();
        assert!(response.complete);
        assert!(serde_json::from_slice::<serde_json::Value>(&response.body).is_err());
    }
}

#[test]
fn an_error_inside_a_stream_comes_as_an_event_or_as_data() {
    for (fault, typed) in [("error-event=1", true), ("error-data=1", false)] {
        let server = faulty(fault);
        let response = stream(&mut Client::connect(server.addr)).unwrap();
        assert_eq!(response.status, 200);
        assert_eq!(response.pieces().len(), 4);
        assert_eq!(response.text().contains("event: error\ndata: {\"error\":"), typed);
        assert!(response.text().contains("data: {\"error\":{\"message\":"));
        assert!(response.complete);
        assert_eq!(whole(&mut Client::connect(server.addr)).unwrap().status, 500);
    }
}

#[test]
fn slow_headers_hold_back_the_head() {
    let server = faulty("slow-headers:60ms=1");
    let begin = Instant::now();
    assert_eq!(stream(&mut Client::connect(server.addr)).unwrap().pieces().len(), 8);
    assert!(begin.elapsed() >= Duration::from_millis(60));
}

#[test]
fn faults_come_at_their_rate_and_the_same_for_the_same_seed() {
    let statuses = |seed| -> Vec<u16> {
        let server = serve(SimConfig { faults: vec!["status:500=0.3".parse().unwrap()], seed, ..quick() });
        let mut client = Client::connect(server.addr);
        (0..200).map(|_| client.post(CHAT, &chat(r#""max_tokens":1"#)).status).collect()
    };
    let first = statuses(1);
    let failed = first.iter().filter(|status| **status == 500).count();
    assert!((40..=80).contains(&failed), "{failed} of 200");
    assert_eq!(first, statuses(1));
    assert_ne!(first, statuses(2));
}

#[test]
fn settings_that_exclude_each_other_are_refused() {
    let fault = || vec!["cut=0.5".parse().unwrap()];
    for config in [
        SimConfig { burst: true, faults: fault(), ..quick() },
        SimConfig { burst: true, truth_log: Some("log".into()), ..quick() },
        SimConfig { threads: 2.try_into().unwrap(), max_running: 4.try_into().ok(), ..quick() },
        SimConfig { step: Some(Duration::ZERO), ..quick() },
        SimConfig { faults: [fault(), fault(), fault()].concat(), ..quick() },
    ] {
        assert!(Sim::bind(config).is_err());
    }
}
