//! Rehearsals: what a run would send, in virtual time.

use aiperf_plan::{Arrival, Draws, PhasePlan, StopWhen};
use aiperf_schedule::{AssumedServer, Rehearsal, RehearsalEvent, RehearsalKind, RequestEnd, Setup};
use aiperf_types::{Nanos, PhaseKind, Shapes};

const MS: u64 = 1_000_000;

fn setup(phases: Vec<PhasePlan>) -> Setup {
    Setup { asks_hooks: true, ..Setup::new(phases, Shapes::single(10), Draws::new(Some(1), "")) }
}

fn closed(concurrency: u32, stop: StopWhen) -> PhasePlan {
    let plan = PhasePlan::new(PhaseKind::Profiling, Arrival::Concurrency);
    PhasePlan { concurrency: Some(concurrency), stop: vec![stop], ..plan }
}

fn server(ttft: &str, latency: &str) -> AssumedServer {
    let time = |text: &str| text.parse().expect("a time");
    AssumedServer { ttft: time(ttft), latency: time(latency) }
}

fn moments(phases: Vec<PhasePlan>, latency: &str) -> Vec<RehearsalEvent> {
    Rehearsal::new(setup(phases), server("20", latency)).collect()
}

fn sent(moments: &[RehearsalEvent]) -> Vec<u64> {
    moments.iter().filter(|one| matches!(one.what, RehearsalKind::Sent(..))).map(|one| one.at.0 / MS).collect()
}

#[test]
fn a_closed_loop_sends_again_when_a_response_is_over() {
    let moments = moments(vec![closed(2, StopWhen::Requests(5))], "100");
    assert_eq!(sent(&moments), [0, 0, 100, 100, 200]);
    let Some(RehearsalEvent { at, what: RehearsalKind::Complete(_, end, counts) }) = moments.last() else {
        panic!("a rehearsal ends with its last phase: {:?}", moments.last());
    };
    assert_eq!((*at, counts.sent, counts.completed, end.timed_out), (Nanos(300 * MS), 5, 5, false));
}

#[test]
fn first_contents_come_before_responses_and_never_twice() {
    let moments = moments(vec![closed(1, StopWhen::Requests(2))], "100");
    let at = |is: fn(&RehearsalKind) -> bool| -> Vec<u64> {
        moments.iter().filter(|one| is(&one.what)).map(|one| one.at.0 / MS).collect()
    };
    assert_eq!(at(|what| matches!(what, RehearsalKind::FirstContent(_))), [20, 120]);
    assert_eq!(at(|what| matches!(what, RehearsalKind::Returned(..))), [100, 200]);
}

#[test]
fn what_is_in_flight_when_grace_is_over_is_cancelled_then_and_time_goes_no_further() {
    let plan = PhasePlan { grace: Some(Nanos(10 * MS)), ..closed(3, StopWhen::Elapsed(Nanos(150 * MS))) };
    let moments = moments(vec![plan], "100");
    assert_eq!(sent(&moments), [0, 0, 0, 100, 100, 100]);
    let cancelled = moments.iter().filter(|one| matches!(one.what, RehearsalKind::Returned(_, RequestEnd::Cancelled)));
    assert_eq!(cancelled.map(|one| one.at).collect::<Vec<_>>(), [Nanos(160 * MS); 3]);
    assert_eq!(moments.last().map(|one| one.at), Some(Nanos(160 * MS)));
}

#[test]
fn instants_never_go_back_and_come_again_with_their_seed() {
    let plans = || vec![closed(7, StopWhen::Requests(200)), closed(3, StopWhen::Elapsed(Nanos(900 * MS)))];
    let (first, second) = (moments(plans(), "lognormal:80,50"), moments(plans(), "lognormal:80,50"));
    assert!(first.is_sorted_by_key(|one| one.at));
    assert_eq!(first, second);
}

#[test]
fn every_request_comes_back_once() {
    let moments = moments(vec![closed(50, StopWhen::Requests(3000))], "normal:50,20");
    let returned = moments.iter().filter(|one| matches!(one.what, RehearsalKind::Returned(_, RequestEnd::Answered)));
    assert_eq!((sent(&moments).len(), returned.count()), (3000, 3000));
}
