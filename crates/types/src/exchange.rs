//! One request and its answer: raw bytes with the instant of every read.

use crate::{MonoNs, RequestError};
use bytes::Bytes;
use std::sync::Arc;

/// Position of a phase in the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PhaseIndex(pub u16);

/// Which request this is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestTag {
    /// The phase it belongs to.
    pub phase: PhaseIndex,
    /// Its number within the phase, from 0.
    pub number: u64,
    /// Which conversation of the dataset.
    pub conversation: u32,
    pub turn: u32,
    /// Number of the session within the run: seeds its correlation id.
    pub session: u64,
    pub request_id: u128,
    pub correlation_id: u128,
    /// The worker that sent it.
    pub worker: u16,
    /// Dataset session id of the conversation.
    pub session_id: Arc<str>,
    pub requested_osl: Option<u32>,
}

/// One read from the connection: 16 bytes, appended once a `recvmsg`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// When the last byte of this read arrived: the kernel's stamp where there is one, else when the read returned.
    pub at: MonoNs,
    /// From arrival to the read's return, in nanoseconds, saturating; `Read::NO_STAMP` when the kernel gave no stamp.
    pub lag: u32,
    pub len: u32,
}

impl Read {
    /// The `lag` of a read without a kernel stamp.
    pub const NO_STAMP: u32 = u32::MAX;
}

/// When each step of an exchange happened. A zero instant was never reached.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// When the schedule wanted it sent.
    pub intended: MonoNs,
    /// When the conductor released it.
    pub issued: MonoNs,
    /// When the worker began it: before pool wait, DNS and connect. Latencies count from here.
    pub start: MonoNs,
    /// Waiting for a free connection, when all were in use.
    pub pool_wait: (MonoNs, MonoNs),
    /// Waiting for a place among the outstanding connects, or for the next try at a server that takes no connections;
    /// part of the request, in no HTTP phase.
    pub connect_wait: (MonoNs, MonoNs),
    /// Name resolution, when a lookup was made.
    pub dns: (MonoNs, MonoNs),
    /// TCP (and TLS) connect, for a new connection.
    pub connect: (MonoNs, MonoNs),
    /// Whether a pooled connection was used.
    pub reused: bool,
    /// First byte handed to the connection.
    pub send_start: MonoNs,
    /// Last byte handed to the connection, taken no later than the first arrival.
    pub send_end: MonoNs,
    pub writes: u32,
    /// Bytes written, head and body.
    pub bytes_sent: u64,
    /// The read that completed the response head.
    pub head: MonoNs,
    pub reads: Vec<Read>,
    /// Bytes read, head and body.
    pub bytes_received: u64,
    /// The read that brought the first byte of the body.
    pub body_start: MonoNs,
    /// Reads that brought bytes of the body or its framing.
    pub body_reads: u32,
    /// When the exchange was over: the read that completed it, or the error.
    pub end: MonoNs,
    /// Times it was sent anew because a pooled connection turned out to be closed; what is noted of sending is the
    /// last.
    pub connection_retries: u8,
    /// The last event of a stream came and the server did not end the stream: it was ended here, and the wait for it is
    /// in no latency.
    pub left_open: bool,
    /// SYN retransmits of the connection used, when it was opened for this request.
    pub syn_retransmits: u8,
}

/// A finished exchange, as the transport hands it on.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    pub tag: RequestTag,
    /// When everything happened.
    pub timeline: Timeline,
    /// Status code, once the head was read.
    pub status: Option<u16>,
    /// All bytes read: head, then body with its framing.
    pub raw: Vec<u8>,
    /// Bytes of `raw` that are in use: the buffer may be longer.
    pub raw_len: usize,
    /// Where the response's head starts in `raw`: after interim (1xx) responses.
    pub head_at: usize,
    /// Where the body starts in `raw`.
    pub body_at: usize,
    /// Whether the body is framed in chunks.
    pub chunked: bool,
    /// Why it failed, if it did.
    pub error: Option<RequestError>,
    /// Cancelled from outside: Ctrl-C, or the end of a phase's grace period.
    pub was_cancelled: bool,
    /// The request body as sent.
    pub request_body: Bytes,
}
