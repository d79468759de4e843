//! When requests are sent: the profiling phase and the warmup.

mod warmup;

use super::{series, traces};
use crate::choice::Choice;
use crate::context::Context;
use crate::error::{Problem, needs};
use crate::flags::{
    ARRIVAL_PATTERN, ARRIVAL_SMOOTHNESS, BENCHMARK_DURATION, BENCHMARK_GRACE_PERIOD, CONVERSATION_TURN_MEAN,
    CUSTOM_DATASET_TYPE, FIXED_SCHEDULE, FIXED_SCHEDULE_AUTO_OFFSET, FIXED_SCHEDULE_END_OFFSET,
    FIXED_SCHEDULE_START_OFFSET, Flag, INPUT_FILE, NO_FIXED_SCHEDULE, NUM_USERS, PUBLIC_DATASET,
    REQUEST_CANCELLATION_DELAY, REQUEST_RATE, REQUEST_RATE_RAMP_DURATION, REQUEST_RATE_SERIES, SCENARIO, SEARCH_SPACE,
    To, USER_CENTRIC_RATE, WARMUP_REQUEST_RATE,
};
use crate::given::GivenFlags;
use crate::os_text;
use crate::sections::dataset::MEAN_TURNS;
use crate::sections::layout::{Layout, Unread};
use crate::sections::phases::{ArrivalPattern, DEFAULT_CONCURRENCY, GRACE_SECONDS, KEYS_OF, LEAST_REQUESTS, PhaseType};
use crate::tree::{Datum, Node, Origin};
use aiperf_types::PhaseKind;
use serde_json::Value;

const OFFSETS: &[&Flag] = &[FIXED_SCHEDULE_AUTO_OFFSET, FIXED_SCHEDULE_START_OFFSET, FIXED_SCHEDULE_END_OFFSET];

/// Flags that set the rate.
const RATES: &[&Flag] = &[REQUEST_RATE, USER_CENTRIC_RATE, REQUEST_RATE_SERIES];

/// Flags about the profiling phase that are not a key of it.
const BY_RULE: &[&Flag] = &[ARRIVAL_PATTERN, REQUEST_RATE_SERIES, FIXED_SCHEDULE];

/// Lays flags over the phases of a document. Flags without a file also set what ends the phase.
pub(super) fn phases(
    benchmark: &mut Node,
    flags: &GivenFlags,
    ctx: &Context<'_>,
    alone: bool,
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) {
    let Some(Node { datum: Datum::List(phases), .. }) = benchmark.get_mut("phases") else { return };
    warmup::lay(phases, flags, alone, notes, problems);
    for phase in phases.iter_mut() {
        for given in &flags.0 {
            if let To::EveryPhase(key) = given.flag.to {
                phase.place(key, given.node());
            }
        }
    }
    let load = flags.spellings(|given| matches!(given.flag.to, To::Profiling(_)) || BY_RULE.contains(&given.flag));
    if load.is_empty() && !alone {
        return;
    }
    let profiling: Vec<&mut Node> = phases.iter_mut().filter(|phase| is_of(phase, PhaseKind::Profiling)).collect();
    if profiling.len() > 1 {
        let names = profiling.iter().map(|phase| phase.get("name").and_then(Node::text).unwrap_or("?"));
        problems.push(
            Problem::new(format!("{} could apply to {}", load.join(", "), names.collect::<Vec<_>>().join(" or ")))
                .because("the file has several profiling phases")
                .hint("set it in the file"),
        );
        return;
    }
    if let Some(phase) = profiling.into_iter().next() {
        lay(phase, flags, ctx, alone, notes, problems);
    }
}

/// Whether a phase is of a kind, by its kind or by its name.
fn is_of(phase: &Node, kind: PhaseKind) -> bool {
    phase.choice("kind").or_else(|| phase.choice("name")) == Some(kind)
}

/// Whether a search will vary a setting.
fn searches(flags: &GivenFlags, setting: &str) -> bool {
    flags.texts(SEARCH_SPACE).iter().any(|text| {
        let path = text.split(':').next().unwrap_or_default();
        path == setting || path == format!("phases.profiling.{setting}")
    })
}

