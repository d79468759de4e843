//! Whole runs of several phases, open loops and early ends, against small local servers.

use super::*;
use crate::testing::Noted;
use aiperf_plan::{Arrival, ArrivalLaw, PhasePlan, RatePlan, Transport};
use std::sync::{Condvar, Mutex};

fn run_around(plan: Plan, around: Around) -> (EngineOutcome, Vec<RunEvent>) {
    run_changed(plan, |requests| requests, around)
}

/// Counts requests, and lets some of them wait for others.
#[derive(Default)]
struct Received {
    seen: Mutex<u64>,
    more: Condvar,
}

impl Received {
    /// The number of the request that has just arrived.
    fn count(&self) -> u64 {
        let mut seen = self.seen.lock().unwrap();
        *seen += 1;
        self.more.notify_all();
        *seen - 1
    }

    fn wait_for(&self, all: u64) {
        drop(self.more.wait_while(self.seen.lock().unwrap(), |seen| *seen < all).unwrap());
    }
}

/// Two phases: the second starts while the first waits for its responses.
fn overlapping(port: u16) -> Plan {
    let mut plan = plan_of(port, 2);
    let first = PhasePlan { name: "first".to_owned(), concurrency: Some(2), ..plan.phases[0].clone() };
    let second = PhasePlan {
        name: "second".to_owned(),
        // Room for all of them beside the requests of the first phase: they are sent when the phase starts, whichever
        // the server gets first.
        concurrency: Some(6),
        stop: vec![StopWhen::Requests(4)],
        seamless: true,
        ..first.clone()
    };
    plan.phases = vec![first, second];
    plan
}

/// The events of phases, as text.
fn phase_events(events: &[RunEvent]) -> Vec<String> {
    let named = |event: &RunEvent| match event {
        RunEvent::PhaseStarted(started) => Some(format!("{} started", started.phase.name)),
        RunEvent::SendingComplete(moment) => Some(format!("{} sent", moment.phase.name)),
        RunEvent::RequestsDone(moment) => Some(format!("{} done", moment.phase.name)),
        _ => None,
    };
    events.iter().filter_map(named).collect()
}

#[test]
fn a_phase_runs_while_another_drains_and_each_has_its_own_results() {
    for workers in [1, 2] {
        let received = Received::default();
        // The first two get responses when the four of the second phase have arrived.
        let port = serve(move |_, _| {
            if received.count() < 2 {
                received.wait_for(6);
            }
            json(HELLO)
        });
        let mut plan = overlapping(port);
        plan.runtime.workers_max = Some(workers);
        let noted = Arc::default();
        let hooks: Box<dyn PhaseHooks> = Box::new(Noted(Arc::clone(&noted)));
        let (outcome, events) = run_around(plan, Around { hooks: Some(hooks), ..Around::default() });
        assert_eq!(outcome.conduct.workers, workers as usize);
        let [first, second] = &outcome.phases[..] else { panic!("two phases ran") };
        assert_eq!((&*first.id.name, first.counts.completed, first.records.records()), ("first", 2, 2));
        assert_eq!((&*second.id.name, second.counts.completed, second.records.records()), ("second", 4, 4));
        assert!(first.sent_end <= second.start && second.start < first.end, "they overlap");
        assert!(!outcome.was_stopped && first.cut_off + second.cut_off == 0);
        let seen = phase_events(&events);
        assert_eq!(seen[..4], ["first started", "first sent", "second started", "second sent"]);
        let mut ends = seen[4..].to_vec();
        ends.sort_unstable();
        assert_eq!(ends, ["first done", "second done"]);
        let complete = events.iter().filter(|event| matches!(event, RunEvent::PhaseComplete(_)));
        assert_eq!(complete.count(), 2);
        let noted = noted.lock().unwrap();
        assert_eq!(noted[..2], ["before first", "before second"], "neither waits for the end of the other");
        assert_eq!(noted.len(), 4);
    }
}

