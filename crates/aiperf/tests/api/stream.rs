//! What WebSocket clients are told.

use crate::client::{Received, Socket};
use crate::{ENDLESS, watched};
use serde_json::{Value, json};

fn kinds(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["message_type"].as_str().unwrap()).collect()
}

#[test]
fn a_client_hears_of_a_run_until_its_end() {
    // The first request comes late enough for the client to be there.
    let run = watched(["--request-count", "400"], &["--warmup-request-count", "40", "--request-rate", "200"], &[]);
    let mut socket = Socket::open(&run.client);
    assert_eq!(socket.subscribe(&["*"]), json!({ "type": "subscribed", "message_types": ["*"] }));
    let heard = socket.until("benchmark_complete");
    let kinds = kinds(&heard);
    let at =
        |kind: &str| kinds.iter().rposition(|known| *known == kind).unwrap_or_else(|| panic!("no {kind}: {kinds:?}"));
    let order = [
        "credit_phase_sending_complete",
        "credit_phase_complete",
        "credits_complete",
        "all_records_received",
        "process_all_results",
        "results_exported",
        "benchmark_complete",
    ];
    assert!(order.windows(2).all(|two| at(two[0]) < at(two[1])), "{kinds:?}");
    let latest = |kind: &str| &heard[at(kind)];
    let complete = &latest("credit_phase_complete")["stats"];
    assert_eq!((&complete["phase_name"], &complete["final_requests_completed"]), (&"profiling".into(), &400.into()));
    assert_eq!(latest("all_records_received")["final_processing_stats"]["total_records"], 400);
    assert_eq!(latest("process_all_results")["results"]["results"]["completed"], 400);
    assert_eq!(latest("benchmark_complete")["was_cancelled"], false);
    assert!(latest("worker_group_stats")["worker_task_stats"]["worker_0"]["completed"].as_u64() > Some(0));
    assert_eq!(latest("credit_phase_progress")["stats"]["phase"], "profiling");
    assert!(!latest("realtime_metrics")["metrics"].as_array().unwrap().is_empty());
    assert!(heard.iter().all(|message| message.as_object().unwrap().values().all(|member| !member.is_null())));
    // Nobody is left hanging when the API ends.
    assert_eq!(run.client.ask("POST", "/api/shutdown", &[]).status, 200);
    loop {
        match socket.receive() {
            Received::Closed(code, _) => break assert_eq!(code, 1001),
            Received::Gone => panic!("it went without a word"),
            Received::Text(_) | Received::Ping => {}
        }
    }
    assert_eq!(run.running.finish_soon().code(), Some(0));
}

#[test]
fn clients_hear_what_they_asked_for_and_what_they_did_wrong() {
    let run = watched(ENDLESS, &[], &[]);
    run.is_on();
    let mut socket = Socket::open(&run.client);
    // Nothing before it is asked for: the answer is the first thing that comes.
    socket.say(r#"{"type":"ping"}"#);
    assert_eq!(socket.text(), json!({ "type": "pong" }));
    for (said, wrong) in [
        ("{", "Invalid JSON"),
        ("[]", "Payload must be a JSON object"),
        (r#"{"type":"subscribe","message_types":"*"}"#, "message_types must be a list of strings"),
    ] {
        socket.say(said);
        let answer = socket.text();
        assert_eq!(answer["type"], "error");
        assert!(answer["message"].as_str().unwrap().starts_with(wrong), "{answer}");
    }
    socket.frame(0x82, b"bytes");
    assert_eq!(socket.text()["type"], "error");
    socket.say(r#"{"type":"dance"}"#);
    socket.subscribe(&["realtime_metrics"]);
    for _ in 0..2 {
        assert_eq!(socket.text()["message_type"], "realtime_metrics");
    }
    socket.say(r#"{"type":"unsubscribe","message_types":["realtime_metrics"]}"#);
    // One may have been on its way.
    let answers = socket_answers(&mut socket, "unsubscribed");
    assert!(answers <= 1);
    socket.subscribe(&["credit_phase_progress"]);
    let told = socket.text();
    assert_eq!((&told["message_type"], &told["stats"]["state"]), (&"credit_phase_progress".into(), &"sending".into()));
    run.stop();
}

/// Messages until an answer of this type.
fn socket_answers(socket: &mut Socket, kind: &str) -> usize {
    (0..).find(|_| socket.text()["type"] == kind).unwrap()
}

#[test]
fn there_are_so_many_clients_and_no_more() {
    let run = watched(ENDLESS, &[], &[("AIPERF_API_SERVER_WEBSOCKET_MAX_CONNECTIONS", "2")]);
    let mut first = Socket::open(&run.client);
    let mut second = Socket::open(&run.client);
    for socket in [&mut first, &mut second] {
        socket.say(r#"{"type":"ping"}"#);
        assert_eq!(socket.text()["type"], "pong");
    }
    let mut third = Socket::open(&run.client);
    let Received::Closed(code, reason) = third.receive() else { panic!("it may stay") };
    assert_eq!((code, reason.as_str()), (1013, "Max connections reached"));
    // A place that is left is free again.
    first.frame(0x88, &1000_u16.to_be_bytes());
    let closed = first.receive();
    assert!(matches!(closed, Received::Closed(1000, _)), "{closed:?}");
    assert!(matches!(first.receive(), Received::Gone));
    let mut fourth = Socket::open(&run.client);
    fourth.say(r#"{"type":"ping"}"#);
    assert_eq!(fourth.text()["type"], "pong");
    run.stop();
}

#[test]
fn frames_that_break_the_protocol_cost_only_their_own_connection() {
    let run = watched(ENDLESS, &[], &[]);
    let mut steady = Socket::open(&run.client);
    let bad: [(u8, &[u8]); 5] = [(0x8f, b""), (0x81, b"\xff\xfe"), (0xf1, b"{}"), (0x80, b"tail"), (0x89, &[0; 200])];
    for (first, payload) in bad {
        let mut socket = Socket::open(&run.client);
        socket.frame(first, payload);
        loop {
            match socket.receive() {
                Received::Gone => break,
                Received::Closed(..) | Received::Ping => {}
                Received::Text(text) => panic!("{text}"),
            }
        }
    }
    let mut long = Socket::open(&run.client);
    long.say(&"x".repeat(100_000));
    assert!(matches!(long.receive(), Received::Closed(..) | Received::Gone));
    steady.say(r#"{"type":"ping"}"#);
    assert_eq!(steady.text()["type"], "pong");
    run.stop();
}