/// Lays flags over the profiling phase.
fn lay(
    phase: &mut Node,
    flags: &GivenFlags,
    ctx: &Context<'_>,
    alone: bool,
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) {
    if !one_rate(flags, alone, notes, problems) {
        return;
    }
    for given in &flags.0 {
        if let To::Profiling(key) = given.flag.to {
            phase.place(key, given.node());
        }
    }
    if let Some(rate) = flags.node(USER_CENTRIC_RATE) {
        phase.put("rate", rate);
    }
    if flags.has(REQUEST_RATE) {
        phase.take("rate_series");
    }
    if let Some(file) = flags.text(REQUEST_RATE_SERIES) {
        phase.take("rate");
        match series::load(file, ctx.cwd, REQUEST_RATE_SERIES.name) {
            Ok(points) => phase.put("rate_series", Node::flag(&points, REQUEST_RATE_SERIES.name)),
            Err(problem) => problems.push(problem),
        }
    }
    if flags.has(BENCHMARK_DURATION) {
        phase.put_default("grace_period", GRACE_SECONDS);
    }
    let before = phase.choice("type").unwrap_or(PhaseType::DEFAULT);
    let Some(mut kind) = arrival(before, flags, alone, problems) else { return };
    check(phase, flags, kind, problems);
    notes.extend(idle(flags, kind, alone));
    if alone && kind.has_users() {
        several_turns(flags, problems);
    }
    if alone && !kind.replays() && promoted(flags, ctx) {
        kind = PhaseType::FixedSchedule;
        untimed(flags, problems);
    }
    let offsets = flags.among(OFFSETS);
    if !kind.replays() && !offsets.is_empty() {
        problems.push(needs(&offsets.join(", "), "--fixed-schedule", "it selects a part of a fixed schedule"));
    }
    if kind != before {
        retype(phase, kind);
    }
    if alone {
        fill_in(phase, kind, flags, ctx, problems);
    }
}

/// Whether there is at most one rate. Of two rates without a file, that of the users applies; with a file it is unclear
/// which of them replaces the file's.
fn one_rate(flags: &GivenFlags, alone: bool, notes: &mut Vec<String>, problems: &mut Vec<Problem>) -> bool {
    let rates = flags.among(RATES);
    if rates.len() < 2 {
        return true;
    }
    if alone && !flags.has(REQUEST_RATE_SERIES) {
        notes.push("--request-rate has no effect: --user-centric-rate sets the rate".to_owned());
        return true;
    }
    for rate in [REQUEST_RATE, USER_CENTRIC_RATE] {
        if flags.has(rate) && flags.has(REQUEST_RATE_SERIES) {
            problems.push(exclude(flags.spelled(rate), REQUEST_RATE_SERIES.name));
        }
    }
    if !flags.has(REQUEST_RATE_SERIES) {
        problems.push(exclude(rates[0], rates[1]));
    }
    false
}

fn exclude(one: &str, other: &str) -> Problem {
    Problem::leave_one_out(one, other).because("each sets the rate")
}

/// How requests arrive: by the first of these that is given, or as before.
fn arrival(before: PhaseType, flags: &GivenFlags, alone: bool, problems: &mut Vec<Problem>) -> Option<PhaseType> {
    if flags.on(FIXED_SCHEDULE) {
        if let Some(rate) = flags.among(RATES).first() {
            problems.push(two_clocks(flags.spelled(FIXED_SCHEDULE), rate));
            return None;
        }
        return Some(PhaseType::FixedSchedule);
    }
    if flags.has(USER_CENTRIC_RATE) || searches(flags, "users") {
        return Some(PhaseType::UserCentric);
    }
    let searched = ["rate", "rate_ramp", "smoothness"].iter().any(|setting| searches(flags, setting));
    let pattern = flags.choice(ARRIVAL_PATTERN);
    let smooth = flags.has(ARRIVAL_SMOOTHNESS) || searches(flags, "smoothness");
    let asked = flags.has(REQUEST_RATE) || flags.has(REQUEST_RATE_SERIES) || searched;
    let has_rate = before.is_arrivals() || (smooth && pattern.is_none() && before.has_rate());
    if !asked && !has_rate {
        if !alone && pattern.is_some() {
            problems.push(
                Problem::new(format!("{} needs a phase that sends by rate", flags.spelled(ARRIVAL_PATTERN)))
                    .because(format!("the phase is of type {}", before.name()))
                    .hint("add --request-rate N"),
            );
            return None;
        }
        return Some(before);
    }
    if before.is_arrivals() && pattern.is_none() && !smooth {
        return Some(before);
    }
    let kind = by_pattern(pattern, smooth);
    if kind.is_none() {
        let rate =
            flags.among(RATES).first().map_or_else(|| "the rate of the file".to_owned(), |flag| (*flag).to_owned());
        problems.push(no_burst(flags.spelled(ARRIVAL_PATTERN), &rate));
    }
    kind
}

