//! Arrivals driven by hand: rates, recordings and users, what limits do to them, and phases that overlap.

use aiperf_plan::{Arrival, ArrivalLaw, Cancellation, Draws, PhasePlan, RatePlan, ScheduleZero, StopWhen, TimingPlan};
use aiperf_schedule::{Action, Dispatch, Event, Identity, RequestEnd, Schedule, Setup};
use aiperf_types::{MonoNs, Nanos, PhaseIndex, PhaseKind, PhaseProgress, Shape, Shapes, TurnShape};

const START: MonoNs = MonoNs(1_000_000_000);

/// An end that lies ahead is one that is seen when it comes.
const READ_AT_ONCE: MonoNs = MonoNs(u64::MAX);

fn at(ms: u64) -> MonoNs {
    START.plus(Nanos::from_millis(ms))
}

/// In milliseconds since the start.
fn since_start(instant: MonoNs) -> u64 {
    instant.since(START).0 / 1_000_000
}

fn plan(arrival: Arrival, stop: StopWhen) -> PhasePlan {
    PhasePlan { stop: vec![stop], ..PhasePlan::new(PhaseKind::Profiling, arrival) }
}

/// So many requests a second, evenly.
fn rate(rate: f64, stop: StopWhen) -> PhasePlan {
    plan(Arrival::Rate { law: ArrivalLaw::Constant, rate: RatePlan::fixed(rate) }, stop)
}

fn warmup(plan: PhasePlan) -> PhasePlan {
    PhasePlan { kind: PhaseKind::Warmup, ..plan }
}

fn recording(stop: Vec<StopWhen>) -> PhasePlan {
    let arrival = Arrival::FixedSchedule { zero: ScheduleZero::At(100.0) };
    PhasePlan { stop, ..PhasePlan::new(PhaseKind::Profiling, arrival) }
}

/// Conversations of so many turns each.
fn turns(counts: &[usize]) -> Shapes {
    let shape = |turns: &usize| Shape { turns: vec![TurnShape::default(); *turns], branches: Vec::new() };
    Shapes::listed(counts.iter().map(shape).collect())
}

/// Conversations by the timestamps of their turns, in milliseconds.
fn recorded(timestamps: &[&[f64]]) -> Shapes {
    let turn = |at: &f64| TurnShape { delay: None, timestamp_ms: Some(*at) };
    let shape = |turns: &&[f64]| Shape { turns: turns.iter().map(turn).collect(), branches: Vec::new() };
    Shapes::listed(timestamps.iter().map(shape).collect())
}

fn setup(phases: Vec<PhasePlan>, shapes: Shapes) -> Setup {
    Setup::new(phases, shapes, Draws::new(Some(1), ""))
}

fn schedule(phases: Vec<PhasePlan>, shapes: Shapes) -> Schedule {
    Schedule::new(setup(phases, shapes))
}

fn poll(schedule: &mut Schedule, at: MonoNs, events: &[Event]) -> (Vec<Action>, Option<MonoNs>) {
    let mut actions = Vec::new();
    let deadline = schedule.poll(at, events.iter().copied(), &mut actions);
    (actions, deadline)
}

fn sends(actions: &[Action]) -> Vec<Dispatch> {
    let send = |action: &Action| if let Action::Send(dispatch) = action { Some(*dispatch) } else { None };
    actions.iter().filter_map(send).collect()
}

/// What is sent at an instant: session and turn.
fn sent(schedule: &mut Schedule, at: MonoNs, events: &[Event]) -> Vec<(u64, u32)> {
    sends(&poll(schedule, at, events).0).iter().map(|dispatch| (dispatch.session, dispatch.turn)).collect()
}

fn answered(session: u64, turn: u32) -> Event {
    Event::Returned { session, turn, end: RequestEnd::Answered, at: READ_AT_ONCE }
}

fn counts(schedule: &Schedule) -> PhaseProgress {
    schedule.running().last().map(|(_, counts, ..)| *counts).expect("a phase is running")
}

