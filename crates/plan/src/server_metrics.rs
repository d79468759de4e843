//! Which pages of the servers' own metrics are fetched while a run is on, how, and what is written of them.

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

/// When pages are fetched, and how long anybody waits for one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cadence {
    /// Between scrapes.
    pub interval: Nanos,
    /// From the last request to the final scrape; zero: the one at the end of its phase is the last.
    pub flush: Nanos,
    /// What a reachability check may take, and the connecting of any scrape.
    pub reachability_timeout: Nanos,
    /// What a scrape at the boundary of a phase may take.
    pub scrape_timeout: Nanos,
    /// What a server may stay silent within an answer.
    pub read_timeout: Nanos,
    /// Between live snapshots, at least.
    pub publish_interval: Nanos,
    /// What a cancelled run waits for what is still being read.
    pub cancel_wait: Nanos,
    /// What a run waits at most before it starts until it is known who answers.
    pub settle_limit: Nanos,
}

/// A page to be fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricsEndpoint {
    pub url: MetricsUrl,
    /// Tried where the first does not answer: the server's own page, for a URL with a path.
    pub fallback: Option<MetricsUrl>,
    /// Somebody gave this URL: where nothing answers there, that is worth a warning.
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

/// How pods of a Kubernetes cluster are looked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PodDiscovery {
    pub mode: DiscoveryMode,
    pub label_selector: Option<String>,
    /// `*` for all; the program's own where none is given.
    pub namespace: Option<String>,
    pub timeout: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiscoveryMode {
    /// Where the program runs in a cluster.
    Auto,
    Kubernetes,
    Disabled,
}
