//! Messages to WebSocket clients.

use crate::api::client::{Received, Socket};
use crate::api::{ENDLESS, watched};
use serde_json::{Value, json};

fn kinds(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["message_type"].as_str().unwrap()).collect()
}

#[test]
fn a_client_gets_messages_until_the_end_of_the_run() {
    // The first request comes late enough for the client to connect before it.
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
    let workers = &latest("worker_group_stats")["worker_task_stats"];
    let records = run.client.get("/api/results/files/profile_export.jsonl");
    for line in records.text().lines() {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        let worker = record["metadata"]["worker_id"].as_str().unwrap();
        assert!(workers[worker].is_object(), "{worker}: {workers}");
    }
    assert!(workers.as_object().unwrap().values().any(|worker| worker["completed"].as_u64() > Some(0)), "{workers}");
    assert_eq!(latest("credit_phase_progress")["stats"]["phase"], "profiling");
    assert!(!latest("realtime_metrics")["metrics"].as_array().unwrap().is_empty());
    assert!(heard.iter().all(|message| message.as_object().unwrap().values().all(|member| !member.is_null())));
    heard.iter().for_each(is_as_documented);
    // Every client is closed when the API ends.
    assert_eq!(run.client.ask("POST", "/api/shutdown", &[]).status, 200);
    loop {
        match socket.receive() {
            Received::Closed(code, _) => break assert_eq!(code, 1001),
            Received::Gone => panic!("it closed without a close frame"),
            Received::Text(_) | Received::Ping => {}
        }
    }
    assert_eq!(run.running.finish_soon().code(), Some(0));
}

/// A message has a kind from the documentation, with the documented members.
fn is_as_documented(message: &Value) {
    let page = include_str!("../../../../../docs/api.md");
    let (_, table) = page.split_once("| `message_type` | when | fields |\n| --- | --- | --- |\n").unwrap();
    let kind = message["message_type"].as_str().unwrap();
    let row = table.lines().find_map(|line| line.strip_prefix(&format!("| `{kind}` | ")));
    let holds = row.unwrap_or_else(|| panic!("not documented: {message}")).split('|').nth(1).unwrap();
    for part in holds.split(';').map(|part| part.split(':').next().unwrap()) {
        let is_name = |word: &&str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        for member in part.split('`').skip(1).step_by(2).filter(is_name) {
            assert!(member == "reason" || message.get(member).is_some(), "no {member}: {message}");
        }
    }
}

#[test]
fn clients_get_what_they_subscribe_to_and_their_errors() {
    let run = watched(ENDLESS, &[], &[]);
    run.is_on();
    let mut socket = Socket::open(&run.client);
    // Nothing comes before a subscription: the reply is the first message.
    socket.send_text(r#"{"type":"ping"}"#);
    assert_eq!(socket.text(), json!({ "type": "pong" }));
    for (sent, wrong) in [
        ("{", "Invalid JSON"),
        ("[]", "Payload must be a JSON object"),
        (r#"{"type":"subscribe","message_types":"*"}"#, "message_types must be a list of strings"),
    ] {
        socket.send_text(sent);
        let reply = socket.text();
        assert_eq!(reply["type"], "error");
        assert!(reply["message"].as_str().unwrap().starts_with(wrong), "{reply}");
    }
    socket.frame(0x82, b"bytes");
    assert_eq!(socket.text()["type"], "error");
    socket.send_text(r#"{"type":"dance"}"#);
    socket.subscribe(&["realtime_metrics"]);
    for _ in 0..2 {
        assert_eq!(socket.text()["message_type"], "realtime_metrics");
    }
    socket.send_text(r#"{"type":"unsubscribe","message_types":["realtime_metrics"]}"#);
    // Messages may have been sent before the reply.
    while socket.text()["type"] != "unsubscribed" {}
    socket.subscribe(&["credit_phase_progress"]);
    let message = socket.text();
    assert_eq!(
        (&message["message_type"], &message["stats"]["state"]),
        (&"credit_phase_progress".into(), &"sending".into())
    );
    run.stop();
}

#[test]
fn the_number_of_clients_is_limited() {
    let run = watched(ENDLESS, &[], &[("AIPERF_API_SERVER_WEBSOCKET_MAX_CONNECTIONS", "2")]);
    let mut first = Socket::open(&run.client);
    let mut second = Socket::open(&run.client);
    for socket in [&mut first, &mut second] {
        socket.send_text(r#"{"type":"ping"}"#);
        assert_eq!(socket.text()["type"], "pong");
    }
    let mut third = Socket::open(&run.client);
    let Received::Closed(code, reason) = third.receive() else { panic!("it is not closed") };
    assert_eq!((code, reason.as_str()), (1013, "Max connections reached"));
    // The slot of a client that left is free again.
    first.frame(0x88, &1000_u16.to_be_bytes());
    let closed = first.receive();
    assert!(matches!(closed, Received::Closed(1000, _)), "{closed:?}");
    assert!(matches!(first.receive(), Received::Gone));
    let mut fourth = Socket::open(&run.client);
    fourth.send_text(r#"{"type":"ping"}"#);
    assert_eq!(fourth.text()["type"], "pong");
    run.stop();
}

#[test]
fn frames_that_break_the_protocol_close_only_their_own_connection() {
    let run = watched(ENDLESS, &[], &[]);
    let mut steady = Socket::open(&run.client);
    let long = "x".repeat(100_000);
    let bad: [(u8, &[u8], u16); 6] = [
        (0x8f, b"", 1002),
        (0x81, b"\xff\xfe", 1007),
        (0xf1, b"{}", 1002),
        (0x80, b"tail", 1002),
        (0x89, &[0; 200], 1002),
        (0x81, long.as_bytes(), 1009),
    ];
    for (first, payload, why) in bad {
        let mut socket = Socket::open(&run.client);
        socket.frame(first, payload);
        let received = socket.receive();
        assert!(matches!(received, Received::Closed(code, _) if code == why), "{first:x}: {received:?}");
    }
    steady.send_text(r#"{"type":"ping"}"#);
    assert_eq!(steady.text()["type"], "pong");
    run.stop();
}