/// Goes from deadline to deadline up to an instant; what was sent.
fn run_until(schedule: &mut Schedule, until: MonoNs) -> Vec<Dispatch> {
    let (mut now, mut all) = (START, Vec::new());
    loop {
        let (actions, deadline) = poll(schedule, now, &[]);
        all.extend(sends(&actions));
        match deadline.filter(|deadline| *deadline <= until) {
            Some(deadline) => now = deadline,
            None => return all,
        }
    }
}

#[test]
fn the_first_request_of_a_rate_goes_out_one_interval_after_the_start() {
    let mut schedule = schedule(vec![rate(10.0, StopWhen::Requests(3))], Shapes::single(9));
    let instants: Vec<u64> =
        run_until(&mut schedule, at(1000)).iter().map(|dispatch| since_start(dispatch.intended)).collect();
    assert_eq!(instants, [100, 200, 300]);
}

#[test]
fn a_hold_delays_the_ticks_of_a_rate_and_drops_none() {
    let mut schedule = schedule(vec![rate(10.0, StopWhen::Requests(30))], Shapes::single(9));
    poll(&mut schedule, START, &[]);
    assert_eq!(poll(&mut schedule, at(50), &[Event::Hold]).1, None, "nothing is to be done while held");
    assert_eq!(sent(&mut schedule, at(450), &[]), []);
    let late = sends(&poll(&mut schedule, at(1050), &[Event::Release]).0);
    let intended: Vec<u64> = late.iter().map(|dispatch| since_start(dispatch.intended)).collect();
    assert_eq!(intended, [100, 200, 300, 400, 500, 600, 700, 800, 900, 1000]);
    assert_eq!((counts(&schedule).offered, counts(&schedule).missed), (10, 0));
}

#[test]
fn a_rate_that_must_not_catch_up_goes_on_from_where_it_is_and_reports_how_far_it_slipped() {
    let timing = TimingPlan { max_catchup: Some(Nanos::from_millis(10)), ..TimingPlan::default() };
    let phases = vec![rate(10.0, StopWhen::Requests(30))];
    let mut schedule = Schedule::new(Setup { timing, ..setup(phases, Shapes::single(9)) });
    poll(&mut schedule, START, &[]);
    assert_eq!(sends(&poll(&mut schedule, at(105), &[]).0)[0].intended, at(100), "this late it catches up");
    let (actions, deadline) = poll(&mut schedule, at(555), &[]);
    assert_eq!(sends(&actions).iter().map(|dispatch| dispatch.intended).collect::<Vec<_>>(), [at(555)]);
    assert_eq!(deadline, Some(at(655)));
    assert_eq!(counts(&schedule).slip, Nanos::from_millis(355));
}

#[test]
fn ticks_that_find_no_slot_for_a_new_session_are_missed_and_counted() {
    let plan = PhasePlan { concurrency: Some(1), ..rate(10.0, StopWhen::Requests(30)) };
    let mut schedule = schedule(vec![plan], Shapes::single(9));
    assert_eq!(run_until(&mut schedule, at(500)).len(), 1);
    assert_eq!((counts(&schedule).offered, counts(&schedule).missed), (5, 4));
    assert_eq!(sent(&mut schedule, at(550), &[answered(0, 0)]), [], "a slot that comes free waits for its tick");
    assert_eq!(sent(&mut schedule, at(600), &[]), [(1, 0)]);
}

/// How a phase stood when it stopped sending.
fn sending_complete(actions: &[Action]) -> PhaseProgress {
    let counts = |action: &Action| if let Action::SendingComplete(_, counts) = action { Some(*counts) } else { None };
    actions.iter().find_map(counts).expect("the phase sends no more")
}

/// Offered, sent, held back by the client, waiting for a slot.
fn fates(counts: PhaseProgress) -> (u64, u64, u64, u64) {
    (counts.offered, counts.sent, counts.unsent_held, counts.unsent_waiting)
}

