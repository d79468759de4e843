//! What collection is given and what it returns of an endpoint.

use crate::discovery::Cluster;
use crate::results::ScrapeError;
use aiperf_plan::{MetricsEndpoint, MetricsUrl, PodDiscovery};
use aiperf_types::{LogLevel, RunEvent};

/// Where collection sends messages and events.
pub trait Announce: Send + Sync {
    fn say(&self, level: LogLevel, text: String);
    fn emit(&self, event: RunEvent);
}

/// A page to be watched.
#[derive(Clone, Debug)]
pub struct WatchedPage {
    pub endpoint: MetricsEndpoint,
    /// A guess: where nothing answers, nothing is logged, and it is left alone.
    pub is_guess: bool,
}

/// Pods that have pages too.
pub struct Pods {
    pub plan: PodDiscovery,
    /// The cluster that the program runs in.
    pub cluster: Option<Cluster>,
}

/// What is known of an endpoint when all is over.
#[derive(Debug)]
pub struct CollectedEndpoint {
    pub url: MetricsUrl,
    pub is_guess: bool,
    pub was_reached: bool,
    pub errors: Vec<ScrapeError>,
}
