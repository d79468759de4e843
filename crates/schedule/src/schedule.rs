//! The phases in order, and the one verb: [`Schedule::poll`].

use crate::arrivals::{Arrivals, Ending, arrivals};
use crate::dispatcher::Dispatcher;
use crate::failures::FailureCount;
use crate::message::{Action, Event, RequestEnd};
use crate::phase::{Phase, PhaseState};
use crate::sessions::Sessions;
use crate::setup::Setup;
use crate::slots::Slots;
use aiperf_plan::{PhasePlan, WaitsFor};
use aiperf_types::{MonoNs, PhaseIndex, PhaseProgress};

/// The load of a run.
#[derive(Debug)]
pub struct Schedule {
    setup: Setup,
    gate: Gate,
    /// Phases that are not complete, first the one that started first. Only the last may be sending.
    running: Vec<Running>,
    next: usize,
    /// Draws of the dataset so far; phases share it.
    drawn: u64,
    sessions: Sessions,
    slots: Slots,
    /// By phase: records may come after a phase is complete.
    failures: Vec<FailureCount>,
    held: bool,
    stopping: bool,
    finished: bool,
}

#[derive(Debug)]
struct Running {
    phase: Phase,
    /// There while it is sending.
    arrivals: Option<Box<dyn Arrivals>>,
}

/// Whether the next phase may start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Gate {
    #[default]
    NotAsked,
    Asked,
    Open,
}

impl Schedule {
    /// A schedule that has not started.
    pub fn new(setup: Setup) -> Self {
        Self {
            failures: setup.phases.iter().map(FailureCount::of).collect(),
            setup,
            gate: Gate::default(),
            running: Vec::new(),
            next: 0,
            drawn: 0,
            sessions: Sessions::default(),
            slots: Slots::default(),
            held: false,
            stopping: false,
            finished: false,
        }
    }

    /// Takes what happened up to `now`, appends what to do, and returns when to be polled again.
    pub fn poll(
        &mut self,
        now: MonoNs,
        events: impl IntoIterator<Item = Event>,
        actions: &mut Vec<Action>,
    ) -> Option<MonoNs> {
        for event in events {
            self.take(now, event, actions);
        }
        while self.advance(now, actions) {}
        self.next_deadline(now)
    }

    /// The phases now running, first the one that started first: counters, state and start.
    pub fn running(&self) -> impl Iterator<Item = (PhaseIndex, &PhaseProgress, PhaseState, MonoNs)> {
        self.running.iter().map(|Running { phase, .. }| (phase.index(), phase.counts(), phase.state(), phase.started()))
    }

    /// The slots as they are now.
    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    fn take(&mut self, now: MonoNs, event: Event, actions: &mut Vec<Action>) {
        match event {
            Event::Returned { session, turn, end, at } => self.take_back(at.min(now), session, turn, end),
            Event::FirstContent { session, turn } => {
                if let Some(live) = self.sessions.in_flight(session, turn)
                    && let Some(running) = running_phase(&mut self.running, live.phase)
                    && let Some(prefill) = live.prefill.take()
                {
                    self.slots.prefills.give_back(prefill);
                    running.phase.count_prefill_released();
                }
            }
            Event::Recorded { phase, answered, failed } => {
                let count = self.failures.get_mut(usize::from(phase.0));
                let past = count.and_then(|count| count.add_run(answered, failed));
                if let Some((records, failed)) = past.filter(|_| !self.stopping) {
                    actions.push(Action::TooManyFailed { phase, records, failed });
                    self.stop(now, actions);
                }
            }
            Event::Enough(phase) => {
                if let Some(running) = running_phase(&mut self.running, phase) {
                    running.phase.end_sending();
                }
            }
            Event::Hold => self.held = true,
            Event::Release => self.held = false,
            Event::HooksDone(phase) => {
                if self.gate == Gate::Asked && usize::from(phase.0) == self.next {
                    self.gate = Gate::Open;
                }
            }
            Event::Stop => self.stop(now, actions),
        }
    }

