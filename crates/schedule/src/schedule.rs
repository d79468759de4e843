//! The phases in order, and the one verb: [`Schedule::poll`].

use crate::message::{Action, Dispatch, Event, Identity};
use crate::phase::{Phase, PhaseState};
use crate::sampler::Sampler;
use aiperf_plan::{PhasePlan, Plan, TimingPlan};
use aiperf_types::{MonoNs, PhaseIndex, PhaseProgress, Shapes};
use std::collections::HashMap;
use std::sync::Arc;

/// What a schedule is made from.
#[derive(Clone, Debug)]
pub struct Setup {
    pub phases: Vec<PhasePlan>,
    /// The conversations, at least one.
    pub shapes: Arc<Shapes>,
    /// How many URLs sessions take turns at, at least one.
    pub urls: u32,
    pub sampler: Sampler,
    pub draws: aiperf_plan::Draws,
    pub timing: TimingPlan,
    /// Whether phases start only after the schedule asked and was told that they may.
    pub asks_hooks: bool,
}

impl Setup {
    /// For a plan over these conversations.
    pub fn of(plan: &Plan, shapes: Arc<Shapes>) -> Self {
        let draws = plan.draws();
        Self {
            phases: plan.phases.clone(),
            urls: plan.endpoint.urls.len().max(1) as u32,
            sampler: Sampler::new(plan.sampling, shapes.len(), &draws),
            shapes,
            draws,
            timing: plan.timing,
            asks_hooks: false,
        }
    }
}

/// The load of a run.
#[derive(Debug)]
pub struct Schedule {
    setup: Setup,
    gate: Gate,
    current: Option<Phase>,
    next: usize,
    /// Draws of the dataset so far; phases share it.
    drawn: u64,
    sessions: u64,
    /// Phase by session.
    live: HashMap<u64, PhaseIndex>,
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
    pub fn new(setup: Setup) -> Self {
        Self {
            setup,
            gate: Gate::default(),
            current: None,
            next: 0,
            drawn: 0,
            sessions: 0,
            live: HashMap::new(),
            held: false,
            stopping: false,
            finished: false,
        }
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

    /// The phases now running, first the one that started first: counters, state and start.
    pub fn running(&self) -> impl Iterator<Item = (PhaseIndex, &PhaseProgress, PhaseState, MonoNs)> {
        self.current.iter().map(|phase| (self.index(), phase.counts(), phase.state(), phase.started()))
    }

    fn index(&self) -> PhaseIndex {
        PhaseIndex(self.next.saturating_sub(1) as u16)
    }

    fn take(&mut self, now: MonoNs, event: Event, actions: &mut Vec<Action>) {
        match event {
            Event::Returned { session, end, .. } => {
                // A request that comes back after its phase gave it up changes nothing.
                if self.live.remove(&session).is_some_and(|phase| phase == self.index())
                    && let Some(current) = &mut self.current
                {
                    current.count_returned(end);
                }
            }
            Event::FirstContent { .. } | Event::Recorded { .. } => {}
            Event::Hold => self.held = true,
            Event::Release => self.held = false,
            Event::HooksAnswered(_) => self.gate = Gate::Open,
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
                self.live.insert(session, index);
                let conversation = self.setup.sampler.conversation(draw);
                actions.push(Action::Send(Dispatch {
                    phase: index,
                    number,
                    session,
                    identity: Identity::Drawn,
                    conversation,
                    turn: 0,
                    turns: self.setup.shapes.turns(conversation),
                    url: (session % u64::from(self.setup.urls)) as u32,
                    intended: now,
                    cancel_after: None,
                    tells_first_content: false,
                    scheduled_send_ms: None,
                }));
            }
            None => return false,
        }
        true
    }

    fn start_next(&mut self, now: MonoNs, actions: &mut Vec<Action>) -> bool {
        let plan = if self.stopping { None } else { self.setup.phases.get(self.next) };
        match plan {
            Some(_) if self.setup.asks_hooks && self.gate != Gate::Open => {
                let is_new = self.gate == Gate::NotAsked;
                if is_new {
                    self.gate = Gate::Asked;
                    actions.push(Action::AskHooks(PhaseIndex(self.next as u16)));
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
