//! Phases of every kind against a server that answers in any order, twice, for no request, or never: what always holds.

use aiperf_plan::{
    Arrival, ArrivalLaw, Cancellation, Draws, PhasePlan, Ramp, RampStrategy, RatePlan, Sampling, ScheduleZero,
    StopWhen, TimingPlan,
};
use aiperf_schedule::{Action, Dispatch, Event, OrderId, RequestEnd, Sampler, Schedule, Setup, most_draws};
use aiperf_types::{MonoNs, Nanos, PhaseIndex, PhaseKind, PhaseProgress, Shape, Shapes, TurnShape};
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

fn millis(range: std::ops::Range<u64>) -> impl Strategy<Value = Nanos> {
    range.prop_map(Nanos::from_millis)
}

fn arrivals() -> impl Strategy<Value = Arrival> {
    let law = prop_oneof![
        Just(ArrivalLaw::Constant),
        Just(ArrivalLaw::Poisson),
        (0.3..3.0).prop_map(|smoothness| ArrivalLaw::Gamma { smoothness }),
    ];
    let rate =
        (1.0..50.0, prop::option::of(ramps())).prop_map(|(rate, ramp)| RatePlan { ramp, ..RatePlan::fixed(rate) });
    prop_oneof![
        2 => Just(Arrival::Concurrency),
        2 => (law, rate).prop_map(|(law, rate)| Arrival::Rate { law, rate }),
        1 => (1u32..5, 1.0..30.0).prop_map(|(users, rate)| Arrival::UserCentric { users, rate }),
        1 => Just(Arrival::FixedSchedule { zero: ScheduleZero::First }),
        1 => (0.0..500.0).prop_map(|zero| Arrival::FixedSchedule { zero: ScheduleZero::At(zero) }),
    ]
}

fn ramps() -> impl Strategy<Value = Ramp> {
    let strategy =
        prop_oneof![Just(RampStrategy::Linear), Just(RampStrategy::Exponential), Just(RampStrategy::Poisson)];
    (millis(1..2000), strategy).prop_map(|(duration, strategy)| Ramp { duration, strategy })
}

fn stops() -> impl Strategy<Value = Vec<StopWhen>> {
    let requests = (1u64..40).prop_map(StopWhen::Requests);
    let sessions = (1u64..15).prop_map(StopWhen::Sessions);
    let elapsed = millis(20..3000).prop_map(StopWhen::Elapsed);
    (prop::option::of(requests), prop::option::of(sessions), prop::option::of(elapsed)).prop_map(
        |(requests, sessions, elapsed)| {
            let stop: Vec<StopWhen> = [requests, sessions, elapsed].into_iter().flatten().collect();
            if stop.is_empty() { vec![StopWhen::Requests(20)] } else { stop }
        },
    )
}

fn phases() -> impl Strategy<Value = PhasePlan> {
    let limits = (prop::option::of(1u32..5), prop::option::of(1u32..4));
    let climbs = (prop::option::of(ramps()), prop::option::of(ramps()));
    let cancellation =
        (1.0..100.0, millis(0..100)).prop_map(|(rate_percent, delay)| Cancellation { rate_percent, delay });
    let end = (stops(), prop::option::of(millis(0..800)), prop::option::of(cancellation));
    (arrivals(), limits, climbs, end, any::<bool>(), any::<bool>(), prop::option::of(0.1..0.9)).prop_map(
        |(arrival, limits, climbs, (stop, grace, cancellation), seamless, is_warmup, threshold)| {
            let kind = if is_warmup { PhaseKind::Warmup } else { PhaseKind::Profiling };
            PhasePlan {
                concurrency: limits.0,
                concurrency_ramp: climbs.0,
                prefill_concurrency: limits.1,
                prefill_ramp: climbs.1,
                stop,
                grace,
                seamless,
                cancellation,
                failed_request_threshold: threshold,
                ..PhasePlan::new(kind, arrival)
            }
        },
    )
}

fn shapes() -> impl Strategy<Value = Shapes> {
    let turn = (prop::option::of(millis(0..300)), prop::option::of(0.0..1500.0))
        .prop_map(|(delay, timestamp_ms)| TurnShape { delay, timestamp_ms });
    let shape = prop::collection::vec(turn, 1..5).prop_map(|turns| Shape { turns, branches: Vec::new() });
    prop::collection::vec(shape, 1..6).prop_map(Shapes::listed)
}

fn setups() -> impl Strategy<Value = Setup> {
    let sampling = prop_oneof![Just(Sampling::Sequential), Just(Sampling::Shuffle), Just(Sampling::Random)];
    let catchup = prop::option::of(millis(0..50));
    let parts = (prop::collection::vec(phases(), 1..5), shapes(), sampling, 1u32..4, catchup, any::<bool>());
    parts.prop_map(|(phases, shapes, sampling, urls, max_catchup, asks_hooks)| {
        let draws = Draws::new(Some(1), "");
        let sampler = Sampler::new(sampling, shapes.len(), &draws);
        let timing = TimingPlan { max_catchup, ..TimingPlan::default() };
        Setup { phases, shapes: Arc::new(shapes), urls, sampler, draws, timing, asks_hooks }
    })
}

