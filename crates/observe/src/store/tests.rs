use super::*;
use crate::scrape::{HistogramSample, ScalarSample, ScrapeTimes};

fn text(text: &str) -> Arc<str> {
    Arc::from(text)
}

fn page(at: u64, families: Vec<Family>) -> Scrape {
    let times = ScrapeTimes { at: WallNs(at), ..ScrapeTimes::default() };
    Scrape { endpoint_url: text("http://a/metrics"), times, phase: None, is_duplicate: false, families }
}

fn family(name: &str, kind: MetricKind, samples: Samples) -> Family {
    Family { name: text(name), kind, description: text(""), samples }
}

fn scalar(name: &str, value: f64) -> Family {
    let samples = Samples::Scalars(vec![ScalarSample { labels: Vec::new(), value }]);
    family(name, MetricKind::Gauge, samples)
}

fn histogram(name: &str, buckets: &[(&str, f64)]) -> Family {
    let buckets = buckets.iter().map(|(le, count)| (text(le), *count)).collect();
    let sample = HistogramSample { labels: Vec::new(), buckets, sum: Some(1.0), count: None };
    family(name, MetricKind::Histogram, Samples::Histograms(vec![sample]))
}

/// Instants and values of a series.
fn kept(store: &Store, name: &str) -> Vec<(u64, f64)> {
    let series = store.series().find(|series| &**series.name() == name).unwrap();
    (0..series.len()).map(|sample| (series.fetch(sample).at.0, series.scalars()[sample])).collect()
}

#[test]
fn a_series_that_some_pages_lack_keeps_its_instants() {
    let mut store = Store::new();
    store.add(page(1, vec![scalar("a", 1.0)]));
    store.add(page(2, vec![scalar("a", 2.0), scalar("b", 20.0)]));
    store.add(page(3, vec![scalar("b", 30.0)]));
    store.add(page(4, vec![scalar("a", 4.0), scalar("b", 40.0)]));
    assert_eq!(kept(&store, "a"), [(1, 1.0), (2, 2.0), (4, 4.0)]);
    assert_eq!(kept(&store, "b"), [(2, 20.0), (3, 30.0), (4, 40.0)]);
}

#[test]
fn a_late_page_goes_where_it_belongs_and_behind_those_of_its_instant() {
    let mut store = Store::new();
    store.add(page(10, vec![scalar("a", 1.0), scalar("b", 1.0)]));
    store.add(page(30, vec![scalar("a", 3.0), scalar("b", 3.0)]));
    store.add(page(20, vec![scalar("a", 2.0)]));
    store.add(page(10, vec![scalar("a", 1.5), scalar("b", 1.5)]));
    store.add(page(5, vec![scalar("b", 0.5)]));
    assert_eq!(kept(&store, "a"), [(10, 1.0), (10, 1.5), (20, 2.0), (30, 3.0)]);
    assert_eq!(kept(&store, "b"), [(5, 0.5), (10, 1.0), (10, 1.5), (30, 3.0)]);
}

#[test]
fn bounds_are_matched_by_value_and_new_ones_are_reported_once() {
    let mut store = Store::new();
    assert!(store.add(page(1, vec![histogram("h", &[("+Inf", 3.0), ("1.0", 1.0)])])).is_empty());
    let later = || vec![histogram("h", &[("1", 2.0), ("5", 3.0), ("inf", 4.0)])];
    let warnings = store.add(page(2, later()));
    assert!(matches!(&warnings[..], [StoreWarning::Series { fault: StoreFault::NewBound(le), .. }] if &**le == "5"));
    assert!(store.add(page(3, later())).is_empty());
    let series = store.series().next().unwrap();
    let les: Vec<&str> = series.bounds().iter().map(|bound| &*bound.le).collect();
    assert_eq!(les, ["1.0", "+Inf"]);
    assert_eq!(series.histogram(0), (1.0, 0.0, &[1.0, 3.0][..]));
    assert_eq!(series.histogram(1), (1.0, 0.0, &[2.0, 4.0][..]));
}

#[test]
fn what_cannot_be_kept_costs_its_series_alone_and_one_warning() {
    let mut store = Store::new();
    let bad = || vec![histogram("h", &[("soon", 3.0)]), scalar("a", 1.0)];
    assert_eq!(store.add(page(1, bad())).len(), 1);
    assert!(store.add(page(2, bad())).is_empty());
    let changed = || vec![histogram("a", &[("+Inf", 3.0)]), scalar("b", 1.0)];
    let warnings = store.add(page(3, changed()));
    assert!(matches!(warnings[..], [StoreWarning::Series { fault: StoreFault::ChangedShape, .. }]));
    assert!(store.add(page(4, changed())).is_empty());
    assert_eq!(kept(&store, "a"), [(1, 1.0), (2, 1.0)]);
    assert_eq!(kept(&store, "b"), [(3, 1.0), (4, 1.0)]);
    assert_eq!(
        warnings[0].to_string(),
        "a: changed between a histogram and a single value; only what it was first is kept, the rest \
         is left out"
    );
}

