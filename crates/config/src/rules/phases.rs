//! Phases.

use super::facts::Facts;
use crate::choice::{Choice, joined};
use crate::error::Problem;
use crate::sections::dataset::{Dataset, DatasetType};
use crate::sections::envelope::Benchmark;
use crate::sections::phases::{KEYS_OF, Phase, PhaseType};
use crate::sections::ramps::Ramp;
use crate::sections::scale::ScaleVariable;
use crate::setting::Switch;
use aiperf_plan::Sampling;
use aiperf_types::PhaseKind;
use std::collections::BTreeMap;

/// The most characters of a name: it names a folder and is part of file names.
const LONGEST_NAME: usize = 100;

/// Names that some systems do not allow for folders.
const RESERVED: &[&str] = &["con", "prn", "aux", "nul"];

pub(super) fn settle(benchmark: &mut Benchmark) {
    for phase in benchmark.phases.iter_mut().flat_map(|phases| &mut phases.0) {
        if phase.kind.is_none() {
            phase.kind = phase.name.as_deref().and_then(PhaseKind::exactly);
        }
        if phase.kind == Some(PhaseKind::Warmup) {
            phase.exclude_from_results.get_or_insert(true);
        }
    }
}

pub(super) fn check(benchmark: &Benchmark, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    let phases = benchmark.phases.as_ref().map_or(&[][..], |phases| &phases.0);
    if phases.is_empty() {
        problems.push(
            facts
                .problem("phases", format!("{}there is no phase", facts.place("phases")))
                .because("a phase defines what is sent and when it ends")
                .hint("phases: {type: concurrency, concurrency: 1, requests: 10}"),
        );
        return;
    }
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (index, phase) in phases.iter().enumerate() {
        let at = format!("phases.{index}");
        name(phase, &at, facts, problems);
        if let Some(name) = &phase.name
            && let Some(first) = seen.insert(name.to_ascii_lowercase(), index)
        {
            let what = format!("{} is also the name of phase {first}", facts.subject(&format!("{at}.name")));
            problems.push(
                facts.problem(&format!("{at}.name"), what).because("names of phases are unique, in any letter case"),
            );
        }
        one(phase, &at, index, facts, problems);
        load(phase, &at, benchmark, facts, problems);
    }
    let all_have_kinds = phases.iter().all(|phase| phase.kind.is_some());
    if all_have_kinds && !phases.iter().any(|phase| phase.kind == Some(PhaseKind::Profiling)) {
        problems.push(
            facts
                .problem("phases", format!("{}there is no profiling phase", facts.place("phases")))
                .because("nothing would be reported")
                .hint("profiling: {type: concurrency, concurrency: 1, requests: 10}"),
        );
    }
}

fn label(phase: &Phase) -> String {
    format!("phase '{}'", phase.name.as_deref().unwrap_or("?"))
}

fn name(phase: &Phase, at: &str, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    let Some(name) = &phase.name else {
        problems.push(facts.problem(&format!("{at}.name"), format!("{} needs a name", facts.subject(at))));
        return;
    };
    let at_name = format!("{at}.name");
    let length = name.chars().count();
    if length > LONGEST_NAME {
        let what = format!("{}benchmark.{at_name} has {length} characters", facts.place(&at_name));
        problems.push(
            facts
                .problem(&at_name, what)
                .because(format!("each phase has a folder with its name, which has at most {LONGEST_NAME} characters"))
                .hint("a shorter name"),
        );
    }
    let first = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let rest = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if !first || !rest {
        let what = format!("{} is not a name", facts.subject(&at_name));
        problems.push(
            facts.problem(&at_name, what).because("a name starts with a letter or _ and has letters, digits, _ and -"),
        );
    }
    let lower = name.to_ascii_lowercase();
    let port = |stem: &str| {
        lower.strip_prefix(stem).is_some_and(|n| n.len() == 1 && n != "0" && n.bytes().all(|b| b.is_ascii_digit()))
    };
    if RESERVED.contains(&lower.as_str()) || port("com") || port("lpt") {
        let what = format!("{} is a reserved file name on some systems", facts.subject(&at_name));
        problems
            .push(facts.problem(&at_name, what).because("each phase has a folder with its name").hint("another name"));
    }
    let node = facts.node.find(at);
    match phase.kind {
        // A kind that could not be read was already reported.
        None if node.is_some_and(|node| node.set("kind").is_some()) => {}
        None => problems.push(
            facts
                .problem(&format!("{at}.kind"), format!("{} needs a kind", facts.subject(at)))
                .because("only the names warmup and profiling imply it")
                .hint("kind: profiling"),
        ),
        Some(kind) if PhaseKind::exactly(name).is_some_and(|named| named != kind) => {
            let what = format!("{} cannot be of kind {}", facts.subject(&at_name), kind.name());
            problems.push(facts.problem(&format!("{at}.kind"), what).hint(format!("kind: {name}, or another name")));
        }
        Some(_) => {}
    }
    let excluded = phase.kind.map(|kind| kind == PhaseKind::Warmup);
    if let (Some(given), Some(expected)) = (phase.exclude_from_results, excluded)
        && given != expected
    {
        let at = format!("{at}.exclude_from_results");
        let rule = if expected { "a warmup never counts" } else { "a profiling phase always counts" };
        problems.push(facts.problem(&at, format!("{} contradicts its kind", facts.subject(&at))).because(rule));
    }
}