/// What the server, the user or the clock does next; `which` chooses among what there is.
#[derive(Clone, Copy, Debug)]
enum Move {
    Return {
        which: usize,
        fails: bool,
    },
    ReturnTwice {
        which: usize,
    },
    FirstContent {
        which: usize,
    },
    /// Of all requests, in one poll.
    FirstContents,
    ReturnOfNobody {
        session: u64,
        turn: u32,
    },
    /// To the deadline, or this share of the way there.
    Wait {
        share: f64,
    },
    Record {
        phase: u16,
        answered: u64,
        failed: u64,
    },
    Enough {
        phase: u16,
    },
    Hold,
    Release,
    Stop,
}

fn moves() -> impl Strategy<Value = Move> {
    prop_oneof![
        20 => (any::<prop::sample::Index>(), prop::bool::weighted(0.2))
            .prop_map(|(which, fails)| Move::Return { which: which.index(1000), fails }),
        2 => (0usize..1000).prop_map(|which| Move::ReturnTwice { which }),
        8 => (0usize..1000).prop_map(|which| Move::FirstContent { which }),
        2 => Just(Move::FirstContents),
        2 => (0u64..60, 0u32..4).prop_map(|(session, turn)| Move::ReturnOfNobody { session, turn }),
        20 => Just(Move::Wait { share: 1.0 }),
        5 => (0.0..1.5).prop_map(|share| Move::Wait { share }),
        1 => (0u16..6, 0u64..9, 0u64..3).prop_map(|(phase, answered, failed)| Move::Record { phase, answered, failed }),
        1 => (0u16..6).prop_map(|phase| Move::Enough { phase }),
        1 => Just(Move::Hold),
        2 => Just(Move::Release),
        1 => prop::bool::weighted(0.05).prop_map(|stops| if stops { Move::Stop } else { Move::Release }),
    ]
}

/// What is known of a phase from outside.
#[derive(Debug, Default)]
struct Watched {
    started: Option<MonoNs>,
    sends_no_more: bool,
    is_cancelled: bool,
    complete: Option<PhaseProgress>,
    sent: u64,
    sessions: u64,
    back: u64,
}

/// A request in flight.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    dispatch: Dispatch,
    waits_for_content: bool,
    sent: MonoNs,
}

/// A session that was begun and is not over: its phase, and its next turn.
#[derive(Clone, Copy, Debug)]
struct Live {
    phase: PhaseIndex,
    next_turn: u32,
    conversation: u32,
    url: u32,
}

struct Watch {
    setup: Setup,
    schedule: Schedule,
    now: MonoNs,
    deadline: Option<MonoNs>,
    phases: Vec<Watched>,
    in_flight: BTreeMap<u64, InFlight>,
    live: HashMap<u64, Live>,
    is_held: bool,
    is_stopped: bool,
    asked: Option<PhaseIndex>,
    is_finished: bool,
}

impl Watch {
    fn new(setup: Setup) -> Self {
        Self {
            phases: setup.phases.iter().map(|_| Watched::default()).collect(),
            schedule: Schedule::new(setup.clone()),
            setup,
            now: MonoNs(1_000),
            deadline: None,
            in_flight: BTreeMap::new(),
            live: HashMap::new(),
            is_held: false,
            is_stopped: false,
            asked: None,
            is_finished: false,
        }
    }

    fn poll(&mut self, events: impl IntoIterator<Item = Event>) {
        let mut actions = Vec::new();
        self.deadline = self.schedule.poll(self.now, events, &mut actions);
        actions.into_iter().for_each(|action| self.see(action));
        assert!(self.deadline.is_none_or(|at| at > self.now), "a deadline that has passed");
        let mut more = Vec::new();
        let again = self.schedule.poll(self.now, None, &mut more);
        assert_eq!((more, again), (Vec::new(), self.deadline), "asking again changes something");
        if let Some(phase) = self.asked.take() {
            self.poll(Some(Event::HooksDone(phase)));
        }
    }

