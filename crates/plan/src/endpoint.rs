//! Where requests are sent, and their form.

use crate::control::{CacheReset, Readiness, ServerProfiler};
use crate::http::HttpSettings;
use crate::url::BaseUrl;
use aiperf_types::{BodyKind, EndpointKind, Nanos};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Where requests are sent, and their form.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EndpointPlan {
    pub kind: EndpointKind,
    /// Base URLs, at least one; sessions use them in rotation.
    pub urls: Vec<BaseUrl>,
    pub transport: Transport,
    /// The user's path instead of the dialect's own.
    pub path: Option<String>,
    /// Requests streamed responses.
    pub streaming: bool,
    /// Bearer token.
    pub api_key: Option<String>,
    /// Extra headers in order.
    pub headers: Vec<(String, String)>,
    /// Extra members of the request body, in order.
    pub extra: Map<String, Value>,
    /// How bodies are encoded.
    pub body: BodyKind,
    /// The Jinja template of bodies, for the endpoint type `template`.
    pub template: Option<String>,
    /// The name of the template in messages: where the user gave it.
    pub template_from: Option<String>,
    /// Where a response has its content, in JMESPath, for endpoint types without a fixed shape; `None` detects it.
    pub response_field: Option<String>,
    /// Content is a list of parts even if a string would do.
    pub force_content_parts: bool,
    /// The name of the header with the id of the session; `None`: `X-Correlation-ID`.
    pub session_header: Option<String>,
    pub video: VideoPlan,
    /// Total time of one request in seconds; 0 means no limit.
    pub timeout_seconds: f64,
    /// If no server ever accepts a connection, the run ends this long after the first failed connection; `None` goes
    /// on.
    pub unreachable_timeout: Option<Nanos>,
    /// Sends `max_tokens` where chat would send `max_completion_tokens`.
    pub legacy_max_tokens: bool,
    /// Counts tokens by the server's `usage` instead of a tokenizer.
    pub server_token_count: bool,
    /// Requests usage on every chunk.
    pub per_chunk_usage: bool,
    /// When connections are reused.
    pub reuse: ReuseStrategy,
    pub http: HttpSettings,
    /// How long to wait for the servers before anything else is sent; `None` does not wait.
    pub readiness: Option<Readiness>,
    /// Empties prefix caches once, before the first phase.
    pub cache_reset: Option<CacheReset>,
    /// Keeps the servers' profilers on during each profiling phase.
    pub server_profiler: Option<ServerProfiler>,
}

impl EndpointPlan {
    /// The name of the template in messages.
    pub fn template_name(&self) -> &str {
        self.template_from.as_deref().unwrap_or("the payload template")
    }

    /// An endpoint with default settings.
    pub fn new(kind: EndpointKind, urls: Vec<BaseUrl>) -> Self {
        Self {
            kind,
            urls,
            transport: Transport::default(),
            path: None,
            streaming: false,
            api_key: None,
            headers: Vec::new(),
            extra: Map::new(),
            body: kind.traits().body,
            template: None,
            template_from: None,
            response_field: None,
            force_content_parts: false,
            session_header: None,
            video: VideoPlan::default(),
            timeout_seconds: 0.0,
            unreachable_timeout: None,
            legacy_max_tokens: false,
            server_token_count: false,
            per_chunk_usage: false,
            reuse: ReuseStrategy::default(),
            http: HttpSettings::default(),
            readiness: None,
            cache_reset: None,
            server_profiler: None,
        }
    }
}

impl EndpointPlan {
    /// Whether the server is asked to store its responses, so that later turns can refer to them.
    pub fn stores_responses(&self) -> bool {
        self.kind == EndpointKind::Responses && asks_to_store(&self.extra)
    }
}

/// Whether extra members of a body ask for stored responses: by true, or by a text that means true.
pub fn asks_to_store(extra: &Map<String, Value>) -> bool {
    match extra.get("store") {
        Some(Value::Bool(on)) => *on,
        Some(Value::String(text)) => text.trim().eq_ignore_ascii_case("true"),
        _ => false,
    }
}

/// How a run waits for videos.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VideoPlan {
    /// Fetches each video when it is complete.
    pub download: bool,
    /// Between two polls of its state.
    pub poll_interval: Nanos,
}

impl Default for VideoPlan {
    fn default() -> Self {
        Self { download: false, poll_interval: Nanos(100_000_000) }
    }
}

/// The HTTP version of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// HTTP/1.1.
    #[default]
    Http,
    /// HTTP/2: by ALPN over TLS, with prior knowledge otherwise.
    Http2,
}

impl Transport {
    /// The name that users choose it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Http2 => "http2",
        }
    }
}

/// When connections are reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReuseStrategy {
    #[default]
    Pooled,
    /// A new connection per request.
    Never,
    /// One connection per session.
    StickyUserSessions,
}

impl ReuseStrategy {
    /// The name that users choose it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pooled => "pooled",
            Self::Never => "never",
            Self::StickyUserSessions => "sticky-user-sessions",
        }
    }
}
