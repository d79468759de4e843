//! The network round trip: known to the user, or measured during a run.

use crate::url::BaseUrl;
use aiperf_types::Nanos;
use serde::{Deserialize, Serialize};

/// The source of the round-trip time that is subtracted from latencies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkLatencyPlan {
    /// The user's value, in milliseconds. Nothing is measured.
    Known(f64),
    Probed(ProbePlan),
}

/// How servers are probed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbePlan {
    /// In the order of the URLs, none twice, at least one.
    pub targets: Vec<ProbeTarget>,
    /// Between probes of a target.
    pub interval: Nanos,
    /// The time limit of one probe.
    pub timeout: Nanos,
    /// The fewest successful probes of each target at the end.
    pub min_samples: u32,
    /// The time limit for missing probes at the end, for all targets together.
    pub top_up_timeout: Nanos,
}

/// A server to probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeTarget {
    /// The URL for output.
    pub url: String,
    pub host: String,
    pub port: u16,
}

impl ProbeTarget {
    /// The servers of some URLs; sockets of this machine are reached without a network.
    pub fn of_urls(urls: &[BaseUrl]) -> Vec<Self> {
        let mut targets: Vec<Self> = Vec::new();
        for url in urls.iter().filter(|url| !url.is_unix()) {
            let is_same = |known: &Self| known.host.eq_ignore_ascii_case(url.host()) && known.port == url.port();
            if !targets.iter().any(is_same) {
                targets.push(Self { url: url.shown(), host: url.host().to_owned(), port: url.port() });
            }
        }
        targets
    }

    /// Host and port, in the usual form.
    pub fn address(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(urls: &[&str]) -> Vec<String> {
        let urls: Vec<BaseUrl> = urls.iter().map(|url| BaseUrl::parse(url).unwrap()).collect();
        ProbeTarget::of_urls(&urls).iter().map(ProbeTarget::address).collect()
    }

    #[test]
    fn a_server_is_one_target_for_all_its_urls() {
        let urls = ["http://a", "http://A:80/v1", "https://a", "b:9/x", "http://[::1]:5", "unix:///run/llm.sock"];
        assert_eq!(targets(&urls), ["a:80", "a:443", "b:9", "[::1]:5"]);
        assert!(targets(&["unix:///run/llm.sock"]).is_empty());
    }

    #[test]
    fn the_shown_url_of_a_target_has_no_secret() {
        let url = BaseUrl::parse("https://me:secret@h/v1?api_key=sk-12345678").unwrap();
        let shown = &ProbeTarget::of_urls(&[url])[0].url;
        assert!(shown.starts_with("https://<redacted>@h/v1"), "{shown}");
        assert!(!shown.contains("secret") && !shown.contains("sk-12345678"), "{shown}");
    }
}