    fn see(&mut self, action: Action) {
        assert!(!self.is_finished || matches!(action, Action::TooManyFailed { .. }), "{action:?} after the end");
        match action {
            Action::AskHooks(phase) => self.asked = Some(phase),
            Action::Start(phase) => {
                assert!(!self.is_stopped, "a phase starts after a stop");
                let at = usize::from(phase.0);
                assert!(self.phases[..at].iter().all(|before| before.sends_no_more), "two phases send");
                assert!(self.phases[at].started.replace(self.now).is_none());
            }
            Action::Send(dispatch) => self.see_send(dispatch),
            Action::SendingComplete(phase, counts) => {
                let is_open = self.setup.phases[usize::from(phase.0)].arrival != Arrival::Concurrency;
                let phase = &mut self.phases[usize::from(phase.0)];
                assert!(!std::mem::replace(&mut phase.sends_no_more, true));
                assert_eq!((counts.sent, counts.sessions_sent), (phase.sent, phase.sessions));
                let unsent = counts.missed + counts.unsent_held + counts.unsent_waiting;
                match is_open {
                    true => assert_eq!(counts.offered, counts.sent + unsent, "{counts:?}"),
                    false => assert_eq!((counts.offered, unsent), (0, 0)),
                }
            }
            Action::Cancel(phase) => {
                assert!(!std::mem::replace(&mut self.phases[usize::from(phase.0)].is_cancelled, true));
            }
            Action::TooManyFailed { records, failed, .. } => {
                assert!(failed <= records && !self.is_stopped);
                self.is_stopped = true;
            }
            Action::Complete(index, end, counts) => {
                let phase = &mut self.phases[usize::from(index.0)];
                assert!(phase.sends_no_more && phase.complete.replace(counts).is_none());
                assert_eq!(counts.completed + counts.cancelled, phase.back);
                assert_eq!(counts.sent, phase.back + end.lost);
                assert!(counts.missed <= counts.offered);
                self.live.retain(|_, live| live.phase != index);
                self.in_flight.retain(|_, sent| sent.dispatch.phase != index);
            }
            Action::Finished => self.is_finished = true,
        }
    }

    fn see_send(&mut self, dispatch: Dispatch) {
        let at = usize::from(dispatch.phase.0);
        let (plan, phase) = (&self.setup.phases[at], &mut self.phases[at]);
        assert!(!self.is_held && !self.is_stopped && !phase.sends_no_more, "{dispatch:?} must not be sent");
        assert!(phase.started.is_some_and(|started| started <= dispatch.intended) && dispatch.intended <= self.now);
        assert_eq!(dispatch.number, phase.sent);
        phase.sent += 1;
        phase.sessions += u64::from(dispatch.turn == 0);
        assert!(plan.requests().is_none_or(|most| phase.sent <= most));
        assert!(plan.sessions().is_none_or(|most| phase.sessions <= most));
        assert!(plan.kind == PhaseKind::Profiling || dispatch.cancel_after.is_none(), "a warm-up gives nothing up");
        assert!(dispatch.turn < dispatch.turns && dispatch.turns <= self.setup.shapes.turns(dispatch.conversation));
        if dispatch.draw.order == OrderId::Sampled {
            let most = most_draws(&self.setup.phases);
            assert!(most.is_none_or(|most| dispatch.draw.position < most), "a draw that is not foreseen");
        }
        let new = Live { phase: dispatch.phase, next_turn: 0, conversation: dispatch.conversation, url: dispatch.url };
        let live = match dispatch.turn {
            0 => {
                assert!(self.live.insert(dispatch.session, new).is_none());
                self.live.get_mut(&dispatch.session)
            }
            _ => self.live.get_mut(&dispatch.session),
        };
        let live = live.expect("a turn of a session that was begun");
        assert_eq!((live.phase, live.next_turn), (dispatch.phase, dispatch.turn), "turns go in order");
        assert_eq!((live.conversation, live.url), (dispatch.conversation, dispatch.url));
        live.next_turn += 1;
        let waits_for_content = dispatch.awaits_first_content;
        assert_eq!(waits_for_content, plan.prefill_concurrency.is_some());
        let before = self.in_flight.insert(dispatch.session, InFlight { dispatch, waits_for_content, sent: self.now });
        assert!(before.is_none(), "turns go one at a time");
        self.check_slots(&self.setup.phases[at], dispatch);
    }

    /// What was begun under a limit, by whichever phase, counts under that of the phase that sends.
    fn check_slots(&self, plan: &PhasePlan, dispatch: Dispatch) {
        let is_limited = |phase: PhaseIndex| {
            let plan = &self.setup.phases[usize::from(phase.0)];
            plan.concurrency.is_some() || plan.arrival == Arrival::Concurrency
        };
        let sessions = self.live.values().filter(|live| is_limited(live.phase)).count();
        if dispatch.turn == 0 {
            assert!(plan.concurrency.is_none_or(|limit| sessions <= limit as usize), "{sessions} sessions");
        }
        let prefills = self.in_flight.values().filter(|sent| sent.waits_for_content).count();
        assert!(plan.prefill_concurrency.is_none_or(|limit| prefills <= limit as usize), "{prefills} prefills");
    }

