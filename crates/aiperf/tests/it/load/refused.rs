//! Bad input is refused before anything is sent.

use crate::load::server::{Server, paced, refused};

#[test]
fn contradictory_options_are_refused_by_name() {
    let server = Server::start(paced(1, 1));
    let cases: [(&[&str], &[&str]); 9] = [
        (
            &["--request-rate", "5", "--arrival-pattern", "concurrency_burst"],
            &["--arrival-pattern", "concurrency_burst"],
        ),
        (
            &[
                "--user-centric-rate",
                "5",
                "--num-users",
                "2",
                "--session-turns-mean",
                "3",
                "--request-rate-ramp-duration",
                "3",
            ],
            &["--request-rate-ramp-duration"],
        ),
        (&["--user-centric-rate", "5", "--num-users", "2"], &["--session-turns-mean"]),
        (
            &["--user-centric-rate", "5", "--num-users", "20", "--session-turns-mean", "2", "--request-count", "3"],
            &["--request-count", "--num-users"],
        ),
        (&["--num-users", "2"], &["--num-users", "--user-centric-rate"]),
        (&["--concurrency", "2", "--prefill-concurrency", "3"], &["--prefill-concurrency", "--concurrency"]),
        (&["--benchmark-grace-period", "3"], &["--benchmark-grace-period", "--benchmark-duration"]),
        (&["--request-rate-ramp-duration", "3"], &["--request-rate-ramp-duration", "--request-rate"]),
        (&["--fixed-schedule"], &["--fixed-schedule", "--input-file"]),
    ];
    for (args, named) in cases {
        let message = refused(server.bench().with(args));
        assert!(named.iter().all(|name| message.contains(name)), "{args:?}: {message}");
    }
    assert!(server.arrivals().is_empty());
}

#[test]
fn a_prefill_limit_needs_streams() {
    let server = Server::start(paced(1, 1));
    let bench = crate::bench::Bench::of(&server.url()).with(&["--concurrency", "4", "--prefill-concurrency", "2"]);
    let message = refused(bench);
    assert!(message.contains("--prefill-concurrency") && message.contains("--streaming"), "{message}");
}

#[test]
fn a_series_of_rates_is_refused_by_file_and_point() {
    let server = Server::start(paced(1, 1));
    for (text, named) in [
        ("", "series.json"),
        ("[]", "has no point"),
        (r#"[{"time_s": 0, "qps": 1}]"#, "has one point"),
        (r#"[{"time_s": 0, "qps": 1}, {"time_s": 0, "qps": 2}]"#, "time_s"),
        (r#"[{"time_s": 0, "qps": 1}, {"time_s": 1, "qps": 0}]"#, "1"),
        (r#"[{"time_s": 0, "qps": 1}, {"time_s": 1, "qps": 2, "x": 1}]"#, "x"),
    ] {
        let path = server.write("series.json", text);
        let message = refused(server.bench().with(&["--request-rate-series", &path]));
        assert!(message.contains(named), "{text}: {message}");
    }
}

#[test]
fn unsupported_options_are_refused_by_name() {
    let server = Server::start(paced(1, 1));
    for args in [&["--scenario", "inferencex-agentx-mvp"][..], &["--burst-phase-starts"]] {
        let message = refused(server.bench().with(args));
        assert!(message.contains(args[0]), "{message}");
    }
    let message = refused(server.bench_of_file("{}").with(&["--custom-dataset-type", "dag_jsonl"]));
    assert!(message.contains("dag_jsonl"), "{message}");
}
