//! The input of collection, and its result for an endpoint.

use crate::discovery::Cluster;
use crate::results::ScrapeError;
use aiperf_plan::{MetricsEndpoint, MetricsUrl, PodDiscovery};
use aiperf_types::{LogLevel, RunEvent};

/// Where collection sends messages and events.
pub trait Announce: Send + Sync {
    fn say(&self, level: LogLevel, text: String);
    fn emit(&self, event: RunEvent);
}

/// A page to watch.
#[derive(Clone, Debug)]
pub struct WatchedPage {
    pub endpoint: MetricsEndpoint,
    /// A guess: if it does not respond, nothing is logged, and it is not tried again.
    pub is_guess: bool,
}

/// The discovery of pods with pages.
pub struct Pods {
    pub plan: PodDiscovery,
    /// The cluster that the program runs in.
    pub cluster: Option<Cluster>,
}

/// The result for an endpoint when everything is over.
#[derive(Debug)]
pub struct CollectedEndpoint {
    pub url: MetricsUrl,
    pub is_guess: bool,
    pub was_reached: bool,
    pub errors: Vec<ScrapeError>,
}
