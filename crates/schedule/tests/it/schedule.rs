//! The schedule driven by hand: what users rely on, without waiting for anything.

use aiperf_plan::{Arrival, Draws, PhasePlan, StopWhen};
use aiperf_schedule::{Action, Event, RequestEnd, Schedule, Setup};
use aiperf_types::{MonoNs, Nanos, PhaseIndex, PhaseKind, Shapes};
use proptest::prelude::*;

/// An end that lies ahead is one that is seen when it comes.
const READ_AT_ONCE: MonoNs = MonoNs(u64::MAX);

fn phase(concurrency: u32, stop: Vec<StopWhen>, grace: Option<Nanos>) -> PhasePlan {
    let plan = PhasePlan::new(PhaseKind::Profiling, Arrival::Concurrency);
    PhasePlan { concurrency: Some(concurrency), stop, grace, ..plan }
}

/// Over a hundred conversations of one turn.
fn setup(phases: Vec<PhasePlan>) -> Setup {
    Setup::new(phases, Shapes::single(100), Draws::new(Some(1), ""))
}

fn schedule(phases: Vec<PhasePlan>) -> Schedule {
    Schedule::new(setup(phases))
}

fn returned(session: u64, end: RequestEnd) -> Event {
    Event::Returned { session, turn: 0, end, at: READ_AT_ONCE }
}

fn answered(session: u64) -> Event {
    returned(session, RequestEnd::Answered)
}

fn poll(schedule: &mut Schedule, at: u64, events: &[Event]) -> (Vec<Action>, Option<MonoNs>) {
    let mut actions = Vec::new();
    let deadline = schedule.poll(MonoNs(at), events.iter().copied(), &mut actions);
    (actions, deadline)
}

fn sends(actions: &[Action]) -> usize {
    actions.iter().filter(|action| matches!(action, Action::Send(_))).count()
}

#[test]
fn every_slot_is_filled_at_once_and_refilled_on_return() {
    let mut schedule = schedule(vec![phase(3, vec![StopWhen::Requests(5)], None)]);
    let (first, _) = poll(&mut schedule, 1, &[]);
    assert_eq!(first[0], Action::Start(PhaseIndex(0)));
    assert_eq!(sends(&first), 3);
    let (second, _) = poll(&mut schedule, 2, &[answered(0), answered(1)]);
    assert_eq!(sends(&second), 2);
    assert!(
        matches!(second.last(), Some(Action::SendingComplete(_, counts)) if (counts.sent, counts.completed) == (5, 2))
    );
    let (third, _) = poll(&mut schedule, 3, &[answered(2), answered(3), answered(4)]);
    assert!(matches!(third[0], Action::Complete(_, _, counts) if (counts.sent, counts.completed) == (5, 5)));
    assert_eq!(third.last(), Some(&Action::Finished));
}

#[test]
fn time_ends_sending_and_grace_ends_waiting() {
    let stop = vec![StopWhen::Elapsed(Nanos(100))];
    let mut schedule = schedule(vec![phase(1, stop, Some(Nanos(50)))]);
    assert_eq!(poll(&mut schedule, 1000, &[]).1, Some(MonoNs(1100)));
    let (late, deadline) = poll(&mut schedule, 1100, &[]);
    assert!(matches!(late[..], [Action::SendingComplete(PhaseIndex(0), _)]));
    assert_eq!(deadline, Some(MonoNs(1150)));
    let (expired, _) = poll(&mut schedule, 1150, &[]);
    assert_eq!(expired, vec![Action::Cancel(PhaseIndex(0))]);
    let (over, _) = poll(&mut schedule, 1151, &[returned(0, RequestEnd::Cancelled)]);
    assert!(matches!(over[0], Action::Complete(_, end, _) if end.timed_out && end.grace_expired && end.lost == 0));
}

#[test]
fn a_hold_stops_sending_until_it_is_released() {
    let mut schedule = schedule(vec![phase(2, vec![StopWhen::Requests(9)], None)]);
    assert_eq!(sends(&poll(&mut schedule, 1, &[]).0), 2);
    assert_eq!(sends(&poll(&mut schedule, 2, &[Event::Hold, answered(0), answered(1)]).0), 0);
    assert_eq!(sends(&poll(&mut schedule, 3, &[Event::Release]).0), 2);
}

