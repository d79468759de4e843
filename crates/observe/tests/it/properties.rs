//! What holds of any pages, in any order.

use aiperf_observe::estimator::{LearnedBucket, estimate, learn};
use aiperf_observe::{
    Family, HistogramSample, Metric, MetricKind, Observed, Samples, ScalarSample, Scrape, ScrapeTimes, Series,
    SeriesStats, SliceStats, Store, TimeRange, Windowing, deltas, snapshot, summarise,
};
use aiperf_types::{Nanos, PhaseId, PhaseKind, WallNs};
use proptest::prelude::*;
use std::sync::Arc;

/// Names that live snapshots know.
const GAUGE: &str = "vllm:num_requests_running";
const COUNTER: &str = "vllm:prompt_tokens";

const BOUNDS: [f64; 6] = [0.1, 0.5, 1.0, 5.0, 20.0, f64::INFINITY];

fn text(text: impl AsRef<str>) -> Arc<str> {
    Arc::from(text.as_ref())
}

/// One page with a gauge, a counter and a histogram; each may be missing.
#[derive(Clone, Debug)]
struct PageValues {
    at: u64,
    is_profiling: bool,
    gauge: Option<f64>,
    counter: Option<f64>,
    observations: Option<Vec<f64>>,
}

prop_compose! {
    fn values()(
        at in 0..100_000_u64,
        is_profiling in prop::bool::weighted(0.8),
        gauge in prop::option::of(-1e6..1e6),
        counter in prop::option::of(0.0..1e6),
        observations in prop::option::of(prop::collection::vec(0.0..30.0_f64, 0..8)),
    ) -> PageValues {
        PageValues { at, is_profiling, gauge, counter, observations }
    }
}

/// Pages of instants that differ, so that their order is theirs alone.
fn pages() -> impl Strategy<Value = Vec<PageValues>> {
    prop::collection::vec(values(), 1..24).prop_map(|mut pages| {
        pages.iter_mut().enumerate().for_each(|(number, page)| page.at = page.at * 100 + number as u64);
        pages
    })
}

fn scrape(values: &PageValues, url: &str) -> Scrape {
    let mut families = Vec::new();
    let mut scalar = |name: &str, kind, value: Option<f64>| {
        let samples = value.map(|value| Samples::Scalars(vec![ScalarSample { labels: Vec::new(), value }]));
        families.extend(samples.map(|samples| Family { name: text(name), kind, description: text(""), samples }));
    };
    scalar(GAUGE, MetricKind::Gauge, values.gauge);
    scalar(COUNTER, MetricKind::Counter, values.counter);
    if let Some(observations) = &values.observations {
        let up_to = |bound: f64| observations.iter().filter(|value| **value <= bound).count() as f64;
        let buckets = BOUNDS.iter().map(|bound| (text(bound.to_string()), up_to(*bound))).collect();
        let (sum, count) = (Some(observations.iter().sum()), Some(observations.len() as f64));
        let samples = Samples::Histograms(vec![HistogramSample { labels: Vec::new(), buckets, sum, count }]);
        families.push(Family { name: text("histogram"), kind: MetricKind::Histogram, description: text(""), samples });
    }
    let times = ScrapeTimes { at: WallNs(values.at), ..ScrapeTimes::default() };
    let profiling = PhaseId { index: 0, profiling_index: Some(0), name: text("profiling"), kind: PhaseKind::Profiling };
    let phase = values.is_profiling.then(|| Arc::new(profiling));
    Scrape { endpoint_url: text(url), times, phase, is_duplicate: false, families }
}

fn run(windowing: Windowing, slice: Option<u64>) -> Observed {
    Observed {
        profiling: TimeRange { start: WallNs(1_000_000), end: WallNs(7_000_000) },
        slice: slice.map(Nanos),
        windowing,
        ..Observed::default()
    }
}

fn store<'a>(pages: impl IntoIterator<Item = &'a PageValues>, url: &str) -> Store {
    let mut store = Store::new();
    pages.into_iter().for_each(|values| assert!(store.add(scrape(values, url)).is_empty()));
    store
}

fn windowing() -> impl Strategy<Value = Windowing> {
    prop_oneof![Just(Windowing::ProfilingWindow), Just(Windowing::AsReference)]
}