#[test]
fn ticks_due_while_held_when_the_time_is_up_are_counted_as_kept_back_by_the_client() {
    let mut schedule = schedule(vec![rate(10.0, StopWhen::Elapsed(Nanos::from_millis(1000)))], Shapes::single(9));
    assert_eq!(run_until(&mut schedule, at(300)).len(), 3);
    poll(&mut schedule, at(310), &[Event::Hold]);
    let counts = sending_complete(&poll(&mut schedule, at(1000), &[]).0);
    assert_eq!(fates(counts), (9, 3, 6, 0), "the tick at the very end is none");
}

#[test]
fn ticks_due_while_held_are_counted_when_the_run_is_stopped() {
    let mut schedule = schedule(vec![rate(10.0, StopWhen::Requests(30))], Shapes::single(9));
    poll(&mut schedule, START, &[Event::Hold]);
    let counts = sending_complete(&poll(&mut schedule, at(500), &[Event::Stop]).0);
    assert_eq!(fates(counts), (5, 0, 5, 0));
}

#[test]
fn no_more_is_counted_as_unsent_than_the_counts_of_a_phase_allow() {
    let stop = vec![StopWhen::Requests(3), StopWhen::Elapsed(Nanos::from_millis(1000))];
    let mut schedule = schedule(vec![PhasePlan { stop, ..rate(10.0, StopWhen::Requests(3)) }], Shapes::single(9));
    poll(&mut schedule, START, &[Event::Hold]);
    let counts = sending_complete(&poll(&mut schedule, at(1000), &[]).0);
    assert_eq!(fates(counts), (3, 0, 3, 0));
}

#[test]
fn recorded_starts_that_wait_for_a_session_slot_when_the_time_is_up_are_counted_as_waiting() {
    let shapes = recorded(&[&[100.0], &[110.0], &[120.0], &[900.0]]);
    let stop = vec![StopWhen::Elapsed(Nanos::from_millis(500))];
    let mut schedule = schedule(vec![PhasePlan { concurrency: Some(1), ..recording(stop) }], shapes);
    poll(&mut schedule, START, &[]);
    let counts = sending_complete(&poll(&mut schedule, at(500), &[]).0);
    assert_eq!(fates(counts), (3, 1, 0, 2));
}

#[test]
fn users_who_wait_for_a_session_slot_when_the_time_is_up_are_counted_as_waiting() {
    let arrival = Arrival::UserCentric { users: 2, rate: 2.0 };
    let stop = StopWhen::Elapsed(Nanos::from_millis(600));
    let plan = PhasePlan { concurrency: Some(1), ..plan(arrival, stop) };
    let mut schedule = schedule(vec![plan], turns(&[2, 2, 2, 2]));
    poll(&mut schedule, START, &[]);
    let counts = sending_complete(&poll(&mut schedule, at(600), &[]).0);
    assert_eq!(fates(counts), (2, 1, 0, 1));
}

#[test]
fn turns_parked_for_a_prefill_slot_when_the_time_is_up_are_counted_as_waiting() {
    let shapes = recorded(&[&[100.0], &[110.0], &[120.0]]);
    let stop = vec![StopWhen::Elapsed(Nanos::from_millis(500))];
    let mut schedule = schedule(vec![PhasePlan { prefill_concurrency: Some(1), ..recording(stop) }], shapes);
    poll(&mut schedule, START, &[]);
    let counts = sending_complete(&poll(&mut schedule, at(500), &[]).0);
    assert_eq!(fates(counts), (3, 1, 0, 2));
}

#[test]
fn a_tick_that_finds_all_sessions_begun_and_no_turn_due_is_idle() {
    let mut schedule = schedule(vec![rate(10.0, StopWhen::Sessions(1))], turns(&[2]));
    assert_eq!(run_until(&mut schedule, at(400)).len(), 1);
    assert_eq!((counts(&schedule).offered, counts(&schedule).idle), (1, 3));
}

