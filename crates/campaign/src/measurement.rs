//! What a run measured of itself, and its doubts in words.

use crate::sending::{self, PhaseSending};
use aiperf_metrics::{
    Conduct, Evidence, Judgement, Measurement, PhaseMeasurement, PhaseUntil, Quality, Sending, Sent, SinkStall,
    StallCause, Summary, share,
};
use aiperf_plan::{Plan, Timestamps, WorkerPriority};
use aiperf_report::PhaseResult;
use aiperf_types::{Nanos, PhaseKind};

/// A share of events that this client read late, several at once, from which their instants are in doubt.
const LATE_SHARE: f64 = 0.05;
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

/// What a run observed of itself.
pub struct Observations {
    pub conduct: Conduct,
    /// By phase, in the order of the results.
    pub quality: Vec<Quality>,
    /// The user ended it, or too many failures did.
    pub was_stopped: bool,
    /// What the profiling phases were asked to send, and sent.
    pub sending: Vec<PhaseSending>,
    /// How profiling phases ended that statistics could end.
    pub until: Vec<PhaseUntil>,
}

/// The measurement of a run with this summary of its profiling phases.
pub fn of(plan: &Plan, observations: Observations, summary: &Summary, phases: &[PhaseResult]) -> Measurement {
    let Observations { conduct, quality: by_phase, was_stopped, sending, until } = observations;
    let profiling = phases.iter().zip(&by_phase).filter(|(phase, _)| phase.id.kind == PhaseKind::Profiling);
    let quality = Quality::all(profiling.map(|(_, of_phase)| of_phase));
    let mut doubts = doubts(plan, &quality, &conduct, was_stopped, &sending, summary);
    doubts.extend(replay_behind(phases));
    let sending = sending::sending(&sending);
    let run = Run { plan, conduct: &conduct, sending: &sending, lasted: lasted(phases) };
    let judgement = Judgement::on(summary, &run.evidence(summary, &quality, sending.all()));
    let of_phase = |(phase, quality): (&PhaseResult, Quality)| {
        let sent = sending.of_phase(phase.id.index).map(|phase| phase.sent).unwrap_or_default();
        let judgement = Judgement::on(&phase.metrics, &run.evidence(&phase.metrics, &quality, sent));
        PhaseMeasurement { id: phase.id.clone(), quality, judgement }
    };
    let phases = phases.iter().zip(by_phase).map(of_phase).collect();
    let exactness = summary.exactness.clone();
    Measurement { quality, conduct, sending, exactness, judgement, phases, until, doubts }
}

/// What all judgements of a run share.
struct Run<'a> {
    plan: &'a Plan,
    conduct: &'a Conduct,
    sending: &'a Sending,
    lasted: Nanos,
}

impl Run<'_> {
    /// What the verdict on a summary is made from.
    fn evidence<'a>(&self, summary: &'a Summary, quality: &Quality, sent: Sent) -> Evidence<'a> {
        let Self { plan, conduct, sending, lasted } = *self;
        let longest_wait = conduct.worker_run_queue_wait.iter().max().map_or(0.0, |wait| wait.0 as f64);
        Evidence {
            bounds: &summary.bounds,
            clock_ms: conduct.clock_error.as_millis_f64(),
            held: share(conduct.held.as_secs_f64(), sending.all().sending_seconds),
            unsent: sent.unsent_share(),
            connection_wait_ms: quality.connection_waits().mean().as_millis_f64(),
            stopped: share(conduct.stopped.0 as f64, lasted.0 as f64),
            core_wait: share(longest_wait, lasted.0 as f64),
            is_realtime: conduct.realtime_workers == conduct.workers,
            wants_normal: plan.runtime.worker_priority == WorkerPriority::Normal,
            steal: conduct.steal_share.unwrap_or(0.0),
            clock_steps: conduct.clock_steps,
            throttled: conduct.throttled.unwrap_or(0),
            unstamped: quality.unstamped_share(),
            wants_unstamped: plan.runtime.timestamps == Timestamps::User,
            coalesced: quality.coalesced_share(),
            is_empty: summary.records == summary.failed,
            unfinished: share(quality.unfinished_streams as f64, summary.records.saturating_sub(summary.failed) as f64),
        }
    }
}

