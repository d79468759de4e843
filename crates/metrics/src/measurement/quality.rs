//! The costs of reading and sending: how far this client stood between the server and the numbers.

use crate::measurement::share;
use crate::numbers::durations::Durations;
use aiperf_types::{Nanos, WallNs};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What the exchanges of a phase show of this client.
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
    pub redirects: u64,
    /// Streams that the server left open after their last event.
    pub left_open: u64,
    /// Responses that were ended because those in flight took all the memory there is for them.
    pub no_room: u64,
    /// Streams asked for that came as one body.
    pub not_streamed: u64,
    /// Events of streams that could not be read.
    pub unreadable_events: u64,
    /// Good streams that ended without what marks the end of such streams.
    pub unfinished_streams: u64,
    /// Good responses with fewer vectors than their requests had inputs.
    pub short_of_vectors: u64,
    /// Responses whose usage has values that are no counts of tokens.
    pub unreadable_usage: u64,
    /// Responses whose counts of tokens contradict each other, where the server's are used.
    pub doubtful_usage: u64,
    /// Requests that the run itself cut off after they were begun: by the end of the grace period, or because it was
    /// ended early.
    pub cut_off: u64,
    /// Those that it cut off before a worker began them, though they were due.
    pub never_begun: u64,
    /// Responses without token counts, where the server's were to be used.
    pub without_counts: u64,
    /// Responses without a count of input tokens, because the chat template refuses the messages of their requests.
    pub refused_by_chat_template: u64,
    /// Responses whose tokens were not counted because the run was stopped.
    pub uncounted_after_stop: u64,
    /// Those whose texts are too long for their tokenizer.
    pub too_long_to_count: u64,
    /// Those with texts that their tokenizer cannot count.
    pub uncountable: u64,
    pub spec_decode_faults: SpecDecodeFaults,
}

/// Responses whose report of speculative decoding contradicts itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SpecDecodeFaults {
    pub count: u64,
    /// When the request of the first of them started, and how it contradicts itself.
    first: Option<(WallNs, Cow<'static, str>)>,
}

/// How long requests waited for a connection, all together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ConnectionWaits {
    /// Requests, with and without a wait.
    pub requests: u64,
    pub waited_ns: f64,
}

impl ConnectionWaits {
    pub fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.waited_ns += other.waited_ns;
    }

    /// The mean of all requests. Most did not wait.
    pub fn mean(&self) -> Nanos {
        Nanos(share(self.waited_ns, self.requests as f64) as u64)
    }
}

impl SpecDecodeFaults {
    pub fn add(&mut self, at: WallNs, fault: &'static str) {
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
    pub fn was_stopped(&self) -> bool {
        self.uncounted_after_stop > 0
    }

    /// Reads, with and without a kernel stamp.
    pub fn reads(&self) -> u64 {
        self.receive_lag.count() + self.unstamped_reads
    }

    /// How long requests waited for a connection because all were in use.
    pub fn connection_waits(&self) -> ConnectionWaits {
        let waits = self.place_wait.count();
        let requests = (self.schedule_lateness.count() + self.cut_off).max(waits);
        ConnectionWaits { requests, waited_ns: self.place_wait.mean() * waits as f64 }
    }

    /// The share of reads without a kernel stamp.
    pub fn unstamped_share(&self) -> f64 {
        share(self.unstamped_reads as f64, self.reads() as f64)
    }

    /// The share of content responses that shared a read with later bytes.
    pub fn merged_share(&self) -> f64 {
        share(self.merged_events as f64, self.events as f64)
    }

    /// The share of those that did so because this client read late.
    pub fn late_share(&self) -> f64 {
        share(self.merged_late as f64, self.events as f64)
    }

    /// The mean width of the intervals in which these arrived, in nanoseconds.
    pub fn merged_width_mean(&self) -> f64 {
        if self.merged_events == 0 { 0.0 } else { self.merged_width_sum as f64 / self.merged_events as f64 }
    }

    /// The share of those that did so although this client was not late: the server or a proxy wrote them at once.
    pub fn coalesced_share(&self) -> f64 {
        share(self.coalesced_events() as f64, self.events as f64)
    }

    /// Content responses that shared a read with later bytes although this client was not late.
    pub fn coalesced_events(&self) -> u64 {
        self.merged_events.saturating_sub(self.merged_late)
    }

    /// Those of several phases together.
    pub fn all<'a>(phases: impl IntoIterator<Item = &'a Self>) -> Self {
        phases.into_iter().fold(Self::default(), |mut all, phase| {
            all.merge(phase);
            all
        })
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
