//! The figures of the live display, where golden runs do not have their sources.

use aiperf_observe::{Family, MetricKind, Samples, ScalarSample, Scrape, ScrapeTimes, Store, snapshot};
use aiperf_types::WallNs;
use std::sync::Arc;

const START: WallNs = WallNs(10_000_000_000);

/// A page of an endpoint; names that begin with `+` are counters.
fn add(store: &mut Store, url: &str, seconds: u64, values: &[(&str, f64)]) {
    let family = |(name, value): &(&str, f64)| {
        let kind = if name.starts_with('+') { MetricKind::Counter } else { MetricKind::Gauge };
        let samples = Samples::Scalars(vec![ScalarSample { labels: Vec::new(), value: *value }]);
        Family { name: Arc::from(name.trim_start_matches('+')), kind, description: Arc::from(""), samples }
    };
    let times = ScrapeTimes { at: WallNs(seconds * 1_000_000_000), ..ScrapeTimes::default() };
    let families = values.iter().map(family).collect();
    store.add(Scrape { endpoint_url: Arc::from(url), times, phase: None, is_duplicate: false, families });
}

/// The snapshot of pages of one endpoint, fetched at these seconds; the phase began at ten.
fn figures(pages: &[(u64, &[(&str, f64)])]) -> Vec<(&'static str, f64)> {
    let mut store = Store::new();
    pages.iter().for_each(|(seconds, values)| add(&mut store, "http://a/metrics", *seconds, values));
    snapshot(&store, START).values
}

#[test]
fn counters_count_from_the_last_page_before_the_phase_and_rates_from_its_first() {
    let pages: &[(u64, &[(&str, f64)])] = &[
        (5, &[("+vllm:prompt_tokens", 0.0), ("+vllm:num_preemptions", 1.0)]),
        (9, &[("+vllm:prompt_tokens", 100.0), ("+vllm:num_preemptions", 2.0)]),
        (11, &[("+vllm:prompt_tokens", 200.0), ("+vllm:num_preemptions", 3.0)]),
        (15, &[("+vllm:prompt_tokens", 600.0), ("+vllm:num_preemptions", 7.0)]),
    ];
    assert_eq!(figures(pages), [("num_preemptions", 5.0), ("input_token_throughput_srv", 100.0)]);
}

#[test]
fn a_single_page_counts_nothing_and_a_restart_counts_no_less_than_nothing() {
    assert_eq!(figures(&[(11, &[("+vllm:num_preemptions", 3.0)])]), []);
    let restarted: &[(u64, &[(&str, f64)])] =
        &[(9, &[("+vllm:num_preemptions", 3.0)]), (11, &[("+vllm:num_preemptions", 1.0)])];
    assert_eq!(figures(restarted), [("num_preemptions", 0.0)]);
}

#[test]
fn hits_are_shares_of_queries_or_the_rate_of_the_server_itself() {
    let external: &[(u64, &[(&str, f64)])] = &[
        (9, &[("+vllm:external_prefix_cache_hits", 0.0), ("+vllm:external_prefix_cache_queries", 0.0)]),
        (11, &[("+vllm:external_prefix_cache_hits", 30.0), ("+vllm:external_prefix_cache_queries", 40.0)]),
    ];
    assert_eq!(figures(external), [("external_prefix_cache_hit_rate", 75.0)]);
    assert_eq!(figures(&[(11, &[("sglang:cache_hit_rate", 0.25)])]), [("prefix_cache_hit_rate", 25.0)]);
}

#[test]
fn shares_of_one_become_percent_and_percents_stay() {
    assert_eq!(figures(&[(11, &[("vllm:kv_cache_usage_perc", 0.5)])]), [("kv_cache_usage_pct", 50.0)]);
    assert_eq!(figures(&[(11, &[("vllm:gpu_cache_usage_perc", 42.0)])]), [("kv_cache_usage_pct", 42.0)]);
}

#[test]
fn the_fullest_endpoint_gives_the_fill_of_the_host_cache() {
    let mut store = Store::new();
    let tokens = |used: f64, total: f64| {
        [("sglang:hicache_host_used_tokens", used), ("sglang:hicache_host_total_tokens", total)]
    };
    add(&mut store, "http://a/metrics", 11, &tokens(10.0, 100.0));
    add(&mut store, "http://b/metrics", 11, &tokens(8.0, 10.0));
    add(&mut store, "http://c/metrics", 11, &tokens(8.0, 0.0));
    assert_eq!(snapshot(&store, START).get("cpu_kv_cache_usage_pct"), Some(80.0));
}

#[test]
fn gauges_of_several_series_show_the_most_and_counters_add_up() {
    let mut store = Store::new();
    for (url, running, preempted) in [("http://a/metrics", 3.0, 1.0), ("http://b/metrics", 5.0, 2.0)] {
        add(&mut store, url, 9, &[("vllm:num_requests_running", 9.0), ("+vllm:num_preemptions", 0.0)]);
        add(&mut store, url, 11, &[("vllm:num_requests_running", running), ("+vllm:num_preemptions", preempted)]);
    }
    assert_eq!(snapshot(&store, START).values, [("num_running", 5.0), ("num_preemptions", 3.0)]);
}
