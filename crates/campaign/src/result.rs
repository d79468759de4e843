//! The results of a run: its phases summarised, merged and cut into slices.

use crate::measurement::{self, Observations};
use crate::sending::PhaseSending;
use crate::slices::{TooManySlices, slices};
use crate::until;
use aiperf_dataset::in_order::cores;
use aiperf_engine::{EngineOutcome, Lost, PhaseOutcome};
use aiperf_metrics::{Accumulator, Context, Metrics, PhaseUntil, Quality, Summary, SweepLine, Window, verdict};
use aiperf_plan::Plan;
use aiperf_plan::redact::Redactor;
use aiperf_report::{PhaseResult, RunInfo, RunResult};
use aiperf_schedule::RateCurve;
use aiperf_types::{PhaseIndex, PhaseKind, WallNs};

/// The result of a run, and what to warn about.
pub(crate) struct Summarised {
    pub(crate) result: RunResult,
    pub(crate) no_slices: Option<TooManySlices>,
    /// The records of all profiling phases.
    pub(crate) records: Option<Accumulator>,
}

/// Summarises a finished run. If the network round trip is known, latencies are also given without it.
pub(crate) fn summarise(
    plan: &Plan,
    version: &str,
    metrics: &Metrics,
    outcome: EngineOutcome,
    network_rtt_ns: Option<f64>,
    redactor: &Redactor,
) -> Summarised {
    let EngineOutcome { phases, mut overlapping, conduct, was_stopped, given_up, lost, .. } = outcome;
    let (start, end) = window(&phases, PhaseKind::Profiling)
        .or(phases.first().map(|phase| (phase.start, phase.end)))
        .unwrap_or_default();
    let profiled = phases.iter().filter(|phase| phase.id.kind == PhaseKind::Profiling);
    let sending = profiled.filter_map(|phase| sending(phase, plan)).collect();
    let until: Vec<PhaseUntil> = phases.iter().filter_map(|phase| phase_until(phase, plan)).collect();
    let notes = until::notes(&until);
    let listed: Vec<PhaseResult> = phases.iter().map(|phase| phase_result(phase, metrics, network_rtt_ns)).collect();
    let by_phase: Vec<Quality> = phases.iter().map(|phase| phase.quality.clone()).collect();
    let (warmups, profiling): (Vec<_>, Vec<_>) =
        phases.into_iter().partition(|phase| phase.id.kind == PhaseKind::Warmup);
    let mut together = |kind: PhaseKind, phases: Vec<PhaseOutcome>| {
        let joint = overlapping.extract_if(.., |(of, _)| *of == kind).map(|(_, sweep)| sweep).next();
        Together::of(kind, phases, joint, &listed, metrics, network_rtt_ns)
    };
    let (warmup, profiling) = (together(PhaseKind::Warmup, warmups), together(PhaseKind::Profiling, profiling));
    let Together { mut summary, records: merged } = profiling;
    let sliced = merged.as_ref().zip(plan.metrics.slice);
    let sliced = sliced.map(|(records, length)| slices(records, metrics, length, context(None, network_rtt_ns)));
    let (slices, no_slices) = match sliced {
        None => (Vec::new(), None),
        Some(Ok(slices)) => (slices, None),
        Some(Err(error)) => (Vec::new(), Some(error)),
    };
    let errors = merged.as_ref().map(Accumulator::errors).unwrap_or_default();
    let observations = Observations { conduct, quality: by_phase, was_stopped, sending, until };
    let measurement = measurement::of(plan, observations, &summary, &listed);
    let unanswered = measurement.quality.cut_off + measurement.quality.never_begun;
    let nothing_came_back = summary.records == 0 && unanswered > 0;
    if summary.records > 0 {
        verdict::add_to(&mut summary, &measurement.judgement.verdict);
    }
    let run = &plan.run;
    let command = redactor.hide_in_own(&run.cli_command).into_owned();
    let mut input_config = plan.input_config.clone();
    redactor.settings(&mut input_config);
    let result = RunResult {
        version: version.to_owned(),
        info: RunInfo::of(run, command),
        endpoint: plan.endpoint.kind,
        models: plan.models.clone(),
        concurrency: plan.profiling().next().and_then(|phase| phase.concurrency),
        input_config,
        artifacts: plan.artifacts.clone(),
        measurement: Some(measurement),
        notes,
        degraded: degraded(lost),
        has_lost_records: lost != Lost::default(),
        metrics: summary,
        slices,
        warmup: Some(warmup.summary).filter(|warmup| warmup.records > 0),
        phases: listed,
        errors,
        start,
        end,
        was_cancelled: was_stopped,
        incomplete_reason: given_up
            .or_else(|| was_stopped.then(|| "Run cancelled before all records were processed.".to_owned()))
            .or_else(|| nothing_came_back.then(|| "No request got a response before the run was over.".to_owned()))
            .or_else(|| (lost != Lost::default()).then(|| "Not all records could be computed.".to_owned())),
        limits: metrics.traits().thresholds,
        judged: Vec::new(),
        show_trace_timing: plan.metrics.show_trace_timing,
        dataset: plan.dataset.provenance(),
        server_metrics: None,
        gpu_telemetry: None,
    };
    Summarised { result, no_slices, records: merged }
}

