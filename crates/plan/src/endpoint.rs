//! Where requests go: headers, and the HTTP client's settings.

use crate::url::BaseUrl;
use aiperf_types::EndpointKind;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Where requests go and how they are put.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EndpointPlan {
    pub kind: EndpointKind,
    /// Base URLs, at least one; sessions take them in turn.
    pub urls: Vec<BaseUrl>,
    /// Path given by the user instead of the dialect's own.
    pub path: Option<String>,
    /// Ask for streamed answers.
    pub streaming: bool,
    /// Bearer token.
    pub api_key: Option<String>,
    /// Extra headers in order.
    pub headers: Vec<(String, String)>,
    /// Extra members of the request body, in order.
    pub extra: Map<String, Value>,
    /// Total time of one request in seconds; 0 means no limit.
    pub timeout_seconds: f64,
    /// Send `max_tokens` where chat would send `max_completion_tokens`.
    pub legacy_max_tokens: bool,
    /// Count tokens by the server's `usage` instead of a tokenizer.
    pub server_token_count: bool,
    /// Ask for usage on every chunk.
    pub per_chunk_usage: bool,
    /// When connections are reused.
    pub reuse: ReuseStrategy,
    pub http: HttpSettings,
}

/// When connections are reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReuseStrategy {
    #[default]
    Pooled,
    /// A new connection a request.
    Never,
    /// One connection a session.
    StickyUserSessions,
}

impl ReuseStrategy {
    /// The name a user chooses it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pooled => "pooled",
            Self::Never => "never",
            Self::StickyUserSessions => "sticky-user-sessions",
        }
    }
}

/// Settings of the HTTP client, as `AIPERF_HTTP_*` names them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HttpSettings {
    /// Connections in the pool, for the process; raised to what the plan's concurrency needs.
    pub connection_limit: u32,
    /// Idle connections are dropped after this; 0 never.
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
    /// Bytes of a body that are kept.
    pub kept_body_limit: usize,
    /// Connects outstanding per address.
    pub connects_outstanding: u32,
    /// Add `X-Session-Affinity` with the correlation id.
    pub session_affinity: bool,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            connection_limit: 2500,
            keepalive_timeout_seconds: 300.0,
            recv_buffer: 10_485_760,
            send_buffer: 10_485_760,
            keep_idle: 60,
            keep_interval: 30,
            keep_count: 1,
            user_timeout_ms: 30_000,
            kept_body_limit: 64 << 20,
            connects_outstanding: 256,
            session_affinity: true,
        }
    }
}
