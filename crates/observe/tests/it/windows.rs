//! Which samples a phase is summed up from, and over what length of time.

use crate::support;

use aiperf_observe::{
    CounterStats, DeltaColumns, GaugeStats, HistogramStats, MetricKind, Observed, ObservedEndpoint, ObservedPhase,
    Scrape, Series, SeriesStats, ServerMetrics, SliceStats, Store, TimeRange, Windowing, deltas, summarise,
};
use aiperf_types::{Nanos, PhaseId, PhaseKind, WallNs};
use std::sync::Arc;
use support::{histogram_page, scalar_page};

fn at(seconds: f64) -> WallNs {
    WallNs(((100.0 + seconds) * 1e9) as u64)
}

fn phase(index: u16, kind: PhaseKind) -> Arc<PhaseId> {
    let profiling_index = (kind == PhaseKind::Profiling).then_some(0);
    Arc::new(PhaseId { index, profiling_index, name: Arc::from(kind.name()), kind })
}

fn tagged(mut page: Scrape, phase: &Arc<PhaseId>) -> Scrape {
    page.phase = Some(Arc::clone(phase));
    page
}

/// Profiling from zero to one second; slices as given.
fn run(slice: Option<f64>) -> Observed {
    Observed {
        profiling: TimeRange { start: at(0.0), end: at(1.0) },
        slice: slice.map(|seconds| Nanos((seconds * 1e9) as u64)),
        ..Observed::default()
    }
}

/// Twelve things counted in a second, the last four seen only two seconds after its end.
fn flushed(kind: MetricKind) -> Store {
    let profiling = phase(0, PhaseKind::Profiling);
    let mut store = Store::new();
    store.add(scalar_page(at(-0.5), kind, 100.0));
    for (seconds, value) in [(0.25, 102.0), (0.5, 104.0), (0.75, 108.0), (1.5, 110.0), (3.0, 112.0)] {
        store.add(tagged(scalar_page(at(seconds), kind, value), &profiling));
    }
    store
}

fn only(summary: &ServerMetrics) -> &Series {
    &summary.metrics[0].series[0]
}

fn counter(series: &Series) -> CounterStats {
    let SeriesStats::Counter(stats) = series.stats else { panic!("{series:?}") };
    stats
}

fn gauge(series: &Series) -> GaugeStats {
    let SeriesStats::Gauge(stats) = series.stats else { panic!("{series:?}") };
    stats
}

fn histogram(series: &Series) -> HistogramStats {
    let SeriesStats::Histogram(stats) = series.stats else { panic!("{series:?}") };
    stats
}

#[test]
fn totals_come_from_pages_after_the_end_and_rates_are_over_the_window() {
    let summary = summarise(&flushed(MetricKind::Counter), &run(None));
    assert_eq!(counter(only(&summary)), CounterStats { total: 12.0, rate: 12.0, rates: None });
    let as_reference = Observed { windowing: Windowing::AsReference, ..run(None) };
    let summary = summarise(&flushed(MetricKind::Counter), &as_reference);
    assert_eq!(counter(only(&summary)).rate, 12.0 / 3.5);
}

#[test]
fn gauges_stay_inside_the_window() {
    let summary = summarise(&flushed(MetricKind::Gauge), &run(None));
    assert_eq!((gauge(only(&summary)).min, gauge(only(&summary)).max), (102.0, 108.0));
}

#[test]
fn a_gauge_without_a_page_inside_the_window_has_the_one_right_after_it() {
    let mut run = run(None);
    run.profiling.end = at(0.2);
    let summary = summarise(&flushed(MetricKind::Gauge), &run);
    assert_eq!((gauge(only(&summary)).min, gauge(only(&summary)).max), (102.0, 102.0));
}

#[test]
fn a_gauge_without_a_page_inside_the_window_or_after_it_has_the_one_before() {
    let mut run = run(None);
    run.profiling = TimeRange { start: at(4.0), end: at(5.0) };
    let summary = summarise(&flushed(MetricKind::Gauge), &run);
    assert_eq!((gauge(only(&summary)).min, gauge(only(&summary)).max), (112.0, 112.0));
}

/// A page before the phase, one that was asked for before its start and came after it, and two of the phase.
fn straddled(page: impl Fn(f64, f64) -> Scrape) -> Store {
    let profiling = phase(0, PhaseKind::Profiling);
    let mut store = Store::new();
    store.add(page(-0.5, 100.0));
    store.add(page(0.1, 103.0));
    store.add(tagged(page(0.5, 104.0), &profiling));
    store.add(tagged(page(1.5, 112.0), &profiling));
    store
}

