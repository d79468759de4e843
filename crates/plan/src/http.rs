//! Settings of the HTTP client, as `AIPERF_HTTP_*` names them.

use crate::proxy::Proxies;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How connections are made and kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HttpSettings {
    /// Connections in use at once, for the process (over HTTP/2: requests); `None`: as many as the plan's concurrency
    /// needs.
    pub connection_limit: Option<u32>,
    /// Idle connections are closed after this time; 0 means never.
    pub keepalive_timeout_seconds: f64,
    /// Receive buffer in bytes.
    pub recv_buffer: u32,
    /// Send buffer in bytes.
    pub send_buffer: u32,
    /// `TCP_KEEPIDLE`, seconds.
    pub keep_idle: u32,
    /// `TCP_KEEPINTVL`, seconds.
    pub keep_interval: u32,
    /// `TCP_KEEPCNT`.
    pub keep_count: u32,
    /// `TCP_USER_TIMEOUT`, milliseconds.
    pub user_timeout_ms: u32,
    pub ip_version: IpVersion,
    /// Seconds for which a resolved name is reused, 0 for ever; `None` resolves names for every connection.
    pub dns_cache_seconds: Option<u32>,
    /// Whether a server must present a trusted certificate for its name.
    pub verify_certificates: bool,
    /// Trusted certificates in PEM, instead of the system's.
    pub ca_file: Option<PathBuf>,
    pub proxies: Proxies,
    /// How long writing a request that is to be cancelled may take, if requests have no time limit.
    pub cancellation_send_timeout_seconds: f64,
    /// Bytes of a body that are kept.
    pub kept_body_limit: usize,
    /// The same for all responses in flight together. A response of less than a megabyte does not count.
    pub kept_bodies_limit: usize,
    /// The most connects under way per address.
    pub connects_outstanding: u32,
    /// Headers besides `X-Correlation-ID` with the session's id, in the order of [`SessionHeader::ALL`].
    pub session_headers: Vec<SessionHeader>,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            connection_limit: None,
            keepalive_timeout_seconds: 300.0,
            recv_buffer: 10_485_760,
            send_buffer: 10_485_760,
            keep_idle: 60,
            keep_interval: 30,
            keep_count: 1,
            user_timeout_ms: 30_000,
            ip_version: IpVersion::V4,
            dns_cache_seconds: Some(300),
            verify_certificates: true,
            ca_file: None,
            proxies: Proxies::default(),
            cancellation_send_timeout_seconds: 300.0,
            kept_body_limit: 64 << 20,
            kept_bodies_limit: 1 << 30,
            connects_outstanding: 256,
            session_headers: vec![SessionHeader::Affinity],
        }
    }
}

/// Which addresses of a host are used. If a host has none of the wanted kind, or is itself an address of the other
/// kind, what it has is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum IpVersion {
    #[default]
    #[serde(rename = "4")]
    V4,
    #[serde(rename = "6")]
    V6,
    #[serde(rename = "auto")]
    Auto,
}

impl IpVersion {
    /// The value of a variable.
    pub fn parse(text: &str) -> Option<Self> {
        match text.trim().to_ascii_lowercase().as_str() {
            "4" => Some(Self::V4),
            "6" => Some(Self::V6),
            "auto" => Some(Self::Auto),
            _ => None,
        }
    }
}

/// A header by which routers identify a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionHeader {
    SessionId,
    Affinity,
    SmgRoutingKey,
    DynamoSessionId,
}

impl SessionHeader {
    /// In the order of sending.
    pub const ALL: &'static [Self] = &[Self::SessionId, Self::Affinity, Self::SmgRoutingKey, Self::DynamoSessionId];

    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SessionId => "X-Session-ID",
            Self::Affinity => "X-Session-Affinity",
            Self::SmgRoutingKey => "X-SMG-Routing-Key",
            Self::DynamoSessionId => "X-Dynamo-Session-ID",
        }
    }

    /// The variable that switches it on and off.
    pub const fn variable(self) -> &'static str {
        match self {
            Self::SessionId => "AIPERF_HTTP_X_SESSION_ID_FROM_CORRELATION_ID",
            Self::Affinity => "AIPERF_HTTP_X_SESSION_AFFINITY_FROM_CORRELATION_ID",
            Self::SmgRoutingKey => "AIPERF_HTTP_X_SMG_ROUTING_KEY_FROM_CORRELATION_ID",
            Self::DynamoSessionId => "AIPERF_HTTP_X_DYNAMO_SESSION_ID_FROM_CORRELATION_ID",
        }
    }
}
