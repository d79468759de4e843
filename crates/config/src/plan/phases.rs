//! When requests are sent, and when a phase ends.

use super::{subject, what_holds};
use crate::choice::Choice;
use crate::error::Problem;
use crate::resolve::Tree;
use crate::sections::dataset::{Dataset, MEAN_TURNS};
use crate::sections::distribution::Distribution;
use crate::sections::phases::{DEFAULT_CONCURRENCY, Phase};
use crate::sections::ramps::Ramp;
use crate::tree::{Node, Origin};
use aiperf_plan::{Cancellation, DatasetPlan, PhasePlan, StopWhen, TracePlan};
use aiperf_types::{Nanos, PhaseKind};

pub(super) fn phases(
    tree: &Tree,
    dataset: &DatasetPlan,
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) -> Vec<PhasePlan> {
    let phases = tree.benchmark.phases.as_ref().map_or(&[][..], |phases| &phases.0);
    let mut out = Vec::new();
    for (index, phase) in phases.iter().enumerate() {
        let at = format!("benchmark.phases.{index}");
        suits(tree, phase, dataset, &at, problems);
        notes.extend(idle(tree, phase, &at));
        out.push(one_phase(tree, phase, &at));
    }
    // A profiling phase without a cancellation uses that of the first phase with one.
    let first = out.iter().find_map(|phase| phase.cancellation);
    let is_silent = |phase: &Phase| phase.kind != Some(PhaseKind::Warmup) && phase.cancellation.is_none();
    for (plan, _) in out.iter_mut().zip(phases).filter(|(_, phase)| is_silent(phase)) {
        plan.cancellation = first;
    }
    out
}

fn one_phase(tree: &Tree, phase: &Phase, at: &str) -> PhasePlan {
    let kind = phase.kind.unwrap_or(PhaseKind::Profiling);
    let concurrency = phase.sessions_at_once().map(limit);
    let prefill_concurrency = phase.prefill_concurrency.map(limit);
    // Without a grace period, a profiling phase ends with its time; a warmup waits for its requests.
    let grace = match (phase.grace_period, phase.duration) {
        (Some(grace), _) if grace.0.is_finite() => Some(Nanos::from_secs_f64(grace.0)),
        (None, Some(_)) if kind == PhaseKind::Profiling => Some(Nanos::ZERO),
        _ => None,
    };
    PhasePlan {
        name: phase.name.clone().unwrap_or_default(),
        concurrency,
        concurrency_ramp: concurrency.and(phase.concurrency_ramp.as_ref()).and_then(Ramp::plan),
        prefill_concurrency,
        prefill_ramp: prefill_concurrency.and(phase.prefill_ramp.as_ref()).and_then(Ramp::plan),
        stop: stop(tree, phase, at),
        grace,
        seamless: kind == PhaseKind::Profiling && phase.seamless(),
        failed_request_threshold: phase.failed_request_threshold.filter(|_| kind == PhaseKind::Profiling),
        cancellation: cancellation(phase),
        ..PhasePlan::new(kind, phase.arrival())
    }
}