/// From the first request of a run to its last response.
fn lasted(phases: &[PhaseResult]) -> Nanos {
    let start = phases.iter().map(|phase| phase.start).min().unwrap_or_default();
    let end = phases.iter().map(|phase| phase.end).max().unwrap_or_default();
    Nanos(end.0.saturating_sub(start.0))
}

/// The doubt about a replay that fell so far behind its recording that it was another load: that of the phase that fell
/// furthest behind.
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

fn doubts(
    plan: &Plan,
    quality: &Quality,
    conduct: &Conduct,
    was_stopped: bool,
    sending: &[PhaseSending],
    summary: &Summary,
) -> Vec<String> {
    let mut out = sending::doubts(sending, was_stopped);
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
    let late = quality.late_share();
    say(
        late > LATE_SHARE,
        format!(
            "{:.1}% of chunks shared a read because this client read late; a chunk that shares a read may be up to {:.2} ms \
             earlier than reported (mean {:.2} ms)",
            late * 100.0,
            quality.merged_width_max as f64 / 1e6,
            quality.merged_width_mean() / 1e6,
        ),
    );
    say(
        lag > LAG_LIMIT_NS && late > LATE_SHARE,
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
    if let Some(text) = long_drain(conduct) {
        say(true, text);
    }
    let waited = quality.place_wait.count();
    say(
        waited > 0,
        format!(
            "{waited} requests waited for a connection because all were in use (p99 {:.1} ms, part of their latency): raise \
             the limit of open files, or AIPERF_HTTP_CONNECTION_LIMIT where it is set",
            quality.place_wait.quantile(0.99) / 1e6
        ),
    );
    let tried = quality.schedule_lateness.count().max(1);
    let retried = quality.connection_retries as f64 / tried as f64;
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

/// Records that took long after the last response. The rate is in doubt only if they held back sending.
fn long_drain(conduct: &Conduct) -> Option<String> {
    let is_long = conduct.holds > 0 && conduct.drain > Nanos::from_secs_f64(BACKLOG_SECONDS);
    is_long.then(|| {
        format!(
            "{} records were still to compute at the last response and took {:.1} s: do not quote the rate",
            conduct.backlog_at_end,
            conduct.drain.as_secs_f64()
        )
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_that_a_proxy_wrote_at_once_are_no_doubt_and_those_that_were_read_late_are() {
        let plan = aiperf_testkit::plan::plan("http://127.0.0.1:1");
        let found = |merged_late| {
            let mut quality = Quality { events: 100, merged_events: 50, merged_late, ..Quality::default() };
            quality.merged_width_max = 4_200_000;
            quality.receive_lag.add(5_000_000);
            doubts(&plan, &quality, &Conduct::default(), false, &[], &Summary::default())
        };
        assert_eq!(found(0), Vec::<String>::new());
        let doubts = found(10);
        assert!(doubts.len() == 2 && doubts[0].starts_with("10.0% of chunks shared a read because"), "{doubts:?}");
    }

    #[test]
    fn work_after_the_last_response_is_a_doubt_only_if_it_held_back_sending() {
        let drained = |holds, seconds| {
            let drain = Nanos::from_secs_f64(seconds);
            long_drain(&Conduct { holds, drain, backlog_at_end: 11, ..Conduct::default() })
        };
        assert_eq!(drained(0, 1.4), None);
        assert_eq!(drained(3, 0.5), None);
        assert!(drained(3, 1.4).is_some_and(|doubt| doubt.starts_with("11 records were still to compute")));
    }
}
