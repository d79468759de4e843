//! Ports, and when the API ends.

use crate::api::client::Client;
use crate::api::{ENDLESS, watched};
use crate::bench::{Bench, quick, serve};
use std::net::TcpListener;

fn bench(url: &str) -> Bench {
    Bench::of(url).with(&["--request-count", "4"]).env("AIPERF_API_SERVER_POST_COMPLETE_GRACE", "0")
}

#[test]
fn a_requested_port_in_use_is_refused_before_the_run_starts() {
    let sim = serve(quick());
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let run = bench(&sim.url()).with(&["--api-port", &port]).run();
    assert_eq!(run.code(), Some(2));
    let printed = run.stderr();
    assert!(printed.contains(&format!("error: API server cannot bind 127.0.0.1:{port}: ")), "{printed}");
    assert!(printed.contains("try: another --api-port"), "{printed}");
    assert!(!run.path("").exists(), "nothing was done");

    let by_variable = bench(&sim.url()).env("AIPERF_API_SERVER_PORT", &port).run();
    assert_eq!(by_variable.code(), Some(0), "{}", by_variable.stderr());
    let printed = by_variable.stdout();
    assert!(printed.contains(&format!("API server cannot bind 127.0.0.1:{port}: ")), "{printed}");
    assert!(printed.contains("the run goes on without it"), "{printed}");
}

#[test]
fn a_host_of_another_machine_is_refused() {
    let run = bench("http://127.0.0.1:9").with(&["--api-port", "8080", "--api-host", "192.0.2.1"]).run();
    assert_eq!(run.code(), Some(2));
    assert!(run.stderr().contains("API server cannot bind 192.0.2.1:8080: "), "{}", run.stderr());
}

#[test]
fn an_api_that_others_can_reach_gives_a_warning() {
    let sim = serve(quick());
    let port = Client::of_free_port().port().to_string();
    let open = bench(&sim.url()).with(&["--api-port", &port, "--api-host", "0.0.0.0"]).run();
    assert_eq!(open.code(), Some(0), "{}", open.stderr());
    assert!(open.stdout().contains("the live API serves everyone who can reach this machine"), "{}", open.stdout());
    let closed = bench(&sim.url()).with(&["--api-port", &port]).run();
    assert!(!closed.stdout().contains("can reach this machine"), "{}", closed.stdout());
}

#[test]
fn ctrl_c_ends_an_api_that_waits_for_clients_with_the_exit_code_of_the_files() {
    let run = watched(["--request-count", "4"], &[], &[]);
    run.is_over();
    run.running.signal("INT");
    assert_eq!(run.running.finish_soon().code(), Some(0));
}

#[test]
fn a_cancelled_run_is_reported_as_cancelled() {
    let run = watched(ENDLESS, &[], &[]);
    run.is_on();
    let mut socket = crate::api::client::Socket::open(&run.client);
    socket.subscribe(&["benchmark_complete"]);
    run.running.signal("INT");
    assert_eq!(socket.text()["was_cancelled"], true);
    assert_eq!(run.running.finish_soon().code(), Some(130));
}
