//! The progress of a phase: its targets, its state, the share that is done and the time that is left. The bar, the
//! dashboard and the API show the same values.

use aiperf_types::{
    MonoNs, Nanos, PhaseId, PhaseMoment, PhaseProgress, PhaseStage, PhaseStarted, PhaseTargets, Progress,
};
use std::sync::Arc;

/// The latest state of a phase.
#[derive(Clone, Debug)]
pub(crate) struct Phase {
    pub(crate) id: Arc<PhaseId>,
    pub(crate) targets: PhaseTargets,
    pub(crate) counts: PhaseProgress,
    pub(crate) records: u64,
    pub(crate) state: State,
    /// Whether requests were still in flight when its time was over.
    pub(crate) had_grace: bool,
    /// Since it started, until its requests were done.
    pub(crate) elapsed: Nanos,
    /// Since it started, including the time in which records are computed.
    elapsed_with_records: Nanos,
    /// Elapsed time and amount done at the start of the current state.
    began: (Nanos, u64),
    started: Option<MonoNs>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    /// It sends, or waits for the last responses to a number of requests: these are counted until they are back.
    Sending,
    /// Its time is over, and it waits for requests in flight.
    Grace,
    /// All requests are back; records are computed.
    Processing,
    Complete,
}

impl State {
    /// Only a phase that ends by time has a grace period.
    fn of(stage: PhaseStage, targets: &PhaseTargets, elapsed: Nanos) -> Self {
        match stage {
            PhaseStage::Draining if targets.length.is_some_and(|length| elapsed >= length) => Self::Grace,
            PhaseStage::Sending | PhaseStage::Draining => Self::Sending,
            PhaseStage::Processing => Self::Processing,
        }
    }
}

/// The target that ends a phase first, and its progress: done, total, unit.
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

/// A part of a whole, between 0 and 1; 0 if the whole is 0.
pub(crate) fn share(part: f64, all: f64) -> f64 {
    if all > 0.0 { (part / all).clamp(0.0, 1.0) } else { 0.0 }
}

impl Phase {
    pub(crate) fn new(id: Arc<PhaseId>, targets: PhaseTargets) -> Self {
        Self {
            id,
            targets,
            counts: PhaseProgress::default(),
            records: 0,
            state: State::Sending,
            had_grace: false,
            elapsed: Nanos::ZERO,
            elapsed_with_records: Nanos::ZERO,
            began: (Nanos::ZERO, 0),
            started: None,
        }
    }

    pub(crate) fn start(&mut self, started: &PhaseStarted) {
        self.started = Some(started.at);
    }

    pub(crate) fn update(&mut self, progress: &Progress) {
        (self.counts, self.records) = (progress.counts, progress.records);
        self.reach(State::of(progress.stage, &self.targets, progress.elapsed), Some(progress.elapsed));
    }

    /// Switches to another stage, or to the end.
    pub(crate) fn turn(&mut self, moment: &PhaseMoment, to: Option<PhaseStage>) {
        self.counts = moment.counts;
        let elapsed = self.started.map(|started| moment.at.since(started));
        let state = to.map(|stage| State::of(stage, &self.targets, elapsed.unwrap_or(self.elapsed)));
        self.reach(state.unwrap_or(State::Complete), elapsed);
        if self.state == State::Complete {
            self.records = self.records.max(self.counts.completed);
        }
    }

    /// Never goes back: a snapshot from before a switch may arrive after it.
    fn reach(&mut self, state: State, elapsed: Option<Nanos>) {
        let elapsed = elapsed.unwrap_or(Nanos::ZERO);
        // The clock of the requests stops at the last response, however long the records take.
        if self.state < State::Processing && state <= State::Processing {
            self.elapsed = self.elapsed.max(elapsed);
        }
        self.elapsed_with_records = self.elapsed_with_records.max(elapsed);
        if state > self.state {
            self.state = state;
            self.began = (self.elapsed_with_records, self.waited_for().0);
        }
        self.had_grace |= self.state == State::Grace && self.counts.in_flight() > 0;
    }

    /// The nearest target; `None` if only a stop ends the phase.
    pub(crate) fn goal(&self) -> Option<Goal> {
        let PhaseTargets { requests, sessions, length, .. } = self.targets;
        let goal = |done: f64, of: Option<f64>, what| Some(Goal { done: done.min(of?), of: of?, what });
        let goals = [
            goal(self.counts.completed as f64, requests.map(|n| n as f64), What::Requests),
            goal(self.sessions() as f64, sessions.map(|n| n as f64), What::Sessions),
            goal(self.elapsed.as_secs_f64(), length.map(Nanos::as_secs_f64), What::Seconds),
        ];
        // The first one wins among equals: before the start, that is requests.
        let further = |one: Goal, other: Goal| if other.share() > one.share() { other } else { one };
        goals.into_iter().flatten().reduce(further)
    }

    /// Sessions that ended.
    pub(crate) fn sessions(&self) -> u64 {
        self.counts.sessions_completed + self.counts.sessions_cancelled
    }

    /// Requests that came back or were cancelled.
    pub(crate) fn returned(&self) -> u64 {
        self.counts.completed + self.counts.cancelled
    }

