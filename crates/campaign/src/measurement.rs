//! The run's own error: the `measurement` block of the summary, and in words when the numbers are in doubt.

use crate::sending::{self, PhaseSending};
use aiperf_engine::quality::{Conduct, Quality};
use aiperf_engine::{SinkStall, StallCause};
use aiperf_metrics::{Bound, CONFIDENCE_LEVEL, Durations, Evidence, Interval, MetricBounds, Reason, Summary, Verdict};
use aiperf_plan::{Plan, Timestamps};
use aiperf_report::PhaseResult;
use aiperf_types::{Nanos, PhaseKind};
use serde_json::{Value, json};

/// A share of events that came several to a read from which their instants are in doubt.
const MERGED_SHARE: f64 = 0.05;
/// A wait for the reader that shows in latencies, where the read instant is the only one there is.
const LAG_LIMIT_NS: f64 = 1e6;
/// A share of CPU time taken away that disturbs a run.
const STEAL_SHARE: f64 = 0.01;
/// A share of requests that had to be sent again from which their latencies mean less.
const RETRIED_SHARE: f64 = 0.01;
/// Lateness of dispatch that a user should know of.
const LATENESS_NS: f64 = 10e6;
/// Work left at the last response from which a rate is not quotable.
const BACKLOG_SECONDS: f64 = 1.0;

/// The run's own error.
pub struct Measurement {
    /// As the summary has it, the doubts included.
    pub block: Value,
    /// Whether the numbers are those of the server.
    pub verdict: Verdict,
    /// What a reader of the numbers should know, one sentence each; empty when there is nothing to doubt.
    pub doubts: Vec<String>,
}

/// What a run saw of itself.
pub struct Observed {
    pub quality: Quality,
    pub conduct: Conduct,
    /// The user ended it, or too many failures did.
    pub was_stopped: bool,
    /// What the profiling phases were asked to send, and sent.
    pub sending: Vec<PhaseSending>,
}

/// What a run says of its own error.
pub fn of(plan: &Plan, observed: &Observed, summary: &Summary, phases: &[PhaseResult]) -> Measurement {
    let mut doubts = doubts(plan, observed, summary);
    doubts.extend(replay_behind(phases));
    let verdict = |summary: &Summary| Verdict::on(&evidence(plan, observed, summary, phases));
    let block = block(observed, summary, phases, &doubts, &verdict);
    Measurement { block, verdict: verdict(summary), doubts }
}

/// What the verdict on a run, or on one of its phases, is made from.
fn evidence<'a>(plan: &Plan, observed: &Observed, summary: &'a Summary, phases: &[PhaseResult]) -> Evidence<'a> {
    let Observed { quality, conduct, sending, .. } = observed;
    let of = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let start = phases.iter().map(|phase| phase.start).min().unwrap_or_default();
    let end = phases.iter().map(|phase| phase.end).max().unwrap_or_default();
    let lasted = end.0.saturating_sub(start.0) as f64;
    let longest_wait = conduct.worker_run_queue_wait.iter().max().map_or(0, |wait| wait.0);
    Evidence {
        bounds: &summary.bounds,
        clock_ms: conduct.clock_error.as_millis_f64(),
        held: of(conduct.held.as_secs_f64(), sending::seconds(sending)),
        unsent: sending::unsent_share(sending),
        core_wait: of(longest_wait as f64, lasted),
        is_realtime: conduct.realtime_workers == conduct.workers,
        steal: conduct.steal_share.unwrap_or(0.0),
        clock_steps: conduct.clock_steps,
        throttled: conduct.throttled.unwrap_or(0),
        unstamped: share(quality.unstamped_reads, quality.unstamped_reads + quality.receive_lag.count()),
        wants_unstamped: plan.runtime.timestamps == Timestamps::User,
        coalesced: share(quality.merged_events.saturating_sub(quality.merged_late), quality.events),
    }
}

fn verdict_block(verdict: &Verdict) -> Value {
    let reason = |reason: &Reason| {
        let Reason { code, value, limit, text, fix, .. } = reason;
        json!({"code": code, "value": value, "limit": limit, "text": text, "fix": fix})
    };
    json!({"is": verdict.grade.name(), "reasons": verdict.reasons.iter().map(reason).collect::<Vec<_>>()})
}