#[test]
fn a_rate_far_above_its_slots_counts_what_it_misses_without_going_through_it() {
    let plan = PhasePlan { concurrency: Some(1), ..rate(1e9, StopWhen::Elapsed(Nanos::from_millis(60_000))) };
    let mut schedule = schedule(vec![plan], Shapes::single(9));
    poll(&mut schedule, START, &[]);
    let (actions, deadline) = poll(&mut schedule, at(1000), &[]);
    assert_eq!((sends(&actions).len(), deadline), (1, Some(MonoNs(at(1000).0 + 1))));
    assert_eq!(counts(&schedule).missed, 999_999_999);
    let counts = sending_complete(&poll(&mut schedule, at(60_000), &[]).0);
    assert_eq!(fates(counts), (59_999_999_999, 1, 0, 0));
}

#[test]
fn many_late_ticks_go_out_a_part_at_a_time_and_all_before_the_phase_ends() {
    let plan = rate(10_000.0, StopWhen::Elapsed(Nanos::from_millis(1000)));
    let mut schedule = schedule(vec![plan], Shapes::single(9));
    poll(&mut schedule, START, &[]);
    let (actions, deadline) = poll(&mut schedule, at(1100), &[]);
    assert_eq!((sends(&actions).len(), deadline), (1024, Some(at(1100))), "the caller gets to read answers between");
    let mut sent = 1024;
    let counts = loop {
        let actions = poll(&mut schedule, at(1100), &[]).0;
        sent += sends(&actions).len();
        if actions.iter().any(|action| matches!(action, Action::SendingComplete(..))) {
            break sending_complete(&actions);
        }
    };
    assert_eq!((sent, fates(counts)), (9999, (9999, 9999, 0, 0)));
}

#[test]
fn a_turn_that_waits_for_a_prefill_slot_does_not_stop_the_ticks() {
    let plan = PhasePlan { prefill_concurrency: Some(1), ..rate(10.0, StopWhen::Requests(30)) };
    let mut schedule = schedule(vec![plan], turns(&[2, 2, 2]));
    let content = |session, turn| Event::FirstContent { session, turn };
    poll(&mut schedule, START, &[]);
    assert_eq!(sent(&mut schedule, at(100), &[]), [(0, 0)]);
    assert_eq!(sent(&mut schedule, at(120), &[content(0, 0)]), []);
    assert_eq!(sent(&mut schedule, at(200), &[]), [(1, 0)]);
    assert_eq!(sent(&mut schedule, at(250), &[answered(0, 0)]), []);
    let (actions, deadline) = poll(&mut schedule, at(300), &[]);
    assert_eq!((sends(&actions).len(), deadline), (0, Some(at(400))), "its tick came, and it waits");
    assert_eq!(sent(&mut schedule, at(400), &[]), []);
    assert_eq!(counts(&schedule).missed, 1, "the tick of a new session");
    let freed = sends(&poll(&mut schedule, at(430), &[content(1, 0)]).0);
    assert_eq!(freed.len(), 1);
    assert_eq!((freed[0].session, freed[0].turn, freed[0].intended), (0, 1, at(300)));
}

#[test]
fn a_closed_loop_is_never_late_for_a_slot_that_was_not_free() {
    let limits = (Some(2), Some(1));
    let plan = plan(Arrival::Concurrency, StopWhen::Sessions(2));
    let plan = PhasePlan { concurrency: limits.0, prefill_concurrency: limits.1, ..plan };
    let mut schedule = schedule(vec![plan], turns(&[2]));
    assert_eq!(sent(&mut schedule, START, &[]), [(0, 0)]);
    assert_eq!(sent(&mut schedule, at(10), &[Event::FirstContent { session: 0, turn: 0 }]), [(1, 0)]);
    assert_eq!(poll(&mut schedule, at(20), &[answered(0, 0)]), (vec![], None), "it wakes when the slot comes free");
    let next = sends(&poll(&mut schedule, at(30), &[answered(1, 0)]).0);
    assert_eq!((next[0].session, next[0].turn, next[0].intended), (0, 1, at(30)));
}