/// Every figure of a series.
fn figures(series: &Series) -> Vec<f64> {
    let mut figures = match &series.stats {
        SeriesStats::Gauge(stats) => vec![stats.avg, stats.min, stats.max, stats.std],
        SeriesStats::Counter(stats) => {
            [stats.total, stats.rate].into_iter().chain(stats.rates.into_iter().flatten()).collect()
        }
        SeriesStats::Histogram(stats) => {
            let optional = [stats.sum, stats.avg, stats.count_rate, stats.sum_rate].into_iter().flatten();
            let estimates = stats.percentile_estimates.into_iter().flatten();
            [stats.count as f64].into_iter().chain(optional).chain(estimates).collect()
        }
    };
    for slice in series.timeslices.iter().flatten() {
        match &slice.stats {
            SliceStats::Gauge { avg, min, max } => figures.extend([avg, min, max]),
            SliceStats::Counter { total, rate } => figures.extend([total, rate]),
            SliceStats::Histogram { count, sum, avg, .. } => figures.extend([*count as f64, *sum, *avg]),
        }
    }
    figures
}

fn of_url<'a>(metrics: &'a [Metric], url: &str) -> Vec<(&'a str, Vec<f64>)> {
    let series = metrics.iter().flat_map(|metric| metric.series.iter().map(move |series| (&*metric.name, series)));
    series.filter(|(_, series)| &*series.endpoint_url == url).map(|(name, series)| (name, figures(series))).collect()
}