#[test]
fn kinds_of_one_name_on_one_page_live_side_by_side_and_a_later_change_is_ignored() {
    let counter = |value| {
        let samples = Samples::Scalars(vec![ScalarSample { labels: Vec::new(), value }]);
        family("a", MetricKind::Counter, samples)
    };
    let mut store = Store::new();
    store.add(page(1, vec![scalar("a", 1.0), counter(10.0)]));
    store.add(page(2, vec![counter(20.0)]));
    let kinds: Vec<(MetricKind, usize)> = store.series().map(|series| (series.kind(), series.len())).collect();
    assert_eq!(kinds, [(MetricKind::Gauge, 1), (MetricKind::Counter, 2)]);
    let mut store = Store::new();
    store.add(page(1, vec![scalar("a", 1.0)]));
    store.add(page(2, vec![counter(2.0)]));
    assert_eq!(kept(&store, "a"), [(1, 1.0), (2, 2.0)]);
}

/// One gauge of several label sets.
fn labelled(name: &str, values: std::ops::Range<u32>) -> Family {
    let sample = |value: u32| ScalarSample { labels: vec![(text("id"), text(&value.to_string()))], value: 1.0 };
    family(name, MetricKind::Gauge, Samples::Scalars(values.map(sample).collect()))
}

#[test]
fn of_many_series_with_one_fault_five_are_named_and_then_none() {
    let bad = |count: u32| {
        let sample = |id: u32| HistogramSample {
            labels: vec![(text("id"), text(&id.to_string()))],
            buckets: vec![(text("soon"), 1.0)],
            sum: None,
            count: None,
        };
        let samples = Samples::Histograms((0..count).map(sample).collect());
        vec![family("h", MetricKind::Histogram, samples), scalar("a", 1.0)]
    };
    let mut store = Store::new();
    assert_eq!(store.add(page(1, bad(3))).len(), 3);
    let warnings = store.add(page(2, bad(100)));
    let fault = StoreFault::BadBound(text("soon"));
    assert!(matches!(&warnings[..], [_, _, StoreWarning::MoreSeries(more)] if *more == fault), "{warnings:?}");
    assert_eq!(
        [&warnings[0], &warnings[2]].map(ToString::to_string),
        [
            "h{id=\"3\"}: the bucket bound \"soon\" is not a number; the series is left out",
            "more series have the same fault and are not named: the bucket bound \"soon\" is not a number; the series \
             is left out"
        ]
    );
    assert!(store.add(page(3, bad(200))).is_empty());
    // Another kind of fault is reported as ever.
    assert_eq!(store.add(page(4, vec![histogram("a", &[("+Inf", 3.0)])])).len(), 1);
}

#[test]
fn an_endpoint_keeps_so_many_series_and_the_metric_that_has_most_is_named_once() {
    let limits = Limits { series: 4, ..Limits::default() };
    let mut store = Store { limits, ..Store::default() };
    assert!(store.add(page(1, vec![scalar("a", 1.0), labelled("requests", 0..3)])).is_empty());
    let warnings = store.add(page(2, vec![scalar("new", 1.0), scalar("a", 2.0), labelled("requests", 2..90)]));
    assert_eq!(warnings, [StoreWarning::TooManySeries { name: text("requests"), of_name: 3, most: 4 }]);
    assert!(warnings[0].to_string().starts_with("at most 4 series are kept, and there are more; 3 of those"));
    assert!(store.add(page(3, vec![labelled("requests", 90..99), scalar("a", 3.0)])).is_empty());
    assert_eq!(store.series().count(), 4);
    assert_eq!(kept(&store, "a"), [(1, 1.0), (2, 2.0), (3, 3.0)]);
    // Another endpoint has its own.
    let mut other = page(4, vec![labelled("requests", 0..5)]);
    other.endpoint_url = text("http://b/metrics");
    assert_eq!(store.add(other).len(), 1);
    assert_eq!(store.endpoints()[1].series().len(), 4);
}

#[test]
fn a_store_counts_its_numbers_and_warns_once_that_it_is_full() {
    // A scalar, and a histogram's sum, count and two buckets: forty bytes a page.
    let pages = |at| page(at, vec![scalar("a", 1.0), histogram("h", &[("1", 1.0), ("+Inf", 1.0)])]);
    let limits = Limits { bytes: 80, ..Limits::default() };
    let mut store = Store { limits, ..Store::default() };
    assert!(store.add(pages(1)).is_empty());
    assert_eq!((store.bytes(), store.is_full()), (40, false));
    assert_eq!(store.add(pages(2)), [StoreWarning::Full { bytes: 80 }]);
    assert_eq!((store.bytes(), store.is_full()), (80, true));
    // The end of a phase is kept nevertheless.
    assert!(store.add(pages(3)).is_empty());
    assert_eq!(kept(&store, "a").len(), 3);
    assert_eq!(store.bytes(), 120);
}

#[test]
fn a_gibibyte_of_values_is_kept() {
    let warning = StoreWarning::Full { bytes: Limits::default().bytes };
    assert!(warning.to_string().starts_with("the values of all pages so far take 1024 MiB of memory"), "{warning}");
}

#[test]
fn labels_of_ever_new_names_are_left_out_at_last() {
    let mut store = Store::new();
    let sample = |name: usize| ScalarSample { labels: vec![(text(&format!("l{name}")), text("x"))], value: 1.0 };
    let samples = |names: std::ops::Range<usize>| Samples::Scalars(names.map(sample).collect());
    let warnings = store.add(page(1, vec![family("e", MetricKind::Gauge, samples(0..MOST_LABEL_NAMES + 5))]));
    assert_eq!(warnings, [StoreWarning::TooManyLabels { most: MOST_LABEL_NAMES }]);
    assert_eq!(store.series().count(), MOST_LABEL_NAMES);
    assert_eq!(store.add(page(2, vec![family("e", MetricKind::Gauge, samples(9_000..9_010))])), [], "reported once");
}
