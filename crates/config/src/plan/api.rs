//! Whether a run has a live API, and which clients may use it.

use super::{idle_variables, subject};
use crate::environment::ApiServer;
use crate::error::Problem;
use crate::resolve::Tree;
use aiperf_plan::ApiPlan;
use std::net::IpAddr;

const HOST: &str = "benchmark.runtime.api_host";
const VARIABLES: &str = "AIPERF_API_SERVER_";
const HOST_VARIABLE: &str = "AIPERF_API_SERVER_HOST";
const ORIGINS_VARIABLE: &str = "AIPERF_API_SERVER_CORS_ORIGINS";

pub(super) fn plan(tree: &Tree, notes: &mut Vec<String>, problems: &mut Vec<Problem>) -> Option<ApiPlan> {
    let runtime = tree.benchmark.runtime.clone().unwrap_or_default();
    let server = &tree.environment.api;
    let asked = runtime.api_port.and_then(|port| u16::try_from(port).ok());
    let Some(port) = asked.or(server.port) else {
        let why = "without a port there is no live API\n  try: --api-port 8080";
        notes.extend(idle_variables(tree, VARIABLES, why));
        return None;
    };
    let (text, what, place) = match (&runtime.api_host, &server.host) {
        (Some(host), _) => (host.as_str(), subject(tree, HOST), HOST),
        (None, Some(host)) => (host.as_str(), format!("{HOST_VARIABLE}={host}"), ""),
        (None, None) => (ApiPlan::HOST, String::new(), ""),
    };
    let host = host(text).unwrap_or_else(|| {
        problems.push(
            Problem::new(format!("{what} is not a name or address of this machine"))
                .because("the live API listens on one interface; its port is a separate setting")
                .hint("127.0.0.1 for this machine only, 0.0.0.0 for all interfaces, or one of its names")
                .at(place),
        );
        ApiPlan::HOST.to_owned()
    });
    for origin in server.cors_origins.iter().filter(|origin| !is_origin(origin)) {
        problems.push(
            Problem::new(format!("{ORIGINS_VARIABLE}: {} is not an origin", origin.escape_debug()))
                .because("an origin is a scheme, a host and an optional port, without a path")
                .hint(r#"["https://grafana.example", "http://localhost:3000"], or * for all"#),
        );
    }
    let ApiServer { cors_origins, shutdown_delay, shutdown_timeout, stays, most_websockets, .. } = server.clone();
    Some(ApiPlan {
        host,
        port,
        is_required: asked.is_some(),
        cors_origins: cors_origins.iter().map(|origin| origin.trim_end_matches('/').to_ascii_lowercase()).collect(),
        stays,
        shutdown_delay,
        shutdown_timeout,
        most_websockets,
    })
}

/// An address, in brackets or not, or a name.
fn host(text: &str) -> Option<String> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let is_name = || {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        !text.is_empty() && text.len() <= 253 && text.chars().all(allowed)
    };
    (bare.parse::<IpAddr>().is_ok() || is_name()).then(|| bare.to_owned())
}

/// `*`, or `scheme://host[:port]`.
fn is_origin(text: &str) -> bool {
    let Some((scheme, authority)) = text.split_once("://") else { return text == "*" };
    let authority = authority.strip_suffix('/').unwrap_or(authority);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:[]".contains(c);
    let is_scheme = !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    is_scheme && !authority.is_empty() && authority.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_or_an_address_and_nothing_more() {
        for (text, bare) in
            [("127.0.0.1", "127.0.0.1"), ("[::1]", "::1"), ("::", "::"), ("bench-1.local", "bench-1.local")]
        {
            assert_eq!(host(text).as_deref(), Some(bare));
        }
        for text in ["", "http://localhost", "localhost:8080", "a b", "[localhost]", "me@host", "h/x"] {
            assert_eq!(host(text), None, "{text}");
        }
    }

    #[test]
    fn an_origin_has_no_path() {
        for text in ["*", "http://localhost:3000", "https://grafana.example/", "http://[::1]:80", "vscode-webview://x"]
        {
            assert!(is_origin(text), "{text}");
        }
        for text in ["grafana.example", "https://", "https://h/d/1", "https://me@h", "null", "http://h?x"] {
            assert!(!is_origin(text), "{text}");
        }
    }
}
