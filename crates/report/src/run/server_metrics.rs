//! The server metrics of a run.

use aiperf_observe::{ServerMetrics, Store, Window};
use aiperf_plan::ServerMetricsFormats;
use aiperf_types::WallNs;

/// The server metrics collected during a run, and what its files need besides.
#[derive(Debug)]
pub struct ServerMetricsResult {
    pub metrics: ServerMetrics,
    /// Every sample.
    pub store: Store,
    /// The window of `metrics`: the samples that time series contain too.
    pub window: Window,
    pub formats: ServerMetricsFormats,
    /// The name of the collecting machine.
    pub hostname: String,
    /// When collecting ended.
    pub exported: WallNs,
}

impl ServerMetricsResult {
    /// Whether a page of any server had metrics. If not, no file is written and no table shown.
    pub fn has_metrics(&self) -> bool {
        !self.metrics.endpoints.is_empty()
    }

    /// The name of an endpoint in tables: host, port and path, or its URL if several have the same name.
    pub(crate) fn display_name<'a>(&'a self, url: &'a str) -> &'a str {
        let endpoints = &self.metrics.endpoints;
        let Some(known) = endpoints.iter().find(|endpoint| &*endpoint.url == url) else { return url };
        let is_shared =
            endpoints.iter().any(|other| other.url != known.url && other.display_name == known.display_name);
        if is_shared { url } else { &known.display_name }
    }
}