/// What a bug of this program removed from the results, one entry per part.
fn degraded(Lost { records, record_threads }: Lost) -> Vec<String> {
    let records = (records > 0).then(|| format!("records: {records} could not be computed, and are in no metric"));
    let threads = (1..=record_threads)
        .map(|_| "records: a thread that computes them failed; those it had are in no metric".into());
    records.into_iter().chain(threads).collect()
}

/// All phases of one kind together.
struct Together {
    summary: Summary,
    /// `None` if there was no such phase.
    records: Option<Accumulator>,
}

impl Together {
    fn of(
        kind: PhaseKind,
        phases: Vec<PhaseOutcome>,
        joint: Option<SweepLine>,
        listed: &[PhaseResult],
        metrics: &Metrics,
        network_rtt_ns: Option<f64>,
    ) -> Self {
        let window = window(&phases, kind);
        let records = phases.into_iter().map(|phase| phase.records).reduce(Accumulator::merge);
        let mut of_kind = listed.iter().filter(|phase| phase.id.kind == kind);
        let only = of_kind.next().filter(|_| of_kind.next().is_none());
        let records = match (records, joint, only) {
            // Overlapping phases were swept together; merged one by one, their curves would be side by side.
            (Some(records), Some(joint), None) => Some(records.with_sweep(joint)),
            (records, ..) => records,
        };
        let summary = match (only, &records, window) {
            (Some(phase), ..) => phase.metrics.clone(),
            (None, Some(records), Some((start, end))) => {
                records.summarise(metrics, context(Some(Window { start, end }), network_rtt_ns))
            }
            _ => Summary::default(),
        };
        Self { summary, records }
    }
}

/// From the start of the first phase of a kind to the latest end of any of them.
fn window(phases: &[PhaseOutcome], kind: PhaseKind) -> Option<(WallNs, WallNs)> {
    phases
        .iter()
        .filter(|phase| phase.id.kind == kind)
        .map(|phase| (phase.start, phase.end))
        .reduce(|(start, end), (s, e)| (start.min(s), end.max(e)))
}

/// What a phase was asked to send, and what it sent.
fn sending(phase: &PhaseOutcome, plan: &Plan) -> Option<PhaseSending> {
    Some(PhaseSending {
        index: phase.id.index,
        start: phase.start,
        sent_end: phase.sent_end,
        last_sent: phase.last_sent,
        end: phase.end,
        plan: plan.phases.get(usize::from(phase.id.index))?.clone(),
        rate: RateCurve::in_plan(plan, PhaseIndex(phase.id.index)),
        counts: phase.counts,
        never_left: phase.never_left,
        cut_off: phase.cut_off,
    })
}

fn phase_until(phase: &PhaseOutcome, plan: &Plan) -> Option<PhaseUntil> {
    let (reached, precisions) = (phase.until.clone()?, plan.metrics.until.clone());
    Some(PhaseUntil { id: (*phase.id).clone(), precisions, reached, was_stopped: phase.was_stopped })
}

/// A summary on all cores.
fn context(window: Option<Window>, network_rtt_ns: Option<f64>) -> Context {
    Context { window, network_rtt_ns, threads: cores() }
}

