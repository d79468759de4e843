//! Warmup and profiling.

use super::{series, traces};
use crate::context::Context;
use crate::error::{Problem, needs};
use crate::flags::To;
use crate::given::{Flags, Said};
use crate::tree::{Node, Origin};
use serde_json::Value;

/// Formats that may carry timestamps, by which a run then goes unless told otherwise.
const TRACES: &[&str] = &[
    "burst_gpt_trace",
    "bailian_trace",
    "baseten_trace",
    "mooncake_trace",
    "sagemaker_data_capture",
    "tracelab",
    "weka_trace",
];

const OFFSETS: &[&str] =
    &["--fixed-schedule-auto-offset", "--fixed-schedule-start-offset", "--fixed-schedule-end-offset"];

/// The phases that flags describe.
pub(super) fn phases(benchmark: &mut Node, flags: &Flags, ctx: &Context<'_>, problems: &mut Vec<Problem>) {
    let warmup = warmup(flags, problems);
    let profiling = profiling(flags, ctx, problems);
    benchmark.put("phases", Node::rule(warmup.into_iter().chain([profiling]).collect::<Vec<_>>()));
}

/// A setting that a search will vary.
pub(crate) fn searches(flags: &Flags, setting: &str) -> bool {
    flags.texts("--search-space").iter().any(|text| {
        let path = text.split(':').next().unwrap_or_default();
        path == setting || path == format!("phases.profiling.{setting}")
    })
}

fn profiling(flags: &Flags, ctx: &Context<'_>, problems: &mut Vec<Problem>) -> Node {
    let mut phase = Node::map(Origin::Rule);
    phase.put("name", Node::rule("profiling"));
    phase.put("kind", Node::rule("profiling"));
    let mut kind = arrival(flags, problems);
    for said in &flags.0 {
        if let To::Profiling(key) | To::EveryPhase(key) = said.flag.to {
            phase.place(key, said.node());
        }
    }
    if let Some(rate) = flags.node("--user-centric-rate") {
        phase.put("rate", rate);
    }
    check(flags, kind, problems);
    if flags.has("--request-rate-series") {
        match series::load(flags.text("--request-rate-series").unwrap_or_default(), ctx.cwd, "--request-rate-series") {
            Ok(points) => phase.put("rate_series", Node::flag(&points, "--request-rate-series")),
            Err(problem) => problems.push(problem),
        }
    }
    if phase.get("duration").is_some() {
        phase.put_default("grace_period", 30.0);
    }
    if flags.has("--fixed-schedule-start-offset") {
        phase.put_default("auto_offset", false);
    }
    if kind != "fixed_schedule" && promoted(flags, ctx) {
        kind = "fixed_schedule";
        let clashing = clashing(flags);
        if !clashing.is_empty() {
            problems.push(
                Problem::new(format!("{} cannot be used with a trace that has timestamps", clashing.join(", ")))
                    .because("requests are sent at the trace's own times")
                    .hint(format!("add --no-fixed-schedule to use {}, or leave it out", clashing.join(", "))),
            );
        }
    }
    phase.put("type", Node::rule(kind));
    stop_default(&mut phase, kind, flags, ctx);
    if kind == "fixed_schedule" {
        let lists: Vec<&str> =
            flags.0.iter().filter(|said| said.sweep().is_some()).map(|said| said.spelled.as_str()).collect();
        if !lists.is_empty() {
            problems.push(
                Problem::new(format!("{} cannot be swept with a fixed schedule", lists.join(", ")))
                    .because("requests are sent at the trace's own times (--fixed-schedule)")
                    .hint("one value, or --no-fixed-schedule"),
            );
        }
    }
    phase
}

/// How requests arrive: the first of these that is asked for.
fn arrival(flags: &Flags, problems: &mut Vec<Problem>) -> &'static str {
    let rate = flags.has("--request-rate") || flags.has("--request-rate-series");
    let searched = ["rate", "rate_ramp", "smoothness"].iter().any(|setting| searches(flags, setting));
    if flags.on("--fixed-schedule") {
        "fixed_schedule"
    } else if flags.has("--user-centric-rate") || searches(flags, "users") {
        user_centric(flags, problems);
        "user_centric"
    } else if rate || searched {
        rate_type(flags.text("--arrival-pattern"), flags.has("--arrival-smoothness") || searches(flags, "smoothness"))
    } else {
        "concurrency"
    }
}

/// The type of a phase that sends by rate.
pub(crate) fn rate_type(pattern: Option<&str>, smooth: bool) -> &'static str {
    match pattern {
        None if smooth => "gamma",
        Some("gamma") => "gamma",
        Some("constant") => "constant",
        _ => "poisson",
    }
}