proptest! {
    #[test]
    fn the_order_of_arrival_does_not_matter(
        pages in pages().prop_flat_map(|pages| (Just(pages.clone()), Just(pages).prop_shuffle())),
        windowing in windowing(),
        slice in prop::option::of(1_000..9_000_000_u64),
    ) {
        let run = run(windowing, slice);
        let (given, shuffled) = pages;
        let (one, other) = (store(&given, "http://a/metrics"), store(&shuffled, "http://a/metrics"));
        prop_assert_eq!(summarise(&one, &run), summarise(&other, &run));
        prop_assert_eq!(snapshot(&one, run.profiling.start), snapshot(&other, run.profiling.start));
    }

    #[test]
    fn series_keep_the_values_of_each_page_whatever_pages_lack(
        pages in pages().prop_shuffle(),
    ) {
        let store = store(&pages, "http://a/metrics");
        let mut sorted: Vec<&PageValues> = pages.iter().collect();
        sorted.sort_by_key(|values| values.at);
        for (name, value) in [(GAUGE, (|values| values.gauge) as fn(&PageValues) -> Option<f64>), (COUNTER, |values| values.counter)] {
            let given: Vec<(u64, f64)> = sorted.iter().filter_map(|values| Some((values.at, value(values)?))).collect();
            let series = store.series().find(|series| &**series.name() == name);
            let kept: Vec<(u64, f64)> = series
                .iter()
                .flat_map(|series| (0..series.len()).map(|at| (series.fetch(at).at.0, series.scalars()[at])))
                .collect();
            prop_assert_eq!(kept, given);
        }
        if let Some(series) = store.series().find(|series| series.kind() == MetricKind::Histogram) {
            let given: Vec<usize> = sorted.iter().filter_map(|values| Some(values.observations.as_ref()?.len())).collect();
            let kept: Vec<usize> = (0..series.len()).map(|at| series.histogram(at).1 as usize).collect();
            prop_assert_eq!(kept, given);
        }
    }

    #[test]
    fn endpoints_do_not_mix(
        one in pages(),
        other in pages(),
        windowing in windowing(),
    ) {
        let run = run(windowing, Some(500_000));
        let mut both = Store::new();
        let (mut ones, mut others) = (one.iter(), other.iter());
        loop {
            let (one, other) = (ones.next(), others.next());
            one.into_iter().for_each(|values| _ = both.add(scrape(values, "http://a/metrics")));
            other.into_iter().for_each(|values| _ = both.add(scrape(values, "http://b/metrics")));
            if one.is_none() && other.is_none() {
                break;
            }
        }
        // One endpoint's phases decide for all how samples are chosen; so only where both have some.
        let has_tags = |pages: &[PageValues]| pages.iter().any(|values| values.is_profiling && !scrape(values, "").families.is_empty());
        prop_assume!(has_tags(&one) == has_tags(&other));
        let both = summarise(&both, &run).metrics;
        for (pages, url) in [(&one, "http://a/metrics"), (&other, "http://b/metrics")] {
            let alone = summarise(&store(pages, url), &run).metrics;
            prop_assert_eq!(of_url(&both, url), of_url(&alone, url));
        }
    }

    #[test]
    fn totals_and_rates_are_never_negative_and_slices_stay_in_the_window(
        pages in pages(),
        windowing in windowing(),
        slice in 1_000..9_000_000_u64,
    ) {
        let run = run(windowing, Some(slice));
        let store = store(&pages, "http://a/metrics");
        let summary = summarise(&store, &run);
        for metric in &summary.metrics {
            for series in &metric.series {
                prop_assert!(figures(series).iter().all(|figure| figure.is_finite()), "{:?}", series);
                if metric.kind != MetricKind::Gauge {
                    prop_assert!(figures(series).iter().all(|figure| *figure >= 0.0), "{:?}", series);
                }
                for slice in series.timeslices.iter().flatten() {
                    prop_assert!(slice.start < slice.end);
                    let is_inside = run.profiling.start <= slice.start && slice.end <= run.profiling.end;
                    prop_assert!(is_inside || windowing == Windowing::AsReference, "{:?}", slice);
                }
            }
        }
        let window = run.profiling_window(&store);
        for series in store.series() {
            let times = deltas(series, &window).timestamps;
            prop_assert!(times.is_sorted());
        }
    }

    #[test]
    fn estimates_are_ordered_and_lie_within_the_buckets_of_what_was_observed(
        intervals in prop::collection::vec(prop::collection::vec(0.001..19.9_f64, 0..12), 1..30),
    ) {
        let mut rows = vec![(0.0, 0.0, vec![0.0; BOUNDS.len()])];
        let mut observed: Vec<f64> = Vec::new();
        for interval in &intervals {
            observed.extend(interval);
            let up_to = BOUNDS.map(|bound| observed.iter().filter(|value| **value <= bound).count() as f64);
            rows.push((observed.iter().sum(), observed.len() as f64, up_to.to_vec()));
        }
        let learned = learn(BOUNDS.len(), rows.iter().map(|(sum, count, up_to)| (*sum, *count, up_to.as_slice())));
        let (sum, count, up_to) = rows.last().unwrap();
        let up_to: Vec<i64> = up_to.iter().map(|count| *count as i64).collect();
        let estimates = estimate(&BOUNDS, &up_to, *sum, *count as i64, &learned);
        prop_assert_eq!(estimates.is_some(), !observed.is_empty());
        let Some(estimates) = estimates else { return Ok(()) };
        prop_assert!(estimates.is_sorted(), "{:?}", estimates);
        observed.sort_by(f64::total_cmp);
        let upper = |value: f64| BOUNDS.iter().copied().find(|bound| value <= *bound).unwrap();
        let lower = |value: f64| BOUNDS.iter().rev().copied().find(|bound| *bound < value).unwrap_or_default();
        for (estimate, percentile) in estimates.iter().zip(aiperf_types::stats::PERCENTILES) {
            let at = (observed.len() - 1) as f64 * f64::from(percentile) / 100.0;
            let (below, above) = (observed[at.floor() as usize], observed[at.ceil() as usize]);
            let tolerance = 1e-9 * estimate.abs();
            prop_assert!(lower(below) - tolerance <= *estimate, "p{} is {}, below {}", percentile, estimate, below);
            prop_assert!(*estimate <= upper(above) + tolerance, "p{} is {}, above {}", percentile, estimate, above);
        }
    }

    #[test]
    fn whatever_a_server_counts_the_estimates_are_ordered_and_finite(
        mut bounds in prop::collection::vec(-100.0..1000.0_f64, 0..8),
        has_infinity in any::<bool>(),
        counts in prop::collection::vec(prop_oneof![0..50_i64, 0..1_000_000_000_i64, Just(i64::MAX)], 9),
        means in prop::collection::vec((-100.0..1000.0_f64, 1.0..1e6_f64), 0..20),
        sum in prop_oneof![-1e3..1e12_f64, Just(0.0), Just(f64::INFINITY)],
    ) {
        bounds.sort_by(f64::total_cmp);
        bounds.extend(has_infinity.then_some(f64::INFINITY));
        let mut learned = vec![LearnedBucket::default(); bounds.len()];
        for (number, (mean, weight)) in means.into_iter().enumerate().filter(|_| !bounds.is_empty()) {
            learned[number % bounds.len()].add(mean, weight);
        }
        let counts = &counts[..bounds.len()];
        let estimates = estimate(&bounds, counts, sum, counts.last().copied().unwrap_or_default(), &learned);
        let Some(estimates) = estimates else { return Ok(()) };
        prop_assert!(estimates.is_sorted() && estimates.iter().all(|value| value.is_finite()), "{:?}", estimates);
    }
}