    fn stop(&mut self, now: MonoNs, actions: &mut Vec<Action>) {
        if std::mem::replace(&mut self.stopping, true) {
            return;
        }
        self.slots.stop_climbing();
        let (is_held, has_free_session) = (self.held, self.slots.sessions.has_free());
        for Running { phase, arrivals } in &mut self.running {
            let before = phase.state();
            if let Some(mut arrivals) = arrivals.take() {
                let by = phase.last_due(now);
                let shapes = &self.setup.shapes;
                arrivals.count_unsent(by, &mut Ending { phase, shapes, is_held, has_free_session });
            }
            phase.stop(now);
            if before == PhaseState::Sending {
                actions.push(Action::SendingComplete(phase.index(), *phase.counts()));
            }
            if before != PhaseState::Cancelling {
                actions.push(Action::Cancel(phase.index()));
            }
        }
    }

    /// A request came back, whose response ended then. One that its phase gave up, or that came back before, changes
    /// nothing.
    fn take_back(&mut self, ended: MonoNs, number: u64, turn: u32, end: RequestEnd) {
        let Some(session) = self.sessions.in_flight(number, turn) else { return };
        let Some(Running { phase, arrivals }) = running_phase(&mut self.running, session.phase) else { return };
        session.is_in_flight = false;
        let is_last = session.is_at_last_turn();
        phase.count_returned(end, is_last);
        if let Some(prefill) = session.prefill.take() {
            self.slots.prefills.give_back(prefill);
            phase.count_prefill_released();
        }
        match arrivals {
            Some(arrivals) if !is_last && end != RequestEnd::Cancelled => {
                session.turn += 1;
                arrivals.turn_back(number, session, &self.setup.shapes, ended);
            }
            // A session that its phase cuts short keeps its slot until the phase is complete: slots of unfinished
            // sessions come free with the last return of their phase, and a phase beside it counts on no more than
            // that.
            None if !is_last => {}
            _ => {
                phase.count_cut(session.turns.saturating_sub(session.turn + 1));
                if let Some(closed) = self.sessions.close(number) {
                    self.slots.sessions.give_back(closed.slot);
                }
            }
        }
    }

    /// One round of moves; `true` while there may be more.
    fn advance(&mut self, now: MonoNs, actions: &mut Vec<Action>) -> bool {
        if self.finished {
            return false;
        }
        let mut has_moved = false;
        for at in 0..self.running.len() {
            has_moved |= self.advance_phase(at, now, actions);
        }
        if has_moved {
            self.running.retain(|running| running.phase.state() != PhaseState::Complete);
        }
        self.start_next(now, actions) || has_moved
    }

    /// Takes a phase as far as it goes now; `true` if its state has changed.
    fn advance_phase(&mut self, at: usize, now: MonoNs, actions: &mut Vec<Action>) -> bool {
        let mut has_moved = self.send_late(at, now, actions);
        if self.is_behind(at, now) {
            return has_moved;
        }
        loop {
            let Running { phase, arrivals } = &mut self.running[at];
            let index = phase.index();
            match phase.advance(now) {
                Some(PhaseState::Draining) => {
                    if let Some(mut arrivals) = arrivals.take() {
                        let (shapes, has_free_session) = (&self.setup.shapes, self.slots.sessions.has_free());
                        let by = phase.last_due(now);
                        let is_held = self.held;
                        arrivals.count_unsent(by, &mut Ending { phase, shapes, is_held, has_free_session });
                    }
                    self.slots.stop_climbing();
                    actions.push(Action::SendingComplete(index, *phase.counts()));
                }
                Some(PhaseState::Cancelling) => actions.push(Action::Cancel(index)),
                Some(PhaseState::Complete) => {
                    let slots = &mut self.slots;
                    self.sessions.close_phase(index, |session| {
                        slots.sessions.give_back(session.slot);
                        if let Some(prefill) = session.prefill {
                            slots.prefills.give_back(prefill);
                        }
                    });
                    actions.push(Action::Complete(index, phase.end(), *phase.counts()));
                }
                Some(PhaseState::Sending) => {}
                None => {
                    if !self.send_due(at, now, actions) {
                        return has_moved;
                    }
                }
            }
            has_moved = true;
        }
    }

