//! Limits of sessions and of prefills.

use crate::load::server::{Server, never_early, paced, peak, run};

#[test]
fn no_more_requests_wait_for_their_first_token_than_allowed() {
    let server = Server::start(paced(10, 4));
    let slots = ["--concurrency", "16", "--prefill-concurrency", "3", "--request-count", "80"];
    run(server.bench().with(&slots));
    let arrivals = server.arrivals();
    assert_eq!(peak(&arrivals, |arrival| arrival.first_token), 3);
    assert!(peak(&arrivals, |arrival| arrival.end) > 3);
}

#[test]
fn responses_without_a_first_token_release_their_slot_at_their_end() {
    let server =
        Server::start(aiperf_sim::SimConfig { faults: vec!["status:500=0.5".parse().unwrap()], ..paced(5, 1) });
    let slots = ["--concurrency", "8", "--prefill-concurrency", "2", "--request-count", "60"];
    run(server.bench().with(&slots));
    assert_eq!(server.arrivals().len(), 60);
}

#[test]
fn a_ramped_limit_is_never_ahead_of_its_ramp() {
    let server = Server::start(paced(20, 1));
    let slots = ["--concurrency", "8", "--concurrency-ramp-duration", "0.7", "--request-count", "400"];
    let run = run(server.bench().with(&slots));
    let arrivals = server.arrivals();
    // From one slot at the start to eight after 0.7 s: one more slot every 0.1 s.
    never_early(&run, &arrivals, |number| {
        let others = arrivals[..number].iter().filter(|earlier| earlier.end > arrivals[number].at).count();
        assert!(others < 8, "{others}");
        0.1 * others.saturating_sub(1) as f64
    });
    assert_eq!(peak(&arrivals, |arrival| arrival.end), 8);
}

#[test]
fn a_prefill_limit_can_have_a_ramp() {
    let server = Server::start(paced(10, 2));
    let slots = ["--concurrency", "8", "--prefill-concurrency", "4", "--prefill-concurrency-ramp-duration", "0.3"];
    run(server.bench().with(&slots).with(&["--request-count", "100"]));
    let arrivals = server.arrivals();
    assert_eq!((arrivals.len(), peak(&arrivals, |arrival| arrival.first_token)), (100, 4));
}