fn one(phase: &Phase, at: &str, index: usize, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    let path = |key: &str| format!("{at}.{key}");
    let node = facts.node.find(at);
    let Some(kind) = phase.r#type else {
        // A type that could not be read was already reported.
        if node.is_none_or(|node| node.set("type").is_none()) {
            problems.push(
                facts.problem(&path("type"), format!("{} needs a type", facts.subject(at))).hint("type: concurrency"),
            );
        }
        return;
    };
    for (key, types) in KEYS_OF {
        if !types.contains(&kind) && node.is_some_and(|node| node.set(key).is_some()) {
            let what = format!("{} does not belong to a phase of type {}", facts.subject(&path(key)), kind.name());
            problems.push(facts.problem(&path(key), what).because(format!("it belongs to {}", joined(types))));
        }
    }
    let bounded =
        phase.requests.is_some() || phase.sessions.is_some() || phase.duration.is_some_and(|d| d.0.is_finite());
    let misread = ["requests", "duration", "sessions"].iter().any(|key| {
        node.is_some_and(|node| node.set(key).is_some())
            && !(phase.requests.is_some() || phase.duration.is_some() || phase.sessions.is_some())
    });
    if !bounded && !misread && !kind.replays() {
        let what = match phase.duration {
            Some(_) => format!("{} never ends {}", facts.subject(&path("duration")), label(phase)),
            None => format!("{}{} never ends", facts.place(at), label(phase)),
        };
        problems.push(facts.problem(at, what).because("one of requests, duration and sessions must end it").hint(
            facts.ask(
                "--request-count N, --benchmark-duration SECONDS or --num-sessions N",
                "requests: N, duration: TIME or sessions: N",
            ),
        ));
    }
    if phase.grace_period.is_some() && node.is_some_and(|node| node.set("duration").is_none()) {
        problems.push(
            facts
                .problem(at, format!("{} needs a duration", facts.subject(&path("grace_period"))))
                .because("the grace period follows a time limit, and there is none"),
        );
    }
    if phase.seamless == Some(true) && index == 0 {
        let at = path("seamless");
        problems.push(
            facts
                .problem(&at, format!("{} cannot be on the first phase", facts.subject(&at)))
                .because("there is no phase before it"),
        );
    }
    if phase.kind == Some(PhaseKind::Warmup) && !kind.can_warm_up() {
        problems.push(
            facts
                .problem(&path("type"), format!("{} cannot be used for a warmup", facts.subject(&path("type"))))
                .because("a warmup would end before its schedule does")
                .hint("type: concurrency, or its own rate, as in type: poisson, rate: 1"),
        );
    }
    ramps(phase, at, facts, problems);
    rates(phase, kind, at, facts, problems);
    if let (Some(start), Some(end)) = (phase.start_offset, phase.end_offset)
        && start > end
    {
        let what = format!("{} is after {}", facts.subject(&path("start_offset")), facts.mention(&path("end_offset")));
        problems.push(facts.problem(at, what).because("start_offset and end_offset select the rows between them"));
    }
    if phase.auto_offset == Some(true) && phase.start_offset.is_some() {
        let what = format!(
            "{} and {} exclude each other",
            facts.subject(&path("auto_offset")),
            facts.mention(&path("start_offset"))
        );
        problems.push(
            facts.problem(at, what).because("auto_offset starts at the first timestamp, start_offset at a given one"),
        );
    }
    if let (Some(min), Some(max)) = (phase.trajectory_start_min_ratio, phase.trajectory_start_max_ratio)
        && min > max
    {
        let what = format!(
            "{} is above {}",
            facts.subject(&path("trajectory_start_min_ratio")),
            facts.mention(&path("trajectory_start_max_ratio"))
        );
        problems.push(facts.problem(at, what));
    }
    if let Some(cancellation) = &phase.cancellation
        && cancellation.rate.is_none()
        && facts.node.find(&path("cancellation")).is_none_or(|node| node.set("rate").is_none())
    {
        problems.push(
            facts.problem(&path("cancellation.rate"), format!("{} needs a rate", facts.subject(&path("cancellation")))),
        );
    }
}

