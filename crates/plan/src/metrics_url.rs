//! URLs of Prometheus pages: server, path, and the names in output.

use crate::redact::{self, REDACTED};
use crate::url::{BaseUrl, UrlError};
use serde::{Deserialize, Serialize};

/// The default path of a page.
const METRICS: &str = "/metrics";
/// The path on a server of TensorRT-LLM.
const PROMETHEUS: &str = "/prometheus/metrics";

/// A metrics page: its server, and its path with the query. The credentials belong to the server and are never shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricsUrl {
    server: BaseUrl,
    path: String,
}

impl MetricsUrl {
    /// Parses the user's URL. If the path does not end in `/metrics`, that is appended.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let url = Self::verbatim(text.trim())?;
        let (path, query) = url.path.find('?').map_or((url.path.as_str(), ""), |at| url.path.split_at(at));
        Ok(Self { path: format!("{}{query}", with_page(path)), server: url.server })
    }

    /// Parses a URL as it is, without its fragment.
    pub fn verbatim(text: &str) -> Result<Self, UrlError> {
        let server = BaseUrl::parse(text)?;
        let path = if server.is_unix() { METRICS } else { server.path() };
        Ok(Self { path: path.to_owned(), server: server.without_path() })
    }

    /// The page of a server at a path.
    pub(crate) fn of_server(server: &BaseUrl, path: &str) -> Self {
        let path = path.find('?').map_or(path, |at| &path[..at]);
        Self { server: server.without_path(), path: with_page(path) }
    }

    pub fn server(&self) -> &BaseUrl {
        &self.server
    }

    /// Path and query of the request.
    pub fn path(&self) -> &str {
        if self.path.is_empty() { "/" } else { &self.path }
    }

    /// The URL for output: no credentials, no secret parameters.
    pub fn shown(&self) -> String {
        let origin = self.origin();
        let user = if self.server.credentials().is_some() { format!("{REDACTED}@") } else { String::new() };
        let (scheme, host) = origin.split_once("://").unwrap_or(("http", &origin));
        redact::url(&format!("{scheme}://{user}{host}{}", self.path))
    }

    /// Removes its secrets.
    pub(crate) fn hide_secrets(&mut self) {
        self.server.hide_secrets();
        self.path = redact::url(&self.path);
    }

    /// Its name in tables: host, port and path, without one `/metrics` at its end.
    pub fn display_name(&self) -> String {
        let shown = self.shown();
        let (_, rest) = shown.split_once("://").unwrap_or_default();
        let rest = rest.split('?').next().unwrap_or_default();
        rest.strip_suffix(METRICS).unwrap_or(rest).to_owned()
    }

    /// Another URL to try if this is no metrics page; `None` if there is no other.
    pub fn prometheus_fallback(&self) -> Option<Self> {
        let (path, query) = self.path.find('?').map_or((self.path.as_str(), ""), |at| self.path.split_at(at));
        let base = path.strip_suffix(METRICS).filter(|_| !path.ends_with(PROMETHEUS))?;
        Some(Self { server: self.server.clone(), path: format!("{base}{PROMETHEUS}{query}") })
    }

    /// The server as the user wrote it.
    fn origin(&self) -> String {
        match self.server.socket_path() {
            Some(_) => format!("{}:", self.server.as_str()),
            None => self.server.origin(),
        }
    }
}

fn with_page(path: &str) -> String {
    let kept = path.trim_end_matches('/');
    let page = if kept.ends_with(METRICS) { "" } else { METRICS };
    format!("{kept}{page}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> MetricsUrl {
        MetricsUrl::parse(text).unwrap()
    }

    #[test]
    fn one_page_is_one_url_however_it_is_written() {
        for text in ["h:1", "HTTP://h:1", "http://h:1/", "http://h:1/metrics", "http://h:1/metrics/#x"] {
            assert_eq!(parsed(text), parsed("http://h:1"), "{text}");
        }
    }

    #[test]
    fn a_query_stays_behind_the_page() {
        assert_eq!(parsed("http://h/a/?x=1&y=2#z").shown(), "http://h/a/metrics?x=1&y=2");
        assert_eq!(parsed(" HTTP://h:1/metrics?x=/ ").path(), "/metrics?x=/");
    }

    #[test]
    fn a_server_with_a_path_also_has_the_page_at_its_root() {
        let endpoint = crate::MetricsEndpoint::of_server(&BaseUrl::parse("http://u:p@h:1/v1?x=1").unwrap());
        assert_eq!(endpoint.url.shown(), "http://<redacted>@h:1/v1/metrics");
        assert_eq!(endpoint.fallback.unwrap().shown(), "http://<redacted>@h:1/metrics");
        let plain = crate::MetricsEndpoint::of_server(&BaseUrl::parse("http://h:1").unwrap());
        assert_eq!((plain.url.path(), plain.fallback), ("/metrics", None));
    }

    #[test]
    fn a_socket_has_a_page_too() {
        let endpoint = crate::MetricsEndpoint::of_server(&BaseUrl::parse("unix:///run/llm.sock").unwrap());
        assert_eq!((endpoint.url.path(), endpoint.fallback), ("/metrics", None));
        assert_eq!(endpoint.url.shown(), "unix:///run/llm.sock:/metrics");
    }
}
