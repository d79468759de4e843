//! Which of the servers' own metrics are collected, and how.

use crate::error::Problem;
use crate::resolve::Tree;
use crate::sections::observe::{DiscoveryMode as Mode, ServerMetricsFormat as Format};
use aiperf_plan::{
    Cadence, DiscoveryMode, EndpointPlan, MetricsEndpoint, MetricsUrl, PodDiscovery, ServerMetricsFormats,
    ServerMetricsPlan,
};
use aiperf_types::Nanos;

/// A read timeout this many times as long as the interval is probably a mistake.
const LONG_READ: f64 = 100.0;

pub(super) fn plan(
    tree: &Tree,
    endpoint: &EndpointPlan,
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) -> Option<ServerMetricsPlan> {
    let section = tree.benchmark.server_metrics.clone().unwrap_or_default();
    if !section.enabled() {
        return None;
    }
    let mut endpoints: Vec<MetricsEndpoint> = Vec::new();
    let mut add = |endpoint: MetricsEndpoint| match endpoints.iter_mut().find(|known| known.url == endpoint.url) {
        Some(known) => known.is_named |= endpoint.is_named,
        None => endpoints.push(endpoint),
    };
    endpoint.urls.iter().map(MetricsEndpoint::of_server).for_each(&mut add);
    for (index, text) in section.urls.iter().flat_map(|urls| &urls.0).enumerate() {
        match MetricsUrl::parse(text) {
            Ok(url) => add(MetricsEndpoint { url, fallback: None, is_named: true }),
            // The rules have already refused it, unless they could not see it.
            Err(error) => problems.push(
                Problem::new(error.to_string())
                    .hint("http://HOST:PORT/metrics")
                    .at(format!("benchmark.server_metrics.urls.{index}")),
            ),
        }
    }
    let scrapes = &tree.environment.scrapes;
    if scrapes.read_timeout > LONG_READ * scrapes.interval {
        notes.push(format!(
            "AIPERF_HTTP_METRICS_SCRAPE_READ_TIMEOUT ({} s) is more than {LONG_READ} times \
             AIPERF_SERVER_METRICS_COLLECTION_INTERVAL ({} s): a page that hangs costs many scrapes",
            scrapes.read_timeout, scrapes.interval
        ));
    }
    let wants = |format| section.formats().contains(&format);
    let discovery = section.discovery.clone().unwrap_or_default();
    Some(ServerMetricsPlan {
        endpoints,
        formats: ServerMetricsFormats {
            json: wants(Format::Json),
            csv: wants(Format::Csv),
            jsonl: wants(Format::Jsonl),
            parquet: wants(Format::Parquet),
        },
        discovery: PodDiscovery {
            mode: match discovery.mode() {
                Mode::Auto => DiscoveryMode::Auto,
                Mode::Kubernetes => DiscoveryMode::Kubernetes,
                Mode::Disabled => DiscoveryMode::Disabled,
            },
            label_selector: discovery.label_selector.clone(),
            namespace: discovery.namespace.clone(),
            timeout: Nanos::from_secs_f64(discovery.timeout_seconds()),
        },
        cadence: Cadence {
            interval: Nanos::from_secs_f64(scrapes.interval),
            flush: Nanos::from_secs_f64(scrapes.flush),
            reachability_timeout: Nanos::from_secs_f64(scrapes.reachability_timeout),
            scrape_timeout: Nanos::from_secs_f64(scrapes.scrape_timeout),
            read_timeout: Nanos::from_secs_f64(scrapes.read_timeout),
            publish_interval: Nanos::from_secs_f64(scrapes.publish_interval),
            cancel_wait: Nanos::from_secs_f64(scrapes.cancel_wait),
            // The slowest endpoint is given up by its own timeout.
            settle_limit: Nanos(Nanos::from_secs_f64(scrapes.reachability_timeout).0.saturating_mul(3)),
        },
    })
}
