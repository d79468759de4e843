//! Where requests are sent, and their form.

use crate::choice::choices;
use crate::range::{at_least, finite_at_least, more_than};
use crate::setting::{List, Reader, Setting, Switch, section};
use crate::tree::Node;
use aiperf_plan::redact::REDACTED;
use aiperf_plan::{BaseUrl, ReadinessMode, ReuseStrategy, Transport, UrlError};
use aiperf_types::EndpointKind;
use serde_json::{Map, Value, json};

choices! {
    /// How several URLs are used.
    UrlStrategy {
        RoundRobin = "round_robin",
    }
    /// How a request body is encoded.
    ContentType {
        Json = "application/json",
        Multipart = "multipart/form-data",
    }
}

section! {
    /// The server and the format of requests.
    Endpoint {
        /// Base server URLs; http:// is added when no scheme is present, unix:///PATH is a Unix socket
        urls: List<Url> = [Url::local()];
        /// How requests are spread over several URLs
        url_strategy: UrlStrategy = UrlStrategy::RoundRobin;
        /// Wire format of requests and responses
        r#type: EndpointKind = EndpointKind::Chat;
        /// Replaces the default URL path of the endpoint type; must begin with a slash
        path: String;
        /// Secret sent as a bearer Authorization header, or @FILE that holds it; always redacted in output
        api_key: String;
        /// Seconds one request may take; 0 means no limit
        timeout: f64 [finite_at_least(0.0)] = 21600.0;
        /// Seconds of refused connections before the run ends, if no server ever accepted one; 0 never ends it
        unreachable_timeout: f64 [finite_at_least(0.0)] = 10.0;
        /// Request a streamed response; turned off with a warning if unsupported
        streaming: bool = false;
        /// HTTP/1.1, or HTTP/2: negotiated over TLS, with prior knowledge without TLS
        transport: Transport;
        /// Pooled, one per request, or one per session connections
        connection_reuse: ReuseStrategy = ReuseStrategy::Pooled;
        /// Send max_tokens rather than max_completion_tokens
        use_legacy_max_tokens: bool = false;
        /// Take token counts from the server usage object instead of the tokenizer
        use_server_token_count: bool = false;
        /// Request cumulative usage on every stream chunk; chat, streaming and server counts required
        per_chunk_usage: bool = false;
        /// Request body of type template
        template: Template;
        /// Headers sent with every request
        headers: Vec<(String, String)>;
        /// Members added to every request body
        extra: Extra;
        /// Fetch the generated video and count that time in latency
        download_video_content: bool = false;
        /// Body encoding; multipart only for form-data endpoints, where it is the default
        request_content_type: ContentType;
        /// Header name that replaces X-Correlation-ID for the session id
        session_header: String;
        /// Drop repeated image content after its first use in a session; chat only
        uuid_and_strip: bool = false;
        /// Seconds each readiness probe may take before the run; 0 skips probing
        wait_for_model_timeout: f64 [at_least(0.0)] = 0.0;
        /// Pause between readiness probes, seconds
        wait_for_model_interval: f64 [more_than(0.0)] = 5.0;
        /// Which readiness probe is used
        wait_for_model_mode: ReadinessMode = ReadinessMode::Inference;
        /// Reset the server's prefix cache before the run
        reset_kv_cache: Switch<ResetKvCache>;
        /// Start and stop the server's profiler around the run
        server_profiler: Switch<ServerProfiler>;
    }
    /// Request body of type template.
    Template {
        /// Jinja text of the body, or a file that holds it
        body: String;
        /// Path of the text in the response
        response_field: String = "text";
    }
    /// Reset of the server's prefix cache.
    ResetKvCache {
        /// Seconds one call may take
        timeout_seconds: f64 [more_than(0.0)] = 30.0;
        /// Seconds of retrying
        max_retry_seconds: f64 [at_least(0.0)] = 60.0;
        /// Path of the call; /reset_prefix_cache when unset
        path: String;
    }
    /// The server's profiler.
    ServerProfiler {
        /// Seconds one call may take
        timeout_seconds: f64 [more_than(0.0)] = 30.0;
        /// Path that starts it; /start_profile when unset
        start_path: String;
        /// Path that stops it; /stop_profile when unset
        stop_path: String;
    }
}

/// A URL of the server.
#[derive(Clone, Debug, PartialEq)]
pub struct Url(pub BaseUrl);

impl Url {
    /// The URL of a local server.
    pub fn local() -> Self {
        Self(BaseUrl::parse("http://localhost:8000").expect("it is a URL"))
    }
}

impl Setting for Url {
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<Self> {
        let Some(text) = node.text() else {
            reader.refuse(node, path, format!("must be a URL, not {}", node.kind()));
            return None;
        };
        match BaseUrl::parse(text) {
            Ok(url) => Some(Self(url)),
            Err(error) => {
                let what = format!("{}: {error}", reader.places.subject_key(node, path));
                let hint = if matches!(error, UrlError::Socket(_)) { "unix:///PATH" } else { "http://HOST:PORT" };
                reader.problems.push(crate::error::Problem::new(what).hint(hint).at(path));
                None
            }
        }
    }
    /// Without its credentials, but with a mark in their place.
    fn write(&self) -> Value {
        match (self.0.credentials(), self.0.as_str().split_once("://")) {
            (Some(_), Some((scheme, rest))) => format!("{scheme}://{REDACTED}@{rest}").into(),
            _ => self.0.as_str().into(),
        }
    }
    fn schema() -> Value {
        json!({"type": "string"})
    }
}

/// Members of a request body; a null inside is a null in the body.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extra(pub Map<String, Value>);

impl Setting for Extra {
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<Self> {
        match node.to_json() {
            Value::Object(map) => Some(Self(map)),
            _ => {
                reader.refuse(node, path, format!("must be a map, not {}", node.kind()));
                None
            }
        }
    }
    fn write(&self) -> Value {
        Value::Object(self.0.clone())
    }
    fn schema() -> Value {
        json!({"type": "object"})
    }
}