/// How far the main statistics can be from the truth, in milliseconds.
fn error_bound(summary: &Summary, clock: Nanos) -> Value {
    let clock = clock.as_millis_f64();
    let bound = |bound: &Bound| {
        let (early, late) = (bound.early + clock, bound.late + clock);
        json!({"bound": early.max(late), "early": early, "late": late})
    };
    let metrics = summary.bounds.iter().map(|metric: &MetricBounds| {
        let bounds = metric.bounds.iter().map(|(name, of)| ((*name).to_owned(), bound(of)));
        (metric.tag.to_owned(), bounds.collect())
    });
    let all = || summary.bounds.iter().flat_map(|metric| &metric.bounds).map(|(_, bound)| bound);
    let merged = all().map(|bound| bound.merged).fold(0.0, f64::max);
    let unstamped = all().map(|bound| bound.unstamped).fold(0.0, f64::max);
    let causes = json!({"merged": merged, "unstamped": unstamped, "clock": clock});
    let unit = ("unit".to_owned(), json!("ms"));
    [unit].into_iter().chain(metrics).chain([("causes".to_owned(), causes)]).collect()
}

/// Where the true values of the main statistics lie.
fn confidence(summary: &Summary) -> Value {
    let end = |value: f64| if value.is_finite() { json!(value) } else { Value::Null };
    let interval = |interval: &Interval| {
        let Interval { low, high, count, effective, is_enough } = *interval;
        json!({"lo": end(low), "hi": end(high), "n": count, "n_eff": end(effective), "enough": is_enough})
    };
    let metrics = summary.intervals.iter().map(|metric| {
        let intervals = metric.intervals.iter().map(|(name, of)| ((*name).to_owned(), interval(of)));
        (metric.tag.to_owned(), intervals.collect())
    });
    [("level".to_owned(), json!(CONFIDENCE_LEVEL))].into_iter().chain(metrics).collect()
}

/// The part of the block that each phase has for itself.
fn of_phase(phase: &PhaseResult, clock: Nanos, verdict: &Verdict) -> Value {
    json!({
        "phase_index": phase.id.index,
        "phase_name": phase.id.name,
        "phase_kind": phase.id.kind.name(),
        "verdict": verdict_block(verdict),
        "error_bound": error_bound(&phase.metrics, clock),
        "confidence": confidence(&phase.metrics),
    })
}

/// Said once: the replay of a recording fell so far behind that it was another load. Of several, the one that did most.
fn replay_behind(phases: &[PhaseResult]) -> Option<String> {
    let lags = |phase: &PhaseResult| {
        let metrics = Some(&phase.metrics).filter(|_| phase.id.kind == PhaseKind::Profiling)?;
        metrics.avg("replay_sched_degraded").filter(|degraded| *degraded > 0.0)?;
        let lag = |percent| metrics.avg(&format!("replay_sched_lag_p{percent}"));
        Some((lag(50)?, lag(90)?, lag(99)?))
    };
    let (p50, p90, p99) = phases.iter().filter_map(lags).max_by(|one, two| one.2.total_cmp(&two.2))?;
    Some(format!(
        "the replay fell behind its recording (lag p50 {p50:.0} ms, p90 {p90:.0} ms, p99 {p99:.0} ms): the server did not \
         get the load that was recorded"
    ))
}

