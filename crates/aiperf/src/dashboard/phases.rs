//! The phases of a run.

use crate::phase_progress::{Phase, State};
use aiperf_types::{PhaseId, PhaseKind, PhaseMoment, PhaseStage, PhaseStarted, PhaseTargets, Progress};
use std::sync::Arc;

/// The stage of a phase, for the header.
pub(crate) fn stage(phase: &Phase) -> &'static str {
    match (phase.state, phase.id.kind) {
        (State::Sending, PhaseKind::Warmup) => "Warmup",
        (State::Sending, PhaseKind::Profiling) => "Profiling",
        (State::Grace, PhaseKind::Warmup) => "Warmup Grace",
        (State::Grace, PhaseKind::Profiling) => "Grace Period",
        (State::Processing | State::Complete, _) => "Records",
    }
}

/// The state of a phase, as text. A phase whose records are done is complete, whatever the run does next.
pub(crate) fn status(phase: &Phase) -> &'static str {
    match phase.state {
        State::Processing => "Processing",
        State::Complete => "Complete",
        State::Sending | State::Grace => stage(phase),
    }
}

/// All started phases, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Phases(Vec<Phase>);

impl Phases {
    pub(crate) fn start(&mut self, started: &PhaseStarted) {
        self.of(&started.phase, started.targets).start(started);
    }

    pub(crate) fn progress(&mut self, progress: &Progress) {
        self.of(&progress.phase, progress.targets).update(progress);
    }

    /// Switches to another stage, or to the end.
    pub(crate) fn turn(&mut self, moment: &PhaseMoment, to: Option<PhaseStage>) {
        self.of(&moment.phase, PhaseTargets::default()).turn(moment, to);
    }

    fn of(&mut self, id: &Arc<PhaseId>, targets: PhaseTargets) -> &mut Phase {
        let at = self.0.iter().position(|phase| phase.id.index == id.index);
        let at = at.unwrap_or_else(|| {
            self.0.push(Phase::new(id.clone(), targets));
            self.0.len() - 1
        });
        &mut self.0[at]
    }

    /// The phase to show: the latest that sends, otherwise the latest that is not over, otherwise the latest.
    pub(crate) fn current(&self) -> Option<&Phase> {
        let latest = |until: State| self.0.iter().rev().find(|phase| phase.state <= until);
        latest(State::Sending).or_else(|| latest(State::Processing)).or_else(|| self.0.last())
    }

    /// The latest phase of a kind.
    pub(crate) fn latest(&self, kind: PhaseKind) -> Option<&Phase> {
        self.0.iter().rev().find(|phase| phase.id.kind == kind)
    }

    /// Whether there are several phases of this kind, so that the kind does not identify one.
    pub(crate) fn has_several(&self, kind: PhaseKind) -> bool {
        self.0.iter().filter(|phase| phase.id.kind == kind).count() > 1
    }
}