    /// Sends what is due by an instant; `true` if that ends the sending.
    fn send_due(&mut self, at: usize, now: MonoNs, actions: &mut Vec<Action>) -> bool {
        let Running { phase, arrivals: Some(arrivals) } = &mut self.running[at] else { return false };
        self.slots.climb(now);
        if self.held {
            return false;
        }
        arrivals.send_due(&mut Dispatcher {
            now,
            phase,
            setup: &self.setup,
            slots: &mut self.slots,
            sessions: &mut self.sessions,
            drawn: &mut self.drawn,
            actions,
        });
        phase.is_met()
    }

    /// Sends what was due before the time of a phase was up, where that is seen late: the number of requests is that of
    /// the plan, not of how soon this machine woke up.
    fn send_late(&mut self, at: usize, now: MonoNs, actions: &mut Vec<Action>) -> bool {
        let phase = &self.running[at].phase;
        let last = phase.last_due(now);
        !phase.is_closed_loop() && last < now && self.send_due(at, last, actions)
    }

    /// Whether the time of a phase is up and more was due before than is sent in one go.
    fn is_behind(&self, at: usize, now: MonoNs) -> bool {
        let Running { phase, arrivals: Some(arrivals) } = &self.running[at] else { return false };
        let last = phase.last_due(now);
        let is_late = last < now && !self.held && !phase.is_met();
        is_late && arrivals.next_due(last).is_some_and(|due| due <= last)
    }

    fn start_next(&mut self, now: MonoNs, actions: &mut Vec<Action>) -> bool {
        let next = self.setup.phases.get(self.next).filter(|_| !self.stopping);
        let Some(plan) = next else {
            self.finished = self.running.is_empty();
            if self.finished {
                actions.push(Action::Finished);
            }
            return false;
        };
        if !self.may_follow(plan) {
            return false;
        }
        let index = PhaseIndex(self.next as u16);
        if self.setup.asks_hooks && self.gate != Gate::Open {
            if self.gate == Gate::NotAsked {
                self.gate = Gate::Asked;
                actions.push(Action::AskHooks(index));
            }
            return false;
        }
        self.gate = Gate::NotAsked;
        self.next += 1;
        self.slots.begin(index, plan, &self.setup.draws, now);
        let (arrivals, targets) = arrivals(index, plan, &self.setup, &mut self.drawn, now);
        let cancel_drain = self.setup.timing.cancel_drain;
        let phase = Phase::start(index, plan.clone(), targets, &self.setup.draws, cancel_drain, now);
        self.running.push(Running { phase, arrivals: Some(arrivals) });
        actions.push(Action::Start(index));
        true
    }

    /// Whether the phases before are far enough for this one.
    fn may_follow(&self, plan: &PhasePlan) -> bool {
        let before = self.running.last().filter(|running| usize::from(running.phase.index().0) + 1 == self.next);
        match plan.waits_for() {
            WaitsFor::All => self.running.is_empty(),
            WaitsFor::OneBefore => before.is_none(),
            WaitsFor::SendingOfOneBefore => before.is_none_or(|running| running.phase.state() != PhaseState::Sending),
        }
    }

    fn next_deadline(&self, now: MonoNs) -> Option<MonoNs> {
        let of_phase = |running: &Running| {
            let arrivals = running.arrivals.as_ref();
            let due = arrivals.filter(|_| !self.held).and_then(|arrivals| arrivals.next_due(now));
            let step = arrivals.and_then(|_| self.slots.next_step());
            [running.phase.next_deadline(), due, step].into_iter().flatten().min()
        };
        self.running.iter().filter_map(of_phase).min().map(|at| at.max(now))
    }
}

fn running_phase(running: &mut [Running], index: PhaseIndex) -> Option<&mut Running> {
    running.iter_mut().find(|running| running.phase.index() == index)
}
