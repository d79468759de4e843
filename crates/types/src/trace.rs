//! The HTTP trace of one request: every step, write and read with its instant.

use crate::exchange::receiving;
use crate::{EarlierLeg, MonoNs, Nanos, WallAnchor};
use std::net::SocketAddr;

/// What happened on the connection of one request, for those who ask for it. A zero instant was never reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpTrace {
    /// Turns instants into wall time.
    pub anchor: WallAnchor,
    /// First byte handed to the connection.
    pub send_start: MonoNs,
    /// As they were sent, each name once; `None` where nothing was sent.
    pub request_headers: Option<Vec<(String, String)>>,
    pub head_sent: MonoNs,
    /// Each write with its bytes, those of the head included.
    pub writes: Vec<(MonoNs, u32)>,
    pub send_end: MonoNs,
    pub write_count: u64,
    pub bytes_sent: u64,
    pub status: Option<u16>,
    pub reason: Option<String>,
    pub response_headers: Option<Vec<(String, String)>>,
    /// The read that completed the response head.
    pub head_received: MonoNs,
    /// The read with the first byte of the body.
    pub receive_start: MonoNs,
    /// Each read with bytes of the body or its framing, with all its bytes.
    pub reads: Vec<(MonoNs, u32)>,
    pub read_count: u64,
    /// Head and body, as they came off the connection.
    pub bytes_received: u64,
    /// The read that completed the response.
    pub receive_end: MonoNs,
    /// It failed or was cancelled before the response head came.
    pub failed: MonoNs,
    pub pool_wait: (MonoNs, MonoNs),
    /// TCP and TLS, for a new connection.
    pub connect: (MonoNs, MonoNs),
    /// A pooled connection was taken.
    pub reused: MonoNs,
    pub dns_hit: MonoNs,
    pub dns_miss: MonoNs,
    pub dns_lookup: (MonoNs, MonoNs),
    pub tls: (MonoNs, MonoNs),
    pub local: Option<SocketAddr>,
    pub remote: Option<SocketAddr>,
    /// What came before the leg that all instants are of; counts and bytes are of all legs.
    pub earlier_legs: Vec<EarlierLeg>,
}

impl HttpTrace {
    pub fn sending(&self) -> Option<Nanos> {
        self.send_start.until(self.send_end)
    }

    pub fn waiting(&self) -> Option<Nanos> {
        self.send_end.until(self.receive_start)
    }

    pub fn receiving(&self) -> Option<Nanos> {
        let earlier: u64 = self.earlier_legs.iter().map(|leg| u64::from(leg.body_reads)).sum();
        receiving(self.read_count.saturating_sub(earlier), self.receive_start, self.receive_end)
    }

    pub fn duration(&self) -> Option<Nanos> {
        self.send_start.until(self.receive_end)
    }
}
