//! When requests are sent, and what ends that.

use super::{not_yet, subject};
use crate::error::Problem;
use crate::resolve::Tree;
use crate::sections::phases::{DEFAULT_CONCURRENCY, Phase, PhaseType};
use crate::tree::Origin;
use aiperf_plan::{Arrival, Cancellation, PhasePlan, StopWhen};
use aiperf_types::{Nanos, PhaseKind};

pub(super) fn phases(tree: &Tree, notes: &mut Vec<String>, problems: &mut Vec<Problem>) -> Vec<PhasePlan> {
    let phases = tree.benchmark.phases.as_ref().map_or(&[][..], |phases| &phases.0);
    let mut out = Vec::new();
    for (index, phase) in phases.iter().enumerate() {
        if phase.r#type.is_some_and(|kind| kind != PhaseType::Concurrency) {
            let at = format!("benchmark.phases.{index}.type");
            // A flag that asked for it has been named already.
            let named = tree.node.find(&at).is_none_or(|node| node.origin == Origin::Rule) && !problems.is_empty();
            if !named {
                problems.push(
                    not_yet(&subject(tree, &at), "requests are sent by concurrency only")
                        .hint("type: concurrency")
                        .at(at),
                );
            }
        }
        out.push(one_phase(phase));
        if phase.cancellation.is_some() && phase.kind == Some(PhaseKind::Warmup) {
            let at = format!("benchmark.phases.{index}.cancellation");
            notes.push(format!("{} has no effect: no request of a warmup is cancelled", subject(tree, &at)));
        }
    }
    // A profiling phase that says nothing of it goes by the first that does.
    let first = out.iter().find_map(|phase| phase.cancellation);
    let is_silent = |phase: &Phase| phase.kind != Some(PhaseKind::Warmup) && phase.cancellation.is_none();
    for (plan, _) in out.iter_mut().zip(phases).filter(|(_, phase)| is_silent(phase)) {
        plan.cancellation = first;
    }
    out
}

/// Which requests of a phase are cancelled: none of a warmup, and none at a rate of 0.
fn cancellation(phase: &Phase) -> Option<Cancellation> {
    let asked = phase.cancellation.as_ref().filter(|_| phase.kind != Some(PhaseKind::Warmup))?;
    let rate_percent = asked.rate.filter(|rate| *rate > 0.0)?;
    Some(Cancellation { rate_percent, delay: Nanos::from_secs_f64(asked.delay()) })
}

fn one_phase(phase: &Phase) -> PhasePlan {
    let count = |n: Option<i64>| n.and_then(|n| u64::try_from(n).ok());
    let kind = phase.kind.unwrap_or(PhaseKind::Profiling);
    let mut stop = Vec::new();
    stop.extend(count(phase.requests).map(StopWhen::Requests));
    stop.extend(
        phase.duration.filter(|time| time.0.is_finite()).map(|time| StopWhen::Elapsed(Nanos::from_secs_f64(time.0))),
    );
    stop.extend(count(phase.sessions).map(StopWhen::Sessions));
    // Without a grace period a profiling phase ends with its time; a warmup waits for what it sent.
    let grace = match (phase.grace_period, phase.duration) {
        (Some(grace), _) if grace.0.is_finite() => Some(Nanos::from_secs_f64(grace.0)),
        (None, Some(_)) if kind == PhaseKind::Profiling => Some(Nanos::ZERO),
        _ => None,
    };
    PhasePlan {
        name: phase.name.clone().unwrap_or_default(),
        concurrency: Some(u32::try_from(phase.concurrency.unwrap_or(DEFAULT_CONCURRENCY)).unwrap_or(u32::MAX)),
        stop,
        grace,
        failed_request_threshold: phase.failed_request_threshold,
        cancellation: cancellation(phase),
        ..PhasePlan::new(kind, Arrival::Concurrency)
    }
}