/// Timestamps and a rate.
fn two_clocks(schedule: &str, rate: &str) -> Problem {
    Problem::leave_one_out(schedule, rate)
        .because("each sets when requests are sent: the first by timestamps, the other by a rate")
        .at("benchmark.phases.0.type")
}

/// A burst and a rate.
fn no_burst(pattern: &str, rate: &str) -> Problem {
    let burst = ArrivalPattern::ConcurrencyBurst.name();
    Problem::exclusive(format_args!("{pattern} {burst}"), rate)
        .because("a burst sends when a session is free, a rate at set times")
        .hint(format!("{pattern} {}, or --concurrency N without a rate", ArrivalPattern::DEFAULT.name()))
        .at("benchmark.phases.0.type")
}

/// Notes about flags that change nothing.
fn idle(flags: &GivenFlags, kind: PhaseType, alone: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let pattern: Option<ArrivalPattern> = flags.choice(ARRIVAL_PATTERN);
    let pattern = pattern.filter(|pattern| *pattern != ArrivalPattern::ConcurrencyBurst);
    let warms_up = warmup::TRIGGERS.iter().any(|flag| flags.has(flag)) && flags.has(WARMUP_REQUEST_RATE);
    if let (true, Some(pattern), false, false) = (alone, pattern, kind.is_arrivals(), warms_up) {
        let name = flags.spelled(ARRIVAL_PATTERN);
        notes.push(format!("{name} {} has no effect: it shapes the arrivals of --request-rate", pattern.name()));
    }
    if flags.on(NO_FIXED_SCHEDULE) && flags.on(FIXED_SCHEDULE) {
        notes.push(format!("{} has no effect: {} is set", NO_FIXED_SCHEDULE.name, FIXED_SCHEDULE.name));
    }
    notes
}

/// The type of a phase that sends by rate; `None` for a pattern without a rate.
fn by_pattern(pattern: Option<ArrivalPattern>, smooth: bool) -> Option<PhaseType> {
    let usual = if smooth { ArrivalPattern::Gamma } else { ArrivalPattern::DEFAULT };
    pattern.unwrap_or(usual).phase_type()
}

/// Changes how requests arrive. Keys that the new type lacks are dropped, unless a flag set them.
fn retype(phase: &mut Node, kind: PhaseType) {
    phase.put("type", Node::rule(kind));
    for (key, _) in KEYS_OF {
        let from_flag = phase.get(key).is_some_and(|node| matches!(node.origin, Origin::Flag(_)));
        if !kind.has(key) && !from_flag {
            phase.take(key);
        }
    }
}

fn several_turns(flags: &GivenFlags, problems: &mut Vec<Problem>) {
    let turns = match flags.get(CONVERSATION_TURN_MEAN) {
        Some(given) => match given.sweep() {
            Some(items) => items.iter().filter_map(Value::as_f64).fold(f64::INFINITY, f64::min),
            None => given.value.as_f64().unwrap_or(MEAN_TURNS),
        },
        None => MEAN_TURNS,
    };
    if turns < 2.0 && !flags.has(INPUT_FILE) && !flags.has(PUBLIC_DATASET) {
        problems.push(
            Problem::new("--user-centric-rate needs --session-turns-mean 2 or more")
                .because("each user continues one conversation, and a conversation of one turn cannot be continued")
                .hint("add --session-turns-mean 2, or use --request-rate")
                .at("benchmark.datasets.0.turns.mean"),
        );
    }
}

