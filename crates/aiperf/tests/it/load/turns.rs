//! Conversations of several turns.

use crate::bench::{answering, response};
use crate::load::server::{Server, paced, run};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

#[test]
fn the_turns_of_a_session_follow_each_other_after_their_delay_with_a_growing_history() {
    let server = Server::start(paced(2, 1));
    let turns =
        ["--session-turns-mean", "4", "--session-turn-delay-mean", "30", "--num-sessions", "6", "--concurrency", "3"];
    let run = run(server.bench().with(&turns));
    assert_eq!(run.records().len(), 24);
    let mut sessions: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for arrival in server.arrivals() {
        sessions.entry(arrival.session.clone()).or_default().push(arrival);
    }
    assert_eq!(sessions.len(), 6);
    for turns in sessions.values() {
        assert_eq!(turns.len(), 4);
        for pair in turns.windows(2) {
            assert!(pair[1].at >= pair[0].end + 30_000_000, "{} ns after", pair[1].at - pair[0].end);
            assert!(pair[1].prompt_tokens > pair[0].prompt_tokens, "its history is not there");
        }
    }
    let of_turn = |turn: u64| run.records().iter().filter(|record| record["metadata"]["turn_index"] == turn).count();
    assert_eq!([0, 1, 2, 3].map(of_turn), [6; 4]);
}

#[test]
fn responses_are_part_of_later_turns() {
    let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
    let bodies = seen.clone();
    let address = answering(move |number, _, body| {
        bodies.lock().unwrap().push(serde_json::from_str(body).unwrap());
        let message = json!({"role": "assistant", "content": format!("answer {number}")});
        response("200 OK", "application/json", &json!({"choices": [{"message": message}]}).to_string())
    });
    let server = Server::start(paced(1, 1));
    let rows = json!({"session_id": "s", "turns": [{"text": "one"}, {"text": "two"}, {"text": "three"}]}).to_string();
    let file = server.write("turns.jsonl", &rows);
    let bench = crate::bench::Bench::bare().with(&[
        "--model",
        "m",
        "--url",
        &address,
        "--tokenizer",
        "builtin",
        "--ui",
        "none",
    ]);
    let bench = bench.with(&["--no-server-metrics", "--no-gpu-telemetry", "--num-sessions", "1"]);
    run(bench.with(&["--input-file", &file, "--custom-dataset-type", "multi_turn", "--concurrency", "1"]));
    let seen = seen.lock().unwrap();
    let histories: Vec<Vec<&str>> = seen
        .iter()
        .map(|body| {
            body["messages"].as_array().unwrap().iter().map(|message| message["content"].as_str().unwrap()).collect()
        })
        .collect();
    assert_eq!(
        histories,
        [vec!["one"], vec!["one", "answer 0", "two"], vec!["one", "answer 0", "two", "answer 1", "three"]]
    );
}

#[test]
fn a_turn_that_fails_does_not_end_its_session() {
    let server =
        Server::start(aiperf_sim::SimConfig { faults: vec!["status:500=0.4".parse().unwrap()], ..paced(2, 1) });
    let turns = ["--session-turns-mean", "5", "--num-sessions", "8", "--concurrency", "2"];
    let run = run(server.bench().with(&turns));
    assert_eq!(server.arrivals().len(), 40);
    let failed = run.records().iter().filter(|record| record["error"].is_object()).count();
    assert!(failed > 0 && failed < 40, "{failed}");
}

#[test]
fn a_count_of_requests_cuts_sessions_in_the_middle_and_their_number_does_not() {
    let server = Server::start(paced(2, 1));
    let turns = ["--session-turns-mean", "4", "--concurrency", "2"];
    assert_eq!(run(server.bench().with(&turns).with(&["--request-count", "10"])).records().len(), 10);
    assert_eq!(run(server.bench().with(&turns).with(&["--num-sessions", "3"])).records().len(), 12);
    assert_eq!(server.arrivals().len(), 22);
}

#[test]
fn several_workers_keep_each_session_to_one() {
    let server = Server::start(paced(2, 1));
    let turns = ["--session-turns-mean", "5", "--num-sessions", "20", "--concurrency", "8", "--workers-max", "3"];
    let run = run(server.bench().with(&turns));
    let mut workers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for record in run.records() {
        let meta = &record["metadata"];
        let text = |key: &str| meta[key].as_str().unwrap().to_owned();
        workers.entry(text("x_correlation_id")).or_default().push(text("worker_id"));
    }
    assert_eq!(workers.len(), 20);
    assert!(workers.values().all(|of| of.len() == 5 && of.iter().all(|worker| *worker == of[0])), "{workers:?}");
    drop(server);
}

#[test]
fn turns_share_a_rate_with_new_sessions() {
    let server = Server::start(paced(2, 1));
    let turns = [
        "--session-turns-mean",
        "3",
        "--request-rate",
        "300",
        "--arrival-pattern",
        "constant",
        "--request-count",
        "300",
    ];
    run(server.bench().with(&turns));
    let arrivals = server.arrivals();
    let sessions: std::collections::BTreeSet<&String> = arrivals.iter().map(|arrival| &arrival.session).collect();
    // A third of the requests begins a session, and more while responses are late on a busy machine.
    assert_eq!((arrivals.len(), sessions.len() < 250), (300, true), "{}", sessions.len());
}
