//! Which metrics and statistics are compared, and which direction is better.

use super::rule::Stat;
use aiperf_metrics::metric::ConsoleGroup;
use aiperf_metrics::{Flags, Metric, MetricType, Unit, registry};
use aiperf_statistics::Direction;

/// The statistics that are shown of a distribution.
const DISTRIBUTION: [Stat; 4] = [Stat::MEAN, Stat::percentile(50.0), Stat::percentile(90.0), Stat::percentile(99.0)];

/// Rates of a run: sums over requests divided by the length of the run. Each with what a request adds: a record metric,
/// or one for itself.
pub(super) const RATES: &[(&str, Option<&str>)] = &[
    ("request_throughput", None),
    ("output_token_throughput", Some("output_sequence_length")),
    ("input_token_throughput", Some("input_sequence_length")),
    ("goodput", Some("good_request_count")),
];

/// Metrics that are a share of all requests: what they count, and the factor of the share.
pub(super) const SHARES: &[Share] = &[
    Share { tag: ERROR_RATE, hits: ERRORS, scale: Scale::By(100.0) },
    Share { tag: ERRORS, hits: ERRORS, scale: Scale::Count },
    Share { tag: "good_request_fraction", hits: "good_request_count", scale: Scale::By(1.0) },
];
pub(super) const REQUESTS: &str = "request_count";
pub(super) const ERRORS: &str = "error_request_count";
pub(super) const ERROR_RATE: &str = "request_error_rate";

/// Metrics computed from others that have an error bound, and how the error passes on.
pub(super) const DERIVED: &[(&str, Derived)] = &[
    ("output_token_throughput_per_user", Derived::Reciprocal("inter_token_latency")),
    ("prefill_throughput_per_user", Derived::Reciprocal("time_to_first_token")),
    ("e2e_output_token_throughput", Derived::Reciprocal("request_latency")),
    ("time_to_second_token", Derived::Sum(&["time_to_first_token"])),
    ("time_to_first_output_token", Derived::Sum(&["time_to_first_token"])),
    ("stream_prefill_latency", Derived::Sum(&["time_to_first_token"])),
    ("intended_time_to_first_token", Derived::Sum(&["time_to_first_token"])),
    ("intended_request_latency", Derived::Sum(&["request_latency"])),
    ("effective_latency", Derived::Sum(&["request_latency"])),
    ("decode_duration", Derived::Sum(&["time_to_first_token", "request_latency"])),
];

#[derive(Clone, Copy, Debug)]
pub(super) enum Derived {
    /// A number divided by the other metric.
    Reciprocal(&'static str),
    /// Sums and differences of the others with exact times.
    Sum(&'static [&'static str]),
}

#[derive(Debug)]
pub(super) struct Share {
    pub(super) tag: &'static str,
    pub(super) hits: &'static str,
    pub(super) scale: Scale,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Scale {
    By(f64),
    /// The hits themselves; comparable if both sides have the same number of requests.
    Count,
}

/// Whether a metric is about successful requests only, and has a better direction.
pub(super) fn is_of_successes(tag: &str) -> bool {
    let is_of_requests = |metric: &Metric| matches!(metric.kind(), MetricType::Record | MetricType::List);
    registry::find(tag).is_some_and(is_of_requests) && direction(tag) != Direction::Neither
}

/// The metrics on the console of a run, in its order.
pub(super) fn shown() -> Vec<&'static Metric> {
    let is_shown = |metric: &&&Metric| {
        metric.group == ConsoleGroup::Default && metric.order.is_some() && metric.flags.allow_table()
    };
    let mut shown: Vec<&Metric> = registry::all().iter().filter(is_shown).copied().collect();
    shown.sort_by_key(|metric| metric.order);
    shown
}

/// The statistics of a metric that are shown by default.
pub(super) fn stats_of(tag: &str) -> &'static [Stat] {
    match registry::find(tag) {
        // Lengths of requests are compared by their mean. A single number has no percentiles.
        Some(metric) if direction(tag) == Direction::Neither || !is_distribution(metric) => &DISTRIBUTION[..1],
        _ => &DISTRIBUTION,
    }
}

/// Whether records contain a metric: requests have it, or it is a rate over them.
pub(super) fn has_records(tag: &str) -> bool {
    let is_rate = RATES.iter().any(|(rate, _)| *rate == tag);
    is_rate || registry::find(tag).is_none_or(|metric| matches!(metric.kind(), MetricType::Record | MetricType::List))
}

fn is_distribution(metric: &Metric) -> bool {
    matches!(metric.kind(), MetricType::Record | MetricType::List | MetricType::Analysis)
}

/// Which direction of a metric is better.
pub(super) fn direction(tag: &str) -> Direction {
    let Some(metric) = registry::find(tag) else { return Direction::Neither };
    match metric.display {
        // The amount of work, not its quality, unless the metric counts failures or requests that met their objectives.
        Unit::Tokens | Unit::Requests | Unit::Images | Unit::Count
            if !metric.flags.has(Flags::ERROR_ONLY) && !metric.flags.has(Flags::GOODPUT) =>
        {
            Direction::Neither
        }
        // The registry, like AIPerf's, has no flag on some of these.
        Unit::RequestsPerSec | Unit::ImagesPerSec => Direction::LargerIsBetter,
        _ => match metric.larger_is_better() {
            Some(true) => Direction::LargerIsBetter,
            Some(false) => Direction::SmallerIsBetter,
            None => Direction::Neither,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_latencies_and_large_rates_are_better_and_lengths_are_neither() {
        for (tag, wanted) in [
            ("time_to_first_token", Direction::SmallerIsBetter),
            ("request_latency", Direction::SmallerIsBetter),
            ("request_error_rate", Direction::SmallerIsBetter),
            ("error_request_count", Direction::SmallerIsBetter),
            ("request_throughput", Direction::LargerIsBetter),
            ("output_token_throughput_per_user", Direction::LargerIsBetter),
            ("goodput", Direction::LargerIsBetter),
            ("image_throughput", Direction::LargerIsBetter),
            ("input_sequence_length", Direction::Neither),
            ("request_count", Direction::Neither),
            ("no_such_metric", Direction::Neither),
        ] {
            assert_eq!(direction(tag), wanted, "{tag}");
        }
    }

    #[test]
    fn rates_refer_to_metrics_that_exist() {
        for (tag, weight) in RATES {
            assert!(registry::find(tag).is_some() && weight.is_none_or(|tag| registry::find(tag).is_some()), "{tag}");
        }
        for share in SHARES {
            assert!(registry::find(share.tag).is_some() && registry::find(share.hits).is_some(), "{share:?}");
        }
        for (tag, derived) in DERIVED {
            let bases = match derived {
                Derived::Reciprocal(base) => std::slice::from_ref(base),
                Derived::Sum(bases) => bases,
            };
            assert!([tag].into_iter().chain(bases).all(|tag| registry::find(tag).is_some()), "{tag} {derived:?}");
        }
        assert!(is_of_successes("request_latency") && !is_of_successes("request_throughput"));
        assert_eq!(shown().first().map(|metric| metric.tag), Some("time_to_first_token"));
    }
}
