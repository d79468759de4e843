//! Bounds of every run: lengths, counts and times beyond any server and any clock. Larger values are refused by the
//! name that the user wrote, before anything is made from them.

use super::facts::Facts;
use crate::error::Problem;
use crate::range::largest_count;
use crate::sections::dataset::Dataset;
use crate::sections::distribution::Distribution;
use crate::sections::envelope::Benchmark;
use crate::sections::phases::Phase;
use crate::sections::ramps::Ramp;
use crate::setting::{Seconds, Switch};
use aiperf_plan::Distribution as Drawn;

/// The most tokens of one prompt: ten times the longest context of today.
pub(crate) const PROMPT_TOKENS: f64 = 1e7;
/// The most tokens of all prompts together: about 20 GB of text.
pub(crate) const DATASET_TOKENS: f64 = 4e9;
/// The most tokens of all prefixes of a pool together: they stay in memory, with some bytes each.
const POOL_TOKENS: f64 = 1e8;
/// The most tokens that one response may be asked for: the integer type of servers.
const OUTPUT_TOKENS: f64 = i32::MAX as f64;
const WORKERS: f64 = 1024.0;
/// The most texts of one request.
const BATCH: f64 = 1e6;

/// The highest rate, in requests per second: far more than a machine sends, and small enough to count.
const MOST_RATE: f64 = 1e7;
/// One request in thirty years.
const LEAST_RATE: f64 = 1.0 / LONGEST;
/// Shapes of gamma arrivals: below these nearly all requests come at once, above them all intervals are equal.
const SMOOTHNESS: (f64, f64) = (1e-3, 1e6);
/// The most turns of one conversation: more than any context allows.
const TURNS: f64 = 1e5;
/// Thirty years.
const LONGEST: f64 = 1e9;
/// An hour.
const LONGEST_ROUND_TRIP_MS: f64 = 3.6e6;
/// A millisecond: no request over a network takes less, and no phase is shorter.
const SHORTEST: f64 = 0.001;

pub(super) fn check(benchmark: &Benchmark, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    let most = |at: String, value: Option<i64>, most: f64, problems: &mut Vec<Problem>| {
        if value.is_some_and(|value| value as f64 > most) {
            problems.push(facts.problem(&at, format!("{} must be at most {most}", facts.subject(&at))));
        }
    };
    for (index, phase) in benchmark.phases.iter().flat_map(|phases| phases.0.iter()).enumerate() {
        let at = |key: &str| format!("phases.{index}.{key}");
        let counts = [
            ("requests", phase.requests),
            ("sessions", phase.sessions),
            ("concurrency", phase.concurrency),
            ("prefill_concurrency", phase.prefill_concurrency),
            ("users", phase.users),
        ];
        for (key, count) in counts {
            most(at(key), count, largest_count(key), problems);
        }
        time(at("duration"), phase.duration, facts, problems);
        time(at("grace_period"), phase.grace_period, facts, problems);
        let delay = phase.cancellation.as_ref().and_then(|cancellation| cancellation.delay);
        longest(at("cancellation.delay"), delay, facts, problems);
        arrivals(phase, &at, facts, problems);
    }
    turns(benchmark, facts, problems);
    let datasets = benchmark.datasets.iter().flat_map(|datasets| datasets.0.iter());
    for (index, dataset) in datasets.enumerate() {
        let size = dataset.prompts.as_ref().and_then(|prompts| prompts.batch_size);
        most(format!("datasets.{index}.prompts.batch_size"), size, BATCH, problems);
    }
    let runtime = benchmark.runtime.as_ref();
    most("runtime.workers".into(), runtime.and_then(|runtime| runtime.workers), WORKERS, problems);
    let interval = runtime.and_then(|runtime| runtime.stats_interval).map(Seconds);
    time("runtime.stats_interval".into(), interval, facts, problems);
    let timeout = benchmark.endpoint.as_ref().and_then(|endpoint| endpoint.timeout).map(Seconds);
    time("endpoint.timeout".into(), timeout, facts, problems);
    let unreachable = benchmark.endpoint.as_ref().and_then(|endpoint| endpoint.unreachable_timeout).map(Seconds);
    time("endpoint.unreachable_timeout".into(), unreachable, facts, problems);
    control(benchmark, facts, problems);
    network(benchmark, facts, problems);
    lengths(benchmark, facts, problems);
}

