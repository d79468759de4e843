//! The phases in order, and the one verb: [`Schedule::poll`].

use crate::message::{Action, Dispatch, Event};
use crate::phase::{Phase, PhaseState};
use aiperf_plan::PhasePlan;
use aiperf_types::{MonoNs, PhaseIndex, PhaseProgress};

/// The load of a run.
#[derive(Debug)]
pub struct Schedule {
    plans: Vec<PhasePlan>,
    /// Phases that start only when they are told to.
    gated: fn(&PhasePlan) -> bool,
    gate: Gate,
    current: Option<Phase>,
    next: usize,
    /// Draws of the dataset so far; phases share it.
    drawn: u64,
    sessions: u64,
    held: bool,
    stopping: bool,
    finished: bool,
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
    pub fn new(plans: Vec<PhasePlan>) -> Self {
        Self {
            plans,
            gated: |_| false,
            gate: Gate::default(),
            current: None,
            next: 0,
            drawn: 0,
            sessions: 0,
            held: false,
            stopping: false,
            finished: false,
        }
    }

    /// The same, whose phases of a kind start only after it asked and was told that they may.
    #[must_use]
    pub fn asking_before(mut self, gated: fn(&PhasePlan) -> bool) -> Self {
        self.gated = gated;
        self
    }

    /// Takes what happened up to `now`, appends what to do, and says when to be asked again.
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
        self.current.as_ref().and_then(Phase::next_deadline)
    }

    /// The phase now running, its counters and its start.
    pub fn running(&self) -> Option<(PhaseIndex, &PhaseProgress, PhaseState, MonoNs)> {
        let phase = self.current.as_ref()?;
        Some((self.index(), phase.counts(), phase.state(), phase.started()))
    }

    fn index(&self) -> PhaseIndex {
        PhaseIndex(self.next.saturating_sub(1) as u16)
    }

    fn take(&mut self, now: MonoNs, event: Event, actions: &mut Vec<Action>) {
        match event {
            Event::Returned { phase, end } => {
                // A request that comes back after its phase gave it up changes nothing.
                if phase == self.index()
                    && let Some(current) = &mut self.current
                {
                    current.count_returned(end);
                }
            }
            Event::Hold => self.held = true,
            Event::Release => self.held = false,
            Event::MayStart => self.gate = Gate::Open,
            Event::Stop if self.stopping => {}
            Event::Stop => {
                self.stopping = true;
                let index = self.index();
                if let Some(phase) = &mut self.current {
                    if phase.state() == PhaseState::Sending {
                        actions.push(Action::SendingComplete(index, *phase.counts()));
                    }
                    phase.stop(now);
                    actions.push(Action::Cancel(index));
                }
            }
        }
    }

    /// One move; `true` while there are more.
    fn advance(&mut self, now: MonoNs, actions: &mut Vec<Action>) -> bool {
        if self.finished {
            return false;
        }
        let index = self.index();
        let Some(phase) = &mut self.current else {
            return self.start_next(now, actions);
        };
        match phase.advance(now) {
            Some(PhaseState::Draining) => actions.push(Action::SendingComplete(index, *phase.counts())),
            Some(PhaseState::Cancelling) => actions.push(Action::Cancel(index)),
            Some(PhaseState::Complete) => {
                actions.push(Action::Complete(index, phase.end(), *phase.counts()));
                self.current = None;
            }
            Some(PhaseState::Sending) => {}
            None if !self.held && phase.may_send() => {
                let number = phase.count_sent();
                let (draw, session) = (self.drawn, self.sessions);
                self.drawn += 1;
                self.sessions += 1;
                actions.push(Action::Send(Dispatch { phase: index, number, session, draw, intended: now }));
            }
            None => return false,
        }
        true
    }

    fn start_next(&mut self, now: MonoNs, actions: &mut Vec<Action>) -> bool {
        let plan = if self.stopping { None } else { self.plans.get(self.next) };
        match plan {
            Some(plan) if (self.gated)(plan) && self.gate != Gate::Open => {
                let is_new = self.gate == Gate::NotAsked;
                if is_new {
                    self.gate = Gate::Asked;
                    actions.push(Action::AskToStart(PhaseIndex(self.next as u16)));
                }
                return is_new;
            }
            Some(plan) => {
                self.gate = Gate::NotAsked;
                self.current = Some(Phase::start(plan.clone(), now));
                self.next += 1;
                actions.push(Action::Start(self.index()));
            }
            None => {
                self.finished = true;
                actions.push(Action::Finished);
            }
        }
        true
    }
}
