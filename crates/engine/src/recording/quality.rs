//! How exact the run itself was: a benchmark that measures itself instead of the server is worse than none, so it
//! says how far it stood in the way.

use crate::recording::record::Record;
use crate::recording::sinks::SinkStall;
use aiperf_metrics::Durations;
use aiperf_tokenize::GivenUp;
use aiperf_types::{Exchange, Failure, MonoNs, Nanos, Read, Timeline, WallNs};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// No request needs as long from its start to its first try to connect, unless it waits.
const STEPS_BEFORE_CONNECT: Nanos = Nanos(1_000_000);

/// What record threads see of each exchange.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// From a byte's arrival in the kernel to our read of it.
    pub receive_lag: Durations,
    /// Reads without a kernel stamp.
    pub unstamped_reads: u64,
    /// Content responses of successful requests.
    pub events: u64,
    /// Of these, those that shared a read with later bytes: they arrived somewhere within an interval.
    pub merged_events: u64,
    /// Of these, those that this client read late.
    pub merged_late: u64,
    /// Sum of those intervals.
    pub merged_width_sum: u128,
    /// Widest of them.
    pub merged_width_max: u64,
    /// From when a request should have been released to when it was.
    pub schedule_lateness: Durations,
    /// From release to the first byte handed to a connection that was already open.
    pub issue_to_wire: Durations,
    /// The same when a connection had to be opened first.
    pub issue_to_wire_connecting: Durations,
    /// Of requests whose body was not ready when they were to be sent, the wait for it.
    pub late_bodies: Durations,
    /// Waiting for a place among the outstanding connects, or for the next try at a server that refuses.
    pub connect_wait: Durations,
    /// Of requests that found all connections in use, the wait for one.
    pub place_wait: Durations,
    /// Requests sent again because the server had closed the idle connection they took.
    pub connection_retries: u64,
    /// SYNs sent again.
    pub syn_retransmits: u64,
    /// TLS handshakes, and those of them that took up an earlier session.
    pub tls_handshakes: u64,
    pub tls_resumed: u64,
    /// Redirects followed.
    pub redirects: u64,
    /// Streams that the server left open after their last event.
    pub left_open: u64,
    /// Answers that were ended because those in flight took all the memory there is for them.
    pub no_room: u64,
    /// Streams asked for that came as one body.
    pub not_streamed: u64,
    /// Events of streams that could not be read.
    pub unreadable_events: u64,
    /// Good streams that ended without what marks the end of such streams.
    pub unfinished_streams: u64,
    /// Good answers with fewer vectors than their requests had inputs.
    pub short_of_vectors: u64,
    /// Answers whose usage has values that are no counts of tokens.
    pub unreadable_usage: u64,
    /// Answers whose counts of tokens contradict each other, where the server's are used.
    pub doubtful_usage: u64,
    /// Requests that the run itself cut off after they were begun: by the end of the grace period, or because it was
    /// ended early.
    pub cut_off: u64,
    /// Those that it cut off before a worker came to begin them, though they were due.
    pub never_begun: u64,
    /// Answers without token counts, where the server's were to be used.
    pub without_counts: u64,
    /// Answers without a count of input tokens, because the chat template refuses the messages of their requests.
    pub refused_by_chat_template: u64,
    /// Answers whose tokens were not counted because the run was stopped.
    pub uncounted_after_stop: u64,
    /// Those whose texts are too long for their tokenizer.
    pub too_long_to_count: u64,
    /// Those with texts that their tokenizer cannot count.
    pub uncountable: u64,
    pub spec_decode_faults: SpecDecodeFaults,
}

/// Answers whose report of speculative decoding contradicts itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SpecDecodeFaults {
    pub count: u64,
    /// When the request of the first of them started, and how it contradicts itself.
    first: Option<(WallNs, Cow<'static, str>)>,
}

impl SpecDecodeFaults {
    pub(crate) fn add(&mut self, at: WallNs, fault: &'static str) {
        self.merge(&Self { count: 1, first: Some((at, fault.into())) });
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.first = [self.first.take(), other.first.clone()].into_iter().flatten().min();
    }

    /// How the first of them contradicts itself.
    pub fn first(&self) -> Option<&str> {
        self.first.as_ref().map(|(_, fault)| fault.as_ref())
    }
}

impl Quality {
    /// Whether counts that a stop request cost are missing from the results, though every request was answered.
    pub(crate) fn was_stopped(&self) -> bool {
        self.uncounted_after_stop > 0
    }