/// Rates, shapes and climbs must be within the precision of a nanosecond clock.
fn arrivals(phase: &Phase, at: &dyn Fn(&str) -> String, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    let bounds =
        [("rate", phase.rate, LEAST_RATE, MOST_RATE), ("smoothness", phase.smoothness, SMOOTHNESS.0, SMOOTHNESS.1)];
    for (key, value, least, most) in bounds {
        if value.is_some_and(|value| !(least..=most).contains(&value)) {
            let rule = format!("must be at least {least} and at most {most}");
            problems.push(facts.problem(&at(key), format!("{} {rule}", facts.subject(&at(key)))));
        }
    }
    for (index, point) in phase.rate_series.iter().flat_map(|series| series.0.iter()).enumerate() {
        let bounds = [("qps", point.qps, LEAST_RATE, MOST_RATE), ("time_s", point.time_s, 0.0, LONGEST)];
        for (key, value, least, most) in bounds {
            if let Some(value) = value.filter(|value| !(least..=most).contains(value)) {
                let series = at("rate_series");
                let name =
                    facts.node.find(&series).map(|node| facts.places.subject_key(node, &format!("benchmark.{series}")));
                let what = format!("{} has {key} {value} in point {index}", name.unwrap_or_else(|| series.clone()));
                problems.push(
                    facts.problem(&series, what).because(format!("it must be at least {least} and at most {most}")),
                );
            }
        }
    }
    let ramps = [
        ("concurrency_ramp", &phase.concurrency_ramp),
        ("prefill_ramp", &phase.prefill_ramp),
        ("rate_ramp", &phase.rate_ramp),
    ];
    for (key, ramp) in ramps {
        let inner = at(&format!("{key}.duration"));
        let named = if facts.node.find(&inner).is_some() { inner } else { at(key) };
        time(named, ramp.as_ref().and_then(|Ramp(ramp)| ramp.duration), facts, problems);
    }
    if let (Some(users), Some(rate)) = (phase.users, phase.rate)
        && users as f64 / rate > LONGEST
    {
        let what = format!("{} is too slow for {}", facts.subject(&at("rate")), facts.mention(&at("users")));
        problems.push(
            facts
                .problem(&at("rate"), what)
                .because(format!("each user would wait more than {LONGEST} seconds between turns")),
        );
    }
}

/// Round trips must be measurable by a clock, and shorter than a run.
fn network(benchmark: &Benchmark, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    let Some(network) = &benchmark.network_latency else { return };
    let (interval, at) = (network.ping_interval, "network_latency.ping_interval");
    longest(at.into(), interval, facts, problems);
    time(at.into(), interval.map(Seconds).filter(|Seconds(seconds)| *seconds <= LONGEST), facts, problems);
    let at = "network_latency.mean_ms";
    if network.mean_ms.is_some_and(|mean| mean > LONGEST_ROUND_TRIP_MS) {
        problems.push(
            facts
                .problem(at, format!("{} must be at most {LONGEST_ROUND_TRIP_MS} milliseconds", facts.subject(at)))
                .because("no network takes an hour for a round trip")
                .hint("the average that ping shows for the server"),
        );
    }
}

/// Conversations must fit into a context and a lifetime.
fn turns(benchmark: &Benchmark, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    for (index, dataset) in benchmark.datasets.iter().flat_map(|datasets| datasets.0.iter()).enumerate() {
        let longest =
            |distribution: &Option<Distribution>| distribution.as_ref().map_or(0.0, |length| length.drawn().largest());
        let mean =
            |distribution: &Option<Distribution>| distribution.as_ref().map_or(0.0, |length| length.drawn().mean());
        // The flag that exceeds the limit: that of the deviation only if the mean alone does not.
        let name = |key: &str, by_mean: bool| {
            let at = format!("datasets.{index}.{key}");
            let mut inner = [format!("{at}.stddev"), format!("{at}.mean")];
            inner.rotate_left(usize::from(by_mean));
            inner.into_iter().find(|inner| facts.is_flag(inner)).unwrap_or(at)
        };
        let mut refuse = |key: &str, by_mean: bool, rule: String| {
            let subject = facts.subject(&name(key, by_mean));
            problems.push(facts.problem(&format!("datasets.{index}.{key}"), format!("{subject} {rule}")));
        };
        // NaN is no number either.
        if !matches!(longest(&dataset.turns), turns if turns <= TURNS) {
            refuse(
                "turns",
                mean(&dataset.turns) > TURNS,
                format!("is too long for a conversation: at most {TURNS} turns, including {} deviations", Drawn::FAR),
            );
        }
        let delay = longest(&dataset.turn_delay);
        if !matches!(delay / 1e3 * dataset.turn_delay_ratio().max(1.0), seconds if seconds <= LONGEST) {
            let key = if delay / 1e3 <= LONGEST { "turn_delay_ratio" } else { "turn_delay" };
            refuse(
                key,
                mean(&dataset.turn_delay) / 1e3 > LONGEST,
                format!("makes turns wait for more than {LONGEST} seconds"),
            );
        }
        if dataset.turn_delay_ratio().is_infinite() {
            refuse("turn_delay_ratio", false, "must be a number".to_owned());
        }
    }
}

