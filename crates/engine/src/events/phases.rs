//! The phases of a run as its threads see them.

use aiperf_plan::{PhasePlan, Plan};
use aiperf_types::{MonoNs, PhaseId, PhaseKind, PhaseMoment, PhaseStarted, PhaseTargets};
use std::sync::{Arc, OnceLock};

/// One phase: its load and its progress.
pub(crate) struct PhaseTrack {
    pub(crate) id: Arc<PhaseId>,
    pub(crate) targets: PhaseTargets,
    /// The share of failed requests above which it ends the run; `None` for a warm-up.
    pub(crate) failure_threshold: Option<f64>,
    /// What it sends and what ends it, in words.
    load: Arc<str>,
    target: Arc<str>,
    pub(crate) started: OnceLock<MonoNs>,
    pub(crate) sent: OnceLock<MonoNs>,
    pub(crate) requests_done: OnceLock<PhaseMoment>,
}

impl PhaseTrack {
    fn new(id: PhaseId, plan: &PhasePlan) -> Self {
        let targets = PhaseTargets {
            requests: plan.requests(),
            sessions: plan.sessions(),
            length: plan.duration(),
            concurrency: plan.concurrency,
        };
        Self {
            id: Arc::new(id),
            targets,
            failure_threshold: plan.failure_threshold(),
            load: plan.load_in_words().into(),
            target: plan.target_in_words().into(),
            started: OnceLock::new(),
            sent: OnceLock::new(),
            requests_done: OnceLock::new(),
        }
    }

    /// Whether it has requests to send.
    pub(crate) fn is_sending(&self) -> bool {
        self.started.get().is_some() && self.sent.get().is_none()
    }

    /// The event of its start.
    pub(crate) fn started_at(&self, at: MonoNs) -> PhaseStarted {
        let Self { id, targets, load, target, .. } = self;
        PhaseStarted { phase: id.clone(), at, targets: *targets, load: load.clone(), target: target.clone() }
    }
}

/// The phases of a plan, none of them started.
pub(crate) fn of(plan: &Plan) -> Arc<[PhaseTrack]> {
    let mut profiling = 0;
    let mut track = |index: usize, phase: &PhasePlan| {
        let profiling_index = (phase.kind == PhaseKind::Profiling).then(|| {
            profiling += 1;
            profiling - 1
        });
        let name = phase.name.as_str().into();
        PhaseTrack::new(PhaseId { index: index as u16, profiling_index, name, kind: phase.kind }, phase)
    };
    plan.phases.iter().enumerate().map(|(index, phase)| track(index, phase)).collect()
}