fn phase_result(phase: &PhaseOutcome, metrics: &Metrics, network_rtt_ns: Option<f64>) -> PhaseResult {
    let window = Window { start: phase.start, end: phase.end };
    let summary = phase.records.summarise(metrics, context(Some(window), network_rtt_ns));
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

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_metrics::{RecordMetrics, RunTraits};
    use aiperf_types::{EndpointKind, Measured, MonoNs, PhaseId, PhaseProgress};
    use std::sync::Arc;

    const SECOND: u64 = 1_000_000_000;
    const EPOCH: u64 = 1_760_000_000 * SECOND;

    /// A phase of requests in a row, each of one second.
    fn phase(metrics: &Metrics, kind: PhaseKind, index: u16, start: u64, requests: u64) -> PhaseOutcome {
        let (mut records, mut computed) = (Accumulator::new(metrics).joint(index), RecordMetrics::default());
        for number in 0..requests {
            let at = start + number * SECOND;
            let wall = WallNs(EPOCH + at);
            let measured = Measured {
                number,
                start_wall: wall,
                start: MonoNs(at),
                end: MonoNs(at + SECOND),
                credit_issued: Some(wall),
                ..Measured::default()
            };
            metrics.record(&measured, &mut computed);
            records.add(&measured, &computed);
        }
        records.finish_sweep(SweepLine::new(None));
        let end = WallNs(EPOCH + start + requests * SECOND);
        PhaseOutcome {
            id: Arc::new(PhaseId { index, profiling_index: None, name: format!("{index}").as_str().into(), kind }),
            start: WallNs(EPOCH + start),
            sent_end: end,
            last_sent: end,
            end,
            counts: PhaseProgress::default(),
            cut_off: 0,
            never_left: 0,
            was_stopped: false,
            quality: Quality::default(),
            until: None,
            records,
        }
    }

    fn together(metrics: &Metrics, kind: PhaseKind, mut phases: Vec<PhaseOutcome>, is_joint: bool) -> Summary {
        let listed: Vec<PhaseResult> = phases.iter().map(|phase| phase_result(phase, metrics, None)).collect();
        let mut joint = SweepLine::new(None);
        phases.iter_mut().for_each(|phase| phase.records.hand_over_jointly(&mut joint));
        Together::of(kind, phases, is_joint.then_some(joint), &listed, metrics, None).summary
    }

    fn concurrency(summary: &Summary) -> [Option<f64>; 2] {
        let stats = summary.get("effective_concurrency").map(|result| result.stats).unwrap_or_default();
        [stats.avg, stats.max]
    }

    #[test]
    fn each_part_that_could_not_be_computed_is_listed() {
        assert!(degraded(Lost::default()).is_empty());
        let parts = degraded(Lost { records: 16, record_threads: 2 });
        assert!(parts.len() == 3 && parts[0].starts_with("records: 16 could not be computed"), "{parts:?}");
    }

    #[test]
    fn several_warm_ups_are_one() {
        let metrics = Metrics::for_run(RunTraits::new(EndpointKind::Chat, true));
        let warmup = |index, start, requests| phase(&metrics, PhaseKind::Warmup, index, start, requests);
        let summary = together(&metrics, PhaseKind::Warmup, vec![warmup(0, 0, 3), warmup(1, 6 * SECOND, 4)], false);
        assert_eq!(summary.records, 7);
        // Seven seconds of ten: between the two phases there was nothing.
        assert_eq!(concurrency(&summary), [Some(0.7), Some(1.0)]);
    }

    #[test]
    fn overlapping_phases_add_up_to_their_concurrency_together() {
        let metrics = Metrics::for_run(RunTraits::new(EndpointKind::Chat, true));
        let profiling = |index, start, requests| phase(&metrics, PhaseKind::Profiling, index, start, requests);
        let phases = vec![profiling(0, 0, 6), profiling(1, 4 * SECOND, 4)];
        let summary = together(&metrics, PhaseKind::Profiling, phases, true);
        assert_eq!((summary.records, summary.exactness.late_in_curves), (10, 0));
        assert_eq!(concurrency(&summary), [Some(1.25), Some(2.0)]);
    }

    #[test]
    fn the_window_ends_with_the_phase_that_ends_last() {
        let metrics = Metrics::for_run(RunTraits::new(EndpointKind::Chat, true));
        let long = phase(&metrics, PhaseKind::Profiling, 0, 0, 9);
        let short = phase(&metrics, PhaseKind::Profiling, 1, 5 * SECOND, 2);
        let at = |seconds: u64| WallNs(EPOCH + seconds * SECOND);
        assert_eq!(window(&[long, short], PhaseKind::Profiling), Some((at(0), at(9))));
    }
}