fn user_centric(flags: &Flags, problems: &mut Vec<Problem>) {
    let turns = match flags.get("--conversation-turn-mean") {
        Some(said) => match said.sweep() {
            Some(items) => items.iter().filter_map(Value::as_f64).fold(f64::INFINITY, f64::min),
            None => said.value.as_f64().unwrap_or(1.0),
        },
        None => 1.0,
    };
    if turns < 2.0 && !flags.has("--input-file") && !flags.has("--public-dataset") {
        problems.push(
            Problem::new("--user-centric-rate needs --session-turns-mean 2 or more")
                .because(
                    "users come back to their conversation, and a conversation of one turn has nothing to come back to",
                )
                .hint("add --session-turns-mean 2, or use --request-rate")
                .at("benchmark.datasets.0.turns.mean"),
        );
    }
}

/// What flags about phases may not stand together.
fn check(flags: &Flags, kind: &str, problems: &mut Vec<Problem>) {
    let exclude = |one: &str, other: &str| {
        Problem::new(format!("{one} and {other} exclude each other"))
            .because("each says the rate")
            .hint(format!("leave {one} or {other} out"))
    };
    if flags.has("--num-users") && kind != "user_centric" {
        problems.push(needs("--num-users", "--user-centric-rate", "only user-centric load has users"));
    }
    for rate in ["--request-rate", "--user-centric-rate"] {
        if flags.has(rate) && flags.has("--request-rate-series") {
            problems.push(exclude(rate, "--request-rate-series"));
        }
    }
    if let Some(said) = flags.get("--arrival-smoothness")
        && kind != "gamma"
    {
        let name = &said.spelled;
        problems.push(
            Problem::new(format!("{name} needs gamma arrivals"))
                .because("it is the shape of the gamma distribution")
                .hint(format!("add --request-rate with --arrival-pattern gamma, or leave {name} out")),
        );
    }
    if kind != "fixed_schedule" {
        let given = flags.among(OFFSETS);
        if !given.is_empty() {
            problems.push(needs(&given.join(", "), "--fixed-schedule", "it cuts a piece out of a fixed schedule"));
        }
    }
    if flags.has("--benchmark-grace-period") && !flags.has("--benchmark-duration") {
        problems.push(needs(
            "--benchmark-grace-period",
            "--benchmark-duration SECONDS",
            "the grace period follows a time limit, and there is none",
        ));
    }
    let by_rate = ["poisson", "gamma", "constant", "user_centric"].contains(&kind);
    if flags.has("--request-rate-ramp-duration") && !by_rate {
        problems.push(needs(
            "--request-rate-ramp-duration",
            "--request-rate (or --user-centric-rate)",
            "there is no rate to climb to",
        ));
    }
    if flags.has("--request-rate-series") && !by_rate {
        problems.push(exclude("--request-rate-series", "--fixed-schedule"));
    }
    if flags.has("--request-cancellation-delay") && !flags.has("--request-cancellation-rate") {
        problems.push(needs(
            "--request-cancellation-delay",
            "--request-cancellation-rate PERCENT",
            "without it no request is cancelled",
        ));
    }
}

/// Whether the data's own timestamps decide when requests are sent.
fn promoted(flags: &Flags, ctx: &Context<'_>) -> bool {
    let trace = flags.text("--custom-dataset-type").is_some_and(|format| TRACES.contains(&format));
    let free = !flags.on("--no-fixed-schedule") && !flags.has("--scenario");
    trace && free && flags.text("--input-file").is_some_and(|path| traces::has_timestamps(&ctx.cwd.join(path)))
}

fn clashing(flags: &Flags) -> Vec<String> {
    let mut given: Vec<String> = flags
        .among(&["--request-rate", "--user-centric-rate", "--num-users", "--arrival-smoothness"])
        .into_iter()
        .map(str::to_owned)
        .collect();
    if ["rate", "users", "smoothness"].iter().any(|setting| searches(flags, setting)) {
        given.push("--search-space".to_owned());
    }
    given
}

/// What ends a phase of which nothing does.
fn stop_default(phase: &mut Node, kind: &str, flags: &Flags, ctx: &Context<'_>) {
    let input = flags.text("--input-file").map(|path| ctx.cwd.join(path));
    if kind == "fixed_schedule" {
        if let (None, Some(count)) = (phase.get("requests"), input.and_then(|path| traces::records(&path))) {
            phase.put("requests", Node::rule(count));
        }
        return;
    }
    if ["requests", "duration", "sessions"].iter().any(|key| phase.get(key).is_some()) {
        return;
    }
    if flags.text("--custom-dataset-type") == Some("dag_jsonl")
        && let Some(roots) = input.and_then(|path| traces::roots(&path)).filter(|roots| *roots > 0)
    {
        phase.put("sessions", Node::rule(roots));
        return;
    }
    let concurrency = flags.get("--concurrency").and_then(|said| said.base().as_i64()).unwrap_or(1);
    phase.put("requests", Node::rule(default_requests(concurrency)));
}

