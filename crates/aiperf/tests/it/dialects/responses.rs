//! Parsed responses, streamed and not.

use crate::bench::{avg, quick};
use crate::dialects::rows::{ROWS, Server, in_every_way, run};
use aiperf_types::EndpointKind;
use serde_json::Value;

#[test]
fn every_endpoint_type_has_a_row() {
    let rows: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
    let kinds: Vec<&str> = EndpointKind::ALL.iter().map(|kind| kind.name()).collect();
    let missing = |from: &[&'static str], of: &[&'static str]| -> Vec<&str> {
        of.iter().copied().filter(|name| !from.contains(name)).collect()
    };
    assert_eq!((missing(&rows, &kinds), missing(&kinds, &rows)), (vec![], vec![]));
}

#[test]
fn every_response_is_valid_and_has_the_tokens_that_the_server_logged() {
    in_every_way(|row, streaming| {
        let server = Server::start(quick());
        let run = run(server.bench_row(row, streaming).with(&["--request-count", "5", "--concurrency", "2"]));
        assert_eq!(run.code(), Some(0), "{}", run.stderr());
        let summary = run.summary();
        assert_eq!(avg(&summary, "request_count"), 5.0, "{summary}");
        assert!(summary.get("error_request_count").is_none_or(|count| count["avg"] == 0.0), "{}", run.stderr());
        assert_eq!(summary["request_latency"]["count"], 5);
        let records = run.records();
        assert_eq!(records.len(), 5);
        let truth = server.stop();
        let path = if streaming { row.streamed_path.unwrap() } else { row.path };
        let answered: Vec<&Value> = truth.iter().filter(|request| request["path"] == path).collect();
        assert_eq!(answered.len(), 5, "{truth:?}");
        if row.makes_tokens {
            let tokens: f64 = answered.iter().map(|request| request["output_tokens"].as_f64().unwrap()).sum();
            let counted: f64 =
                records.iter().map(|record| record["metrics"]["output_token_count"]["value"].as_f64().unwrap()).sum();
            assert_eq!(counted, tokens, "{answered:?}");
        }
        let has_first_token = summary.get("time_to_first_token").is_some();
        assert_eq!(has_first_token, row.makes_tokens && streaming);
    });
}
