//! What a run came to: its phases summarised, merged and cut into slices.

use crate::measurement::{self, Measurement, Observed};
use crate::slices::{TooManySlices, slices};
use aiperf_engine::{Outcome, PhaseOutcome};
use aiperf_metrics::{Accumulator, Context, Metrics, Summary, Window};
use aiperf_plan::redact::Redactor;
use aiperf_plan::{PhasePlan, Plan};
use aiperf_report::{PhaseResult, RunInfo, RunResult};
use aiperf_types::{PhaseKind, WallNs};

/// The result of a run, and what people should be told of it.
pub(crate) struct Summarised {
    pub(crate) result: RunResult,
    pub(crate) no_slices: Option<TooManySlices>,
}

/// Summarises a finished run.
pub(crate) fn summarise(
    plan: &Plan,
    version: &str,
    metrics: &Metrics,
    outcome: Outcome,
    redactor: &Redactor,
) -> Summarised {
    let Outcome { phases, quality, conduct, was_stopped, too_many_failed, .. } = outcome;
    let (start, end) = profiling_window(&phases);
    let mut merged = None;
    let mut warmup = None;
    let mut listed = Vec::new();
    for phase in phases {
        let result = phase_result(&phase, metrics);
        match phase.id.kind {
            PhaseKind::Warmup => warmup = Some(result.metrics.clone()),
            PhaseKind::Profiling => {
                merged = Some(match merged {
                    None => phase.records,
                    Some(earlier) => Accumulator::merge(earlier, phase.records),
                });
            }
        }
        listed.push(result);
    }
    let only = listed.iter().filter(|phase| phase.id.kind == PhaseKind::Profiling).collect::<Vec<_>>();
    let summary = match (only.as_slice(), &merged) {
        ([phase], _) => phase.metrics.clone(),
        (_, Some(records)) => records.summarise(metrics, Context::from(Window { start, end })),
        (_, None) => Summary::default(),
    };
    let sliced = merged.as_ref().zip(plan.metrics.slice);
    let (slices, no_slices) = match sliced.map(|(records, length)| slices(records, metrics, length)) {
        None => (Vec::new(), None),
        Some(Ok(slices)) => (slices, None),
        Some(Err(error)) => (Vec::new(), Some(error)),
    };
    let errors = merged.map(|records| records.errors()).unwrap_or_default();
    let nothing_came_back = summary.records == 0 && quality.cut_off > 0;
    let Measurement { block, doubts } = measurement::of(plan, &Observed { quality, conduct, was_stopped }, &summary);
    let run = &plan.run;
    let command = redactor.hide_in_own(&run.cli_command).into_owned();
    let mut input_config = plan.input_config.clone();
    redactor.document(&mut input_config);
    let result = RunResult {
        version: version.to_owned(),
        info: RunInfo::single(run.benchmark_id.clone(), run.random_seed, Some(command)),
        endpoint: plan.endpoint.kind,
        models: plan.models.clone(),
        concurrency: first_profiling(plan).and_then(|phase| phase.concurrency),
        input_config,
        artifacts: plan.artifacts.clone(),
        measurement: Some(block),
        doubts,
        metrics: summary,
        slices,
        warmup: warmup.filter(|warmup| warmup.records > 0),
        phases: listed,
        errors,
        start,
        end,
        was_cancelled: was_stopped,
        incomplete_reason: too_many_failed
            .or_else(|| was_stopped.then(|| "Run cancelled before all records were processed.".to_owned()))
            .or_else(|| nothing_came_back.then(|| "No request was answered before the run was over.".to_owned())),
        limits: metrics.traits().thresholds,
        show_trace_timing: plan.metrics.show_trace_timing,
        server_metrics: None,
    };
    Summarised { result, no_slices }
}

fn first_profiling(plan: &Plan) -> Option<&PhasePlan> {
    plan.phases.iter().find(|phase| phase.kind == PhaseKind::Profiling)
}

/// From the start of the first profiling phase to the end of the last; of any phase where none profiled.
fn profiling_window(phases: &[PhaseOutcome]) -> (WallNs, WallNs) {
    phases
        .iter()
        .filter(|phase| phase.id.kind == PhaseKind::Profiling)
        .map(|phase| (phase.start, phase.end))
        .reduce(|(start, end), (s, e)| (start.min(s), end.max(e)))
        .or(phases.first().map(|phase| (phase.start, phase.end)))
        .unwrap_or_default()
}

fn phase_result(phase: &PhaseOutcome, metrics: &Metrics) -> PhaseResult {
    let window = Window { start: phase.start, end: phase.end };
    let summary = phase.records.summarise(metrics, Context::from(window));
    PhaseResult {
        id: (*phase.id).clone(),
        start: phase.start,
        end: phase.end,
        successful: summary.records - summary.failed,
        failed: summary.failed,
        errors: phase.records.errors(),
        was_cancelled: phase.was_stopped,
        metrics: summary,
    }
}