/// Every ramp needs a finite time.
fn ramps(phase: &Phase, at: &str, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    let all = [
        ("concurrency_ramp", &phase.concurrency_ramp),
        ("prefill_ramp", &phase.prefill_ramp),
        ("rate_ramp", &phase.rate_ramp),
    ];
    for (key, Ramp(ramp)) in all.into_iter().filter_map(|(key, ramp)| Some((key, ramp.as_ref()?))) {
        let at = format!("{at}.{key}");
        let rule = match ramp.duration {
            // One that could not be read was already reported.
            None if facts.node.find(&at).is_some_and(|node| node.set("duration").is_some()) => continue,
            None => "needs a duration",
            Some(duration) if !duration.0.is_finite() => "never reaches its value",
            Some(_) => continue,
        };
        let inner = format!("{at}.duration");
        let named = if facts.is_flag(&inner) { &inner } else { &at };
        problems.push(
            facts
                .problem(&at, format!("{} {rule}", facts.subject(named)))
                .because("a ramp has a duration, in which it reaches its value")
                .hint(facts.ask("a number of seconds, as in 30", "a time, as in 30s")),
        );
    }
}

fn rates(phase: &Phase, kind: PhaseType, at: &str, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    let path = |key: &str| format!("{at}.{key}");
    let series = phase.rate_series.is_some();
    let arrivals = kind.is_arrivals();
    if arrivals && phase.rate.is_some() && series {
        let what =
            format!("{} and {} exclude each other", facts.subject(&path("rate")), facts.mention(&path("rate_series")));
        problems.push(facts.problem(at, what).because("each sets the rate"));
    }
    if facts.node.find(at).is_some_and(|node| node.set("rate").is_none() && node.set("rate_series").is_none())
        && kind.has_rate()
    {
        problems.push(
            facts
                .problem(
                    &path("rate"),
                    format!("{}{} of type {} needs a rate", facts.place(at), label(phase), kind.name()),
                )
                .hint(facts.ask(if arrivals { "--request-rate N" } else { "--user-centric-rate N" }, "rate: N")),
        );
    }
    if !kind.has_users() {
        return;
    }
    if phase.rate_ramp.is_some() {
        let ramp = path("rate_ramp");
        let named = if facts.is_flag(&path("rate_ramp.duration")) { path("rate_ramp.duration") } else { ramp.clone() };
        problems.push(
            facts
                .problem(&ramp, format!("{} cannot be used with user-centric load", facts.subject(&named)))
                .because("the interval between turns of a user is fixed for the whole phase")
                .hint("several phases, each with its own rate"),
        );
    }
    if facts.node.find(at).is_some_and(|node| node.set("users").is_none()) {
        problems.push(
            facts
                .problem(
                    &path("users"),
                    format!("{}{} of type user_centric needs users", facts.place(at), label(phase)),
                )
                .hint(facts.ask("--num-users N", "users: N")),
        );
    }
    for (count, key, flag) in
        [(phase.sessions, "sessions", "--num-sessions"), (phase.requests, "requests", "--request-count")]
    {
        if let (Some(count), Some(users)) = (count, phase.users)
            && count < users
        {
            let given = if facts.is_flag(&path(key)) {
                facts.mention(&path(key))
            } else {
                format!("{} {count}", facts.ask(flag, key))
            };
            let (place, users_of) = (facts.place(&path(key)), facts.mention(&path("users")));
            let what = format!("{place}{}: {given} is less than {users_of}", label(phase));
            problems.push(
                facts
                    .problem(at, what)
                    .because("every user needs a conversation")
                    .hint(format!("{} {users} or more", facts.ask(flag, key))),
            );
        }
    }
}