#[test]
fn a_run_that_is_stopped_reports_the_end_of_every_running_phase() {
    let (received, stop) = (Received::default(), Stop::default());
    let stopper = stop.clone();
    // No request gets a response. The third request, of the second phase, stops the run.
    let port = serve(move |_, _| {
        if received.count() == 2 {
            stopper.stop();
        }
        Vec::new()
    });
    let mut plan = overlapping(port);
    plan.phases.push(PhasePlan { name: "never".to_owned(), ..plan.phases[0].clone() });
    let (outcome, events) = run_around(plan, Around { stop, ..Around::default() });
    let [first, second] = &outcome.phases[..] else { panic!("the third one never starts") };
    assert!(outcome.was_stopped && first.was_stopped && second.was_stopped);
    assert_eq!((first.counts.sent, first.counts.cancelled, first.cut_off), (2, 2, 2));
    assert_eq!(second.counts.cancelled, second.counts.sent);
    assert_eq!(second.cut_off, second.counts.sent, "each has a record line");
    let Quality { cut_off, never_begun, .. } = outcome.quality();
    assert_eq!(cut_off + never_begun, first.cut_off + second.cut_off);
    assert_eq!(phase_events(&events).iter().filter(|event| event.ends_with("done")).count(), 2);
}

#[test]
fn a_stop_request_after_the_last_request_has_cut_nothing_short() {
    let stop = Stop::default();
    let stopper = stop.clone();
    let observer: Observer = Arc::new(move |event| {
        if matches!(event, RunEvent::RequestsDone(_)) {
            stopper.stop();
        }
    });
    let plan = plan_of(serve(|_, _| json(HELLO)), 4);
    let around = Around { stop: stop.clone(), observer: Some(observer), ..Around::default() };
    let (outcome, _) = run_around(plan, around);
    assert!(stop.is_stopped() && !outcome.was_stopped && !outcome.phases[0].was_stopped);
    assert_eq!((outcome.phases[0].cut_off, outcome.phases[0].records.records()), (0, 4));
}

#[test]
fn requests_that_were_cut_off_are_reported_instead_of_a_completed_run() {
    // No request gets a response.
    let mut plan = plan_of(serve(|_, _| Vec::new()), 2);
    let stop = vec![StopWhen::Elapsed(Nanos::from_millis(100))];
    plan.phases[0] = PhasePlan { concurrency: Some(2), stop, grace: Some(Nanos::ZERO), ..plan.phases[0].clone() };
    let (outcome, events) = run_around(plan, Around::default());
    assert!(!outcome.was_stopped && outcome.phases[0].cut_off == 2);
    let texts: Vec<&str> = events
        .iter()
        .filter_map(|event| if let RunEvent::Message(message) = event { Some(&*message.text) } else { None })
        .collect();
    assert!(texts.contains(&"2 requests were cut off when the time was up"), "{texts:?}");
    assert!(!texts.iter().any(|text| text.contains("completed")), "{texts:?}");
}