#[test]
fn the_delay_of_a_turn_counts_from_the_end_of_the_response_and_not_from_when_it_was_read() {
    let delayed = TurnShape { delay: Some(Nanos::from_millis(50)), timestamp_ms: None };
    let shapes = Shapes::listed(vec![Shape { turns: vec![TurnShape::default(), delayed], branches: Vec::new() }]);
    let mut schedule = schedule(vec![plan(Arrival::Concurrency, StopWhen::Sessions(1))], shapes);
    poll(&mut schedule, START, &[]);
    let read_late = Event::Returned { session: 0, turn: 0, end: RequestEnd::Answered, at: at(100) };
    assert_eq!(poll(&mut schedule, at(120), &[read_late]).1, Some(at(150)));
    assert_eq!(sends(&poll(&mut schedule, at(151), &[]).0)[0].intended, at(150));
}

#[test]
fn a_recording_is_replayed_once_in_order_by_its_own_clock() {
    let shapes = recorded(&[&[300.0, 350.0], &[50.0], &[300.0]]);
    let mut schedule = schedule(vec![recording(vec![])], shapes);
    let (first, deadline) = poll(&mut schedule, START, &[]);
    let first = sends(&first)[0];
    assert_eq!((first.conversation, first.intended), (1, START), "what was before zero goes out at once");
    assert_eq!((first.identity, first.scheduled_send_ms), (Identity::Conversation, Some(50.0)));
    assert_eq!(deadline, Some(at(200)));
    let second = sends(&poll(&mut schedule, at(200), &[]).0);
    assert_eq!(second.iter().map(|dispatch| dispatch.conversation).collect::<Vec<_>>(), [0, 2]);
    let (_, deadline) = poll(&mut schedule, at(210), &[answered(1, 0), answered(0, 0)]);
    assert_eq!(deadline, Some(at(250)));
    let last = poll(&mut schedule, at(250), &[]).0;
    assert_eq!(sends(&last)[0].scheduled_send_ms, Some(350.0));
    assert!(matches!(last[1], Action::SendingComplete(..)), "it ends by itself");
}

#[test]
fn a_count_caps_a_recording() {
    let shapes = recorded(&[&[100.0], &[200.0], &[300.0]]);
    let mut schedule = schedule(vec![recording(vec![StopWhen::Requests(2)])], shapes);
    assert_eq!(run_until(&mut schedule, at(1000)).len(), 2);
}

#[test]
fn what_waits_for_a_slot_is_capped_as_well() {
    let shapes = recorded(&[&[100.0], &[100.0], &[100.0], &[100.0]]);
    let plan = PhasePlan { prefill_concurrency: Some(2), ..recording(vec![StopWhen::Requests(3)]) };
    let mut schedule = schedule(vec![plan], shapes);
    assert_eq!(sent(&mut schedule, START, &[]), [(0, 0), (1, 0)]);
    let contents = [0, 1].map(|session| Event::FirstContent { session, turn: 0 });
    assert_eq!(sent(&mut schedule, at(1), &contents), [(2, 0)]);
}

#[test]
fn a_limit_delays_a_recording_and_never_keeps_a_session_from_going_on() {
    let shapes = recorded(&[&[100.0, 150.0], &[110.0], &[120.0]]);
    let plan = PhasePlan { concurrency: Some(1), ..recording(vec![]) };
    let mut schedule = schedule(vec![plan], shapes);
    assert_eq!(run_until(&mut schedule, at(40)).len(), 1);
    assert_eq!(sent(&mut schedule, at(60), &[answered(0, 0)]), [(0, 1)]);
    let next = sends(&poll(&mut schedule, at(80), &[answered(0, 1)]).0);
    assert_eq!((next[0].conversation, next[0].intended), (1, at(10)));
}

#[test]
fn users_are_known_by_their_numbers_and_are_replaced() {
    let arrival = Arrival::UserCentric { users: 2, rate: 2.0 };
    let mut schedule = schedule(vec![plan(arrival, StopWhen::Sessions(9))], turns(&[2, 2, 2, 2]));
    let sent = run_until(&mut schedule, at(2000));
    let seen: Vec<_> = sent.iter().map(|dispatch| (since_start(dispatch.intended), dispatch.identity)).collect();
    let user = Identity::User;
    assert_eq!(seen, [(0, user(3)), (500, user(2)), (1500, user(4)), (2000, user(5))]);
    let late = sends(&poll(&mut schedule, at(2100), &[answered(0, 0)]).0);
    assert_eq!((late[0].session, late[0].turn, late[0].intended), (0, 1, at(2100)), "who is late goes at once");
}