    /// Adds what one exchange tells.
    pub(crate) fn add(&mut self, exchange: &Exchange, record: &Record) {
        let timeline = &exchange.timeline;
        for read in &timeline.reads {
            if read.lag == Read::NO_STAMP {
                self.unstamped_reads += 1;
            } else {
                self.receive_lag.add(u64::from(read.lag));
            }
        }
        let parsed = &record.parsed;
        self.events += record.measured.content.len() as u64;
        // A failed request has no instants of content, so none of them is in doubt.
        if record.measured.error.is_none() {
            self.merged_events += u64::from(parsed.merged);
            self.merged_late += u64::from(parsed.merged_late);
            self.merged_width_sum += u128::from(parsed.merged_width_sum);
            self.merged_width_max = self.merged_width_max.max(parsed.merged_width_max);
        }
        self.left_open += u64::from(timeline.left_open);
        self.schedule_lateness.add(timeline.issued.since(timeline.intended).0);
        if timeline.send_start != MonoNs(0) {
            let to_wire = timeline.send_start.since(timeline.issued).0;
            if timeline.reused {
                self.issue_to_wire.add(to_wire);
            } else {
                self.issue_to_wire_connecting.add(to_wire);
            }
        }
        if let Some(wait) = exchange.tag.body_wait {
            self.late_bodies.add(wait.0);
        }
        if timeline.connect_wait.0 != MonoNs(0) {
            self.connect_wait.add(timeline.connect_wait.1.since(timeline.connect_wait.0).0);
        }
        self.add_place_wait(timeline);
        self.connection_retries += u64::from(timeline.connection_retries);
        self.syn_retransmits += u64::from(timeline.syn_retransmits);
        self.tls_handshakes += u64::from(timeline.tls.1 != MonoNs(0));
        self.tls_resumed += u64::from(timeline.tls_resumed);
        self.redirects += timeline.earlier_legs.iter().filter(|leg| leg.status.is_some()).count() as u64;
        self.no_room += u64::from(matches!(exchange.failure, Some(Failure::NoRoom { .. })));
        self.not_streamed += u64::from(record.did_not_stream);
        self.unreadable_events += u64::from(parsed.unreadable);
        self.unfinished_streams += u64::from(parsed.is_unfinished && record.measured.error.is_none());
        self.short_of_vectors += u64::from(record.lacks_vectors);
        self.unreadable_usage += u64::from(parsed.unreadable_usage);
        self.doubtful_usage += u64::from(record.has_doubtful_usage);
        self.without_counts += u64::from(record.without_counts);
        self.refused_by_chat_template += u64::from(record.refused_by_chat_template);
        self.uncounted_after_stop += u64::from(record.uncounted == Some(GivenUp::Stopped));
        self.too_long_to_count += u64::from(record.uncounted == Some(GivenUp::TooLong));
        self.uncountable += u64::from(record.uncounted == Some(GivenUp::Uncountable));
        if let Some(fault) = parsed.spec_decode_fault {
            self.spec_decode_faults.add(record.measured.start_wall, fault);
        }
    }

    /// Adds what is told by one that the run itself cut off, which says nothing of the server.
    pub(crate) fn add_cut_off(&mut self, exchange: &Exchange) {
        if exchange.failure == Some(Failure::NeverBegun) {
            self.never_begun += 1;
            return;
        }
        self.cut_off += 1;
        self.add_place_wait(&exchange.timeline);
    }

    fn add_place_wait(&mut self, timeline: &Timeline) {
        if let Some(wait) = place_wait(timeline) {
            self.place_wait.add(wait.0);
        }
    }

    pub fn merge(&mut self, other: &Self) {
        self.receive_lag.merge(&other.receive_lag);
        self.unstamped_reads += other.unstamped_reads;
        self.events += other.events;
        self.merged_events += other.merged_events;
        self.merged_late += other.merged_late;
        self.merged_width_sum += other.merged_width_sum;
        self.merged_width_max = self.merged_width_max.max(other.merged_width_max);
        self.schedule_lateness.merge(&other.schedule_lateness);
        self.issue_to_wire.merge(&other.issue_to_wire);
        self.issue_to_wire_connecting.merge(&other.issue_to_wire_connecting);
        self.late_bodies.merge(&other.late_bodies);
        self.connect_wait.merge(&other.connect_wait);
        self.place_wait.merge(&other.place_wait);
        self.connection_retries += other.connection_retries;
        self.syn_retransmits += other.syn_retransmits;
        self.tls_handshakes += other.tls_handshakes;
        self.tls_resumed += other.tls_resumed;
        self.redirects += other.redirects;
        self.left_open += other.left_open;
        self.no_room += other.no_room;
        self.not_streamed += other.not_streamed;
        self.unreadable_events += other.unreadable_events;
        self.unfinished_streams += other.unfinished_streams;
        self.short_of_vectors += other.short_of_vectors;
        self.unreadable_usage += other.unreadable_usage;
        self.doubtful_usage += other.doubtful_usage;
        self.without_counts += other.without_counts;
        self.refused_by_chat_template += other.refused_by_chat_template;
        self.uncounted_after_stop += other.uncounted_after_stop;
        self.too_long_to_count += other.too_long_to_count;
        self.uncountable += other.uncountable;
        self.cut_off += other.cut_off;
        self.never_begun += other.never_begun;
        self.spec_decode_faults.merge(&other.spec_decode_faults);
    }
}

