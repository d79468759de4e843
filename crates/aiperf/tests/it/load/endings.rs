//! Cancellation, too many failures, stalled servers, and the ends of phases.

use crate::load::server::{Server, paced, run};
use aiperf_sim::SimConfig;

#[test]
fn requests_are_cancelled_in_every_mode() {
    let modes: [&[&str]; 4] = [
        &["--concurrency", "4"],
        &["--request-rate", "200"],
        &["--request-rate", "200", "--arrival-pattern", "constant", "--session-turns-mean", "3"],
        &["--user-centric-rate", "100", "--num-users", "5", "--session-turns-mean", "4"],
    ];
    for mode in modes {
        // On a busy machine a cancellation may be late, but not by as much as that.
        let server = Server::start(paced(300, 1));
        let some =
            ["--request-cancellation-rate", "50", "--request-cancellation-delay", "0.01", "--request-count", "30"];
        let run = run(server.bench().with(mode).with(&some));
        let records = run.records();
        let cancelled = records.iter().filter(|record| record["metadata"]["was_cancelled"] == true).count();
        assert_eq!(records.len(), 30, "{mode:?}");
        assert!(cancelled > 5 && cancelled < 25, "{cancelled} in {mode:?}");
        drop(server);
    }
}

#[test]
fn too_many_failures_end_an_open_loop_and_keep_its_results() {
    let server = Server::start(SimConfig { faults: vec!["status:503=0.9".parse().unwrap()], ..paced(2, 1) });
    let rate = ["--request-rate", "200", "--benchmark-duration", "20", "--failed-request-threshold", "0.3"];
    let run = server.bench().with(&rate).start().finish_soon();
    assert_eq!(run.code(), Some(1), "{}", run.stderr());
    let output = run.stderr() + &run.stdout();
    assert!(output.contains("--failed-request-threshold 0.3"), "{output}");
    assert!(run.records().len() >= 10);
    drop(server);
}

#[test]
fn the_end_of_the_duration_drops_turns_that_are_not_due() {
    let server = Server::start(paced(2, 1));
    let turns = ["--session-turns-mean", "3", "--session-turn-delay-mean", "5000", "--concurrency", "4"];
    let run = run(server.bench().with(&turns).with(&["--benchmark-duration", "0.3", "--benchmark-grace-period", "5"]));
    assert_eq!(run.records().len(), 4, "first turns only");
    drop(server);
}

#[test]
fn an_open_loop_goes_on_while_its_server_stalls() {
    let server = Server::start(SimConfig { max_running: std::num::NonZero::new(1), ..paced(400, 1) });
    let rate = ["--request-rate", "100", "--arrival-pattern", "constant", "--request-count", "50"];
    let bench = server.bench().with(&rate).with(&["--benchmark-duration", "2", "--benchmark-grace-period", "0"]);
    let run = bench.start().finish_soon();
    assert_eq!(run.summary()["measurement"]["sending"]["sent"], 50, "{}", run.stderr());
    drop(server);
}
