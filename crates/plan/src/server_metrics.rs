//! Which pages of the servers' own metrics are fetched during a run, how, and what is written of them.

use crate::metrics_url::MetricsUrl;
use crate::url::BaseUrl;
use aiperf_types::Nanos;
use serde::{Deserialize, Serialize};

/// What is collected of the servers' own metrics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerMetricsPlan {
    /// Endpoints in order, none twice.
    pub endpoints: Vec<MetricsEndpoint>,
    pub formats: ServerMetricsFormats,
    pub discovery: PodDiscovery,
    pub cadence: Cadence,
}

/// When pages are fetched, and how long to wait for one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cadence {
    /// Between scrapes.
    pub interval: Nanos,
    /// From the last request to the final scrape; zero: the scrape at the end of the phase is the last.
    pub flush: Nanos,
    /// The time limit of a reachability check, and of the connect of any scrape.
    pub reachability_timeout: Nanos,
    /// The time limit of a scrape at the boundary of a phase.
    pub scrape_timeout: Nanos,
    /// How long a server may pause within a response.
    pub read_timeout: Nanos,
    /// The least time between live snapshots.
    pub publish_interval: Nanos,
    /// How long a cancelled run waits for pages that are still being read.
    pub cancel_wait: Nanos,
    /// How long the start of a run waits at most until it is known which endpoints respond.
    pub settle_limit: Nanos,
}

/// A page to fetch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricsEndpoint {
    pub url: MetricsUrl,
    /// Tried if the first does not respond: the server's own page, for a URL with a path.
    pub fallback: Option<MetricsUrl>,
    /// The user gave this URL: if it does not respond, a warning follows.
    pub is_named: bool,
}

impl MetricsEndpoint {
    /// The page of a server that requests go to.
    pub fn of_server(server: &BaseUrl) -> Self {
        let url = MetricsUrl::of_server(server, server.path());
        let root = MetricsUrl::of_server(server, "");
        Self { fallback: (root != url).then_some(root), url, is_named: false }
    }
}

/// Which files are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerMetricsFormats {
    pub json: bool,
    pub csv: bool,
    pub jsonl: bool,
    pub parquet: bool,
}

/// How pods of a Kubernetes cluster are found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PodDiscovery {
    pub mode: DiscoveryMode,
    pub label_selector: Option<String>,
    /// `*` for all; the program's own namespace if none is given.
    pub namespace: Option<String>,
    pub timeout: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiscoveryMode {
    /// If the program runs in a cluster.
    Auto,
    Kubernetes,
    Disabled,
}
