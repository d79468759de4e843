//! The phases of a run as they go by.

use aiperf_types::{
    Nanos, PhaseId, PhaseKind, PhaseMoment, PhaseProgress, PhaseStage, PhaseStarted, PhaseTargets, Progress,
};
use std::sync::Arc;

/// How far one phase is.
#[derive(Clone, Debug)]
pub(crate) struct Phase {
    pub(crate) id: Arc<PhaseId>,
    pub(crate) targets: PhaseTargets,
    pub(crate) elapsed: Nanos,
    pub(crate) counts: PhaseProgress,
    pub(crate) records: u64,
    pub(crate) state: State,
    /// It had something to wait for when it stopped sending.
    pub(crate) had_grace: bool,
    started: Option<aiperf_types::MonoNs>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    Sending,
    /// It sends no more and waits for what is in flight.
    Grace,
    /// All requests came back; records are computed.
    Processing,
    Complete,
}

/// What ends a phase first, and how far it is: done, of how many, of what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Goal {
    pub(crate) done: f64,
    pub(crate) of: f64,
    pub(crate) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Requests,
    Sessions,
    Seconds,
}

impl Goal {
    pub(crate) fn share(self) -> f64 {
        share(self.done, self.of)
    }
}

/// A part of a whole, between 0 and 1; nothing of nothing is 0.
pub(crate) fn share(part: f64, all: f64) -> f64 {
    if all > 0.0 { (part / all).clamp(0.0, 1.0) } else { 0.0 }
}

impl Phase {
    fn new(id: Arc<PhaseId>, targets: PhaseTargets) -> Self {
        let (elapsed, counts) = (Nanos::ZERO, PhaseProgress::default());
        Self { id, targets, elapsed, counts, records: 0, state: State::Sending, had_grace: false, started: None }
    }

    /// Its stage, as the header names it.
    pub(crate) fn stage(&self) -> &'static str {
        match (self.state, self.id.kind) {
            (State::Sending, PhaseKind::Warmup) => "Warmup",
            (State::Sending, PhaseKind::Profiling) => "Profiling",
            (State::Grace, PhaseKind::Warmup) => "Warmup Grace",
            (State::Grace, PhaseKind::Profiling) => "Grace Period",
            (State::Processing | State::Complete, _) => "Records",
        }
    }

    /// Its own state, in words: a phase whose records are done is complete, whatever the run is about to do.
    pub(crate) fn status(&self) -> &'static str {
        match self.state {
            State::Processing => "Processing",
            State::Complete => "Complete",
            State::Sending | State::Grace => self.stage(),
        }
    }

    /// Whichever target is nearest; `None` where only a stop ends it.
    pub(crate) fn goal(&self) -> Option<Goal> {
        let PhaseTargets { requests, sessions, length, .. } = self.targets;
        let PhaseProgress { completed, sessions_completed, sessions_cancelled, .. } = self.counts;
        let goal = |done: f64, of: Option<f64>, what| Some(Goal { done: done.min(of?), of: of?, what });
        let goals = [
            goal(completed as f64, requests.map(|n| n as f64), What::Requests),
            goal((sessions_completed + sessions_cancelled) as f64, sessions.map(|n| n as f64), What::Sessions),
            goal(self.elapsed.as_secs_f64(), length.map(Nanos::as_secs_f64), What::Seconds),
        ];
        // The first wins among equals: requests, before anything ran.
        let further = |one: Goal, other: Goal| if other.share() > one.share() { other } else { one };
        goals.into_iter().flatten().reduce(further)
    }

    /// Requests that came back, or were given up.
    pub(crate) fn returned(&self) -> u64 {
        self.counts.completed + self.counts.cancelled
    }

    pub(crate) fn sent_share(&self) -> f64 {
        match self.state {
            State::Sending => self.goal().map_or(0.0, Goal::share),
            _ => 1.0,
        }
    }

    pub(crate) fn returned_share(&self) -> f64 {
        match self.state {
            State::Sending | State::Grace => share(self.returned() as f64, self.counts.sent as f64),
            _ => 1.0,
        }
    }

    /// Records of those that this phase will have: while it sends, of its requests; later, of those that came back.
    pub(crate) fn records_share(&self) -> f64 {
        match (self.state, self.targets.requests) {
            (State::Complete, _) => 1.0,
            (State::Sending, Some(requests)) => share(self.records as f64, requests as f64),
            (State::Sending, None) => {
                self.sent_share() * share(self.records as f64, self.counts.completed.max(1) as f64)
            }
            _ => share(self.records as f64, self.returned() as f64),
        }
    }

    /// How far the stage is that the header names.
    pub(crate) fn stage_share(&self) -> f64 {
        match self.state {
            State::Sending => self.sent_share(),
            State::Grace => self.returned_share(),
            State::Processing | State::Complete => self.records_share(),
        }
    }

    /// Requests that came back, a second.
    pub(crate) fn request_rate(&self) -> Option<f64> {
        self.a_second(self.counts.completed)
    }

    /// Records, a second.
    pub(crate) fn record_rate(&self) -> Option<f64> {
        self.a_second(self.records)
    }

    fn a_second(&self, count: u64) -> Option<f64> {
        let seconds = self.elapsed.as_secs_f64();
        (seconds > 0.0 && count > 0).then(|| count as f64 / seconds)
    }

    /// Seconds until it sends no more, at this pace.
    pub(crate) fn seconds_left(&self) -> Option<f64> {
        let elapsed = self.elapsed.as_secs_f64();
        let goal = self.goal()?;
        match goal.what {
            What::Seconds => Some((goal.of - goal.done).max(0.0)),
            _ => (goal.share() > 0.0).then(|| elapsed * (1.0 - goal.share()) / goal.share()),
        }
    }

    /// Seconds until its records are computed, at this pace.
    pub(crate) fn records_seconds_left(&self) -> Option<f64> {
        let rate = self.record_rate()?;
        Some(self.returned().saturating_sub(self.records) as f64 / rate)
    }

    /// Nothing goes back: a snapshot may be taken before a turning point and heard of after it.
    fn reach(&mut self, state: State) {
        self.state = self.state.max(state);
    }
}

