//! The state of the run at this moment: a function of its events.

use super::final_results::FinalResults;
use crate::dashboard::Workers;
use crate::phase_progress::Phase;
use aiperf_plan::redact::Redactor;
use aiperf_report::RunIds;
use aiperf_types::{
    GpuSnapshot, LogLevel, Message, MetricSnapshot, MetricsSnapshot, MonoNs, Nanos, PhaseId, PhaseKind, PhaseMoment,
    PhaseStage, PhaseTargets, RunEvent, ServerSnapshot, Source, WallAnchor, WallNs,
};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

/// Warnings and errors kept for clients that connect later.
const KEPT_MESSAGES: usize = 50;

/// The state of the run as a whole, in the order of its stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SystemState {
    Configuring,
    Ready,
    Profiling,
    Processing,
    Stopping,
}

impl SystemState {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Configuring => "configuring",
            Self::Ready => "ready",
            Self::Profiling => "profiling",
            Self::Processing => "processing",
            Self::Stopping => "stopping",
        }
    }
}

pub(super) struct Live {
    pub(super) phases: Vec<LivePhase>,
    /// Over all profiling phases so far.
    pub(super) metrics: Option<Arc<MetricsSnapshot>>,
    pub(super) server: Option<Arc<ServerSnapshot>>,
    pub(super) gpus: Option<Arc<GpuSnapshot>>,
    pub(super) workers: Workers,
    pub(super) sources: Vec<LiveSource>,
    pub(super) messages: VecDeque<Message>,
    pub(super) state: SystemState,
    pub(super) outcome: Option<FinalResults>,
    /// Since the API started.
    pub(super) now: Nanos,
    anchor: Option<WallAnchor>,
    planned_phases: usize,
    ids: RunIds,
    redactor: Arc<Redactor>,
}

/// The latest state of a phase, with the times of its stages.
pub(super) struct LivePhase {
    pub(super) phase: Phase,
    pub(super) started: Option<MonoNs>,
    pub(super) sent_end: Option<MonoNs>,
    pub(super) requests_end: Option<MonoNs>,
    pub(super) records_end: Option<MonoNs>,
}

/// A source of measurements that responded at some time.
pub(super) struct LiveSource {
    pub(super) source: Source,
    pub(super) is_reachable: bool,
}

impl Live {
    pub(super) fn new(planned_phases: usize, ids: RunIds, redactor: Arc<Redactor>) -> Self {
        Self {
            phases: Vec::new(),
            metrics: None,
            server: None,
            gpus: None,
            workers: Workers::default(),
            sources: Vec::new(),
            messages: VecDeque::new(),
            state: SystemState::Configuring,
            outcome: None,
            now: Nanos::ZERO,
            anchor: None,
            planned_phases,
            ids,
            redactor,
        }
    }

    /// Forgets the previous run when the next one starts. Its messages stay.
    pub(super) fn begin(&mut self, planned_phases: usize, ids: RunIds) {
        let messages = std::mem::take(&mut self.messages);
        *self = Self { messages, ..Self::new(planned_phases, ids, self.redactor.clone()) };
    }

    /// The name of a worker in the records, so that both can be joined.
    pub(super) fn worker_id(&self, number: usize) -> String {
        self.ids.worker_id(number as u16)
    }