#[test]
fn a_warm_up_has_users_and_the_next_phase_has_its_own() {
    let users = |stop| plan(Arrival::UserCentric { users: 2, rate: 2.0 }, stop);
    let phases = vec![warmup(users(StopWhen::Requests(2))), users(StopWhen::Requests(2))];
    let mut schedule = schedule(phases, turns(&[2, 2, 2, 2, 2, 2, 2, 2]));
    let seen: Vec<_> = run_until(&mut schedule, at(600)).iter().map(|dispatch| dispatch.identity).collect();
    assert_eq!(seen, [Identity::User(3), Identity::User(2)]);
    let next = sends(&poll(&mut schedule, at(700), &[answered(0, 0), answered(1, 0)]).0);
    assert_eq!((next[0].number, next[0].identity, next[0].intended), (0, Identity::User(3), at(700)));
}

#[test]
fn what_is_given_up_on_purpose_is_given_up_in_profiling_phases_alone() {
    let delay = Nanos::from_millis(7);
    let plan = plan(Arrival::Concurrency, StopWhen::Requests(1));
    let plan = PhasePlan { cancellation: Some(Cancellation { rate_percent: 100.0, delay }), ..plan };
    let mut schedule = schedule(vec![warmup(plan.clone()), plan], Shapes::single(9));
    assert_eq!(sends(&poll(&mut schedule, START, &[]).0)[0].cancel_after, None);
    let profiling = sends(&poll(&mut schedule, at(1), &[answered(0, 0)]).0);
    assert_eq!(profiling[0].cancel_after, Some(delay));
}

#[test]
fn a_conversation_that_was_not_sent_is_left_to_the_next_phase() {
    let first = rate(10.0, StopWhen::Elapsed(Nanos::from_millis(250)));
    let phases = vec![warmup(first), plan(Arrival::Concurrency, StopWhen::Requests(1))];
    let mut schedule = schedule(phases, Shapes::single(9));
    run_until(&mut schedule, at(250));
    let next = sends(&poll(&mut schedule, at(300), &[answered(0, 0), answered(1, 0)]).0);
    assert_eq!((next[0].conversation, next[0].number), (2, 0));
}

