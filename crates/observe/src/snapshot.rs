//! The servers' metrics of the phase so far: the few figures of the live display, and each page as it is now.

use crate::gpu::live::display_name;
use crate::scrape::MetricKind;
use crate::store::{Endpoint, Store, StoredSeries};
use aiperf_types::{EndpointSnapshot, SeriesSnapshot, ServerSnapshot, WallNs};
use std::sync::Arc;

/// Series of a page that are shown while the run is on. Servers have some hundreds; a page of a hundred thousand
/// should not be copied every second.
const MOST_SERIES: usize = 1000;

/// A figure that no server gave is left out.
pub fn snapshot(store: &Store, phase_start: WallNs) -> ServerSnapshot {
    let pages = Pages { store, phase_start };
    let kv_cache = ["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage"];
    let shares = || pages.shares("vllm:prefix_cache_hits", "vllm:prefix_cache_queries");
    let cached = shares().or_else(|| pages.shares("sglang:cached_tokens", "sglang:prompt_tokens"));
    let hit_rate = || pages.gauge("sglang:cache_hit_rate").map(percent);
    let external = pages.shares("vllm:external_prefix_cache_hits", "vllm:external_prefix_cache_queries");
    let figures = [
        ("prefix_cache_hit_rate", cached.map(|(hit, _)| hit).or_else(hit_rate)),
        ("unique_input_tokens_srv", cached.map(|(_, missed)| missed)),
        ("external_prefix_cache_hit_rate", external.map(|(hit, _)| hit)),
        ("kv_cache_usage_pct", kv_cache.iter().find_map(|name| pages.gauge(name)).map(percent)),
        ("cpu_kv_cache_usage_pct", pages.cpu_cache().map(percent)),
        ("num_running", pages.first_gauge(["vllm:num_requests_running", "sglang:num_running_reqs"])),
        ("num_waiting", pages.first_gauge(["vllm:num_requests_waiting", "sglang:num_queue_reqs"])),
        ("num_preemptions", pages.first_count(["vllm:num_preemptions", "sglang:num_retracted_reqs"])),
        ("input_token_throughput_srv", pages.first_rate(["vllm:prompt_tokens", "sglang:prompt_tokens"])),
        ("output_token_throughput_srv", pages.first_rate(["vllm:generation_tokens", "sglang:generation_tokens"])),
    ];
    ServerSnapshot {
        values: figures.into_iter().filter_map(|(name, value)| Some((name, value?))).collect(),
        endpoints: store.endpoints().iter().filter_map(|endpoint| pages.page(endpoint)).collect(),
    }
}

/// Servers give shares as parts of one or as percent.
fn percent(share: f64) -> f64 {
    if share <= 1.0 { 100.0 * share } else { share }
}

struct Pages<'a> {
    store: &'a Store,
    phase_start: WallNs,
}

