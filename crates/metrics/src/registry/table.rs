//! The registry: every metric, found by index or by tag.

use crate::registry::families::FAMILIES;
use crate::registry::metric::Metric;
use std::collections::HashMap;
use std::sync::LazyLock;

struct Registry {
    metrics: Vec<&'static Metric>,
    places: HashMap<&'static str, usize>,
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let metrics: Vec<&'static Metric> = FAMILIES.iter().flat_map(|(_, metrics)| metrics.iter()).collect();
    let places = metrics.iter().enumerate().map(|(place, metric)| (metric.tag, place)).collect();
    Registry { metrics, places }
});

/// Every metric, in registry order.
pub fn all() -> &'static [&'static Metric] {
    &REGISTRY.metrics
}

pub fn find(tag: &str) -> Option<&'static Metric> {
    place(tag).map(|place| REGISTRY.metrics[place])
}

/// The index of a tag in [`all`].
pub(crate) fn place(tag: &str) -> Option<usize> {
    REGISTRY.places.get(tag).copied()
}

/// The metrics that a summary lists before all others, in this order.
pub const LEADING: &[&str] = &[
    "request_throughput",
    "request_latency",
    "request_count",
    "time_to_first_token",
    "time_to_second_token",
    "inter_token_latency",
    "output_token_throughput",
    "output_token_throughput_per_user",
    "output_sequence_length",
    "input_sequence_length",
    "goodput",
    "good_request_count",
    "output_token_count",
    "reasoning_token_count",
    "min_request_timestamp",
    "max_response_timestamp",
    "inter_chunk_latency",
    "total_output_tokens",
    "total_reasoning_tokens",
    "benchmark_duration",
    "total_isl",
    "total_osl",
    "error_request_count",
    "error_isl",
    "total_error_isl",
];

/// The position of a metric in a summary: the leading ones first, then by display order, then by name.
pub(crate) fn export_rank(tag: &str, order: Option<u32>) -> (usize, u32, &str) {
    let fixed = LEADING.iter().position(|first| *first == tag).unwrap_or(LEADING.len());
    (fixed, order.unwrap_or(u32::MAX), tag)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::metric::Compute;

    #[test]
    fn every_tag_is_there_once() {
        assert_eq!(REGISTRY.places.len(), all().len());
    }

    #[test]
    fn every_metric_that_another_one_refers_to_exists() {
        for metric in all() {
            let base = match metric.compute {
                Compute::Total(base) | Compute::NetworkAdjusted(base) | Compute::ErrorAdjusted(base) => Some(base),
                _ => None,
            };
            for tag in metric.needs.iter().chain(metric.uses).copied().chain(base) {
                assert!(find(tag).is_some(), "{} needs {tag}, which does not exist", metric.tag);
            }
        }
    }

    #[test]
    fn the_metrics_that_summaries_list_first_exist() {
        for tag in LEADING {
            assert!(find(tag).is_some(), "{tag}");
        }
    }
}