/// Checks what flags about the profiling phase need from other flags or from the document.
fn check(phase: &Node, flags: &GivenFlags, kind: PhaseType, problems: &mut Vec<Problem>) {
    if flags.has(NUM_USERS) && !kind.has_users() {
        problems.push(needs(NUM_USERS.name, USER_CENTRIC_RATE.name, "only user-centric load has users"));
    }
    if let Some(given) = flags.get(ARRIVAL_SMOOTHNESS)
        && !kind.has("smoothness")
    {
        let name = &given.spelled;
        problems.push(
            Problem::new(format!("{name} needs gamma arrivals"))
                .because("it is the shape of the gamma distribution")
                .hint(format!("add --request-rate with --arrival-pattern gamma, or leave {name} out")),
        );
    }
    if flags.has(BENCHMARK_GRACE_PERIOD) && phase.set("duration").is_none() {
        problems.push(needs(
            BENCHMARK_GRACE_PERIOD.name,
            "--benchmark-duration SECONDS",
            "the grace period follows a time limit, and there is none",
        ));
    }
    if flags.has(REQUEST_RATE_RAMP_DURATION) && !kind.has_rate() {
        problems.push(needs(
            REQUEST_RATE_RAMP_DURATION.name,
            "--request-rate",
            "there is no rate to ramp to, and that of --user-centric-rate is fixed",
        ));
    }
    if flags.has(REQUEST_CANCELLATION_DELAY) && phase.find("cancellation.rate").is_none() {
        problems.push(needs(
            REQUEST_CANCELLATION_DELAY.name,
            "--request-cancellation-rate PERCENT",
            "without it no request is cancelled",
        ));
    }
}

/// Whether the data's own timestamps decide when requests are sent.
fn promoted(flags: &GivenFlags, ctx: &Context<'_>) -> bool {
    let trace = flags.choice(CUSTOM_DATASET_TYPE).is_some_and(Layout::is_trace);
    let free = !flags.on(NO_FIXED_SCHEDULE) && !flags.has(SCENARIO);
    trace
        && free
        && flags.text(INPUT_FILE).is_some_and(|path| traces::has_timestamps(&ctx.cwd.join(os_text::path(path))))
}

/// Refuses other timing if a trace's timestamps decide when requests are sent.
fn untimed(flags: &GivenFlags, problems: &mut Vec<Problem>) {
    let mut clashing = flags.among(&[REQUEST_RATE, USER_CENTRIC_RATE, NUM_USERS, ARRIVAL_SMOOTHNESS]);
    if ["rate", "users", "smoothness"].iter().any(|setting| searches(flags, setting)) {
        clashing.push(SEARCH_SPACE.name);
    }
    let names = clashing.join(", ");
    if !clashing.is_empty() {
        problems.push(
            Problem::new(format!("{names} cannot be used with a trace that has timestamps"))
                .because("requests are sent at the trace's own times")
                .hint(format!("add --no-fixed-schedule to use {names}, or leave it out")),
        );
    }
}

/// Fills in what flags without a file leave open, and refuses what they cannot set.
fn fill_in(phase: &mut Node, kind: PhaseType, flags: &GivenFlags, ctx: &Context<'_>, problems: &mut Vec<Problem>) {
    if flags.has(FIXED_SCHEDULE_START_OFFSET) {
        phase.put_default("auto_offset", false);
    }
    stop_default(phase, kind, flags, ctx);
    let lists = flags.spellings(|given| given.sweep().is_some());
    if kind.replays() && !lists.is_empty() {
        problems.push(
            Problem::new(format!("{} cannot be swept with a fixed schedule", lists.join(", ")))
                .because("requests are sent at the trace's own times (--fixed-schedule)")
                .hint("one value, or --no-fixed-schedule"),
        );
    }
}

/// The default end of a phase without one.
fn stop_default(phase: &mut Node, kind: PhaseType, flags: &GivenFlags, ctx: &Context<'_>) {
    let input = flags.text(INPUT_FILE).map(|path| ctx.cwd.join(os_text::path(path)));
    if kind.replays() {
        if let (None, Some(count)) = (phase.get("requests"), input.and_then(|path| traces::records(&path))) {
            phase.put("requests", Node::rule(count));
        }
        return;
    }
    if ["requests", "duration", "sessions"].iter().any(|key| phase.get(key).is_some()) {
        return;
    }
    if flags.choice(CUSTOM_DATASET_TYPE) == Some(Layout::Unread(Unread::DagJsonl))
        && let Some(roots) = input.and_then(|path| traces::roots(&path)).filter(|roots| *roots > 0)
    {
        phase.put("sessions", Node::rule(roots));
        return;
    }
    phase.put("requests", Node::rule(default_requests(phase)));
}

/// The default number of requests of a phase: twice its sessions or users at once, and enough for a mean.
pub(crate) fn default_requests(phase: &Node) -> i64 {
    let at_once = ["concurrency", "users"].iter().filter_map(|key| phase.get(key).and_then(Node::as_f64));
    let at_once = at_once.fold(DEFAULT_CONCURRENCY, |most, n| most.max(n as i64));
    at_once.saturating_mul(2).max(LEAST_REQUESTS)
}