impl Pages<'_> {
    fn counters(&self, name: &str) -> impl Iterator<Item = StoredSeries<'_>> {
        self.store.series().filter(move |series| series.kind() == MetricKind::Counter && &**series.name() == name)
    }

    /// Counted since the phase began, over all series that have two samples.
    fn count(&self, name: &str) -> Option<f64> {
        let of_series = |series: StoredSeries<'_>| {
            let last = series.len().checked_sub(1)?;
            let base = series.samples_before(self.phase_start).saturating_sub(1);
            (base < last).then(|| (series.scalars()[last] - series.scalars()[base]).max(0.0))
        };
        self.counters(name).filter_map(of_series).reduce(|one, other| one + other)
    }

    /// The rate since the first sample of the phase, over all series.
    fn rate(&self, name: &str) -> Option<f64> {
        let of_series = |series: StoredSeries<'_>| {
            let last = series.len().checked_sub(1)?;
            let base = series.samples_before(self.phase_start);
            let counted = (base < last).then(|| (series.scalars()[last] - series.scalars()[base]).max(0.0))?;
            Some((counted, series.fetch(last).at.0 - series.fetch(base).at.0))
        };
        let all = self.counters(name).filter_map(of_series);
        let (counted, longest) = all.reduce(|one, other| (one.0 + other.0, one.1.max(other.1)))?;
        (longest > 0).then(|| counted / (longest as f64 / 1e9))
    }

    /// The largest current value of any series.
    fn gauge(&self, name: &str) -> Option<f64> {
        self.store.endpoints().iter().filter_map(|endpoint| gauge(endpoint, name)).reduce(f64::max)
    }

    fn first_gauge<const N: usize>(&self, names: [&str; N]) -> Option<f64> {
        names.into_iter().find_map(|name| self.gauge(name))
    }

    fn first_count<const N: usize>(&self, names: [&str; N]) -> Option<f64> {
        names.into_iter().find_map(|name| self.count(name))
    }

    fn first_rate<const N: usize>(&self, names: [&str; N]) -> Option<f64> {
        names.into_iter().find_map(|name| self.rate(name))
    }

    /// The percentage that hit, and the number that did not.
    fn shares(&self, hits: &str, queries: &str) -> Option<(f64, f64)> {
        let (hits, queries) = (self.count(hits)?, self.count(queries).filter(|queries| *queries > 0.0)?);
        Some((100.0 * hits.min(queries) / queries, (queries - hits).max(0.0)))
    }

    /// A page that was fetched at least once.
    fn page(&self, endpoint: &Endpoint) -> Option<EndpointSnapshot> {
        let (first, last) = (endpoint.fetches().first()?, endpoint.fetches().last()?);
        let (url, name) = (endpoint.url(), display_name(endpoint.url()));
        let is_shared = |other: &Endpoint| other.url() != url && display_name(other.url()) == name;
        let name = if self.store.endpoints().iter().any(is_shared) { Arc::clone(url) } else { name.into() };
        let mut series: Vec<SeriesSnapshot> =
            endpoint.series().take(MOST_SERIES).filter_map(|series| self.series(series)).collect();
        series.sort_by(|one, other| one.name.cmp(&other.name));
        Some(EndpointSnapshot {
            name,
            url: Arc::clone(url),
            fetches: endpoint.fetches().len() as u64,
            first_fetch: first.at,
            last_fetch: last.at,
            series,
        })
    }

    /// Nothing of it is sorted or summed up over samples: a long run would take longer for it every second.
    fn series(&self, series: StoredSeries<'_>) -> Option<SeriesSnapshot> {
        let last = series.len().checked_sub(1)?;
        let base = series.samples_before(self.phase_start).saturating_sub(1);
        let seconds = series.fetch(last).at.0.saturating_sub(series.fetch(base).at.0) as f64 / 1e9;
        let rate = |counted: f64| (seconds > 0.0).then(|| counted / seconds);
        let stats = match series.kind() {
            MetricKind::Gauge | MetricKind::Unknown => vec![("current", series.scalars().last().copied())],
            MetricKind::Counter => {
                let total = (series.scalars()[last] - series.scalars()[base]).max(0.0);
                vec![("total", Some(total)), ("rate", rate(total))]
            }
            MetricKind::Histogram => {
                let ((sum_before, count_before, _), (sum, count, _)) = (series.histogram(base), series.histogram(last));
                let (sum, count) = ((sum - sum_before).max(0.0), (count - count_before).max(0.0));
                let avg = (count > 0.0).then(|| sum / count);
                let rates = [("count_rate", rate(count)), ("sum_rate", rate(sum))];
                [("count", Some(count)), ("sum", Some(sum)), ("avg", avg)].into_iter().chain(rates).collect()
            }
        };
        let is_number =
            |(name, value): (&'static str, Option<f64>)| Some((name, value.filter(|value| value.is_finite())?));
        Some(SeriesSnapshot {
            name: Arc::clone(series.name()),
            kind: series.kind().name(),
            description: Arc::clone(series.description()),
            labels: series.labels().clone(),
            stats: stats.into_iter().filter_map(is_number).collect(),
        })
    }

    fn cpu_cache(&self) -> Option<f64> {
        let of_endpoint = |endpoint: &Endpoint| {
            let total = gauge(endpoint, "sglang:hicache_host_total_tokens").filter(|total| *total > 0.0)?;
            Some(gauge(endpoint, "sglang:hicache_host_used_tokens")? / total)
        };
        let of_endpoints = || self.store.endpoints().iter().filter_map(of_endpoint).reduce(f64::max);
        self.gauge("vllm:cpu_cache_usage_perc").or_else(of_endpoints)
    }
}

fn gauge(endpoint: &Endpoint, name: &str) -> Option<f64> {
    let named = endpoint.series().filter(|series| series.kind() == MetricKind::Gauge && &**series.name() == name);
    named.filter_map(|series| series.scalars().last().copied()).reduce(f64::max)
}
