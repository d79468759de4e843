//! The `measurement` block of the summary: what the run measured of itself.

use aiperf_metrics::{
    Bound, CONFIDENCE_LEVEL, Durations, Grade, Interval, Judgement, Measurement, MetricBounds, PhaseMeasurement,
    PhaseSent, PhaseUntil, Quality, Reason, Sending, Sent, UntilTarget, Verdict,
};
use aiperf_types::{Nanos, Precision};
use serde_json::{Value, json};

/// The block of a run.
pub(crate) fn measurement_block(measurement: &Measurement) -> Value {
    let Measurement { quality, conduct, sending, exactness, judgement, phases, until, doubts } = measurement;
    let clock = json!({"timestamps": if quality.receive_lag.count() > 0 { "kernel" } else { "user" }});
    let of_sending = json!({
        "merged_interval_mean_us": quality.merged_width_mean() / 1e3,
        "merged_interval_max_us": quality.merged_width_max as f64 / 1e3,
        "sending": sending_block(sending),
    });
    let of_requests = json!({
        "issue_to_wire_connecting_us": spread(&quality.issue_to_wire_connecting),
        "late_bodies": quality.late_bodies.count(),
        "late_body_wait_us": spread(&quality.late_bodies),
        "connect_wait_us": spread(&quality.connect_wait),
        "connection_wait_us": spread(&quality.place_wait),
        "connection_retries": quality.connection_retries,
        "syn_retransmits": quality.syn_retransmits,
        "tls_handshakes": quality.tls_handshakes,
        "tls_resumed": quality.tls_resumed,
        "redirects": quality.redirects,
        "no_room": quality.no_room,
        "not_streamed": quality.not_streamed,
        "streams_left_open": quality.left_open,
        "cut_off_requests": quality.cut_off,
        "never_begun_requests": quality.never_begun,
        "unreadable_events": quality.unreadable_events,
        "unreadable_usage": quality.unreadable_usage,
        "unfinished_streams": quality.unfinished_streams,
        "short_of_vectors": quality.short_of_vectors,
        "doubtful_usage": quality.doubtful_usage,
        "refused_by_chat_template": quality.refused_by_chat_template,
        "uncounted_after_stop": quality.uncounted_after_stop,
        "too_long_to_count": quality.too_long_to_count,
        "uncountable": quality.uncountable,
    });
    let of_run = json!({
        "backlog_at_last_response": conduct.backlog_at_end,
        "backlog_drain_seconds": conduct.drain.as_secs_f64(),
        "peak_backlog_bytes": conduct.peak_backlog_bytes,
        "relief_seconds": conduct.relief.as_secs_f64(),
        "holds": conduct.holds,
        "held_seconds": conduct.held.as_secs_f64(),
        "client_bound": judgement.verdict.grade == Grade::ClientBound,
        "stopped_seconds": conduct.stopped.as_secs_f64(),
        "workers": conduct.workers,
        "added_workers": conduct.workers_added_after.len(),
        "first_added_after_seconds": conduct.workers_added_after.iter().min().map(|after| after.as_secs_f64()),
        "record_threads": conduct.record_threads,
        "worker_run_queue_wait_seconds": conduct.worker_run_queue_wait.iter().map(|wait| wait.as_secs_f64()).collect::<Vec<_>>(),
        "realtime_workers": conduct.realtime_workers,
        "demoted_workers": conduct.demoted_after.len(),
        "first_demoted_after_seconds": conduct.demoted_after.iter().min().map(|after| after.as_secs_f64()),
        "clock_steps": conduct.clock_steps,
        "clock_error_ns": conduct.clock_error.0,
        "clock_read_ns": conduct.clock_read_ns,
        "steal_share": conduct.steal_share,
        "throttled_periods": conduct.throttled,
        "exact_list_values": !exactness.lists_binned,
        "exact_curves": !exactness.curves_binned,
        "late_in_curves": exactness.late_in_curves,
    });
    let of_phases = json!({
        "phases": phases.iter().map(|phase| of_phase(phase, measurement)).collect::<Vec<_>>(),
        "doubts": doubts,
    });
    let of_until = match until.is_empty() {
        true => Value::Null,
        false => json!({"until": until.iter().map(phase_until).collect::<Vec<_>>()}),
    };
    joined([
        clock,
        reading(quality),
        of_sending,
        lateness(quality),
        of_requests,
        of_run,
        judged(judgement, conduct.clock_error),
        of_phases,
        of_until,
    ])
}

