//! User-centric load.

use crate::server::{Server, paced, run};
use std::collections::BTreeMap;

#[test]
fn users_come_back_at_their_own_interval_under_their_own_number() {
    let server = Server::start(paced(2, 1));
    let users =
        ["--user-centric-rate", "40", "--num-users", "4", "--session-turns-mean", "3", "--benchmark-duration", "1"];
    let run = run(server.bench().with(&users));
    let mut by_user: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for arrival in server.arrivals() {
        by_user.entry(arrival.session.parse().unwrap()).or_default().push(arrival.at);
    }
    // Four users at 40 turns a second: each comes back every 100 ms, if not later.
    let turns: Vec<&[u64]> = by_user.values().flat_map(|sent| sent.windows(2)).collect();
    assert!(turns.len() > 10, "{by_user:?}");
    assert!(turns.iter().all(|pair| pair[1] - pair[0] > 90_000_000), "{by_user:?}");
    assert!(!by_user.contains_key(&1), "the first user is done before it begins");
    let records = run.records();
    assert!((36..=40).contains(&records.len()), "{}", records.len());
    let ids: Vec<&str> =
        records.iter().map(|record| record["metadata"]["x_correlation_id"].as_str().unwrap()).collect();
    assert!(ids.iter().all(|id| id.parse::<u64>().is_ok()), "{ids:?}");
}

#[test]
fn users_of_a_file_say_what_it_says() {
    let server = Server::start(paced(2, 1));
    let row = |name: &str| {
        format!(r#"{{"session_id": "{name}", "turns": [{{"text": "{name} one"}}, {{"text": "{name} two"}}]}}"#)
    };
    let rows = ["a", "b", "c"].map(row).join("\n");
    let users =
        ["--custom-dataset-type", "multi_turn", "--user-centric-rate", "50", "--num-users", "3", "--num-sessions", "6"];
    let run = run(server.bench_of_file(&rows).with(&users));
    let ids: std::collections::BTreeSet<String> =
        run.records().iter().map(|record| record["metadata"]["conversation_id"].as_str().unwrap().to_owned()).collect();
    assert!(ids.into_iter().eq(["a", "b", "c"]));
    drop(server);
}