/// How long a request waited because all connections were in use, if it did.
fn place_wait(timeline: &Timeline) -> Option<Nanos> {
    let (since, until) = timeline.blocked;
    let connect = timeline.connect_wait.0;
    match (until, connect) {
        (MonoNs(0), _) => None,
        (until, MonoNs(0)) => Some(until.since(since)),
        // A wait to connect followed; the microseconds before it may be those of the code between.
        (_, connect) => Some(connect.since(since)).filter(|wait| *wait > STEPS_BEFORE_CONNECT),
    }
}

/// What is known of the run as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conduct {
    pub workers: usize,
    pub record_threads: usize,
    /// Records not computed yet when the last response came.
    pub backlog_at_end: u64,
    /// How long they took.
    pub drain: Nanos,
    /// Most bytes of finished exchanges that waited.
    pub peak_backlog_bytes: usize,
    /// Time that the coordinator spent computing while requests were being sent.
    pub relief: Nanos,
    /// How often dispatch was held back, and for how long in all.
    pub holds: u64,
    pub held: Nanos,
    /// Sinks that kept records waiting for longer than they may.
    pub sink_stalls: Vec<SinkStall>,
    /// Steps of the wall clock.
    pub clock_steps: u64,
    /// How far the clocks can have moved an instant.
    pub clock_error: Nanos,
    /// Cost of one clock read, in nanoseconds.
    pub clock_read_ns: f64,
    /// Each worker's wait for a core.
    pub worker_run_queue_wait: Vec<Nanos>,
    /// Workers that began with real-time priority, and when each of those that lost it did.
    pub realtime_workers: usize,
    pub demoted_after: Vec<Nanos>,
    /// CPU time taken by the hypervisor during the run, as a share of all.
    pub steal_share: Option<f64>,
    /// Times the process was held back by its CPU quota.
    pub throttled: Option<u64>,
}

impl Conduct {
    /// Of both parts of a run, on machines of their own. What is counted adds up; a length of time, a share or a peak is
    /// that of the machine where it was largest.
    pub fn merge(&mut self, other: Self) {
        self.workers += other.workers;
        self.record_threads += other.record_threads;
        self.backlog_at_end += other.backlog_at_end;
        self.drain = self.drain.max(other.drain);
        self.peak_backlog_bytes = self.peak_backlog_bytes.max(other.peak_backlog_bytes);
        self.relief = self.relief.max(other.relief);
        self.holds += other.holds;
        self.held = self.held.max(other.held);
        self.sink_stalls.extend(other.sink_stalls);
        self.clock_steps += other.clock_steps;
        self.clock_error = self.clock_error.max(other.clock_error);
        self.clock_read_ns = self.clock_read_ns.max(other.clock_read_ns);
        self.worker_run_queue_wait.extend(other.worker_run_queue_wait);
        self.realtime_workers += other.realtime_workers;
        self.demoted_after.extend(other.demoted_after);
        self.steal_share = [self.steal_share, other.steal_share].into_iter().flatten().reduce(f64::max);
        self.throttled = [self.throttled, other.throttled].into_iter().flatten().reduce(|one, two| one + two);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_a_connection_is_told_from_waiting_to_open_one() {
        let at = |ms: u64| MonoNs(1_000_000_000 + ms * 1_000_000);
        let none = (MonoNs(0), MonoNs(0));
        let wait = |blocked, connect_wait| {
            place_wait(&Timeline { leg_start: at(0), blocked, connect_wait, ..Timeline::default() })
        };
        assert_eq!(wait(none, none), None);
        assert_eq!(wait((at(0), at(30)), none), Some(Nanos(30_000_000)));
        assert_eq!(wait((at(0), at(30)), (at(0), at(30))), None);
        assert_eq!(wait((at(0), at(30)), (at(20), at(30))), Some(Nanos(20_000_000)));
    }
}
