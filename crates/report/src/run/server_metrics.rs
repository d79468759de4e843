//! The servers' own metrics, as a run has them.

use aiperf_observe::{ServerMetrics, Store, Window};
use aiperf_plan::ServerMetricsFormats;
use aiperf_types::WallNs;

/// What was seen of the servers while a run was on, and what its files need besides.
#[derive(Debug)]
pub struct ServerMetricsResult {
    pub metrics: ServerMetrics,
    /// Every sample.
    pub store: Store,
    /// What `metrics` are over: the samples that time series have too.
    pub window: Window,
    pub formats: ServerMetricsFormats,
    /// Name of the machine that collected them.
    pub hostname: String,
    /// When collecting was over.
    pub exported: WallNs,
}

impl ServerMetricsResult {
    /// Whether a page of any server gave anything. Without, no file is written and no table shown.
    pub fn has_metrics(&self) -> bool {
        !self.metrics.endpoints.is_empty()
    }

    /// What tables call an endpoint: host, port and path, or its URL where that is the name of several.
    pub(crate) fn display_name<'a>(&'a self, url: &'a str) -> &'a str {
        let endpoints = &self.metrics.endpoints;
        let Some(known) = endpoints.iter().find(|endpoint| &*endpoint.url == url) else { return url };
        let is_shared =
            endpoints.iter().any(|other| other.url != known.url && other.display_name == known.display_name);
        if is_shared { url } else { &known.display_name }
    }
}