    /// In a state that waits: the number that arrived, and the total.
    pub(crate) fn waited_for(&self) -> (u64, u64) {
        match self.state {
            State::Sending | State::Grace => (self.returned(), self.counts.sent),
            State::Processing | State::Complete => (self.records.min(self.returned()), self.returned()),
        }
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

    /// Share of the records of this phase: of its requests while it sends, later of those that came back.
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

    /// The share of its current state that is done.
    pub(crate) fn state_share(&self) -> f64 {
        match self.state {
            State::Sending => self.sent_share(),
            State::Grace => self.returned_share(),
            State::Processing | State::Complete => self.records_share(),
        }
    }

    /// Seconds in its current state.
    pub(crate) fn seconds(&self) -> f64 {
        (self.elapsed_with_records.as_secs_f64() - self.began.0.as_secs_f64()).max(0.0)
    }

    /// Seconds until its current state ends, at the pace so far.
    pub(crate) fn seconds_left(&self) -> Option<f64> {
        if self.state == State::Sending {
            return self.sending_seconds_left();
        }
        let (done, all) = self.waited_for();
        let came = done.saturating_sub(self.began.1);
        (came > 0).then(|| self.seconds() * all.saturating_sub(done) as f64 / came as f64)
    }

    fn sending_seconds_left(&self) -> Option<f64> {
        let (goal, elapsed) = (self.goal()?, self.elapsed.as_secs_f64());
        match (goal.what, goal.share()) {
            (What::Requests | What::Sessions, done) if done > 0.0 => Some(elapsed * (1.0 - done) / done),
            _ => self.targets.length.map(|length| (length.as_secs_f64() - elapsed).max(0.0)),
        }
    }

    /// Responses per second.
    pub(crate) fn request_rate(&self) -> Option<f64> {
        a_second(self.counts.completed, self.elapsed)
    }

    /// Records per second.
    pub(crate) fn record_rate(&self) -> Option<f64> {
        a_second(self.records, self.elapsed_with_records)
    }
}

fn a_second(count: u64, time: Nanos) -> Option<f64> {
    let seconds = time.as_secs_f64();
    (seconds > 0.0 && count > 0).then(|| count as f64 / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_types::PhaseKind;

    fn phase(targets: PhaseTargets) -> Phase {
        let id = PhaseId { index: 0, profiling_index: Some(0), name: "x".into(), kind: PhaseKind::Profiling };
        let mut phase = Phase::new(Arc::new(id), targets);
        phase.started = Some(MonoNs(0));
        phase
    }

    fn progress(of: &Phase, millis: u64, stage: PhaseStage, (sent, completed): (u64, u64), records: u64) -> Progress {
        Progress {
            phase: of.id.clone(),
            targets: of.targets,
            elapsed: Nanos::from_millis(millis),
            counts: PhaseProgress { sent, completed, ..PhaseProgress::default() },
            stage,
            records,
            workers: Arc::default(),
        }
    }

    fn moment(of: &Phase, millis: u64, counts: PhaseProgress) -> PhaseMoment {
        PhaseMoment { phase: of.id.clone(), at: MonoNs(millis * 1_000_000), counts }
    }

    fn hundred() -> PhaseTargets {
        PhaseTargets { requests: Some(100), concurrency: Some(100), ..PhaseTargets::default() }
    }

    #[test]
    fn a_number_of_requests_is_counted_until_the_last_is_back() {
        let mut phase = phase(hundred());
        let sent = PhaseProgress { sent: 100, ..PhaseProgress::default() };
        phase.turn(&moment(&phase, 5, sent), Some(PhaseStage::Draining));
        phase.update(&progress(&phase, 100, PhaseStage::Draining, (100, 0), 0));
        assert_eq!((phase.state, phase.sent_share(), phase.had_grace), (State::Sending, 0.0, false));
        phase.update(&progress(&phase, 1000, PhaseStage::Draining, (100, 25), 20));
        assert_eq!((phase.state, phase.state_share(), phase.seconds_left()), (State::Sending, 0.25, Some(3.0)));
    }

    #[test]
    fn grace_begins_when_the_time_is_over() {
        let length = Some(Nanos::from_millis(10_000));
        let mut phase = phase(PhaseTargets { length, ..hundred() });
        phase.update(&progress(&phase, 4000, PhaseStage::Draining, (100, 25), 20));
        assert_eq!(phase.state, State::Sending, "all requests are sent, and there is time left");
        phase.update(&progress(&phase, 10_000, PhaseStage::Draining, (100, 60), 60));
        assert_eq!((phase.state, phase.had_grace), (State::Grace, true));
        phase.update(&progress(&phase, 11_000, PhaseStage::Draining, (100, 80), 70));
        assert_eq!((phase.state_share(), phase.seconds_left()), (0.8, Some(1.0)));
    }

    #[test]
    fn records_have_a_clock_that_goes_on() {
        let mut phase = phase(hundred());
        phase.update(&progress(&phase, 10_000, PhaseStage::Sending, (100, 90), 30));
        let counts = PhaseProgress { sent: 100, completed: 100, ..PhaseProgress::default() };
        phase.turn(&moment(&phase, 10_000, counts), Some(PhaseStage::Processing));
        phase.update(&progress(&phase, 20_000, PhaseStage::Processing, (100, 100), 80));
        assert_eq!((phase.elapsed, phase.request_rate()), (Nanos::from_millis(10_000), Some(10.0)));
        assert_eq!(phase.record_rate(), Some(4.0), "80 records in 20 seconds");
        assert_eq!(phase.seconds_left(), Some(4.0), "20 are left, and 50 took ten seconds");
        phase.turn(&moment(&phase, 25_000, counts), None);
        assert_eq!((phase.state, phase.records, phase.record_rate()), (State::Complete, 100, Some(4.0)));
    }
}