/// Times of calls around a run.
fn control(benchmark: &Benchmark, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    let Some(endpoint) = &benchmark.endpoint else { return };
    let mut times = vec![
        ("wait_for_model_timeout", endpoint.wait_for_model_timeout),
        ("wait_for_model_interval", endpoint.wait_for_model_interval),
    ];
    if let Some(Switch::With(reset)) = &endpoint.reset_kv_cache {
        times.push(("reset_kv_cache.timeout_seconds", reset.timeout_seconds));
        times.push(("reset_kv_cache.max_retry_seconds", reset.max_retry_seconds));
    }
    if let Some(Switch::With(profiler)) = &endpoint.server_profiler {
        times.push(("server_profiler.timeout_seconds", profiler.timeout_seconds));
    }
    for (key, seconds) in times {
        let at = format!("endpoint.{key}");
        longest(at.clone(), seconds, facts, problems);
        time(at, seconds.map(Seconds).filter(|Seconds(seconds)| *seconds <= LONGEST), facts, problems);
    }
}

/// A time must have an end.
fn longest(at: String, seconds: Option<f64>, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    if seconds.is_some_and(|seconds| seconds > LONGEST) {
        let rule = format!("{} must be at most {LONGEST} seconds", facts.subject(&at));
        problems.push(facts.problem(&at, rule));
    }
}

/// A time must be one that a run can last; zero and no end have meanings of their own.
fn time(at: String, time: Option<Seconds>, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    let Some(Seconds(seconds)) = time.filter(|Seconds(seconds)| seconds.is_finite() && *seconds > 0.0) else { return };
    let rule = if seconds > LONGEST {
        format!("must be at most {LONGEST} seconds")
    } else if seconds < SHORTEST {
        format!("must be at least {SHORTEST} seconds")
    } else {
        return;
    };
    problems.push(facts.problem(&at, format!("{} {rule}", facts.subject(&at))));
}

fn lengths(benchmark: &Benchmark, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    for (index, dataset) in benchmark.datasets.iter().flat_map(|datasets| datasets.0.iter()).enumerate() {
        prefixes(dataset, index, facts, problems);
        let prompts = dataset.prompts.clone().unwrap_or_default();
        for (key, length, most, of) in
            [("isl", &prompts.isl, PROMPT_TOKENS, "a prompt"), ("osl", &prompts.osl, OUTPUT_TOKENS, "a response")]
        {
            let Some(length) = length else { continue };
            let at = format!("datasets.{index}.prompts.{key}");
            let length = length.drawn();
            let mean = length.mean();
            // NaN is no length either.
            if length.largest() <= most {
                continue;
            }
            let key = if mean > most { "mean" } else { "stddev" };
            let inner = format!("{at}.{key}");
            let named = if facts.node.find(&inner).is_some() { &inner } else { &at };
            let problem = facts.problem(&at, format!("{} is too long for {of}", facts.subject(named)));
            problems.push(if mean > most {
                problem.because(format!("a mean is at most {most} tokens"))
            } else {
                problem.because(format!("the mean and {} deviations are at most {most} tokens", Drawn::FAR))
            });
        }
    }
}

/// Texts before prompts must fit into a context, and all of a pool into memory.
fn prefixes(dataset: &Dataset, index: usize, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    let Some(prefix) = &dataset.prefix_prompts else { return };
    let mut refuse = |key: &str, rule: String| {
        let at = format!("datasets.{index}.prefix_prompts.{key}");
        problems.push(facts.problem(&at, format!("{} {rule}", facts.subject(&at))));
    };
    for (key, length) in [
        ("length", prefix.length),
        ("shared_system_length", prefix.shared_system_length),
        ("user_context_length", prefix.user_context_length),
    ] {
        if length.is_some_and(|length| length as f64 > PROMPT_TOKENS) {
            refuse(key, format!("is too long for a prompt: at most {PROMPT_TOKENS} tokens"));
        }
    }
    let size = prefix.pool_size.unwrap_or(0) as f64;
    if size * prefix.length.unwrap_or(1).max(1) as f64 > POOL_TOKENS {
        refuse("pool_size", format!("is too large: all prefixes together are at most {POOL_TOKENS} tokens"));
    }
}