fn block(
    observed: &Observed,
    summary: &Summary,
    phases: &[PhaseResult],
    doubts: &[String],
    verdict: &dyn Fn(&Summary) -> Verdict,
) -> Value {
    let Observed { quality, conduct, sending, .. } = observed;
    let of_phase = |phase: &PhaseResult| of_phase(phase, conduct.clock_error, &verdict(&phase.metrics));
    let stamped = quality.receive_lag.count();
    let reads = stamped + quality.unstamped_reads;
    let of_requests = json!({
        "timestamps": if stamped > 0 { "kernel" } else { "user" },
        "reads": reads,
        "unstamped_reads": quality.unstamped_reads,
        "receive_lag_us": spread(&quality.receive_lag),
        "events": quality.events,
        "merged_events": quality.merged_events,
        "merged_late": quality.merged_late,
        "merged_event_share": share(quality.merged_events, quality.events),
        "merged_interval_mean_us": mean_us(quality.merged_width_sum, quality.merged_events),
        "merged_interval_max_us": quality.merged_width_max as f64 / 1e3,
        "sending": sending::block(sending),
        "schedule_lateness_us": spread(&quality.schedule_lateness),
        "issue_to_wire_us": spread(&quality.issue_to_wire),
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
        "client_bound": conduct.holds > 0,
        "workers": conduct.workers,
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
        "exact_list_values": !summary.exactness.lists_binned,
        "exact_curves": !summary.exactness.curves_binned,
        "late_in_curves": summary.exactness.late_in_curves,
        "verdict": verdict_block(&verdict(summary)),
        "error_bound": error_bound(summary, conduct.clock_error),
        "confidence": confidence(summary),
        "phases": phases.iter().map(of_phase).collect::<Vec<_>>(),
        "doubts": doubts,
    });
    [of_requests, of_run]
        .iter()
        .filter_map(Value::as_object)
        .flatten()
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn doubts(plan: &Plan, observed: &Observed, summary: &Summary) -> Vec<String> {
    let Observed { quality, conduct, was_stopped, sending } = observed;
    let mut out = sending::doubts(sending, *was_stopped);
    out.extend(sending::never_begun(sending, quality.never_begun));
    let mut say = |doubtful: bool, text: String| {
        if doubtful {
            out.push(text);
        }
    };
    let stamped = quality.receive_lag.count();
    say(
        plan.runtime.timestamps != Timestamps::User && stamped == 0 && quality.unstamped_reads > 0,
        "the kernel gave no receive stamps: instants are when this process read the bytes".into(),
    );
    let lag = quality.receive_lag.quantile(0.99);
    let merged = share(quality.merged_events, quality.events);
    say(
        merged > MERGED_SHARE,
        format!(
            "{:.1}% of chunks arrived several to a read; each may be up to {:.2} ms earlier than reported (mean {:.2} ms)",
            merged * 100.0,
            quality.merged_width_max as f64 / 1e6,
            mean_us(quality.merged_width_sum, quality.merged_events) / 1e3,
        ),
    );
    say(
        lag > LAG_LIMIT_NS && merged > MERGED_SHARE,
        format!("this process read its bytes late (p99 {:.2} ms after arrival): it needs more of a core", lag / 1e6),
    );
    let late = quality.schedule_lateness.quantile(0.99);
    say(late > LATENESS_NS, format!("requests were released late (p99 {:.1} ms after their time)", late / 1e6));
    let late_bodies = quality.late_bodies.count();
    say(
        late_bodies > 0,
        format!(
            "{late_bodies} requests were sent late because their bodies were still being made (p99 {:.1} ms): not all bodies \
             fit beforehand; raise AIPERF_DATASET_PREPARED_BYTES, or make fewer prompts (--num-dataset-entries)",
            quality.late_bodies.quantile(0.99) / 1e6
        ),
    );
    say(
        conduct.holds > 0,
        format!(
            "sending was held back {} times ({:.1} s) because requests could not be begun, or records computed or \
             written, as fast: the rate is this client's",
            conduct.holds,
            conduct.held.as_secs_f64()
        ),
    );
    for stall in &conduct.sink_stalls {
        say(true, stalled(stall));
    }
    say(
        conduct.drain > Nanos::from_secs_f64(BACKLOG_SECONDS),
        format!(
            "{} records were still to compute at the last response and took {:.1} s: do not quote the rate",
            conduct.backlog_at_end,
            conduct.drain.as_secs_f64()
        ),
    );
    let waited = quality.place_wait.count();
    say(
        waited > 0,
        format!(
            "{waited} requests waited for a connection because all were in use (p99 {:.1} ms, part of their latency): raise \
             the limit of open files, or AIPERF_HTTP_CONNECTION_LIMIT where it is set",
            quality.place_wait.quantile(0.99) / 1e6
        ),
    );
    let retried = share(quality.connection_retries, quality.schedule_lateness.count());
    say(
        retried > RETRIED_SHARE,
        format!(
            "{:.1}% of requests found their idle connection closed by the server and were sent again: the first try is part \
             of their latency",
            retried * 100.0
        ),
    );
    say(
        quality.syn_retransmits > 0,
        format!(
            "{} connects needed a retransmitted SYN (a full accept queue at the server?): each adds 1 s or more to a \
             time to first token",
            quality.syn_retransmits
        ),
    );
    say(
        quality.left_open > 0,
        format!(
            "{} streams were left open by the server after their last event and ended here after up to 2 s: latencies are \
             without that wait, but it held their slots, so the rate is lower than it could be",
            quality.left_open
        ),
    );
    say(
        quality.no_room > 0,
        format!(
            "{} responses were ended by this client: responses in flight took more than {} bytes of memory; raise \
             AIPERF_HTTP_ANSWER_MEMORY_BYTES, or lower the concurrency",
            quality.no_room, plan.endpoint.http.kept_bodies_limit
        ),
    );
    say(
        quality.not_streamed > 0,
        format!("{} responses were not streamed although --streaming asked for it", quality.not_streamed),
    );
    say(
        quality.unreadable_events > 0,
        format!(
            "{} events of streams could not be read: what they said is lost, and first tokens may have come earlier than \
             reported",
            quality.unreadable_events
        ),
    );
    say(
        quality.unreadable_usage > 0,
        format!(
            "{} responses carried usage that cannot be (no count of tokens, or more than a billion): such values are left out",
            quality.unreadable_usage
        ),
    );
    say(
        quality.unfinished_streams > 0,
        format!(
            "{} streams ended without the event that ends them ([DONE] or a finish reason, message_stop, \
             response.completed): their responses may be cut short",
            quality.unfinished_streams
        ),
    );
    say(
        quality.short_of_vectors > 0,
        format!("{} responses held fewer vectors than their requests had inputs", quality.short_of_vectors),
    );
    say(
        quality.doubtful_usage > 0,
        format!(
            "{} responses carried token counts that contradict each other (reasoning, completion and total): their output \
             lengths are in doubt",
            quality.doubtful_usage
        ),
    );
    say(
        quality.without_counts > 0,
        format!(
            "{} responses carried no usage, so nothing is known of their tokens; without --use-server-token-count they are \
             counted here",
            quality.without_counts
        ),
    );
    say(
        quality.refused_by_chat_template > 0,
        format!(
            "the chat template refuses the messages of {} requests: their input tokens are not counted, and metrics of \
             input lengths are without them",
            quality.refused_by_chat_template
        ),
    );
    say(
        quality.uncounted_after_stop > 0,
        format!(
            "the tokens of {} responses were not counted because the run was stopped: they have their times and the server's \
             own counts",
            quality.uncounted_after_stop
        ),
    );
    say(
        quality.too_long_to_count > 0,
        format!(
            "the tokens of {} responses were not counted because a text is too long for its tokenizer (2 MiB): they have \
             their times and the server's own counts",
            quality.too_long_to_count
        ),
    );
    say(
        quality.uncountable > 0,
        format!(
            "the tokens of {} responses were not counted because their tokenizer fails on a text: they have their times and \
             the server's own counts",
            quality.uncountable
        ),
    );
    let faults = quality.spec_decode_faults.count;
    say(
        faults > 0,
        format!(
            "{faults} responses report speculative decoding in a way that cannot be true ({}): they count in no metric of it",
            quality.spec_decode_faults.first().unwrap_or_default()
        ),
    );
    let steal = conduct.steal_share.unwrap_or(0.0);
    say(steal > STEAL_SHARE, format!("{:.1}% of CPU time was taken by the hypervisor during the run", steal * 100.0));
    let throttled = conduct.throttled.unwrap_or(0);
    say(throttled > 0, format!("this process ran into its CPU quota {throttled} times"));
    let late = summary.exactness.late_in_curves;
    say(
        late > 0,
        format!("{late} requests ended so late that curves over time (effective_*, active_*) lack their first part"),
    );
    say(
        conduct.clock_steps > 0,
        format!(
            "the wall clock stepped during the run ({} reads): times follow the monotonic clock",
            conduct.clock_steps
        ),
    );
    out
}

/// A file that lagged behind: for how long, what was measured meanwhile, and what helps against that.
fn stalled(stall: &SinkStall) -> String {
    let advice = match stall.times.cause() {
        StallCause::Writes => "; use a directory on a faster disk",
        StallCause::NoCore => "; this client needs more of a core",
        StallCause::Computing => "; a file less, or a faster core, helps",
        StallCause::Unknown => "",
    };
    format!(
        "{} kept records waiting for up to {:.1} s at a time ({} times, {:.1} s in all){}: {}{advice}",
        stall.path.display(),
        stall.longest.as_secs_f64(),
        stall.count,
        stall.total.as_secs_f64(),
        if stall.held_sending { ", and sending waited for it" } else { "" },
        stall.times.in_words()
    )
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

fn share(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { part as f64 / all as f64 }
}

fn mean_us(sum: u128, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum as f64 / count as f64 / 1e3 }
}
