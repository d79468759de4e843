//! Where requests go: URL rules, headers, and the HTTP client's settings.

use crate::redact;
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

/// A checked URL: scheme, authority, path and query, without a fragment's effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BaseUrl {
    text: String,
    tls: bool,
    authority: String,
    host: String,
    port: u16,
}

/// Why a URL is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// White space around or inside.
    #[error("URL '{0}' contains white space")]
    Whitespace(String),
    /// Something other than http or https.
    #[error("URL '{0}' must start with http:// or https://")]
    Scheme(String),
    #[error("URL '{0}' names no host")]
    Host(String),
    /// Port not in 1..=65535.
    #[error("URL '{0}' has a port outside 1..65535")]
    Port(String),
}

/// Schemes that are recognised as foreign when no `//` follows, so that `data:x` is not taken for a host.
const FOREIGN: &[&str] = &[
    "data",
    "file",
    "ftp",
    "ftps",
    "gopher",
    "javascript",
    "ldap",
    "ldaps",
    "mailto",
    "sftp",
    "ssh",
    "tel",
    "vbscript",
    "ws",
    "wss",
];

impl BaseUrl {
    /// Reads a URL; `http://` is added when there is no scheme.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let fail = |make: fn(String) -> UrlError| Err(make(redact::url(text)));
        if text.is_empty() {
            return fail(UrlError::Host);
        }
        if text.chars().any(char::is_whitespace) {
            return fail(UrlError::Whitespace);
        }
        let lower = text.to_ascii_lowercase();
        let foreign = lower.split_once(':').is_some_and(|(scheme, _)| FOREIGN.contains(&scheme));
        if foreign {
            return fail(UrlError::Scheme);
        }
        let full = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let (scheme, rest) = full.split_once("://").unwrap_or_default();
        let tls = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => return fail(UrlError::Scheme),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let authority = &rest[..end];
        let bare = authority.rsplit_once('@').map_or(authority, |(_, after)| after);
        let (host, port) = match bare.strip_prefix('[') {
            Some(v6) => match v6.split_once(']') {
                Some((host, after)) => (host, after.strip_prefix(':')),
                None => return fail(UrlError::Host),
            },
            None => match bare.rsplit_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (bare, None),
            },
        };
        if host.is_empty() {
            return fail(UrlError::Host);
        }
        let port = match port {
            None => {
                if tls {
                    443
                } else {
                    80
                }
            }
            Some(digits) => match digits.parse::<u16>() {
                Ok(port) if port > 0 && digits.bytes().all(|b| b.is_ascii_digit()) => port,
                _ => return fail(UrlError::Port),
            },
        };
        let (authority, host) = (authority.to_owned(), host.to_owned());
        Ok(Self { text: full, tls, authority, host, port })
    }

    /// The URL as text, with its scheme.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the scheme is https.
    pub fn is_tls(&self) -> bool {
        self.tls
    }

    /// Host name or address without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Host and port as the `Host` header wants them: without credentials, the default port left out.
    pub fn host_header(&self) -> String {
        let bare = self.authority.rsplit_once('@').map_or(self.authority.as_str(), |(_, after)| after);
        let default = if self.tls { ":443" } else { ":80" };
        bare.strip_suffix(default).unwrap_or(bare).to_owned()
    }
}

impl TryFrom<String> for BaseUrl {
    type Error = UrlError;
    fn try_from(text: String) -> Result<Self, UrlError> {
        Self::parse(&text)
    }
}

impl From<BaseUrl> for String {
    fn from(url: BaseUrl) -> Self {
        url.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_host_becomes_http() {
        let url = BaseUrl::parse("localhost:8000").unwrap();
        assert_eq!(
            (url.as_str(), url.host(), url.port(), url.is_tls()),
            ("http://localhost:8000", "localhost", 8000, false)
        );
    }

    #[test]
    fn an_ipv6_literal_keeps_its_brackets_in_the_header_only() {
        let url = BaseUrl::parse("https://[::1]:8443/v1").unwrap();
        assert_eq!((url.host(), url.port(), url.host_header().as_str()), ("::1", 8443, "[::1]:8443"));
    }

    #[test]
    fn a_refusal_does_not_say_the_credentials() {
        for url in ["http://u:p4ss@h:0", "ftp://u:p4ss@h", "u:p4ss@h:99999", "http://h:0?api_key=p4ss"] {
            let error = BaseUrl::parse(url).unwrap_err().to_string();
            assert!(error.contains("<redacted>") && !error.contains("p4ss"), "{error}");
        }
    }

    #[test]
    fn bad_urls_are_told_apart() {
        assert!(matches!(BaseUrl::parse("ftp://h"), Err(UrlError::Scheme(_))));
        assert!(matches!(BaseUrl::parse("mailto:x"), Err(UrlError::Scheme(_))));
        assert!(matches!(BaseUrl::parse("http://"), Err(UrlError::Host(_))));
        assert!(matches!(BaseUrl::parse("http://h:0"), Err(UrlError::Port(_))));
        assert!(matches!(BaseUrl::parse("http://h:70000"), Err(UrlError::Port(_))));
        assert!(matches!(BaseUrl::parse("http://a b"), Err(UrlError::Whitespace(_))));
    }
}
