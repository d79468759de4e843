//! Fixed schedules.

use crate::load::server::{Server, never_early, paced, refused, run};

/// Three sessions, the second one first and of two turns.
const ROWS: &str = r#"{"session_id": "b", "text": "late", "timestamp": 1200}
{"session_id": "a", "text": "early", "timestamp": 1000}
{"session_id": "c", "text": "last", "timestamp": 1300, "output_length": 3}
{"session_id": "a", "text": "early again", "timestamp": 1100}
"#;

const REPLAY: [&str; 3] = ["--custom-dataset-type", "single_turn", "--fixed-schedule"];

#[test]
fn requests_are_sent_at_their_timestamps() {
    let server = Server::start(paced(2, 1));
    let run = run(server.bench_of_file(ROWS).with(&REPLAY));
    let arrivals = server.arrivals();
    // Requests that a busy machine sends late, at once, may arrive in any order.
    let mut sessions: Vec<&str> = arrivals.iter().map(|arrival| arrival.session.as_str()).collect();
    never_early(&run, &arrivals, |number| match sessions[number] {
        "fixed-schedule-a" if !sessions[..number].contains(&"fixed-schedule-a") => 0.0,
        "fixed-schedule-a" => 0.1,
        "fixed-schedule-b" => 0.2,
        _ => 0.3,
    });
    sessions.sort_unstable();
    assert_eq!(sessions, ["fixed-schedule-a", "fixed-schedule-a", "fixed-schedule-b", "fixed-schedule-c"]);
    let (records, summary) = (run.records(), run.summary());
    assert_eq!(records.len(), 4);
    assert!(records.iter().any(|record| record["metrics"]["output_sequence_length"]["value"] == 3), "{}", records[3]);
    assert!(summary["replay_sched_lag_p99"]["avg"].is_number(), "{summary}");
}

#[test]
fn a_part_of_a_trace_begins_at_its_own_start() {
    let server = Server::start(paced(2, 1));
    let piece = ["--fixed-schedule-start-offset", "1100", "--fixed-schedule-end-offset", "1200"];
    run(server.bench_of_file(ROWS).with(&REPLAY).with(&piece));
    let mut sessions: Vec<String> = server.arrivals().into_iter().map(|arrival| arrival.session).collect();
    sessions.sort_unstable();
    assert_eq!(sessions, ["fixed-schedule-a", "fixed-schedule-b"]);
}

#[test]
fn a_trace_is_cut_by_a_count_of_requests() {
    let server = Server::start(paced(2, 1));
    run(server.bench_of_file(ROWS).with(&REPLAY).with(&["--request-count", "2"]));
    assert_eq!(server.arrivals().len(), 2);
}

#[test]
fn a_trace_waits_for_slots_and_loses_nothing() {
    let server = Server::start(paced(80, 1));
    let rows: String = (0..12).map(|number| format!("{{\"text\": \"{number}\", \"timestamp\": {number}}}\n")).collect();
    let run = run(server.bench_of_file(&rows).with(&REPLAY).with(&["--concurrency", "4"]));
    let arrivals = server.arrivals();
    assert_eq!((arrivals.len(), crate::load::server::peak(&arrivals, |arrival| arrival.end)), (12, 4));
    assert_eq!(run.summary()["measurement"]["sending"]["missed"], 0);
}

#[test]
fn a_trace_without_timestamps_or_rows_is_refused_by_file_and_line() {
    let server = Server::start(paced(2, 1));
    let untimed = "{\"text\": \"a\", \"timestamp\": 1}\n{\"text\": \"b\"}\n";
    let message = refused(server.bench_of_file(untimed).with(&REPLAY));
    assert!(message.contains("input.jsonl:2") && message.contains("timestamp"), "{message}");
    let message = refused(server.bench_of_file("\n").with(&REPLAY));
    assert!(message.contains("input.jsonl"), "{message}");
    let piece = ["--fixed-schedule-start-offset", "9000"];
    let message = refused(server.bench_of_file(ROWS).with(&REPLAY).with(&piece));
    assert!(message.contains("input.jsonl") && message.contains("1300"), "{message}");
    assert!(server.arrivals().is_empty());
}
