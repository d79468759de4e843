//! Rehearsals of every way to offer load, against a server of known times.

use aiperf_plan::{
    Arrival, ArrivalLaw, Cancellation, Draws, PhasePlan, Ramp, RateLevel, RatePlan, RatePoint, ScheduleZero, StopWhen,
};
use aiperf_schedule::{AssumedServer, PhaseEnd, Rehearsal, RehearsalEvent, RehearsalKind, RequestEnd, Setup};
use aiperf_types::{Nanos, PhaseIndex, PhaseKind, PhaseProgress, Shape, Shapes, TurnShape};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

fn phase(arrival: Arrival, stop: StopWhen) -> PhasePlan {
    PhasePlan { stop: vec![stop], ..PhasePlan::new(PhaseKind::Profiling, arrival) }
}

fn rate(law: ArrivalLaw, rate: f64) -> Arrival {
    Arrival::Rate { law, rate: RatePlan::fixed(rate) }
}

/// Conversations of so many turns each, with these milliseconds before each later one.
fn conversations(turns: &[usize], delay_ms: u64) -> Shapes {
    let turn = |index| TurnShape { delay: (index > 0).then_some(Nanos(delay_ms * MS)), timestamp_ms: None };
    Shapes::listed(
        turns.iter().map(|count| Shape { turns: (0..*count).map(turn).collect(), branches: vec![] }).collect(),
    )
}

fn rehearse(phases: Vec<PhasePlan>, shapes: Shapes) -> Vec<RehearsalEvent> {
    let setup = Setup::new(phases, shapes, Draws::new(Some(3), ""));
    let time = |text: &str| text.parse().expect("a time");
    let moments: Vec<RehearsalEvent> =
        Rehearsal::new(setup, AssumedServer { ttft: time("20"), latency: time("100") }).collect();
    assert!(moments.is_sorted_by_key(|one| one.at));
    assert_eq!(
        sent(&moments).len(),
        moments.iter().filter(|one| matches!(one.what, RehearsalKind::Returned(..))).count()
    );
    moments
}

/// Milliseconds and turn of each dispatch.
fn sent(moments: &[RehearsalEvent]) -> Vec<(u64, u32)> {
    let one = |one: &RehearsalEvent| match one.what {
        RehearsalKind::Sent(dispatch, _) => Some((one.at.0 / MS, dispatch.turn)),
        _ => None,
    };
    moments.iter().filter_map(one).collect()
}

fn instants(moments: &[RehearsalEvent]) -> Vec<u64> {
    sent(moments).into_iter().map(|(at, _)| at).collect()
}

fn end(moments: &[RehearsalEvent], phase: u16) -> (PhaseEnd, PhaseProgress) {
    let of = |one: &RehearsalEvent| match one.what {
        RehearsalKind::Complete(of, end, counts) if of == PhaseIndex(phase) => Some((end, counts)),
        _ => None,
    };
    moments.iter().find_map(of).expect("the phase completes")
}

#[test]
fn later_turns_wait_for_their_delay_and_keep_their_slot() {
    let plan = PhasePlan { concurrency: Some(1), ..phase(Arrival::Concurrency, StopWhen::Sessions(2)) };
    let moments = rehearse(vec![plan], conversations(&[2], 50));
    assert_eq!(sent(&moments), [(0, 0), (150, 1), (250, 0), (400, 1)]);
}

#[test]
fn a_constant_rate_begins_one_interval_late_and_counts_what_found_no_slot() {
    let plan = PhasePlan { concurrency: Some(1), ..phase(rate(ArrivalLaw::Constant, 20.0), StopWhen::Requests(3)) };
    let moments = rehearse(vec![plan], Shapes::single(5));
    // Each takes 100 ms, so every other of the ticks between finds the slot taken.
    assert_eq!(instants(&moments), [50, 150, 250]);
    let (_, counts) = end(&moments, 0);
    assert_eq!((counts.offered, counts.missed), (5, 2));
}

#[test]
fn a_rate_that_climbs_offers_its_integral() {
    let ramp = Some(Ramp::linear(Nanos(10 * SECOND)));
    let arrival = Arrival::Rate { law: ArrivalLaw::Constant, rate: RatePlan { ramp, ..RatePlan::fixed(100.0) } };
    let moments = rehearse(vec![phase(arrival, StopWhen::Elapsed(Nanos(10 * SECOND)))], Shapes::single(5));
    // From 1 to 100 over ten seconds.
    assert_eq!(instants(&moments).len(), 504);
}

#[test]
fn a_series_is_followed_up_and_down() {
    let points = [(0.0, 10.0), (5.0, 30.0), (10.0, 10.0)].map(|(seconds, rate)| RatePoint { seconds, rate });
    let rate = RatePlan { level: RateLevel::Series(points.to_vec()), ramp: None };
    let arrival = Arrival::Rate { law: ArrivalLaw::Constant, rate };
    let moments = rehearse(vec![phase(arrival, StopWhen::Elapsed(Nanos(10 * SECOND + 1)))], Shapes::single(5));
    assert_eq!(instants(&moments).len(), 200);
}

#[test]
fn poisson_arrivals_are_as_many_as_their_rate_gives_and_not_even() {
    let plan = phase(rate(ArrivalLaw::Poisson, 50.0), StopWhen::Elapsed(Nanos(100 * SECOND)));
    let instants = instants(&rehearse(vec![plan], Shapes::single(5)));
    assert!((4717..5283).contains(&instants.len()), "{}", instants.len());
    assert!(instants.windows(2).any(|pair| pair[0] == pair[1]));
}

