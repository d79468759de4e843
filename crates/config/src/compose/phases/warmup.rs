//! The warmup.

use super::{by_pattern, is_of, no_burst};
use crate::choice::Choice;
use crate::error::{Problem, needs};
use crate::flags::{
    ARRIVAL_PATTERN, ARRIVAL_SMOOTHNESS, CONCURRENCY, CONCURRENCY_RAMP_DURATION, Flag, NUM_WARMUP_SESSIONS,
    PREFILL_CONCURRENCY, PREFILL_CONCURRENCY_RAMP_DURATION, REQUEST_RATE, REQUEST_RATE_RAMP_DURATION, SCENARIO, To,
    WARMUP_ARRIVAL_PATTERN, WARMUP_DURATION, WARMUP_GRACE_PERIOD, WARMUP_REQUEST_COUNT, WARMUP_REQUEST_RATE,
    WARMUP_REQUEST_RATE_RAMP_DURATION,
};
use crate::given::{GivenFlag, GivenFlags};
use crate::sections::phases::{ArrivalPattern, DEFAULT_CONCURRENCY, PhaseType};
use crate::tree::{Node, Origin};
use aiperf_types::PhaseKind;

/// Flags that each ask for a warmup.
pub(super) const TRIGGERS: &[&Flag] = &[WARMUP_REQUEST_COUNT, NUM_WARMUP_SESSIONS, WARMUP_DURATION];

/// What a warmup inherits from flags about profiling, unless it has its own.
const INHERITED: &[(&str, &Flag)] = &[
    ("rate", REQUEST_RATE),
    ("prefill_concurrency", PREFILL_CONCURRENCY),
    ("concurrency_ramp.duration", CONCURRENCY_RAMP_DURATION),
    ("prefill_ramp.duration", PREFILL_CONCURRENCY_RAMP_DURATION),
];

/// Warmup flags change the document's warmup, or make one when they ask for it.
pub(super) fn lay(
    phases: &mut Vec<Node>,
    flags: &GivenFlags,
    alone: bool,
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) {
    let given = flags.spellings(|given| matches!(given.flag.to, To::Warmup(_)) || given.flag == WARMUP_ARRIVAL_PATTERN);
    if given.is_empty() {
        return;
    }
    let there = phases.iter().any(|phase| is_of(phase, PhaseKind::Warmup));
    if !there {
        if !TRIGGERS.iter().any(|flag| flags.has(flag)) {
            return unasked(&given.join(", "), flags, alone, notes, problems);
        }
        phases.insert(0, new());
    }
    let Some(phase) = phases.iter_mut().find(|phase| is_of(phase, PhaseKind::Warmup)) else { return };
    for given in &flags.0 {
        if let To::Warmup(key) = given.flag.to {
            phase.place(key, given.node());
        }
    }
    if there {
        retype(phase, flags, notes, problems);
    } else {
        if alone {
            inherit(phase, flags);
        }
        shape(phase, flags, alone, notes, problems);
    }
    if flags.has(WARMUP_GRACE_PERIOD) && !(alone && flags.has(SCENARIO)) && phase.set("duration").is_none() {
        problems.push(
            needs(
                WARMUP_GRACE_PERIOD.name,
                "--warmup-duration SECONDS",
                "grace_period follows a time limit, and there is none",
            )
            .because("--warmup-request-count and --num-warmup-sessions wait for what they sent"),
        );
    }
    let rate = phase.set("rate").or_else(|| phase.set("rate_series"));
    if flags.has(WARMUP_REQUEST_RATE_RAMP_DURATION) && rate.is_none() {
        problems.push(needs(
            WARMUP_REQUEST_RATE_RAMP_DURATION.name,
            "--warmup-request-rate (or --request-rate)",
            "there is no rate to ramp to",
        ));
    }
}

/// Flags of a warmup that does not exist: a note without a file, since they change nothing; a problem with a file,
/// which may lack a warmup by mistake.
fn unasked(names: &str, flags: &GivenFlags, alone: bool, notes: &mut Vec<String>, problems: &mut Vec<Problem>) {
    if !alone {
        problems.push(
            Problem::new(format!("{names} needs a warmup phase"))
                .because("the file has none")
                .hint("add --warmup-request-count N, --num-warmup-sessions N or --warmup-duration SECONDS"),
        );
    } else if !flags.has(WARMUP_GRACE_PERIOD) {
        notes.push(format!(
            "{names} has no effect without a warmup: add --warmup-request-count, --num-warmup-sessions or \
             --warmup-duration"
        ));
    } else if !flags.has(SCENARIO) {
        problems.push(
            needs(WARMUP_GRACE_PERIOD.name, "--warmup-duration SECONDS", "there is no warmup")
                .because("--warmup-duration, --warmup-request-count or --num-warmup-sessions enables a warmup"),
        );
    }
}