#[test]
fn a_page_that_came_after_the_start_but_is_not_of_the_phase_does_not_hide_the_one_before() {
    let store = straddled(|seconds, value| scalar_page(at(seconds), MetricKind::Counter, value));
    assert_eq!(counter(only(&summarise(&store, &run(None)))).total, 12.0);
    let window = run(None).profiling_window(&store);
    let rows = deltas(store.series().next().unwrap(), &window);
    assert_eq!(rows.columns, DeltaColumns::Values(vec![4.0, 12.0]));

    let buckets = |value| vec![(Arc::from("+Inf"), value)];
    let store = straddled(|seconds, value| histogram_page(at(seconds), buckets(value), Some(value), Some(value)));
    assert_eq!(histogram(only(&summarise(&store, &run(None)))).count, 12);

    let store = straddled(|seconds, value| scalar_page(at(seconds), MetricKind::Gauge, value));
    assert_eq!(gauge(only(&summarise(&store, &run(None)))).max, 104.0);

    let as_reference = Observed { windowing: Windowing::AsReference, ..run(None) };
    let store = straddled(|seconds, value| scalar_page(at(seconds), MetricKind::Counter, value));
    assert_eq!(counter(only(&summarise(&store, &as_reference))).total, 9.0);
}

#[test]
fn without_a_page_before_the_start_totals_are_counted_from_the_last_one_before_the_phase_s_own() {
    let profiling = phase(0, PhaseKind::Profiling);
    let store = |kind| {
        let mut store = Store::new();
        store.add(scalar_page(at(0.1), kind, 103.0));
        store.add(tagged(scalar_page(at(0.5), kind, 104.0), &profiling));
        store.add(tagged(scalar_page(at(1.5), kind, 112.0), &profiling));
        store
    };
    assert_eq!(counter(only(&summarise(&store(MetricKind::Counter), &run(None)))).total, 9.0);
    assert_eq!(gauge(only(&summarise(&store(MetricKind::Gauge), &run(None)))).min, 104.0);
}

#[test]
fn slices_begin_with_the_window_and_end_with_it() {
    let summary = summarise(&flushed(MetricKind::Counter), &run(Some(0.6)));
    let slices = only(&summary).timeslices.as_ref().unwrap();
    let shown: Vec<_> = slices.iter().map(|slice| (slice.start, slice.end, slice.is_complete)).collect();
    assert_eq!(shown, [(at(0.0), at(0.6), true), (at(0.6), at(1.0), false)]);
    let totals: Vec<f64> = slices
        .iter()
        .map(|slice| match slice.stats {
            SliceStats::Counter { total, .. } => total,
            _ => panic!("{slice:?}"),
        })
        .collect();
    assert_eq!(totals, [4.0, 4.0]);
    assert_eq!(counter(only(&summary)).rates, Some([4.0 / 0.6, 4.0 / 0.6, 4.0 / 0.6, 0.0]));
}

#[test]
fn slices_shorter_than_the_time_between_pages_are_that_time() {
    let summary = summarise(&flushed(MetricKind::Counter), &run(Some(0.1)));
    let slices = only(&summary).timeslices.as_ref().unwrap();
    let shown: Vec<_> = slices.iter().map(|slice| (slice.start, slice.end, slice.is_complete)).collect();
    assert_eq!(shown, [(at(0.0), at(0.25), true), (at(0.25), at(0.5), true), (at(0.5), at(0.75), true)]);

    let summary = summarise(&flushed(MetricKind::Gauge), &run(Some(0.1)));
    let slices = only(&summary).timeslices.as_ref().unwrap();
    let stats: Vec<SliceStats> = slices.iter().map(|slice| slice.stats.clone()).collect();
    let first = SliceStats::Gauge { avg: 102.0, min: 102.0, max: 102.0 };
    assert_eq!(stats, [first, SliceStats::Gauge { avg: 106.0, min: 104.0, max: 108.0 }]);
}

