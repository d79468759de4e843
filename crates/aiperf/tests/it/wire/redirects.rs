//! Redirects: followed with the method kept, up to a limit.

use crate::bench::{answering, avg, quick, response};
use crate::wire::kinds::{HTTP1, KINDS, Server, error_types, over_every_kind, run};
use crate::wire::responses::check_phases;
use aiperf_sim::SimConfig;
use serde_json::Value;
use std::sync::{Arc, Mutex};

fn redirecting(fault: &str) -> SimConfig {
    SimConfig { faults: vec![fault.parse().unwrap()], ..quick() }
}

fn asked(truth: &[Value]) -> Vec<(&str, u64)> {
    truth.iter().map(|request| (request["method"].as_str().unwrap(), request["status"].as_u64().unwrap())).collect()
}

#[test]
fn a_redirected_post_stays_a_post() {
    over_every_kind(|kind| {
        for status in [301, 302, 307, 308] {
            let server = Server::start(kind, redirecting(&format!("redirect:{status},2=1")));
            let run = run(server.bench().with(&["--streaming", "--request-count", "2", "--export-http-trace"]));
            assert_eq!(run.code(), Some(0), "{status}: {}", run.stderr());
            run.records().iter().for_each(check_phases);
            assert_eq!(avg(&run.summary(), "output_sequence_length"), 8.0, "{status}");
            let once = [("POST", status), ("POST", status), ("POST", 200)];
            assert_eq!(asked(&server.stop()), [once, once].concat(), "{status}");
        }
    });
}

#[test]
fn see_other_is_followed_by_a_get() {
    for kind in KINDS {
        let server = Server::start(kind, redirecting("redirect:303=1"));
        let run = run(server.bench().with(&["--request-count", "1"]));
        assert_eq!(run.code(), Some(1), "the server handles only POST there");
        assert_eq!(run.records()[0]["error"]["code"], 405, "{}", kind.name);
        assert_eq!(asked(&server.stop()), [("POST", 303), ("GET", 405)], "{}", kind.name);
    }
}

#[test]
fn redirects_without_end_are_an_error() {
    over_every_kind(|kind| {
        let server = Server::start(kind, redirecting("redirect:307,endless=1"));
        let run = run(server.bench().with(&["--streaming", "--request-count", "2"]));
        assert_eq!(run.code(), Some(1), "{}", run.stderr());
        assert_eq!(error_types(&run), ["TooManyRedirects", "TooManyRedirects"]);
        assert_eq!(asked(&server.stop()), [("POST", 307)].repeat(20), "the tenth is not followed");
    });
}

#[test]
fn another_server_gets_the_request_but_not_the_key() {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let kept = heads.clone();
    let other = answering(move |_, head, body| {
        kept.lock().unwrap().push((head.to_owned(), body.to_owned()));
        let reply = r#"{"object":"chat.completion","choices":[{"message":{"content":"hello there"}}]}"#;
        response("200 OK", "application/json", reply)
    });
    let server = Server::start(HTTP1, redirecting(&format!("redirect:307,http://{other}=1")));
    let run = run(server.bench().with(&["--request-count", "2", "--api-key", "sk-redirected-77"]));
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    assert_eq!(avg(&run.summary(), "output_sequence_length"), 2.0);
    let heads = heads.lock().unwrap();
    assert_eq!(heads.len(), 2);
    for (head, body) in heads.iter() {
        assert!(head.starts_with("POST /v1/chat/completions?redirect=0.1 HTTP/1.1\r\n"), "{head}");
        assert!(head.contains(&format!("Host: {other}\r\n")) && !head.contains("sk-redirected-77"), "{head}");
        assert!(serde_json::from_str::<Value>(body).unwrap()["messages"].is_array());
    }
    assert_eq!(asked(&server.stop()), [("POST", 307), ("POST", 307)]);
}

#[test]
fn secrets_of_urls_in_headers_and_inputs_stay_with_the_server_and_out_of_files() {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let kept = heads.clone();
    let other = answering(move |_, head, _| {
        kept.lock().unwrap().push(head.to_owned());
        response("401 Unauthorized", "application/json", r#"{"error":"no HUNTERhd55, no HUNTERhk66"}"#)
    });
    let server = Server::start(HTTP1, redirecting(&format!("redirect:307,http://{other}=1")));
    let header = "X-Backend: https://u:HUNTERhd55@h/x?api_key=HUNTERhk66";
    let all = ["--header", header, "--header", "X-Team: blue", "--export-level", "raw", "--request-count", "1"];
    let run_one = run(server.bench().with(&all));
    let seen = heads.lock().unwrap().clone();
    assert!(seen.len() == 1 && seen[0].contains("X-Team") && !seen[0].contains("HUNTER"), "{seen:?}");
    let inputs = r#"{"dsn":"postgres://u:HUNTERpw99@h/db","img":"https://h/x?token=HUNTERtk77&sig=HUNTERsg88"}"#;
    let run_two = run(server.bench().with(&[&all[..], &["--extra-inputs", inputs]].concat()));
    for run in [&run_one, &run_two] {
        let shown = format!("{}{}{:?}", run.stderr(), run.summary(), run.records());
        assert!(shown.contains("<redacted>") && !shown.contains("HUNTER"), "{shown}");
    }
    assert_eq!(heads.lock().unwrap().len(), 1, "a body with secrets is not sent there");
}

#[test]
fn a_body_with_secret_inputs_is_not_sent_to_another_server() {
    let asked_elsewhere = Arc::new(Mutex::new(0));
    let count = asked_elsewhere.clone();
    let other = answering(move |_, _, _| {
        *count.lock().unwrap() += 1;
        response("200 OK", "application/json", "{}")
    });
    let server = Server::start(HTTP1, redirecting(&format!("redirect:307,http://{other}=1")));
    let inputs = r#"{"auth": {"user": "me@example", "pin": "pin-77-88"}}"#;
    let run = run(server.bench().with(&["--request-count", "2", "--extra-inputs", inputs]));
    assert_eq!(run.code(), Some(1), "{}", run.stderr());
    assert_eq!(*asked_elsewhere.lock().unwrap(), 0);
    for record in run.records() {
        let message = record["error"]["message"].as_str().unwrap();
        assert!(message.contains(&other) && message.contains("the body holds secrets"), "{message}");
    }
    assert_eq!(asked(&server.stop()), [("POST", 307), ("POST", 307)]);
}