#[test]
fn a_phase_without_a_gap_starts_beside_the_one_before_and_each_counts_its_own() {
    let one = |seamless| PhasePlan { seamless, ..plan(Arrival::Concurrency, StopWhen::Requests(1)) };
    let limit = Some(2);
    let phases = vec![one(false), PhasePlan { concurrency: limit, ..one(true) }];
    let mut schedule = schedule(phases, Shapes::single(9));
    let (actions, _) = poll(&mut schedule, START, &[]);
    assert_eq!(sends(&actions).iter().map(|dispatch| dispatch.phase.0).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(schedule.running().count(), 2);
    let (actions, _) = poll(&mut schedule, at(1), &[answered(1, 0)]);
    assert!(matches!(actions[..], [Action::Complete(PhaseIndex(1), _, counts)] if counts.completed == 1));
    let (actions, _) = poll(&mut schedule, at(2), &[answered(0, 0)]);
    assert!(matches!(actions[..], [Action::Complete(PhaseIndex(0), _, _), Action::Finished]));
}

#[test]
fn a_phase_waits_for_the_one_before_it_and_for_none_before_that() {
    let one =
        |seamless| PhasePlan { seamless, concurrency: Some(3), ..plan(Arrival::Concurrency, StopWhen::Requests(1)) };
    let mut schedule = schedule(vec![one(false), one(true), one(false)], Shapes::single(9));
    assert_eq!(sent(&mut schedule, START, &[]), [(0, 0), (1, 0)]);
    assert_eq!(sent(&mut schedule, at(1), &[answered(1, 0)]), [(2, 0)], "the first phase still waits for its answer");
    assert_eq!(schedule.running().map(|(index, ..)| index.0).collect::<Vec<_>>(), [0, 2]);
}

#[test]
fn a_warm_up_never_starts_beside_another_phase() {
    let one = plan(Arrival::Concurrency, StopWhen::Requests(1));
    let second = PhasePlan { seamless: true, concurrency: Some(2), ..warmup(one.clone()) };
    let mut schedule = schedule(vec![one, second], Shapes::single(9));
    assert_eq!(sent(&mut schedule, START, &[]).len(), 1);
}

#[test]
fn a_warm_up_waits_for_all_phases_before_it() {
    let one =
        |seamless| PhasePlan { seamless, concurrency: Some(3), ..plan(Arrival::Concurrency, StopWhen::Requests(1)) };
    let mut schedule = schedule(vec![one(false), one(true), warmup(one(false))], Shapes::single(9));
    assert_eq!(sent(&mut schedule, START, &[]), [(0, 0), (1, 0)]);
    assert_eq!(sent(&mut schedule, at(1), &[answered(1, 0)]), [], "the first phase still waits for its answer");
    assert_eq!(sent(&mut schedule, at(2), &[answered(0, 0)]), [(2, 0)]);
}

#[test]
fn slots_of_an_early_phase_count_under_a_later_limit_though_a_phase_between_had_none() {
    let one = plan(Arrival::Concurrency, StopWhen::Requests(2));
    let first = PhasePlan { concurrency: Some(2), ..one };
    let second = PhasePlan { seamless: true, ..rate(1000.0, StopWhen::Requests(1)) };
    let third = PhasePlan { seamless: true, ..first.clone() };
    let mut schedule = schedule(vec![first, second, third], Shapes::single(9));
    poll(&mut schedule, START, &[]);
    let (actions, _) = poll(&mut schedule, at(1), &[]);
    assert_eq!(sends(&actions).len(), 1, "the second phase sends, and the third finds both slots taken");
    assert_eq!(schedule.running().count(), 3);
    assert_eq!(sent(&mut schedule, at(2), &[answered(2, 0)]), [], "it had no slot that it could give back");
    assert_eq!(sent(&mut schedule, at(3), &[answered(0, 0)]).len(), 1);
    assert_eq!(sent(&mut schedule, at(4), &[answered(1, 0)]).len(), 1);
}

#[test]
fn a_session_that_its_phase_cuts_short_keeps_its_slot_until_the_phase_is_complete() {
    let first = PhasePlan { concurrency: Some(2), ..plan(Arrival::Concurrency, StopWhen::Requests(2)) };
    let second = PhasePlan { seamless: true, ..first.clone() };
    let mut schedule = schedule(vec![first, second], turns(&[3, 3, 3]));
    assert_eq!(sent(&mut schedule, START, &[]).len(), 2);
    assert_eq!(sent(&mut schedule, at(1), &[answered(0, 0)]).len(), 0);
    assert_eq!(sent(&mut schedule, at(2), &[answered(1, 0)]).len(), 2);
}

#[test]
fn too_many_failures_are_reported_once_and_end_the_run() {
    let plan = plan(Arrival::Concurrency, StopWhen::Requests(100));
    let plan = PhasePlan { failed_request_threshold: Some(0.2), concurrency: Some(4), ..plan };
    let mut schedule = schedule(vec![plan.clone(), plan], Shapes::single(9));
    poll(&mut schedule, START, &[]);
    let recorded = |answered, failed| Event::Recorded { phase: PhaseIndex(0), answered, failed };
    assert_eq!(poll(&mut schedule, at(1), &[recorded(7, 2)]).0, [], "nine records are too few");
    let (actions, _) = poll(&mut schedule, at(2), &[recorded(0, 5)]);
    let ended = Action::TooManyFailed { phase: PhaseIndex(0), records: 10, failed: 3 };
    assert_eq!(actions[0], ended);
    assert!(matches!(actions[1..], [Action::SendingComplete(..), Action::Cancel(PhaseIndex(0))]));
    let cancelled = |session| Event::Returned { session, turn: 0, end: RequestEnd::Cancelled, at: READ_AT_ONCE };
    let events = [recorded(0, 3), cancelled(0), cancelled(1), cancelled(2), cancelled(3)];
    let (actions, _) = poll(&mut schedule, at(3), &events);
    assert!(matches!(actions[..], [Action::Complete(_, end, _), Action::Finished] if end.stopped));
}

#[test]
fn a_phase_that_has_measured_enough_sends_no_more_and_waits_for_what_is_in_flight() {
    let first = PhasePlan { concurrency: Some(2), ..plan(Arrival::Concurrency, StopWhen::Requests(100)) };
    let mut schedule = schedule(vec![first.clone(), first], turns(&[3; 9]));
    assert_eq!(sent(&mut schedule, START, &[]).len(), 2);
    let enough = Event::Enough(PhaseIndex(0));
    let (actions, _) = poll(&mut schedule, at(1), &[answered(0, 0), enough]);
    assert!(matches!(actions[..], [Action::SendingComplete(PhaseIndex(0), counts)] if counts.sent == 2), "{actions:?}");
    let (actions, _) = poll(&mut schedule, at(2), &[answered(1, 0), enough]);
    assert!(
        matches!(actions[0], Action::Complete(_, end, counts) if end.enough && !end.stopped && counts.completed == 2)
    );
    assert!(matches!(actions[1], Action::Start(PhaseIndex(1))));
    assert_eq!(sends(&actions).len(), 2, "the next phase has its own count");
}

#[test]
fn a_rate_that_ends_early_leaves_nothing_unsent() {
    let mut schedule = schedule(vec![rate(10.0, StopWhen::Elapsed(Nanos::from_millis(60_000)))], Shapes::single(9));
    poll(&mut schedule, START, &[]);
    run_until(&mut schedule, at(1000));
    poll(&mut schedule, at(1050), &[Event::Hold]);
    let counts = sending_complete(&poll(&mut schedule, at(1950), &[Event::Enough(PhaseIndex(0))]).0);
    assert_eq!((counts.sent, counts.offered, counts.unsent_held), (10, 10, 0));
}

#[test]
fn a_phase_that_is_over_has_nothing_to_end_early() {
    let mut schedule = schedule(vec![plan(Arrival::Concurrency, StopWhen::Requests(1))], Shapes::single(9));
    poll(&mut schedule, START, &[]);
    let events = [Event::Enough(PhaseIndex(0)), Event::Enough(PhaseIndex(7)), answered(0, 0)];
    let (actions, _) = poll(&mut schedule, at(1), &events);
    assert!(matches!(actions[..], [Action::Complete(_, end, _), Action::Finished] if !end.enough), "{actions:?}");
}

#[test]
fn how_long_cancelled_requests_are_awaited_is_a_setting() {
    let timing = TimingPlan { cancel_drain: Nanos::from_millis(1500), ..TimingPlan::default() };
    let phases = vec![plan(Arrival::Concurrency, StopWhen::Requests(5))];
    let mut schedule = Schedule::new(Setup { timing, ..setup(phases, Shapes::single(9)) });
    poll(&mut schedule, START, &[]);
    assert_eq!(poll(&mut schedule, at(100), &[Event::Stop]).1, Some(at(1600)));
}

#[test]
fn sessions_take_turns_at_urls_and_keep_theirs() {
    let plan = PhasePlan { concurrency: Some(3), ..plan(Arrival::Concurrency, StopWhen::Sessions(3)) };
    let mut schedule = Schedule::new(Setup { urls: 2, ..setup(vec![plan], turns(&[2])) });
    let urls = |actions: &[Action]| sends(actions).iter().map(|dispatch| dispatch.url).collect::<Vec<_>>();
    assert_eq!(urls(&poll(&mut schedule, START, &[]).0), [0, 1, 0]);
    assert_eq!(urls(&poll(&mut schedule, at(1), &[answered(1, 0)]).0), [1]);
}
