//! Metrics of the schedule: how late requests were sent, and latency from their release and from when they were due.

use crate::facts::{Fact, Facts};
use crate::registry::flags::Flags;
use crate::registry::metric::Compute::{Derived, Ints, Pass, ReplayLag};
use crate::registry::metric::Short::WithUnit;
use crate::registry::metric::{ConsoleGroup, Metric};
use crate::registry::rules::Rules;
use crate::registry::scope::Scope;
use crate::registry::unit::Unit;

use super::int;
use super::requests::request_latency;
use super::streaming::time_to_first_token;

pub(super) const METRICS: &[Metric] = &[
    Metric::new("credit_drop_latency", "Credit Drop Latency", Unit::Ns, Ints(credit_drop_latency))
        .short("Credit Latency", WithUnit)
        .shown_in(Unit::Ms)
        .flags(&[Flags::INTERNAL])
        .facts(&[Fact::CreditDrop])
        .formula("time from the release of a request to its start")
        .absent("not measured"),
    Metric::new("credit_to_start_latency", "Credit-to-Start Latency", Unit::Ns, Pass(credit_to_start_latency))
        .facts(&[Fact::Credit])
        .shown_in(Unit::Ms)
        .flags(&[Flags::NO_SLICES])
        .formula("max(request_start_ns - credit_issued_ns, 0) per record, failed ones included")
        .absent("no record has credit_issued_ns"),
    Metric::new("effective_latency", "Effective Latency (CO-aware)", Unit::Ns, Pass(effective_latency))
        .group(ConsoleGroup::Effective)
        .facts(&[Fact::Credit, Fact::End])
        .shown_in(Unit::Ms)
        .flags(&[Flags::NO_SLICES])
        .formula("max(request_end_ns - credit_issued_ns, 0) per record, failed ones included")
        .absent("no record has credit_issued_ns"),
    Metric::new("intended_request_latency", "Intended Request Latency", Unit::Ns, Ints(intended_request_latency))
        .short("Intended Latency", WithUnit)
        .shown_in(Unit::Ms)
        .flags(&[Flags::OPEN_LOOP_ONLY])
        .group(ConsoleGroup::Effective)
        .needs(&["request_latency"])
        .facts(&[Fact::ScheduleDelay])
        .formula("content_responses[last].perf_ns - intended_perf_ns: request_latency from the instant at which the schedule wanted the request sent")
        .absent("as request_latency; a phase with concurrency alone"),
    Metric::new(
        "intended_time_to_first_token",
        "Intended Time to First Token",
        Unit::Ns,
        Ints(intended_time_to_first_token),
    )
    .short("Intended TTFT", WithUnit)
    .shown_in(Unit::Ms)
    .flags(&[Flags::OPEN_LOOP_ONLY, Flags::STREAMING_ONLY, Flags::PRODUCES_TOKENS_ONLY])
    .group(ConsoleGroup::Effective)
    .needs(&["time_to_first_token"])
    .facts(&[Fact::ScheduleDelay])
    .formula("content_responses[0].perf_ns - intended_perf_ns: time_to_first_token from the instant at which the schedule wanted the request sent")
    .absent("as time_to_first_token; a phase with concurrency alone"),
    Metric::new(
        "replay_send_schedule_offset",
        "Replay Send Schedule Offset",
        Unit::Ns,
        Ints(replay_send_schedule_offset),
    )
    .short("Sched Offset", WithUnit)
    .flags(&[Flags::INTERNAL, Flags::FIXED_SCHEDULE_ONLY, Flags::NO_SLICES])
    .facts(&[Fact::ScheduleOffset])
    .formula("timestamp_ns - trunc(scheduled_send_ms * 1e6)")
    .absent("no scheduled timestamp"),
    Metric::new("replay_sched_lag_p50", "Replay Schedule Lag p50", Unit::Ms, ReplayLag(50))
        .short("Sched Lag p50", WithUnit)
        .flags(&[Flags::FIXED_SCHEDULE_ONLY, Flags::NO_SLICES])
        .needs(&["replay_send_schedule_offset"])
        .formula("p50 (linear interpolation) over records of (offset - min offset) in ms")
        .absent("no replay_send_schedule_offset values"),
    Metric::new("replay_sched_lag_p90", "Replay Schedule Lag p90", Unit::Ms, ReplayLag(90))
        .short("Sched Lag p90", WithUnit)
        .flags(&[Flags::FIXED_SCHEDULE_ONLY, Flags::NO_SLICES])
        .needs(&["replay_send_schedule_offset"])
        .formula("p90 (linear interpolation) over records of (offset - min offset) in ms")
        .absent("no replay_send_schedule_offset values"),
    Metric::new("replay_sched_lag_p99", "Replay Schedule Lag p99", Unit::Ms, ReplayLag(99))
        .short("Sched Lag p99", WithUnit)
        .flags(&[Flags::FIXED_SCHEDULE_ONLY, Flags::NO_SLICES])
        .needs(&["replay_send_schedule_offset"])
        .formula("p99 (linear interpolation) over records of (offset - min offset) in ms")
        .absent("no replay_send_schedule_offset values"),
    Metric::new("replay_sched_degraded", "Replay Schedule Degraded", Unit::Count, Derived(replay_sched_degraded))
        .short("Sched Degraded", WithUnit)
        .flags(&[Flags::FIXED_SCHEDULE_ONLY, Flags::NO_SLICES])
        .needs(&["replay_sched_lag_p50", "replay_sched_lag_p90", "replay_sched_lag_p99"])
        .formula("1 if replay_sched_lag_p99 > 500 ms else 0")
        .absent("no replay_send_schedule_offset values"),
];

/// A p99 above this many milliseconds means that the replay did not match the trace.
pub const DEGRADED_LAG_MS: f64 = 500.0;

fn credit_drop_latency(f: &Facts, _: &Rules) -> Option<i64> {
    int(f.get(Fact::CreditDrop))
}

fn credit_to_start_latency(f: &Facts, _: &Rules) -> Option<i64> {
    f.signed(Fact::Credit).map(|credit| credit.max(0))
}

fn effective_latency(f: &Facts, _: &Rules) -> Option<i64> {
    Some((f.signed(Fact::Credit)? + int(f.get(Fact::End))?).max(0))
}

fn intended_request_latency(f: &Facts, rules: &Rules) -> Option<i64> {
    int(f.get(Fact::ScheduleDelay))?.checked_add(request_latency(f, rules)?)
}

fn intended_time_to_first_token(f: &Facts, rules: &Rules) -> Option<i64> {
    int(f.get(Fact::ScheduleDelay))?.checked_add(time_to_first_token(f, rules)?)
}

fn replay_send_schedule_offset(f: &Facts, _: &Rules) -> Option<i64> {
    f.signed(Fact::ScheduleOffset)
}

fn replay_sched_degraded(scope: &Scope<'_>) -> Option<f64> {
    scope.value("replay_sched_lag_p99").map(|lag| if lag > DEGRADED_LAG_MS { 1.0 } else { 0.0 })
}