    fn return_one(&mut self, session: u64, fails: bool) {
        let Some(InFlight { dispatch, sent, .. }) = self.in_flight.remove(&session) else { return };
        let phase = &mut self.phases[usize::from(dispatch.phase.0)];
        phase.back += 1;
        let end = match (phase.is_cancelled, fails) {
            (true, _) => RequestEnd::Cancelled,
            (false, true) => RequestEnd::Failed,
            (false, false) => RequestEnd::Answered,
        };
        if dispatch.is_last() {
            self.live.remove(&session);
        }
        // Read as late as can be: a response that ended when its request went out.
        let at = if fails { sent } else { self.now };
        self.poll(Some(Event::Returned { session, turn: dispatch.turn, end, at }));
    }

    fn chosen(&self, which: usize) -> Option<u64> {
        let count = self.in_flight.len();
        (count > 0).then(|| self.in_flight.keys().nth(which % count).copied()).flatten()
    }

    fn act(&mut self, step: Move) {
        match step {
            Move::Return { which, fails } => {
                if let Some(session) = self.chosen(which) {
                    self.return_one(session, fails);
                }
            }
            Move::ReturnTwice { which } => {
                if let Some(session) = self.chosen(which) {
                    let turn = self.in_flight[&session].dispatch.turn;
                    self.return_one(session, false);
                    if self.in_flight.get(&session).is_none_or(|sent| sent.dispatch.turn != turn) {
                        self.poll(Some(Event::Returned { session, turn, end: RequestEnd::Answered, at: self.now }));
                    }
                }
            }
            Move::FirstContent { which } => {
                if let Some(session) = self.chosen(which)
                    && let Some(sent) = self.in_flight.get_mut(&session)
                {
                    sent.waits_for_content = false;
                    let turn = sent.dispatch.turn;
                    self.poll(Some(Event::FirstContent { session, turn }));
                }
            }
            Move::FirstContents => {
                let content = |(session, sent): (&u64, &mut InFlight)| {
                    sent.waits_for_content = false;
                    Event::FirstContent { session: *session, turn: sent.dispatch.turn }
                };
                let events: Vec<Event> = self.in_flight.iter_mut().map(content).collect();
                self.poll(events);
            }
            Move::ReturnOfNobody { session, turn } => {
                if self.in_flight.get(&session).is_none_or(|sent| sent.dispatch.turn != turn) {
                    self.poll(Some(Event::Returned { session, turn, end: RequestEnd::Answered, at: self.now }));
                }
            }
            Move::Wait { share } => self.wait(share),
            Move::Record { phase, answered, failed } => {
                self.poll(Some(Event::Recorded { phase: PhaseIndex(phase), answered, failed }));
            }
            Move::Enough { phase } => self.poll([Event::Enough(PhaseIndex(phase))]),
            Move::Hold => {
                self.is_held = true;
                self.poll(Some(Event::Hold));
            }
            Move::Release => {
                self.is_held = false;
                self.poll(Some(Event::Release));
            }
            Move::Stop => {
                let was_stopped = std::mem::replace(&mut self.is_stopped, true);
                self.poll((!was_stopped).then_some(Event::Stop));
            }
        }
    }

    /// Nothing happens before the deadline.
    fn wait(&mut self, share: f64) {
        let Some(deadline) = self.deadline else { return };
        let length = deadline.since(self.now).0 as f64 * share;
        let until = self.now.plus(Nanos(length.round() as u64));
        if until < deadline {
            let mut actions = Vec::new();
            let next = self.schedule.poll(until, None, &mut actions);
            assert_eq!((actions, next), (Vec::new(), Some(deadline)), "something happens before its time");
        }
        self.now = until;
        self.poll(None);
    }

    /// From here on every request comes back.
    fn finish(&mut self) {
        self.act(Move::Release);
        let mut steps = 0;
        while !self.is_finished {
            match self.chosen(steps) {
                Some(session) if steps % 3 != 0 => self.return_one(session, false),
                Some(session) if self.deadline.is_none() => self.return_one(session, false),
                _ => {
                    assert!(self.deadline.is_some(), "the run waits for nothing");
                    self.wait(1.0);
                }
            }
            steps += 1;
            assert!(steps < 100_000, "the run does not end");
        }
        let slots = self.schedule.slots();
        assert_eq!((slots.sessions.limit(), slots.prefills.limit()), (slots.sessions.free(), slots.prefills.free()));
        assert_eq!(self.schedule.running().count(), 0);
        assert!(self.is_stopped || self.phases.iter().all(|phase| phase.complete.is_some()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn whatever_happens_slots_counts_and_order_hold_and_the_run_ends(
        setup in setups(), steps in prop::collection::vec(moves(), 0..150),
    ) {
        let mut watch = Watch::new(setup);
        watch.poll(None);
        for step in steps {
            if watch.is_finished {
                break;
            }
            watch.act(step);
        }
        watch.finish();
    }
}