/// All phases so far, in the order of their starts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Phases(Vec<Phase>);

impl Phases {
    pub(crate) fn start(&mut self, started: &PhaseStarted) {
        let phase = self.of(&started.phase, started.targets);
        phase.started = Some(started.at);
    }

    pub(crate) fn progress(&mut self, progress: &Progress) {
        let phase = self.of(&progress.phase, progress.targets);
        (phase.counts, phase.records) = (progress.counts, progress.records);
        if progress.stage < PhaseStage::Processing {
            phase.elapsed = progress.elapsed;
        }
        phase.reach(match progress.stage {
            PhaseStage::Sending => State::Sending,
            PhaseStage::Draining => State::Grace,
            PhaseStage::Processing => State::Processing,
        });
        phase.had_grace |= phase.state == State::Grace && phase.counts.in_flight() > 0;
    }

    /// A turning point.
    pub(crate) fn reach(&mut self, moment: &PhaseMoment, state: State) {
        let phase = self.of(&moment.phase, PhaseTargets::default());
        phase.counts = moment.counts;
        // Rates are those of the requests, however long their records take.
        if let Some(started) = phase.started.filter(|_| state <= State::Processing) {
            phase.elapsed = moment.at.since(started);
        }
        phase.had_grace |= state == State::Grace && phase.counts.in_flight() > 0;
        phase.reach(state);
        if state == State::Complete {
            phase.records = phase.records.max(phase.counts.completed);
        }
    }

    fn of(&mut self, id: &Arc<PhaseId>, targets: PhaseTargets) -> &mut Phase {
        let at = self.0.iter().position(|phase| phase.id.index == id.index);
        let at = at.unwrap_or_else(|| {
            self.0.push(Phase::new(id.clone(), targets));
            self.0.len() - 1
        });
        &mut self.0[at]
    }

    /// The one to show: the latest that sends; where none does, the latest that is not over; else the latest.
    pub(crate) fn current(&self) -> Option<&Phase> {
        let latest = |until: State| self.0.iter().rev().find(|phase| phase.state <= until);
        latest(State::Sending).or_else(|| latest(State::Processing)).or_else(|| self.0.last())
    }

    /// The latest of a kind.
    pub(crate) fn latest(&self, kind: PhaseKind) -> Option<&Phase> {
        self.0.iter().rev().find(|phase| phase.id.kind == kind)
    }

    /// Whether its kind alone does not say which one it is.
    pub(crate) fn has_several(&self, kind: PhaseKind) -> bool {
        self.0.iter().filter(|phase| phase.id.kind == kind).count() > 1
    }
}