fn new() -> Node {
    let mut phase = Node::map(Origin::Rule);
    phase.put("name", Node::rule(PhaseKind::Warmup));
    phase.put("kind", Node::rule(PhaseKind::Warmup));
    phase.put("exclude_from_results", Node::rule(true));
    phase
}

/// A rate for a file's warmup by concurrency needs an arrival pattern.
fn retype(phase: &mut Node, flags: &GivenFlags, notes: &mut Vec<String>, problems: &mut Vec<Problem>) {
    let kind = phase.choice("type").unwrap_or(PhaseType::DEFAULT);
    let pattern = flags.choice(WARMUP_ARRIVAL_PATTERN);
    if !flags.has(WARMUP_REQUEST_RATE) || !kind.is_closed_loop() {
        notes.extend(pattern.map(|pattern: ArrivalPattern| {
            let name = pattern.name();
            format!("--warmup-arrival-pattern {name} has no effect: the warmup of the file is of type {}", kind.name())
        }));
        return;
    }
    match (pattern, by_pattern(pattern, false)) {
        (Some(_), Some(kind)) => phase.put("type", Node::rule(kind)),
        (Some(_), None) => problems.push(no_burst(WARMUP_ARRIVAL_PATTERN.name, WARMUP_REQUEST_RATE.name)),
        (None, _) => problems.push(
            Problem::new("--warmup-request-rate needs --warmup-arrival-pattern")
                .because("the warmup of the file sends by concurrency")
                .hint("add --warmup-arrival-pattern poisson"),
        ),
    }
}

/// Without a file, a warmup inherits the settings of profiling, except those with flags of its own.
fn inherit(phase: &mut Node, flags: &GivenFlags) {
    for (key, flag) in INHERITED {
        if let (None, Some(node)) = (phase.find(key), flags.node(flag)) {
            phase.place(key, node);
        }
    }
    let concurrency = flags.get(CONCURRENCY).filter(|given| given.sweep().is_none()).map(GivenFlag::node);
    if let (None, Some(node)) = (phase.get("concurrency"), concurrency) {
        phase.put("concurrency", node);
    }
    if let (true, None, Some(ramp)) =
        (phase.get("rate").is_some(), phase.get("rate_ramp"), flags.node(REQUEST_RATE_RAMP_DURATION))
    {
        phase.place("rate_ramp.duration", ramp);
    }
}

/// How the requests of a new warmup arrive.
fn shape(phase: &mut Node, flags: &GivenFlags, alone: bool, notes: &mut Vec<String>, problems: &mut Vec<Problem>) {
    let own: Option<ArrivalPattern> = flags.choice(WARMUP_ARRIVAL_PATTERN);
    if phase.get("rate").is_none() {
        phase.put("type", Node::rule(PhaseType::Concurrency));
        phase.put_default("concurrency", DEFAULT_CONCURRENCY);
        if let Some(pattern) = own.filter(|pattern| *pattern != ArrivalPattern::ConcurrencyBurst) {
            let name = pattern.name();
            notes.push(format!("--warmup-arrival-pattern {name} has no effect without --warmup-request-rate"));
        }
        return;
    }
    let inherited = |flag: &Flag| flags.get(flag).filter(|_| alone);
    let smooth = inherited(ARRIVAL_SMOOTHNESS).map(GivenFlag::node);
    let pattern = own.or_else(|| inherited(ARRIVAL_PATTERN).and_then(|_| flags.choice(ARRIVAL_PATTERN)));
    let Some(kind) = by_pattern(pattern, smooth.is_some()) else {
        // If both are inherited from profiling, the problem was reported there.
        let named = |flag: &'static Flag, other: &'static Flag| if flags.has(flag) { flag.name } else { other.name };
        let (pattern_flag, rate) =
            (named(WARMUP_ARRIVAL_PATTERN, ARRIVAL_PATTERN), named(WARMUP_REQUEST_RATE, REQUEST_RATE));
        if (pattern_flag, rate) != (ARRIVAL_PATTERN.name, REQUEST_RATE.name) {
            problems.push(no_burst(pattern_flag, rate));
        }
        return;
    };
    if let Some(smooth) = smooth.filter(|_| kind.has("smoothness")) {
        phase.put("smoothness", smooth);
    }
    phase.put("type", Node::rule(kind));
}