/// A number of sessions or requests at once; a rule has refused values that do not fit.
fn limit(n: i64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// What ends a phase. A fixed schedule ends with its records, or earlier if the user sets a limit. The number of
/// records is part of the exported configuration only.
fn stop(tree: &Tree, phase: &Phase, at: &str) -> Vec<StopWhen> {
    let count = |n: Option<i64>| n.and_then(|n| u64::try_from(n).ok());
    let is_counted = tree.node.find(&format!("{at}.requests")).is_some_and(|node| node.origin == Origin::Rule);
    let is_informed = phase.phase_type().replays() && is_counted;
    let requests = count(phase.requests).filter(|_| !is_informed);
    let duration = phase.duration.filter(|time| time.0.is_finite()).map(|time| Nanos::from_secs_f64(time.0));
    let rules = [
        requests.map(StopWhen::Requests),
        duration.map(StopWhen::Elapsed),
        count(phase.sessions).map(StopWhen::Sessions),
    ];
    rules.into_iter().flatten().collect()
}

/// Which requests of a phase are cancelled: none of a warmup, and none at a rate of 0.
fn cancellation(phase: &Phase) -> Option<Cancellation> {
    let asked = phase.cancellation.as_ref().filter(|_| phase.kind != Some(PhaseKind::Warmup))?;
    let rate_percent = asked.rate.filter(|rate| *rate > 0.0)?;
    Some(Cancellation { rate_percent, delay: Nanos::from_secs_f64(asked.delay()) })
}

/// Notes about settings of a phase that change nothing.
fn idle(tree: &Tree, phase: &Phase, at: &str) -> Vec<String> {
    let is_warmup = phase.kind == Some(PhaseKind::Warmup);
    let slots = phase.sessions_at_once();
    let endless = phase.duration.is_some_and(|duration| duration.0.is_infinite());
    let no_climb = |limit: Option<i64>, name: &str| match limit {
        None => Some(format!("there is no {name} to ramp to")),
        Some(1) => Some(format!("the {name} is 1, and a ramp starts there")),
        Some(_) => None,
    };
    let by_default = slots.filter(|_| phase.concurrency.is_none());
    let spare = phase.prefill_concurrency.zip(by_default).is_some_and(|(prefills, sessions)| prefills > sessions);
    let rows: [(&str, bool, Option<String>); 7] = [
        (
            "prefill_concurrency",
            spare,
            Some(format!("the concurrency is {DEFAULT_CONCURRENCY}, which is already the limit")),
        ),
        (
            "cancellation",
            phase.cancellation.is_some() && is_warmup,
            Some("no request of a warmup is cancelled".to_owned()),
        ),
        (
            "seamless",
            phase.seamless() && is_warmup,
            Some("a warmup begins when the phase before it has ended".to_owned()),
        ),
        (
            "failed_request_threshold",
            phase.failed_request_threshold.is_some() && is_warmup,
            Some("failures of a warmup do not end the run".to_owned()),
        ),
        ("concurrency_ramp", phase.concurrency_ramp.is_some(), no_climb(slots, "concurrency")),
        ("prefill_ramp", phase.prefill_ramp.is_some(), no_climb(phase.prefill_concurrency, "prefill concurrency")),
        (
            "grace_period",
            phase.grace_period.is_some_and(|grace| grace.0.is_finite()) && endless,
            Some("the duration before it never ends".to_owned()),
        ),
    ];
    let idle = rows.into_iter().filter(|(.., is_set, _)| *is_set).filter_map(|(key, _, why)| Some((key, why?)));
    idle.map(|(key, why)| format!("{} has no effect: {why}", named(tree, &format!("{at}.{key}")))).collect()
}

/// A setting by its given name: for a ramp its duration, if a flag set that.
fn named(tree: &Tree, at: &str) -> String {
    let by_flag = |node: &&Node| matches!(node.origin, Origin::Flag(_));
    match tree.node.find(&format!("{at}.duration")).filter(by_flag) {
        Some(node) => tree.places.subject(node, at),
        None => subject(tree, at),
    }
}

/// Checks that the dataset has what the arrival needs.
fn suits(tree: &Tree, phase: &Phase, dataset: &DatasetPlan, at: &str, problems: &mut Vec<Problem>) {
    let of_file = tree.places.file.is_some();
    let ask = |flag: &'static str, key: &'static str| if of_file { key } else { flag };
    let place = tree.node.find(at).map_or_else(String::new, |node| tree.places.prefix(&node.origin));
    let what = |needs: &str| {
        let name = phase.name.as_deref().unwrap_or("?");
        match phase.r#type {
            Some(kind) => format!("{place}phase '{name}' of type {} needs {needs}", kind.name()),
            None => format!("{place}phase '{name}' needs {needs}"),
        }
    };
    if let DatasetPlan::Trace(trace) = dataset {
        return suits_trace(tree, phase, trace, &what, problems);
    }
    if let DatasetPlan::Public(public) = dataset {
        if phase.phase_type().replays() && !public.set.has_times() {
            problems.push(
                Problem::new(what("data with timestamps"))
                    .because(format!("{} has none", public.set.name()))
                    .hint("--public-dataset exgentic_v2, or leave --fixed-schedule out")
                    .at("benchmark.datasets.0.dataset"),
            );
        }
        return;
    }
    let format = if let DatasetPlan::File(file) = dataset { Some(file.format) } else { None };
    let (replays, has_users) = (phase.phase_type().replays(), phase.phase_type().has_users());
    match format {
        None if replays => problems.push(
            Problem::new(what("a file with timestamps"))
                .because("each request is sent at the timestamp of its row")
                .hint(ask(
                    "--fixed-schedule with --input-file FILE",
                    "dataset: {type: file, path: FILE}, with rows as in {\"text\": \"hello\", \"timestamp\": 0}",
                ))
                .at("benchmark.datasets.0.type"),
        ),
        Some(format) if replays && !format.has_times() => problems.push(
            Problem::new(what("rows with timestamps"))
                .because(format!("{} holds rows of {}, which have none", what_holds(tree), format.name()))
                .hint("rows of single_turn, as in {\"text\": \"hello\", \"timestamp\": 0}")
                .at("benchmark.datasets.0.format"),
        ),
        Some(format) if has_users && !format.has_turns() => problems.push(
            Problem::new(what("conversations of several turns"))
                .because(format!(
                    "{} holds rows of {}, and each user continues one conversation",
                    what_holds(tree),
                    format.name()
                ))
                .hint(ask("rows of multi_turn, or --request-rate N", "rows of multi_turn, or type: poisson"))
                .at("benchmark.datasets.0.format"),
        ),
        None if has_users && turns(tree.benchmark.datasets.as_deref()) < 2.0 => problems.push(
            Problem::new(what("conversations of several turns"))
                .because("a conversation of one turn cannot be continued")
                .hint(ask("--session-turns-mean 2, or --request-rate N", "dataset: {turns: 2}, or type: poisson"))
                .at("benchmark.datasets.0.turns"),
        ),
        _ => {}
    }
}

/// The same for a trace: all rows have a time, unless times are ignored.
fn suits_trace(
    tree: &Tree,
    phase: &Phase,
    trace: &TracePlan,
    what: &dyn Fn(&str) -> String,
    problems: &mut Vec<Problem>,
) {
    let path = subject(tree, "benchmark.datasets.0.path");
    if phase.phase_type().replays() && trace.ignores_times {
        let at = "benchmark.datasets.0.ignore_trace_delays";
        problems.push(
            Problem::new(what("timestamps"))
                .because(format!("{} discards those of {path}", subject(tree, at)))
                .hint("leave it out, or --no-fixed-schedule")
                .at(at),
        );
    }
    if phase.phase_type().has_users() && !trace.format.has_sessions() {
        problems.push(
            Problem::new(what("conversations of several turns"))
                .because(format!("{path} holds rows of {}, each an independent request", trace.format.name()))
                .hint("--request-rate N, or a trace with sessions")
                .at("benchmark.datasets.0.format"),
        );
    }
}

/// The mean number of turns of a synthetic conversation.
fn turns(datasets: Option<&[Dataset]>) -> f64 {
    let turns = datasets.and_then(<[Dataset]>::first).and_then(|dataset| dataset.turns.as_ref());
    turns.map_or(MEAN_TURNS, Distribution::expected)
}
