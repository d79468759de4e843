//! The truth log records what was written when.

use std::time::Duration;

use aiperf_sim::SimConfig;
use serde_json::Value;

use crate::client::{CHAT, COMPLETIONS, Client, chat, quick, request, serve};

fn moments(bracket: &Value) -> (u64, u64) {
    (bracket[0].as_u64().unwrap(), bracket[1].as_u64().unwrap())
}

pub(crate) fn log_of(config: SimConfig, work: impl FnOnce(&mut Client)) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("truth.jsonl");
    let server = serve(SimConfig { truth_log: Some(path.clone()), ..config });
    work(&mut Client::connect(server.addr));
    server.stop().unwrap();
    std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The first truth log in which every request has a kernel stamp. The kernel starts to stamp a moment after the first
/// socket asks for it, later on a busy machine.
pub(crate) fn stamped(log: impl FnMut() -> Vec<Value>) -> Vec<Value> {
    let is_stamped = |lines: &Vec<Value>| lines.iter().all(|line| line["received_kernel_ns"].is_u64());
    std::iter::repeat_with(log).take(100).find(is_stamped).expect("kernel stamps")
}

#[test]
fn every_request_has_a_line_and_every_event_a_bracket() {
    let config = SimConfig { ttft: "5".parse().unwrap(), itl: "1".parse().unwrap(), ..quick() };
    let lines = stamped(|| {
        log_of(config.clone(), |client| {
            for number in 0..3 {
                let body = chat(r#""stream":true,"max_tokens":6,"stream_options":{"include_usage":true}"#);
                client.send(&request(CHAT, &body, &format!("id-{number}")));
                assert!(client.response().unwrap().complete);
            }
        })
    });
    assert_eq!(lines.len(), 3);
    for (number, line) in lines.iter().enumerate() {
        assert_eq!(line["x_request_id"], format!("id-{number}"));
        assert_eq!(line["status"], 200);
        assert_eq!(line["finished"], true);
        let chunks = line["chunks"].as_array().unwrap();
        let carries: Vec<_> = chunks.iter().map(|chunk| chunk[2].as_u64().unwrap()).collect();
        assert_eq!(carries, [0, 1, 1, 1, 1, 1, 1, 0, 0], "role, six tokens, usage, [DONE]");

        let kernel = line["received_kernel_ns"].as_u64().unwrap();
        let mut latest = line["received_read_ns"].as_u64().unwrap();
        assert!(kernel <= latest);
        for bracket in std::iter::once(&line["head"]).chain(chunks) {
            let (before, after) = moments(bracket);
            assert!(latest <= before && before <= after);
            latest = after;
        }
        let arrived = line["received_read_ns"].as_u64().unwrap();
        assert!(moments(&chunks[1]).0 - arrived >= 5_000_000);
        assert!(moments(&chunks[6]).0 - arrived >= 10_000_000);
    }
}

#[test]
fn a_request_that_comes_with_its_connection_has_a_kernel_stamp_too() {
    let lines = stamped(|| {
        log_of(quick(), |client| {
            client.post(COMPLETIONS, r#"{"prompt":"a","max_tokens":1}"#);
        })
    });
    assert_eq!(lines.len(), 1);
}

#[test]
fn steps_write_all_streams_back_to_back() {
    let step = Some(Duration::from_millis(20));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("truth.jsonl");
    let ttft = "1".parse().unwrap();
    let server = serve(SimConfig { step, ttft, truth_log: Some(path.clone()), ..quick() });
    let mut clients: Vec<_> = (0..4).map(|_| Client::connect(server.addr)).collect();
    for client in &mut clients {
        client.send(&request(CHAT, &chat(r#""stream":true,"max_tokens":3"#), "s"));
    }
    for client in &mut clients {
        assert!(client.response().unwrap().complete);
    }
    server.stop().unwrap();
    let log = std::fs::read_to_string(path).unwrap();
    let mut writes: Vec<u64> = log
        .lines()
        .flat_map(|line| serde_json::from_str::<Value>(line).unwrap()["chunks"].as_array().unwrap().clone())
        .filter(|chunk| chunk[2] == 1)
        .map(|chunk| moments(&chunk).0)
        .collect();
    writes.sort_unstable();
    assert_eq!(writes.len(), 12);
    let gaps = writes.windows(2).filter(|pair| pair[1] - pair[0] > 8_000_000).count();
    assert!((2..=3).contains(&gaps), "three steps, four when a request came late: {gaps} gaps");
}

#[test]
fn what_was_broken_off_is_logged_as_unfinished() {
    let cut = SimConfig { faults: vec!["cut=1".parse().unwrap()], ..quick() };
    let lines = log_of(cut, |client| {
        client.post(CHAT, &chat(r#""stream":true,"max_tokens":4"#));
    });
    assert_eq!(lines[0]["finished"], false);
    assert_eq!(lines[0]["fault"], "cut");
    assert_eq!(lines[0]["chunks"].as_array().unwrap().len(), 3);

    let never = SimConfig { ttft: "60s".parse().unwrap(), ..quick() };
    let lines = log_of(never, |client| {
        client.send(&request(CHAT, &chat(r#""stream":true"#), "stopped"));
        std::thread::sleep(Duration::from_millis(20));
    });
    assert_eq!(lines[0]["x_request_id"], "stopped");
    assert_eq!(lines[0]["finished"], false);

    let refused = SimConfig { faults: vec!["status:429=1".parse().unwrap()], ..quick() };
    let lines = log_of(refused, |client| {
        client.post(CHAT, &chat(r#""stream":true"#));
    });
    assert_eq!(lines[0]["status"], 429);
}

#[test]
fn lines_are_there_within_a_second() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("truth.jsonl");
    let server = serve(SimConfig { truth_log: Some(path.clone()), ..quick() });
    Client::connect(server.addr).post(CHAT, &chat(r#""max_tokens":1"#));
    let written = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        std::fs::read_to_string(&path).unwrap().ends_with("}\n")
    });
    assert!(written);
}