#[test]
fn a_single_page_inside_the_window_is_not_cut() {
    let profiling = phase(0, PhaseKind::Profiling);
    let mut store = Store::new();
    for (seconds, count) in [(0.5, 4.0), (2.0, 10.0)] {
        let buckets = vec![(Arc::from("+Inf"), count)];
        store.add(tagged(histogram_page(at(seconds), buckets, Some(count), Some(count)), &profiling));
    }
    let summary = summarise(&store, &run(Some(0.001)));
    assert_eq!(histogram(only(&summary)).count, 6);
    assert_eq!((&only(&summary).timeslices, summary.slices_left_out), (&None, false));
}

#[test]
fn a_series_of_too_many_slices_has_none_and_the_summary_reports_it() {
    let profiling = phase(0, PhaseKind::Profiling);
    let scalars = |kind| move |seconds: f64| scalar_page(at(seconds), kind, seconds);
    let histograms = |seconds: f64| {
        histogram_page(at(seconds), vec![(Arc::from("+Inf"), 1e6 * seconds)], Some(seconds), Some(1e6 * seconds))
    };
    let pages: [&dyn Fn(f64) -> Scrape; 3] = [&scalars(MetricKind::Counter), &scalars(MetricKind::Gauge), &histograms];
    for page in pages {
        // Most pages come at once: slices of ten microseconds are longer than the time between two of them.
        let mut store = Store::new();
        for number in 0..8 {
            store.add(tagged(page(0.25 + f64::from(number) * 1e-6), &profiling));
        }
        store.add(tagged(page(0.75), &profiling));
        let summary = summarise(&store, &run(Some(1e-5)));
        assert_eq!((&only(&summary).timeslices, summary.slices_left_out), (&None, true));
        let summary = summarise(&store, &run(Some(2e-5)));
        assert!(only(&summary).timeslices.is_some() && !summary.slices_left_out);
    }
}

#[test]
fn histograms_are_counted_past_the_end_and_divided_by_the_window() {
    let profiling = phase(0, PhaseKind::Profiling);
    let mut store = Store::new();
    for (seconds, count) in [(0.25, 0.0), (0.5, 4.0), (2.0, 10.0)] {
        let buckets = vec![(Arc::from("1"), count / 2.0), (Arc::from("Inf"), count)];
        store.add(tagged(histogram_page(at(seconds), buckets, Some(count), Some(count)), &profiling));
    }
    let summary = summarise(&store, &run(Some(0.25)));
    let series = only(&summary);
    let stats = histogram(series);
    assert_eq!((stats.count, stats.count_rate, stats.sum_rate), (10, Some(10.0), Some(10.0)));
    assert!(series.timeslices.iter().flatten().all(|slice| slice.end <= at(1.0)));
    assert_eq!(series.buckets.as_ref().unwrap()[1].count, 10);
}

#[test]
fn slices_of_a_histogram_share_its_bounds_even_where_the_whole_has_no_buckets() {
    let profiling = phase(0, PhaseKind::Profiling);
    let mut store = Store::new();
    // The server resets one bucket, so the whole window shows nothing of it.
    for (seconds, low, count) in [(0.0, 5.0, 5.0), (0.25, 0.0, 6.0), (0.5, 1.0, 7.0), (0.75, 2.0, 8.0)] {
        let buckets = vec![(Arc::from("1"), low), (Arc::from("+Inf"), count)];
        store.add(tagged(histogram_page(at(seconds), buckets, Some(count), Some(count)), &profiling));
    }
    let summary = summarise(&store, &run(Some(0.25)));
    let series = only(&summary);
    assert_eq!((&series.buckets, &series.bounds), (&None, &vec![Arc::from("1"), Arc::from("+Inf")]));
    let buckets = series.timeslices.iter().flatten().map(|slice| match &slice.stats {
        SliceStats::Histogram { buckets, .. } => buckets.clone(),
        _ => panic!("{slice:?}"),
    });
    assert_eq!(buckets.collect::<Vec<_>>(), [None, Some(vec![1, 1]), Some(vec![1, 1]), Some(vec![0, 0])]);
}

#[test]
fn rows_end_where_the_statistics_do() {
    let run = run(None);
    for (kind, rows) in
        [(MetricKind::Counter, vec![2.0, 4.0, 8.0, 10.0, 12.0]), (MetricKind::Gauge, vec![102.0, 104.0, 108.0])]
    {
        let store = flushed(kind);
        let deltas = deltas(store.series().next().unwrap(), &run.profiling_window(&store));
        assert_eq!(deltas.columns, DeltaColumns::Values(rows));
    }
}

