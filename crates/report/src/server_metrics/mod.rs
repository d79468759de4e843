//! What the servers' own metrics came to, as every file and table of them says it.
//!
//! # Layout
//! - [`json`], [`csv`]: statistics of every series
//! - `phases`: each phase, endpoint by endpoint
//! - [`parquet`]: every sample
//! - [`jsonl`]: every page, written while the run is on

pub mod csv;
pub mod json;
pub mod jsonl;
pub mod parquet;
pub(crate) mod phases;

use aiperf_observe::{MetricKind, SeriesStats, ServerMetrics, Store, Window};
use aiperf_plan::ServerMetricsFormats;
use aiperf_types::WallNs;
use std::collections::BTreeSet;

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

/// A statistic: counts are whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Int(i64),
    Float(f64),
}

impl Number {
    pub(crate) fn as_f64(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }
}

pub(crate) const GAUGE: [&str; 13] =
    ["avg", "min", "max", "std", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99"];
pub(crate) const COUNTER: [&str; 6] = ["total", "rate", "rate_avg", "rate_min", "rate_max", "rate_std"];
const HISTOGRAM: [&str; 5] = ["count", "sum", "avg", "count_rate", "sum_rate"];
pub(crate) const ESTIMATES: [&str; 9] = [
    "p1_estimate",
    "p5_estimate",
    "p10_estimate",
    "p25_estimate",
    "p50_estimate",
    "p75_estimate",
    "p90_estimate",
    "p95_estimate",
    "p99_estimate",
];

/// The statistics of a series that are there, by name, in the order of the JSON file.
pub(crate) fn statistics(stats: &SeriesStats) -> Vec<(&'static str, Number)> {
    let float = |value: f64| Some(Number::Float(value));
    let values: Vec<Option<Number>> = match stats {
        SeriesStats::Gauge(gauge) => {
            let four = [gauge.avg, gauge.min, gauge.max, gauge.std];
            four.into_iter().chain(gauge.percentiles).map(float).collect()
        }
        SeriesStats::Counter(counter) => {
            let rates = counter.rates.map_or([None; 4], |rates| rates.map(float));
            [float(counter.total), float(counter.rate)].into_iter().chain(rates).collect()
        }
        SeriesStats::Histogram(histogram) => {
            let four = [histogram.sum, histogram.avg, histogram.count_rate, histogram.sum_rate];
            let estimates = histogram.percentile_estimates.map_or([None; 9], |values| values.map(float));
            let four = four.map(|value| value.map(Number::Float));
            std::iter::once(Some(Number::Int(histogram.count))).chain(four).chain(estimates).collect()
        }
    };
    let names = match stats {
        SeriesStats::Gauge(_) => GAUGE.to_vec(),
        SeriesStats::Counter(_) => COUNTER.to_vec(),
        SeriesStats::Histogram(_) => [HISTOGRAM.as_slice(), ESTIMATES.as_slice()].concat(),
    };
    names.into_iter().zip(values).filter_map(|(name, value)| Some((name, value?))).collect()
}

/// One statistic of a series.
pub(crate) fn statistic(stats: &SeriesStats, name: &str) -> Option<Number> {
    statistics(stats).into_iter().find(|(known, _)| *known == name).map(|(_, value)| value)
}

/// Names for JSON keys: servers may use one name for two kinds, and then the later one has its kind added,
/// `name (counter)`.
#[derive(Default)]
pub(crate) struct UniqueNames(BTreeSet<String>);

impl UniqueNames {
    pub(crate) fn name(&mut self, name: &str, kind: MetricKind) -> String {
        let mut unique = name.to_owned();
        while self.0.contains(&unique) {
            unique = format!("{unique} ({})", kind.name());
        }
        self.0.insert(unique.clone());
        unique
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_two_kinds_is_told_apart_by_the_kind() {
        let mut names = UniqueNames::default();
        let named = [MetricKind::Gauge, MetricKind::Counter].map(|kind| names.name("x", kind));
        assert_eq!(named, ["x", "x (counter)"]);
        assert_eq!(names.name("x (counter)", MetricKind::Gauge), "x (counter) (gauge)");
    }
}