#[test]
fn users_come_back_at_their_interval() {
    let arrival = Arrival::UserCentric { users: 4, rate: 10.0 };
    let moments = rehearse(vec![phase(arrival, StopWhen::Requests(40))], conversations(&[5], 0));
    let all = instants(&moments);
    assert_eq!(all.len(), 40);
    assert_eq!(all[39] - all[0], 3900);
}

#[test]
fn a_recording_is_replayed_at_its_times() {
    let at = |ms| Shape { turns: vec![TurnShape { delay: None, timestamp_ms: Some(ms) }], branches: vec![] };
    let shapes = Shapes::listed(vec![at(1500.0), at(1000.0), at(1000.5)]);
    let plan = PhasePlan::new(PhaseKind::Profiling, Arrival::FixedSchedule { zero: ScheduleZero::First });
    let moments = rehearse(vec![plan], shapes);
    assert_eq!(instants(&moments), [0, 0, 500]);
    assert_eq!(end(&moments, 0).1.sent, 3);
}

#[test]
fn a_prefill_slot_is_free_at_the_first_content() {
    let plan = PhasePlan {
        concurrency: Some(3),
        prefill_concurrency: Some(1),
        ..phase(Arrival::Concurrency, StopWhen::Requests(3))
    };
    assert_eq!(instants(&rehearse(vec![plan], Shapes::single(5))), [0, 20, 40]);
}

#[test]
fn a_seamless_phase_starts_before_the_responses_of_the_one_before() {
    let first = PhasePlan { concurrency: Some(2), ..phase(Arrival::Concurrency, StopWhen::Requests(2)) };
    let second = PhasePlan { name: "second".to_owned(), concurrency: Some(4), seamless: true, ..first.clone() };
    let moments = rehearse(vec![first, second], Shapes::single(5));
    assert_eq!(instants(&moments), [0, 0, 0, 0]);
}

#[test]
fn requests_that_are_given_up_fail_when_they_are() {
    let cancellation = Some(Cancellation { rate_percent: 100.0, delay: Nanos(10 * MS) });
    let plan = PhasePlan { concurrency: Some(1), cancellation, ..phase(Arrival::Concurrency, StopWhen::Requests(3)) };
    let moments = rehearse(vec![plan], Shapes::single(5));
    assert_eq!(instants(&moments), [0, 10, 20]);
    assert!(!moments.iter().any(|one| matches!(one.what, RehearsalKind::FirstContent(_))));
    let failed = moments.iter().filter(|one| matches!(one.what, RehearsalKind::Returned(_, RequestEnd::Failed)));
    assert_eq!((failed.count(), end(&moments, 0).1.errors), (3, 3));
}

#[test]
fn a_limit_that_climbs_lets_sessions_in_one_by_one() {
    let plan = PhasePlan {
        concurrency: Some(3),
        concurrency_ramp: Some(Ramp::linear(Nanos(60 * MS))),
        ..phase(Arrival::Concurrency, StopWhen::Requests(4))
    };
    assert_eq!(instants(&rehearse(vec![plan], Shapes::single(5))), [0, 30, 60, 100]);
}

#[test]
fn those_without_a_first_content_are_those_sent_within_its_time() {
    let plan = PhasePlan {
        concurrency: Some(4),
        concurrency_ramp: Some(Ramp::linear(Nanos(3 * SECOND))),
        ..phase(Arrival::Concurrency, StopWhen::Elapsed(Nanos(10 * SECOND)))
    };
    let moments = rehearse(vec![plan], conversations(&[3], 500));
    let mut waiting = 0_u32;
    let mut sent: Vec<Nanos> = Vec::new();
    for one in &moments {
        match one.what {
            RehearsalKind::Sent(..) => {
                sent.push(one.at);
                waiting += 1;
                let recent = sent.iter().filter(|at| at.0 + 20 * MS > one.at.0).count();
                assert!(waiting as usize >= recent, "{waiting} of {recent}");
                // Those due at this very instant may be reported after it.
                assert!(waiting as usize <= sent.iter().filter(|at| at.0 + 20 * MS >= one.at.0).count());
            }
            RehearsalKind::FirstContent(_) => waiting -= 1,
            RehearsalKind::Returned(request, _) => waiting -= u32::from(!request.has_content),
            _ => {}
        }
    }
}

#[test]
fn what_a_full_limit_drops_is_reported_when_its_time_comes() {
    let capped = PhasePlan { concurrency: Some(1), ..phase(rate(ArrivalLaw::Constant, 20.0), StopWhen::Requests(3)) };
    let moments = rehearse(vec![capped.clone(), capped], Shapes::single(10));
    let missed = |one: &RehearsalEvent| match one.what {
        RehearsalKind::Missed(phase, count) => Some((phase.0, one.at.0 / MS, count)),
        _ => None,
    };
    assert_eq!(instants(&moments), [50, 150, 250, 400, 500, 600]);
    let wanted = [(0, 100, 1), (0, 200, 1), (1, 450, 1), (1, 550, 1)];
    assert_eq!(moments.iter().filter_map(missed).collect::<Vec<_>>(), wanted);
    assert_eq!([end(&moments, 0).1.missed, end(&moments, 1).1.missed], [2, 2]);
}
