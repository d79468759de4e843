//! Connections and TLS sessions that are reused.

use crate::bench::{avg, quick};
use crate::wire::kinds::{KINDS, Server, connections, over_every_kind, run};

const ARGS: [&str; 7] = ["--streaming", "--request-count", "20", "--concurrency", "2", "--workers-max", "1"];

#[test]
fn pooled_connections_are_reused() {
    over_every_kind(|kind| {
        let server = Server::start(kind, quick());
        let run = run(server.bench().with(&ARGS));
        assert_eq!(run.code(), Some(0), "{}", run.stderr());
        let truth = server.stop();
        let opened = connections(&truth);
        assert!(opened <= if kind.http2 { 1 } else { 2 }, "{opened} connections");
        assert_eq!(avg(&run.summary(), "http_req_connection_reused"), (20 - opened) as f64 / 20.0);
    });
}

#[test]
fn connections_of_one_request_or_session_are_not_reused() {
    over_every_kind(|kind| {
        for strategy in ["never", "sticky-user-sessions"] {
            let server = Server::start(kind, quick());
            let run = run(server.bench().with(&ARGS).with(&["--connection-reuse-strategy", strategy]));
            assert_eq!(run.code(), Some(0), "{}", run.stderr());
            assert_eq!(avg(&run.summary(), "http_req_connection_reused"), 0.0, "{strategy}");
            assert_eq!(connections(&server.stop()), 20, "{strategy}");
        }
    });
}

#[test]
fn tls_sessions_are_resumed_by_new_connections() {
    for kind in KINDS.into_iter().filter(|kind| kind.tls) {
        let server = Server::start(kind, quick());
        let args = ["--streaming", "--request-count", "5", "--concurrency", "1"];
        let run = run(server.bench().with(&args).with(&["--connection-reuse-strategy", "never"]));
        assert_eq!(run.code(), Some(0), "{}", run.stderr());
        let resumed: Vec<bool> = server.stop().iter().map(|request| request["resumed"] == true).collect();
        assert_eq!(resumed, [false, true, true, true, true], "{}", kind.name);
    }
}
