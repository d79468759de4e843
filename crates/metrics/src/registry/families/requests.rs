//! Metrics of requests: duration, number, failures, and the time of the benchmark.

use crate::facts::{Fact, Facts};
use crate::registry::flags::Flags;
use crate::registry::metric::Compute::{Derived, Fold, Ints, Total};
use crate::registry::metric::Short::{Bare, WithUnit};
use crate::registry::metric::{self, ConsoleGroup, Metric};
use crate::registry::rules::Rules;
use crate::registry::scope::Scope;
use crate::registry::unit::Unit;

use super::int;

pub(super) const METRICS: &[Metric] = &[
    Metric::new("request_latency", "Request Latency", Unit::Ns, Ints(request_latency))
        .short("Req Latency", WithUnit)
        .shown_in(Unit::Ms)
        .flags(&[Flags::PERCENTILE_INCLUDES_FAILED_REQUESTS])
        .group(ConsoleGroup::Default)
        .order(300)
        .facts(&[Fact::Last])
        .formula("content_responses[last].perf_ns - start_perf_ns")
        .absent("no content response; last content earlier than start"),
    Metric::new("request_count", "Request Count", Unit::Requests, Fold(metric::Fold::Sum, one))
        .short("Requests", Bare)
        .flags(&[Flags::LARGER_IS_BETTER, Flags::NO_INDIVIDUAL_RECORDS])
        .group(ConsoleGroup::Default)
        .order(1100)
        .facts(&[Fact::Status])
        .formula("number of valid records")
        .absent("no valid record"),
    Metric::new("error_request_count", "Error Request Count", Unit::Requests, Fold(metric::Fold::Sum, one))
        .short("Error Count", Bare)
        .flags(&[Flags::ERROR_ONLY, Flags::NO_INDIVIDUAL_RECORDS])
        .group(ConsoleGroup::Default)
        .facts(&[Fact::Status])
        .formula("number of failed records")
        .absent("no failed record"),
    Metric::new(
        "context_overflow_count",
        "Context Overflow Count",
        Unit::Requests,
        Fold(metric::Fold::Sum, context_overflow_count),
    )
    .short("Ctx Overflow", Bare)
    .flags(&[Flags::ERROR_ONLY, Flags::NO_INDIVIDUAL_RECORDS])
    .group(ConsoleGroup::Default)
    .facts(&[Fact::Status])
    .formula("number of failed records whose error text matched a context-overflow phrase")
    .absent("no failed record"),
    Metric::new("error_isl", "Error Input Sequence Length", Unit::Tokens, Ints(error_isl))
        .short("Error ISL", WithUnit)
        .flags(&[Flags::ERROR_ONLY, Flags::LARGER_IS_BETTER, Flags::TOKENIZES_INPUT_ONLY])
        .order(700)
        .facts(&[Fact::Input])
        .formula("token_counts.input of a failed record")
        .absent("input is null"),
    Metric::new("total_error_isl", "Total Error Input Sequence Length", Unit::Tokens, Total("error_isl"))
        .short("Total Error ISL", Bare)
        .flags(&[Flags::ERROR_ONLY, Flags::LARGER_IS_BETTER, Flags::TOKENIZES_INPUT_ONLY])
        .needs(&["error_isl"])
        .formula("sum over records of error_isl")
        .absent("no record has error_isl"),
    Metric::new(
        "completed_request_count",
        "Completed Requests (Success + Error)",
        Unit::Requests,
        Derived(completed_request_count),
    )
    .short("Completed", Bare)
    .flags(&[Flags::NO_INDIVIDUAL_RECORDS])
    .group(ConsoleGroup::Default)
    .order(1075)
    .uses(&["error_request_count", "request_count"])
    .formula("request_count + error_request_count (each 0 when absent)")
    .absent("sum == 0"),
    Metric::new("request_error_rate", "Request Error Rate", Unit::Percent, Derived(request_error_rate))
        .short("Err %", Bare)
        .flags(&[Flags::NO_INDIVIDUAL_RECORDS])
        .group(ConsoleGroup::Default)
        .order(1080)
        .uses(&["error_request_count", "request_count"])
        .formula("100 * error_request_count / (request_count + error_request_count)")
        .absent("sum == 0"),
    Metric::new(
        "min_request_timestamp",
        "Minimum Request Timestamp",
        Unit::Ns,
        Fold(metric::Fold::Min, min_request_timestamp),
    )
    .short("Min Req", Bare)
    .flags(&[Flags::NO_INDIVIDUAL_RECORDS])
    .facts(&[Fact::Start])
    .of_every_record()
    .formula("min over all records of timestamp_ns, failed ones included")
    .absent("no record"),
    Metric::new(
        "max_response_timestamp",
        "Maximum Response Timestamp",
        Unit::Ns,
        Fold(metric::Fold::Max, max_response_timestamp),
    )
    .short("Max Resp", Bare)
    .flags(&[Flags::NO_INDIVIDUAL_RECORDS])
    .needs(&["request_latency"])
    .facts(&[Fact::Start])
    .formula("max over valid records of timestamp_ns + request_latency"),
    Metric::new("benchmark_duration", "Benchmark Duration", Unit::Ns, Derived(benchmark_duration))
        .short("Duration", Bare)
        .shown_in(Unit::Sec)
        .needs(&["max_response_timestamp", "min_request_timestamp"])
        .formula("max_response_timestamp - min_request_timestamp")
        .absent("max <= min, or no valid record"),
    Metric::new("request_throughput", "Request Throughput", Unit::RequestsPerSec, Derived(request_throughput))
        .short("Req/sec", Bare)
        .flags(&[Flags::LARGER_IS_BETTER])
        .group(ConsoleGroup::Default)
        .order(900)
        .needs(&["benchmark_duration", "request_count"])
        .formula("request_count / duration_s"),
];

pub(super) fn request_latency(f: &Facts, _: &Rules) -> Option<i64> {
    int(f.get(Fact::Last))
}

fn one(_: &Facts, _: &Rules) -> Option<i64> {
    Some(1)
}

fn context_overflow_count(f: &Facts, _: &Rules) -> Option<i64> {
    Some(i64::from(f.get(Fact::Status)? & Facts::OVERFLOW != 0))
}

fn error_isl(f: &Facts, _: &Rules) -> Option<i64> {
    int(f.get(Fact::Input))
}

fn min_request_timestamp(f: &Facts, _: &Rules) -> Option<i64> {
    int(f.get(Fact::Start))
}

fn max_response_timestamp(f: &Facts, rules: &Rules) -> Option<i64> {
    Some(int(f.get(Fact::Start))? + request_latency(f, rules)?)
}

fn attempted(scope: &Scope<'_>) -> Option<f64> {
    let count = |tag| scope.value(tag).unwrap_or(0.0);
    let attempted = count("request_count") + count("error_request_count");
    (attempted > 0.0).then_some(attempted)
}

fn completed_request_count(scope: &Scope<'_>) -> Option<f64> {
    attempted(scope)
}

fn request_error_rate(scope: &Scope<'_>) -> Option<f64> {
    Some(100.0 * scope.value("error_request_count").unwrap_or(0.0) / attempted(scope)?)
}

/// Subtracts integers: as floats, two instants of today are multiples of 256 ns.
fn benchmark_duration(scope: &Scope<'_>) -> Option<f64> {
    let span = scope.int("max_response_timestamp")? - scope.int("min_request_timestamp")?;
    (span > 0).then_some(span as f64)
}

fn request_throughput(scope: &Scope<'_>) -> Option<f64> {
    Some(scope.value("request_count")? / scope.seconds()?)
}