    /// Takes an event that was received at this time.
    pub(super) fn take(&mut self, event: &RunEvent, now: Nanos) {
        self.now = now;
        match event {
            RunEvent::RunStarted(run) => {
                self.anchor = Some(run.anchor);
                self.reach(SystemState::Ready);
            }
            RunEvent::PhaseStarted(started) => {
                let phase = self.of(&started.phase, started.targets);
                phase.started = Some(started.at);
                phase.phase.start(started);
                self.reach(SystemState::Profiling);
            }
            RunEvent::SendingComplete(moment) => {
                self.turn(moment, Some(PhaseStage::Draining)).sent_end = Some(moment.at);
            }
            RunEvent::RequestsDone(moment) => {
                self.turn(moment, Some(PhaseStage::Processing)).requests_end = Some(moment.at);
                if self.is_last(&moment.phase) {
                    self.reach(SystemState::Processing);
                }
            }
            RunEvent::PhaseComplete(moment) => self.turn(moment, None).records_end = Some(moment.at),
            RunEvent::Progress(progress) => {
                self.of(&progress.phase, progress.targets).phase.update(progress);
                self.workers.progress(&progress.workers, now);
            }
            RunEvent::Metrics(snapshot) if snapshot.kind == PhaseKind::Profiling => {
                self.metrics = Some(snapshot.clone());
            }
            RunEvent::ServerMetrics(snapshot) => self.server = Some(snapshot.clone()),
            RunEvent::GpuMetrics(snapshot) => self.gpus = Some(snapshot.clone()),
            RunEvent::SourceFound { source, .. } => self.source(source, true),
            RunEvent::SourceLost { source, .. } => self.source(source, false),
            RunEvent::Message(message) if matters(message) => {
                self.messages.push_back(self.shown(message));
                if self.messages.len() > KEPT_MESSAGES {
                    self.messages.pop_front();
                }
            }
            _ => {}
        }
    }

    /// The run is over.
    pub(super) fn end(&mut self, outcome: FinalResults) {
        self.outcome = Some(outcome);
        self.reach(SystemState::Stopping);
    }

    /// The metrics so far; once the run is over, the final ones.
    pub(super) fn metrics(&self) -> &[MetricSnapshot] {
        let last = self.outcome.as_ref().map(|outcome| &outcome.metrics[..]).filter(|last| !last.is_empty());
        last.or(self.metrics.as_ref().map(|snapshot| &snapshot.metrics[..])).unwrap_or_default()
    }

    /// A text without secrets.
    pub(super) fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.redactor.hide(text)
    }

    /// A message without secrets.
    pub(super) fn shown(&self, message: &Message) -> Message {
        Message { text: self.hide(&message.text).into(), ..message.clone() }
    }

    /// The wall time of an instant; `None` before the run started.
    pub(super) fn wall(&self, at: MonoNs) -> Option<WallNs> {
        self.anchor.map(|anchor| anchor.wall(at))
    }

    pub(super) fn has_started(&self) -> bool {
        self.anchor.is_some()
    }

    /// Whether no phase follows.
    pub(super) fn is_last(&self, phase: &PhaseId) -> bool {
        usize::from(phase.index) + 1 >= self.planned_phases
    }

    pub(super) fn phase(&self, id: &PhaseId) -> Option<&LivePhase> {
        self.phases.iter().find(|phase| phase.phase.id.index == id.index)
    }

    fn reach(&mut self, state: SystemState) {
        self.state = self.state.max(state);
    }

    fn turn(&mut self, moment: &PhaseMoment, to: Option<PhaseStage>) -> &mut LivePhase {
        let phase = self.of(&moment.phase, PhaseTargets::default());
        phase.phase.turn(moment, to);
        phase
    }

    fn of(&mut self, id: &Arc<PhaseId>, targets: PhaseTargets) -> &mut LivePhase {
        let at = self.phases.iter().position(|phase| phase.phase.id.index == id.index);
        let at = at.unwrap_or_else(|| {
            let phase = Phase::new(id.clone(), targets);
            self.phases.push(LivePhase { phase, started: None, sent_end: None, requests_end: None, records_end: None });
            self.phases.len() - 1
        });
        &mut self.phases[at]
    }

    fn source(&mut self, source: &Source, is_reachable: bool) {
        let hide = |text: &Arc<str>| -> Arc<str> { self.redactor.hide(text).into() };
        let source =
            Source { address: hide(&source.address), detail: source.detail.as_ref().map(hide), ..source.clone() };
        let same = |known: &&mut LiveSource| known.source.kind == source.kind && known.source.address == source.address;
        match self.sources.iter_mut().find(same) {
            Some(known) => *known = LiveSource { source, is_reachable },
            None => self.sources.push(LiveSource { source, is_reachable }),
        }
    }
}

/// Whether clients that connect later should get this message.
fn matters(message: &Message) -> bool {
    matches!(message.level, LogLevel::Warning | LogLevel::Error | LogLevel::Critical)
}