#[test]
fn a_phase_that_something_comes_before_asks_once_and_starts_when_it_may() {
    let phases = vec![phase(1, vec![StopWhen::Requests(1)], None), phase(1, vec![StopWhen::Requests(1)], None)];
    let mut schedule = Schedule::new(Setup { asks_hooks: true, ..setup(phases) });
    assert_eq!(poll(&mut schedule, 1, &[]).0, [Action::AskHooks(PhaseIndex(0))]);
    assert_eq!(poll(&mut schedule, 2, &[]).0, []);
    let (started, _) = poll(&mut schedule, 3, &[Event::HooksDone(PhaseIndex(0))]);
    assert_eq!((started[0], sends(&started)), (Action::Start(PhaseIndex(0)), 1));
    let (over, _) = poll(&mut schedule, 4, &[answered(0)]);
    assert_eq!(over.last(), Some(&Action::AskHooks(PhaseIndex(1))), "each phase asks anew");
    assert_eq!(poll(&mut schedule, 5, &[Event::Stop]).0, [Action::Finished], "who stops does not wait for it");
}

#[test]
fn a_stop_cancels_what_is_in_flight_and_starts_no_further_phase() {
    let plans = vec![phase(2, vec![StopWhen::Requests(9)], None), phase(2, vec![StopWhen::Requests(9)], None)];
    let mut schedule = schedule(plans);
    poll(&mut schedule, 1, &[]);
    let (stopped, _) = poll(&mut schedule, 2, &[Event::Stop]);
    assert!(matches!(stopped[..], [Action::SendingComplete(PhaseIndex(0), _), Action::Cancel(PhaseIndex(0))]));
    let back = |session| returned(session, RequestEnd::Cancelled);
    let (over, _) = poll(&mut schedule, 3, &[back(0), back(1), back(1)]);
    assert_eq!(over.len(), 2);
    assert_eq!(over[1], Action::Finished);
}

#[test]
fn requests_that_never_return_do_not_hold_a_stopped_run_for_ever() {
    let mut schedule = schedule(vec![phase(2, vec![StopWhen::Requests(9)], None)]);
    poll(&mut schedule, 1, &[]);
    let (_, deadline) = poll(&mut schedule, 2, &[Event::Stop]);
    let (over, _) = poll(&mut schedule, deadline.unwrap().0, &[]);
    assert!(matches!(over[0], Action::Complete(_, end, _) if end.lost == 2 && end.stopped));
}

#[test]
fn the_next_phase_goes_on_with_the_next_conversation() {
    let plans = vec![phase(1, vec![StopWhen::Requests(2)], None), phase(1, vec![StopWhen::Requests(1)], None)];
    let mut schedule = schedule(plans);
    poll(&mut schedule, 1, &[]);
    poll(&mut schedule, 2, &[answered(0)]);
    let (actions, _) = poll(&mut schedule, 3, &[answered(1)]);
    let drawn = |action: &Action| if let Action::Send(send) = action { Some(send.conversation) } else { None };
    assert_eq!(actions.iter().find_map(drawn), Some(2));
}

proptest! {
    #[test]
    fn never_more_in_flight_than_slots_and_exactly_the_requests_asked_for(
        slots in 1u32..20, wanted in 1u64..200, returns in prop::collection::vec(1usize..8, 1..400),
    ) {
        let mut schedule = schedule(vec![phase(slots, vec![StopWhen::Requests(wanted)], None)]);
        let (mut sent, mut back, mut at) = (0u64, 0u64, 1u64);
        let mut finished = false;
        let mut batches = returns.into_iter().chain(std::iter::repeat(3));
        while !finished {
            let give = if at == 1 { 0 } else { (batches.next().unwrap() as u64).min(sent - back) };
            back += give;
            let events: Vec<Event> = (back - give..back).map(answered).collect();
            let (actions, _) = poll(&mut schedule, at, &events);
            sent += sends(&actions) as u64;
            prop_assert!(sent - back <= u64::from(slots));
            finished = actions.contains(&Action::Finished);
            at += 1;
            prop_assert!(at < 10_000);
        }
        prop_assert_eq!((sent, back), (wanted, wanted));
    }
}