/// How many requests a run sends when nothing ends it.
pub(crate) fn default_requests(concurrency: i64) -> i64 {
    concurrency.saturating_mul(2).max(10)
}

/// Flags any of which asks for a warmup.
pub(crate) const WARMUP_TRIGGERS: &[&str] = &["--warmup-request-count", "--num-warmup-sessions", "--warmup-duration"];

fn warmup(flags: &Flags, problems: &mut Vec<Problem>) -> Option<Node> {
    let grace = flags.get("--warmup-grace-period").filter(|_| !flags.has("--scenario"));
    if !WARMUP_TRIGGERS.iter().any(|flag| flags.has(flag)) {
        if grace.is_some() {
            problems.push(
                needs("--warmup-grace-period", "--warmup-duration SECONDS", "there is no warmup it could follow")
                    .because(
                        "a warmup is asked for by --warmup-duration, --warmup-request-count or --num-warmup-sessions",
                    ),
            );
        }
        return None;
    }
    if grace.is_some() && !flags.has("--warmup-duration") {
        problems.push(
            needs(
                "--warmup-grace-period",
                "--warmup-duration SECONDS",
                "grace_period follows a time limit, and there is none",
            )
            .because("--warmup-request-count and --num-warmup-sessions wait for what they sent"),
        );
    }
    let mut phase = Node::map(Origin::Rule);
    phase.put("name", Node::rule("warmup"));
    phase.put("kind", Node::rule("warmup"));
    phase.put("exclude_from_results", Node::rule(true));
    for said in &flags.0 {
        if let To::Warmup(key) | To::EveryPhase(key) = said.flag.to {
            phase.place(key, said.node());
        }
    }
    let own = |key: &str| phase.find(key).is_some();
    let inherited: Vec<(&str, Node)> = [
        ("rate", "--request-rate"),
        ("prefill_concurrency", "--prefill-concurrency"),
        ("concurrency_ramp.duration", "--concurrency-ramp-duration"),
        ("prefill_ramp.duration", "--prefill-concurrency-ramp-duration"),
    ]
    .into_iter()
    .filter(|(key, _)| !own(key))
    .filter_map(|(key, flag)| Some((key, flags.node(flag)?)))
    .collect();
    for (key, node) in inherited {
        phase.place(key, node);
    }
    let concurrency = flags.get("--concurrency").filter(|said| said.sweep().is_none()).map(Said::node);
    if let (None, Some(node)) = (phase.get("concurrency"), concurrency) {
        phase.put("concurrency", node);
    }
    if phase.get("rate").is_some() {
        let pattern = flags.text("--warmup-arrival-pattern").or_else(|| flags.text("--arrival-pattern"));
        let smooth = flags.node("--arrival-smoothness");
        let kind = rate_type(pattern, smooth.is_some());
        if let ("gamma", Some(smooth)) = (kind, smooth) {
            phase.put("smoothness", smooth);
        }
        if let (None, Some(ramp)) = (phase.get("rate_ramp"), flags.node("--request-rate-ramp-duration")) {
            phase.place("rate_ramp.duration", ramp);
        }
        phase.put("type", Node::rule(kind));
    } else {
        if flags.has("--warmup-request-rate-ramp-duration") {
            problems.push(needs(
                "--warmup-request-rate-ramp-duration",
                "--warmup-request-rate (or --request-rate)",
                "there is no rate to climb to",
            ));
        }
        phase.put("type", Node::rule("concurrency"));
        phase.put_default("concurrency", 1);
    }
    Some(phase)
}

/// A rate that another flag overrules.
pub(crate) fn overruled_rate(flags: &Flags) -> Option<String> {
    let both = flags.has("--request-rate") && flags.has("--user-centric-rate");
    both.then(|| "--request-rate has no effect: --user-centric-rate says the rate".to_owned())
}

/// Flags of a warmup nobody asked for: they would change nothing.
pub(crate) fn idle_warmup(flags: &Flags) -> Option<String> {
    if WARMUP_TRIGGERS.iter().any(|flag| flags.has(flag)) {
        return None;
    }
    let given: Vec<&str> = flags
        .0
        .iter()
        .filter(|said| matches!(said.flag.to, To::Warmup(_)) || said.flag.name == "--warmup-arrival-pattern")
        .map(|said| said.spelled.as_str())
        .collect();
    let names = given.join(", ");
    (!given.is_empty() && !flags.has("--warmup-grace-period")).then(|| {
        format!(
            "{names} has no effect without a warmup: add --warmup-request-count, --num-warmup-sessions or \
             --warmup-duration"
        )
    })
}