/// One block with the members of several.
fn joined<const N: usize>(blocks: [Value; N]) -> Value {
    let members = blocks.iter().filter_map(Value::as_object).flatten();
    members.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The part of the block that each phase has for itself.
fn of_phase(phase: &PhaseMeasurement, run: &Measurement) -> Value {
    let PhaseMeasurement { id, quality, judgement } = phase;
    let names = json!({"phase_index": id.index, "phase_name": id.name, "phase_kind": id.kind.name()});
    joined([names, reading(quality), lateness(quality), judged(judgement, run.conduct.clock_error)])
}

fn reading(quality: &Quality) -> Value {
    json!({
        "reads": quality.reads(),
        "unstamped_reads": quality.unstamped_reads,
        "receive_lag_us": spread(&quality.receive_lag),
        "events": quality.events,
        "merged_events": quality.merged_events,
        "merged_late": quality.merged_late,
        "merged_event_share": quality.merged_share(),
    })
}

fn lateness(quality: &Quality) -> Value {
    json!({
        "schedule_lateness_us": spread(&quality.schedule_lateness),
        "issue_to_wire_us": spread(&quality.issue_to_wire),
    })
}

fn judged(judgement: &Judgement, clock_error: Nanos) -> Value {
    json!({
        "verdict": verdict_block(&judgement.verdict),
        "error_bound": error_bound(judgement, clock_error),
        "confidence": confidence(judgement),
    })
}

/// How a phase ended that statistics could end.
fn phase_until(phase: &PhaseUntil) -> Value {
    let target = |target: UntilTarget<'_>| {
        let Precision { metric, stat, half_width } = target.precision;
        json!({"metric": metric, "stat": stat, "width": half_width, "reached": target.reached, "met": target.is_met()})
    };
    json!({
        "phase_index": phase.id.index,
        "phase_name": phase.id.name,
        "ended_by": phase.ended_by(),
        "met": phase.reached.met_at.is_some(),
        "requests": phase.reached.met_at,
        "gave_up_at": phase.reached.gave_up_at,
        "targets": phase.targets().map(target).collect::<Vec<_>>(),
    })
}

/// A verdict with its reasons.
pub fn verdict_block(verdict: &Verdict) -> Value {
    let reason = |reason: &Reason| {
        let Reason { code, value, limit, text, fix, .. } = reason;
        json!({"code": code, "value": value, "limit": limit, "text": text, "fix": fix})
    };
    json!({"is": verdict.grade.name(), "reasons": verdict.reasons.iter().map(reason).collect::<Vec<_>>()})
}

/// How far the main statistics can be from the truth, in milliseconds.
fn error_bound(judgement: &Judgement, clock: Nanos) -> Value {
    let clock = clock.as_millis_f64();
    let bound = |bound: &Bound| {
        let (early, late) = (bound.early + clock, bound.late + clock);
        json!({"bound": early.max(late), "early": early, "late": late})
    };
    let metrics = judgement.bounds.iter().map(|metric: &MetricBounds| {
        let bounds = metric.bounds.iter().map(|(name, of)| ((*name).to_owned(), bound(of)));
        (metric.tag.to_owned(), bounds.collect())
    });
    let all = || judgement.bounds.iter().flat_map(|metric| &metric.bounds).map(|(_, bound)| bound);
    let merged = all().map(|bound| bound.merged).fold(0.0, f64::max);
    let unstamped = all().map(|bound| bound.unstamped).fold(0.0, f64::max);
    let causes = json!({"merged": merged, "unstamped": unstamped, "clock": clock});
    let unit = ("unit".to_owned(), json!("ms"));
    [unit].into_iter().chain(metrics).chain([("causes".to_owned(), causes)]).collect()
}

/// Where the true values of the main statistics lie.
fn confidence(judgement: &Judgement) -> Value {
    let end = |value: f64| if value.is_finite() { json!(value) } else { Value::Null };
    let interval = |interval: &Interval| {
        let Interval { low, high, count, effective, is_enough } = *interval;
        json!({"lo": end(low), "hi": end(high), "n": count, "n_eff": end(effective), "enough": is_enough})
    };
    let metrics = judgement.intervals.iter().map(|metric| {
        let intervals = metric.intervals.iter().map(|(name, of)| ((*name).to_owned(), interval(of)));
        (metric.tag.to_owned(), intervals.collect())
    });
    [("level".to_owned(), json!(CONFIDENCE_LEVEL))].into_iter().chain(metrics).collect()
}

/// What was asked for and sent, over all phases and in each.
fn sending_block(sending: &Sending) -> Value {
    let mut block = counts(&sending.all());
    block["phases"] = sending.phases.iter().map(phase_sent).collect();
    block
}

fn phase_sent(phase: &PhaseSent) -> Value {
    let PhaseSent { index, name, start, sent_end, counts: progress, sent } = phase;
    let mut entry = counts(sent);
    let more = [
        ("phase_name", name.as_str().into()),
        ("phase_index", (*index).into()),
        ("start_ns", start.0.into()),
        ("sent_end_ns", sent_end.0.into()),
        ("completed", progress.completed.into()),
        ("errors", progress.errors.into()),
        ("cancelled", progress.cancelled.into()),
        ("sessions_sent", progress.sessions_sent.into()),
        ("sessions_completed", progress.sessions_completed.into()),
        ("sessions_cancelled", progress.sessions_cancelled.into()),
        ("session_turns", progress.session_turns.into()),
    ];
    more.into_iter().for_each(|(name, value): (&str, Value)| entry[name] = value);
    entry
}

fn counts(sent: &Sent) -> Value {
    json!({
        "offered": sent.offered,
        "missed": sent.missed,
        "unsent_held": sent.unsent_held,
        "unsent_waiting": sent.unsent_waiting,
        "idle": sent.idle,
        "sent": sent.sent,
        "never_left": sent.never_left,
        "asked_rate": sent.asked_rate(),
        "achieved_rate": sent.achieved_rate(),
        "answered_rate": sent.answered_rate(),
        "slip_seconds": sent.slip.as_secs_f64(),
    })
}

fn spread(spread: &Durations) -> Value {
    let us = |nanos: f64| nanos / 1e3;
    json!({
        "count": spread.count(),
        "mean": us(spread.mean()),
        "p50": us(spread.quantile(0.5)),
        "p99": us(spread.quantile(0.99)),
        "max": us(spread.max() as f64),
    })
}