#[test]
fn a_run_in_which_too_many_requests_fail_ends_early() {
    let port = serve(|_, _| b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n".to_vec());
    let mut plan = plan_of(port, 1_000_000);
    plan.phases[0].failed_request_threshold = Some(0.2);
    let (outcome, _) = run_around(plan, Around::default());
    let reason = outcome.given_up.unwrap();
    assert!(reason.starts_with("10 of 10 requests failed, more than --failed-request-threshold 0.2"), "{reason}");
    let sent = outcome.phases[0].counts.sent;
    assert!(reason.ends_with(&format!(" ended early. {sent} requests had been sent when it ended.")), "{reason}");
    assert!(outcome.was_stopped && outcome.phases[0].was_stopped);
}

#[test]
fn a_run_whose_servers_never_accept_a_connection_ends_early_and_a_later_run_starts_afresh() {
    // No server listens on this port.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut plan = plan_of(port, 1_000_000_000);
    plan.endpoint.unreachable_timeout = Some(Nanos::from_millis(50));
    for workers in [1, 2] {
        plan.runtime.workers_max = Some(workers);
        let (outcome, _) = run_around(plan.clone(), Around::default());
        let reason = outcome.given_up.unwrap();
        let wanted =
            format!("No server accepted a connection within 0.05 s of the first failed connection (127.0.0.1:{port})");
        assert!(reason.starts_with(&wanted), "{reason}");
        let phase = &outcome.phases[0];
        assert!(outcome.was_stopped && phase.was_stopped);
        assert!(phase.records.records() > 0, "the first refusals have records");
    }
    let mut reachable = plan_of(serve(|_, _| json(HELLO)), 12);
    reachable.endpoint.unreachable_timeout = Some(Nanos(1));
    let (outcome, _) = run_around(reachable, Around::default());
    assert!(outcome.given_up.is_none() && outcome.phases[0].counts.completed == 12);
}

#[test]
fn failures_that_are_known_only_after_the_last_request_count_against_the_threshold() {
    let port = serve(|_, _| b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n".to_vec());
    let mut plan = plan_of(port, 10);
    plan.phases[0].concurrency = Some(10);
    plan.phases[0].failed_request_threshold = Some(0.2);
    let (outcome, _) = run_around(plan.clone(), Around::default());
    assert!(outcome.given_up.is_some() && outcome.was_stopped);
    assert_eq!(outcome.phases[0].records.records(), 10);
    plan.phases[0].failed_request_threshold = Some(1.0);
    let (outcome, _) = run_around(plan, Around::default());
    assert!(outcome.given_up.is_none() && !outcome.was_stopped);
}

#[test]
fn a_rate_offers_all_its_requests_on_one_worker() {
    let mut plan = plan_of(serve(|_, _| json(HELLO)), 20);
    plan.phases[0].concurrency = None;
    plan.phases[0].arrival = Arrival::Rate { law: ArrivalLaw::Constant, rate: RatePlan::fixed(1000.0) };
    let (outcome, _) = run_around(plan, Around::default());
    let phase = &outcome.phases[0];
    assert_eq!((phase.counts.offered, phase.counts.missed, phase.counts.sent), (20, 0, 20));
    assert_eq!((outcome.conduct.workers, outcome.quality().schedule_lateness.count()), (1, 20));
    assert!(phase.sent_end.0 - phase.start.0 >= 20_000_000, "the last one is due after 20 intervals");
}

#[test]
fn every_request_is_accounted_for_at_a_rate_far_above_the_capacity_of_one_worker() {
    let mut plan = ended_at_once(plan_of(serve(|_, _| json(HELLO)), 0), Nanos(20_000_000));
    plan.phases[0].arrival = Arrival::Rate { law: ArrivalLaw::Constant, rate: RatePlan::fixed(1e6) };
    plan.phases[0].concurrency = None;
    plan.endpoint.http.connection_limit = Some(8);
    plan.runtime.workers_max = Some(1);
    let (outcome, _) = run_around(plan, Around::default());
    let phase = &outcome.phases[0];
    assert_eq!(phase.records.records() + phase.cut_off, phase.counts.sent);
    assert_eq!(outcome.quality().cut_off + outcome.quality().never_begun, phase.cut_off);
    assert!(outcome.quality().never_begun > 0, "no worker sends a million a second");
    assert!(phase.never_left >= outcome.quality().never_begun);
}

/// A plan whose phase sends for this long and then cancels everything.
fn ended_at_once(mut plan: Plan, length: Nanos) -> Plan {
    plan.phases[0].stop = vec![StopWhen::Elapsed(length)];
    plan.phases[0].grace = Some(Nanos::ZERO);
    plan
}

#[test]
fn requests_that_are_cut_off_while_they_wait_for_a_connection_count_as_waits() {
    for transport in [Transport::Http, Transport::Http2] {
        let mut plan = ended_at_once(plan_of(serve(|_, _| Vec::new()), 0), Nanos(100_000_000));
        plan.endpoint.transport = transport;
        plan.endpoint.http.connection_limit = Some(1);
        let (outcome, _) = run_around(plan, Around::default());
        let phase = &outcome.phases[0];
        assert_eq!((phase.counts.sent, phase.cut_off, phase.never_left), (4, 4, 3), "{transport:?}");
        assert_eq!((outcome.quality().cut_off, outcome.quality().place_wait.count()), (4, 3), "{transport:?}");
        assert!(outcome.quality().place_wait.quantile(0.5) > 50e6, "as long as the phase lasted");
    }
}

#[test]
fn a_phase_counts_errors_inside_responses_that_began_well() {
    let plan = plan_of(serve(|_, _| json(r#"{"error":{"message":"no"}}"#)), 12);
    let (outcome, events) = run_around(plan, Around::default());
    assert_eq!((outcome.phases[0].counts.completed, outcome.phases[0].counts.errors), (12, 12));
    let complete = events.iter().find_map(|event| match event {
        RunEvent::PhaseComplete(moment) => Some(moment.counts.errors),
        _ => None,
    });
    assert_eq!(complete, Some(12));
}

#[test]
fn requests_that_find_no_free_connection_are_counted() {
    let mut plan = plan_of(serve(|_, _| json(HELLO)), 8);
    plan.endpoint.http.connection_limit = Some(1);
    let (outcome, _) = run_around(plan, Around::default());
    assert_eq!(outcome.phases[0].records.records(), 8);
    assert!(outcome.quality().place_wait.count() >= 3, "{}", outcome.quality().place_wait.count());
}
