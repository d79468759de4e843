//! One request and its response: raw bytes with the instant of every read.

use crate::{Body, CorrelationId, Failure, MonoNs, Nanos, Parsed, Read};
use std::iter::Sum;
use std::net::SocketAddr;
use std::ops::AddAssign;
use std::sync::Arc;

/// Position of a phase in the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PhaseIndex(pub u16);

/// Which request this is, and what records report of its content.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestTag {
    pub phase: PhaseIndex,
    /// Its number within the phase, from 0.
    pub number: u64,
    /// Which conversation of the dataset.
    pub conversation: u32,
    pub turn: u32,
    /// Whether the session sends nothing after it.
    pub is_last: bool,
    /// Number of the session within the run.
    pub session: u64,
    pub request_id: u128,
    pub correlation_id: CorrelationId,
    /// When it was sent in the recording that it replays, in milliseconds.
    pub scheduled_send_ms: Option<f64>,
    pub worker: u16,
    /// Dataset session id of the conversation.
    pub session_id: Arc<str>,
    pub requested_osl: Option<u32>,
    /// Its model, where the run has several.
    pub model: Option<Arc<str>>,
    pub images: u32,
    /// Vectors that it asks for, where its response holds one for each input.
    pub vectors: Option<u32>,
    /// Length of its audio.
    pub audio_seconds: Option<f64>,
    /// How long it waited for its body, where that was not ready.
    pub body_wait: Option<Nanos>,
    /// What was put into it against caches.
    pub marker: Option<CacheMarker>,
}

/// A text that keeps a request out of a server's cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheMarker {
    /// As it was put in, with what parts it from the text beside it.
    pub text: Arc<str>,
    /// Where it was put, by the name that users know.
    pub target: &'static str,
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
    /// When its last leg began: `start`, unless there were earlier ones. Each phase of a leg begins at the very instant
    /// at which the one before it ended.
    pub leg_start: MonoNs,
    pub earlier_legs: Vec<EarlierLeg>,
    /// Waiting for what others hold: a connection when all were in use, a place among the outstanding connects, the
    /// next try at a server that takes none.
    pub blocked: (MonoNs, MonoNs),
    /// Of that, the waiting for a connect.
    pub connect_wait: (MonoNs, MonoNs),
    /// When the server's address was found to be known.
    pub dns_hit: MonoNs,
    /// Name resolution, when a lookup was made.
    pub dns: (MonoNs, MonoNs),
    /// TCP and TLS connect, for a new connection.
    pub connect: (MonoNs, MonoNs),
    /// The TLS handshake, a part of `connect`.
    pub tls: (MonoNs, MonoNs),
    /// The handshake took up an earlier session.
    pub tls_resumed: bool,
    /// Both ends of the connection, ours first, where they have addresses and that was asked for.
    pub addresses: Option<Box<(SocketAddr, SocketAddr)>>,
    /// Whether a pooled connection was used.
    pub reused: bool,
    /// The connection was in hand.
    pub send_start: MonoNs,
    /// The write that completed the head returned.
    pub head_sent: MonoNs,
    /// Last byte handed to the connection, taken no later than the first arrival.
    pub send_end: MonoNs,
    pub writes: u32,
    /// When each write returned and how much it took, where that was asked for.
    pub write_log: Vec<(MonoNs, u32)>,
    /// Bytes written, head and body.
    pub bytes_sent: u64,
    /// The read that completed the response head.
    pub head: MonoNs,
    pub reads: Vec<Read>,
    /// Bytes read, head and body.
    pub bytes_received: u64,
    /// The read with the first byte of the body.
    pub body_start: MonoNs,
    /// Reads with bytes of the body or its framing.
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

/// How long each phase of a leg took: they follow each other without a gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    pub blocked: Nanos,
    pub dns_lookup: Nanos,
    /// TCP and TLS.
    pub connecting: Nanos,
    /// A part of `connecting`.
    pub tls_handshaking: Nanos,
    pub sending: Nanos,
    pub waiting: Nanos,
    pub receiving: Nanos,
}

impl AddAssign for Phases {
    fn add_assign(&mut self, other: Self) {
        let add = |one: &mut Nanos, other: Nanos| one.0 += other.0;
        add(&mut self.blocked, other.blocked);
        add(&mut self.dns_lookup, other.dns_lookup);
        add(&mut self.connecting, other.connecting);
        add(&mut self.tls_handshaking, other.tls_handshaking);
        add(&mut self.sending, other.sending);
        add(&mut self.waiting, other.waiting);
        add(&mut self.receiving, other.receiving);
    }
}

impl Sum for Phases {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, one| {
            sum += one;
            sum
        })
    }
}

/// A leg of an exchange that was not its last: a redirect, or a request on a pooled connection that turned out to be
/// closed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EarlierLeg {
    pub start: MonoNs,
    pub end: MonoNs,
    pub phases: Phases,
    /// What was asked for: `POST http://host/path`.
    pub request: String,
    pub status: Option<u16>,
    pub writes: u32,
    pub bytes_sent: u64,
    pub body_reads: u32,
    pub bytes_received: u64,
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
    /// Why there is no whole response, if there is none.
    pub failure: Option<Failure>,
    /// The request body as sent.
    pub request_body: Body,
    /// What was read of the response while it came, where that was asked for: it is not read again.
    pub parsed: Option<Box<Parsed>>,
    /// The request's head as sent, where that was asked for.
    pub request_head: Vec<u8>,
}

/// How long a body took that came in so many reads. Zero for a single read: what came at once took no measurable time.
pub(crate) fn receiving(body_reads: u64, start: MonoNs, end: MonoNs) -> Option<Nanos> {
    match body_reads {
        0 => None,
        1 => Some(Nanos::ZERO),
        _ => start.until(end),
    }
}

impl Exchange {
    /// Whether the server answered with a status of success.
    pub fn is_success(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }

    /// Whether the run itself cut it off, by a signal or by the end of a phase's grace period.
    pub fn was_cut_off(&self) -> bool {
        matches!(self.failure, Some(Failure::CutOff | Failure::NeverBegun))
    }

    /// Whether it was cut off before anything left this machine: no worker began it, or it waited
    /// for a connection while all were in use.
    pub fn never_left(&self) -> bool {
        let Timeline { earlier_legs, blocked, connect_wait, dns, connect, send_start, .. } = &self.timeline;
        let later = [connect_wait.0, dns.0, connect.0, *send_start];
        match self.failure {
            Some(Failure::NeverBegun) => true,
            Some(Failure::CutOff) => {
                let waited = earlier_legs.is_empty() && blocked.1.taken().is_some();
                waited && later.iter().all(|at| at.taken().is_none())
            }
            _ => false,
        }
    }
}