fn load(phase: &Phase, at: &str, benchmark: &Benchmark, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    let path = |key: &str| format!("{at}.{key}");
    let prefill = path("prefill_concurrency");
    if let Some(slots) = phase.prefill_concurrency {
        let streaming = benchmark.endpoint.as_ref().and_then(|endpoint| endpoint.streaming) == Some(true);
        if !streaming {
            problems.push(
                facts
                    .problem(&prefill, format!("{} needs streaming", facts.subject(&prefill)))
                    .because("only the first token of a stream marks the end of the prefill")
                    .hint(facts.ask("add --streaming", "endpoint: {streaming: true}")),
            );
        }
        if let Some(sessions) = phase.concurrency
            && slots > sessions
        {
            let what = format!(
                "{}{}: {} is larger than {}",
                facts.place(&prefill),
                label(phase),
                facts.mention(&prefill),
                facts.mention(&path("concurrency"))
            );
            problems.push(
                facts
                    .problem(at, what)
                    .because("a slot of prefill_concurrency is also a session slot, so it can never be used")
                    .hint(format!(
                        "{} {slots}, or {} {sessions} or less",
                        facts.ask("--concurrency", "concurrency:"),
                        facts.ask("--prefill-concurrency", "prefill_concurrency:")
                    )),
            );
        }
    }
    if phase.agentic_cache_warmup_duration.is_some() && benchmark.scenario.is_none() && phase.timing_mode.is_none() {
        let at = path("agentic_cache_warmup_duration");
        problems.push(
            facts
                .problem(&at, format!("{} is for agentic replay only", facts.subject(&at)))
                .hint(facts.ask("add --scenario, or leave it out", "add scenario, or leave it out")),
        );
    }
    let dataset = benchmark.datasets.as_ref().and_then(|datasets| datasets.first());
    let Some(kind) = phase.r#type else { return };
    let is_shuffled =
        |dataset: &Dataset| dataset.r#type() == DatasetType::File && dataset.sampling() != Sampling::Sequential;
    if kind.replays() && dataset.is_some_and(is_shuffled) {
        let what = format!("{} cannot be used with a fixed schedule", facts.subject("datasets.0.sampling"));
        problems.push(
            facts.problem("datasets.0.sampling", what).because("requests are sent in the order of their timestamps"),
        );
    }
    adaptive(phase, kind, at, facts, problems);
}

fn adaptive(phase: &Phase, kind: PhaseType, at: &str, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    let scale = match &phase.adaptive_scale {
        None | Some(Switch::Plain(false)) => return,
        Some(Switch::Plain(true)) => None,
        Some(Switch::With(scale)) if scale.enabled == Some(false) => return,
        Some(Switch::With(scale)) => Some(scale),
    };
    let at_scale = format!("{at}.adaptive_scale");
    let mut need = |missing: bool, what: &str| {
        if missing {
            problems.push(facts.problem(&at_scale, format!("{} needs {what}", facts.subject(&at_scale))));
        }
    };
    need(phase.duration.is_none(), "a duration of the phase");
    need(scale.is_none_or(|scale| scale.sustain_duration.is_none()), "sustain_duration");
    let objectives = scale.and_then(|scale| scale.sla.as_ref()).or(phase.sla.as_ref());
    need(objectives.is_none_or(|sla| sla.0.is_empty()), "sla");
    need(kind.replays(), "a phase whose load can be changed, not a fixed_schedule");
    let Some(control) = scale.and_then(|scale| scale.control.as_ref()) else { return };
    let min = control.min();
    need(control.max.is_some_and(|max| min >= max), "a control.max above control.min");
    let variable = control.variable.unwrap_or(ScaleVariable::Concurrency);
    let whole =
        variable == ScaleVariable::RequestRate || [Some(min), control.max].iter().flatten().all(|n| n.fract() == 0.0);
    need(!whole, "whole numbers for control.min and control.max");
    let ramp = match variable {
        ScaleVariable::Concurrency => phase.concurrency_ramp.is_some(),
        ScaleVariable::PrefillConcurrency => phase.prefill_ramp.is_some(),
        ScaleVariable::RequestRate => phase.rate_ramp.is_some(),
        ScaleVariable::Users => false,
    };
    need(ramp, &format!("no ramp of {}, which it changes itself", variable.name()));
}