#[test]
fn falls_of_what_only_grows_are_counted() {
    let profiling = phase(0, PhaseKind::Profiling);
    let mut store = Store::new();
    for (seconds, value) in [(0.1, 50.0), (0.2, 60.0), (0.3, 5.0), (0.4, 8.0), (0.5, 1.0)] {
        store.add(tagged(scalar_page(at(seconds), MetricKind::Counter, value), &profiling));
        let mut page = histogram_page(at(seconds), vec![(Arc::from("+Inf"), value)], Some(value), Some(value));
        page.endpoint_url = Arc::from("http://b/metrics");
        store.add(tagged(page, &profiling));
    }
    let summary = summarise(&store, &run(None));
    // Endpoints that disagree about the kind of a name keep theirs.
    assert_eq!(
        summary.metrics.iter().map(|metric| metric.kind).collect::<Vec<_>>(),
        [MetricKind::Counter, MetricKind::Histogram]
    );
    assert_eq!(summary.metrics.iter().map(|metric| metric.series[0].resets).collect::<Vec<_>>(), [2, 2]);
    assert_eq!(counter(only(&summary)).total, 0.0);
    assert_eq!(histogram(&summary.metrics[1].series[0]).count, 0);
}

#[test]
fn endpoints_whose_series_fell_are_reported_with_how_many() {
    let profiling = phase(0, PhaseKind::Profiling);
    let mut store = Store::new();
    for (seconds, value) in [(0.1, 50.0), (0.2, 5.0), (0.3, 2.0)] {
        for (url, name, value) in [("b", "m", value), ("b", "n", value), ("a", "m", value), ("c", "m", seconds)] {
            let mut page = scalar_page(at(seconds), MetricKind::Counter, value);
            page.endpoint_url = Arc::from(url);
            page.families[0].name = Arc::from(name);
            store.add(tagged(page, &profiling));
        }
    }
    assert_eq!(summarise(&store, &run(None)).resets(), [(Arc::from("a"), 1), (Arc::from("b"), 2)]);
}

#[test]
fn pages_without_phases_are_chosen_by_time() {
    let mut store = Store::new();
    for (seconds, value) in [(-1.0, 1.0), (0.5, 5.0), (2.0, 7.0)] {
        store.add(scalar_page(at(seconds), MetricKind::Counter, value));
    }
    let summary = summarise(&store, &run(None));
    assert_eq!(counter(only(&summary)), CounterStats { total: 6.0, rate: 6.0, rates: None });
}

#[test]
fn runs_of_several_phases_have_each_on_its_own() {
    let (warmup, profiling) = (phase(0, PhaseKind::Warmup), phase(1, PhaseKind::Profiling));
    let mut store = Store::new();
    for (seconds, value, phase) in
        [(-3.0, 1.0, &warmup), (-2.0, 5.0, &warmup), (0.0, 7.0, &profiling), (1.0, 9.0, &profiling)]
    {
        store.add(tagged(scalar_page(at(seconds), MetricKind::Counter, value), phase));
    }
    let warmed = TimeRange { start: at(-3.0), end: at(-2.5) };
    let display_name = Arc::from("a");
    let endpoint = ObservedEndpoint { url: Arc::from("http://a/metrics"), display_name, errors: 3 };
    let mut run = Observed { warmup: Some(warmed), endpoints: vec![endpoint], ..run(None) };
    assert!(summarise(&store, &run).phases.is_empty());
    let profiled = run.profiling;
    run.phases = [(&warmup, warmed), (&profiling, profiled)]
        .map(|(id, range)| ObservedPhase { id: Arc::clone(id), range })
        .to_vec();
    let summary = summarise(&store, &run);
    assert_eq!(summary.warmup, Some(TimeRange { start: at(-3.0), end: at(-2.0) }));
    assert_eq!((&*summary.endpoints[0].display_name, summary.endpoints[0].errors), ("a", 3));
    let totals: Vec<f64> = summary.phases.iter().map(|phase| counter(&phase.metrics[0].series[0]).total).collect();
    assert_eq!(totals, [4.0, 4.0]);
    let [first, second] = &summary.phases[..] else { panic!("{:?}", summary.phases) };
    assert_eq!(first.scraped, TimeRange { start: at(-3.0), end: at(-2.0) });
    assert_eq!((first.endpoints[0].total_fetches, second.endpoints[0].total_fetches), (2, 2));
    assert_eq!(summary.warmup_metrics, first.metrics);
}
