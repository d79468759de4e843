//! Where requests go and how they are put.

use crate::control::{CacheReset, Readiness, ServerProfiler};
use crate::http::HttpSettings;
use crate::url::BaseUrl;
use aiperf_types::{BodyKind, EndpointKind, Nanos};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Where requests go and how they are put.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EndpointPlan {
    pub kind: EndpointKind,
    /// Base URLs, at least one; sessions take them in turn.
    pub urls: Vec<BaseUrl>,
    pub transport: Transport,
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
    /// How bodies are encoded.
    pub body: BodyKind,
    /// What bodies are made of, in Jinja, for the endpoint type that is made for it.
    pub template: Option<String>,
    /// What messages call the template: whoever gave it knows it by this.
    pub template_from: Option<String>,
    /// Where an answer has what it says, in JMESPath, for endpoint types without a shape of their own; `None` finds it
    /// out.
    pub response_field: Option<String>,
    /// Content is a list of parts even where a string would do.
    pub force_content_parts: bool,
    /// The name of the header field that says which session a request belongs to; `None`: `X-Correlation-ID`.
    pub session_header: Option<String>,
    pub video: VideoPlan,
    /// Total time of one request in seconds; 0 means no limit.
    pub timeout_seconds: f64,
    /// A run in which no server ever accepted a connection ends so long after the first failed connection; `None` goes on.
    pub unreachable_timeout: Option<Nanos>,
    /// Send `max_tokens` where chat would send `max_completion_tokens`.
    pub legacy_max_tokens: bool,
    /// Count tokens by the server's `usage` instead of a tokenizer.
    pub server_token_count: bool,
    /// Ask for usage on every chunk.
    pub per_chunk_usage: bool,
    /// When connections are reused.
    pub reuse: ReuseStrategy,
    pub http: HttpSettings,
    /// How long the servers are waited for before anything else is sent; `None` does not wait.
    pub readiness: Option<Readiness>,
    /// Prefix caches are emptied once before the first phase.
    pub cache_reset: Option<CacheReset>,
    /// The servers' profilers are on during each profiling phase.
    pub server_profiler: Option<ServerProfiler>,
}

impl EndpointPlan {
    /// What messages call the template.
    pub fn template_name(&self) -> &str {
        self.template_from.as_deref().unwrap_or("the payload template")
    }

    /// An endpoint with nothing special about it.
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
    /// Whether the server is asked to keep its responses, so that later turns can go on from them.
    pub fn stores_responses(&self) -> bool {
        self.kind == EndpointKind::Responses && asks_to_store(&self.extra)
    }
}

/// Whether extra members of a body ask for responses to be kept: by true, or by a text that says so.
pub fn asks_to_store(extra: &Map<String, Value>) -> bool {
    match extra.get("store") {
        Some(Value::Bool(on)) => *on,
        Some(Value::String(text)) => text.trim().eq_ignore_ascii_case("true"),
        _ => false,
    }
}

/// How videos are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VideoPlan {
    /// Fetch each video once it is made.
    pub download: bool,
    /// Between two looks at whether it is made.
    pub poll_interval: Nanos,
}

impl Default for VideoPlan {
    fn default() -> Self {
        Self { download: false, poll_interval: Nanos(100_000_000) }
    }
}

/// How requests travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// HTTP/1.1.
    #[default]
    Http,
    /// HTTP/2: by ALPN over TLS, with prior knowledge without it.
    Http2,
}

impl Transport {
    /// The name a user chooses it by.
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
