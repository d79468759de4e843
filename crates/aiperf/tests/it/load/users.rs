//! User-centric load.

use crate::load::server::{Arrival, Server, never_early, paced, run};

#[test]
fn users_return_at_their_own_interval_with_their_own_number() {
    let server = Server::start(paced(2, 1));
    let users = ["--user-centric-rate", "40", "--num-users", "4", "--session-turns-mean", "3", "--request-count", "40"];
    let run = run(server.bench().with(&users));
    let arrivals = server.arrivals();
    // Four users at 40 turns per second: one turn every 25 ms, and each user returns after 100 ms or later.
    never_early(&run, &arrivals, |number| 0.025 * number as f64);
    let user = |arrival: &Arrival| arrival.session.parse::<u64>().unwrap();
    let turn = |number: usize| arrivals[..number].iter().filter(|one| one.session == arrivals[number].session).count();
    never_early(&run, &arrivals, |number| 0.1 * turn(number) as f64);
    assert!((0..arrivals.len()).filter(|number| turn(*number) > 0).count() > 10);
    assert!(arrivals.iter().all(|arrival| user(arrival) != 1), "the first user is done before it begins");
    let records = run.records();
    assert_eq!(records.len(), 40);
    let ids: Vec<&str> =
        records.iter().map(|record| record["metadata"]["x_correlation_id"].as_str().unwrap()).collect();
    assert!(ids.iter().all(|id| id.parse::<u64>().is_ok()), "{ids:?}");
}

#[test]
fn users_send_the_rows_of_a_file() {
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
