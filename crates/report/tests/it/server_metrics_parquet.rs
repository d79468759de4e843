//! Time series of server metrics, written and read back: every sample is there, whatever shares a row group.

use crate::support;

use aiperf_observe::{
    DeltaColumns, Family, HistogramSample, MetricKind, Samples, ScalarSample, Scrape, ScrapeTimes, Store, TimeRange,
    Window, Windowing, deltas,
};
use aiperf_report::server_metrics::parquet::write_server_metrics_parquet;
use aiperf_report::{RunResult, ServerMetricsResult};
use aiperf_types::WallNs;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use proptest::prelude::*;
use std::sync::Arc;
use support::empty_run;
use support::observed::ALL_FORMATS;

/// A series: its labels, its bounds if it is a histogram, and its interval in pages.
#[derive(Clone, Debug)]
struct Shape {
    labels: Vec<(&'static str, &'static str)>,
    bounds: usize,
    every: usize,
}

fn page(at: usize, shapes: &[Shape]) -> Scrape {
    let families =
        shapes.iter().enumerate().filter(|(_, shape)| at.is_multiple_of(shape.every)).map(|(number, shape)| {
            let labels = shape.labels.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
            let value = (at * (number + 1)) as f64 * 0.5;
            let bound = |bound: usize| (format!("{bound}.0").into(), value + bound as f64);
            let (kind, samples) = match shape.bounds {
                0 if number % 2 == 0 => (MetricKind::Gauge, Samples::Scalars(vec![ScalarSample { labels, value }])),
                0 => (MetricKind::Counter, Samples::Scalars(vec![ScalarSample { labels, value }])),
                bounds => {
                    let buckets = (0..bounds).map(bound).collect();
                    let sample = HistogramSample { labels, buckets, sum: Some(value * 3.0), count: Some(value) };
                    (MetricKind::Histogram, Samples::Histograms(vec![sample]))
                }
            };
            Family { name: format!("m{number}").into(), kind, description: "Some \"text\".".into(), samples }
        });
    Scrape {
        endpoint_url: "http://h/metrics".into(),
        times: ScrapeTimes { at: WallNs(1_000 + at as u64), ..ScrapeTimes::default() },
        phase: None,
        is_duplicate: false,
        families: families.collect(),
    }
}

fn run_of(pages: usize, shapes: &[Shape]) -> RunResult {
    let mut store = Store::new();
    (0..pages).for_each(|at| drop(store.add(page(at, shapes))));
    let range = TimeRange { start: WallNs(1_001), end: WallNs(1_000 + pages as u64) };
    let observed = ServerMetricsResult {
        metrics: aiperf_observe::ServerMetrics::default(),
        store,
        window: Window::over_time(range, Windowing::ProfilingWindow),
        formats: ALL_FORMATS,
        hostname: "here".into(),
        exported: WallNs(0),
    };
    RunResult { server_metrics: Some(Arc::new(observed)), ..empty_run() }
}

fn text(row: &Row, name: &str) -> Option<String> {
    row.get_column_iter().find(|(known, _)| *known == name).and_then(|(_, field)| match field {
        Field::Null => None,
        Field::Str(text) => Some(text.clone()),
        Field::Long(value) => Some(value.to_string()),
        Field::Double(value) => Some(value.to_string()),
        other => panic!("{other:?}"),
    })
}

/// A row as it is read: name, kind, instant, labels, then value, sum, count, bound and its observations.
type ReadRow = (String, String, String, Vec<Option<String>>, [Option<String>; 5]);

const LABELS: [&str; 4] = ["engine", "label_count", "label_unit", "model_name"];

fn read_rows(bytes: Vec<u8>) -> (Vec<ReadRow>, Vec<i64>) {
    let file = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
    let groups = file.metadata().row_groups().iter().map(|group| group.num_rows()).collect();
    let read = |row: Row| {
        let get = |name: &str| text(&row, name);
        (
            get("metric_name").unwrap(),
            get("metric_type").unwrap(),
            get("timestamp_ns").unwrap(),
            LABELS.iter().map(|name| get(name)).collect(),
            ["value", "sum", "count", "bucket_le", "bucket_count"].map(get),
        )
    };
    (file.get_row_iter(None).unwrap().map(|row| read(row.unwrap())).collect(), groups)
}

fn expected_rows(observed: &ServerMetricsResult) -> Vec<ReadRow> {
    let number = |value: f64| Some(value.to_string());
    let mut rows = Vec::new();
    for series in observed.store.series() {
        let label = |column: &&str| {
            let name = column.strip_prefix("label_").unwrap_or(column);
            series.labels().iter().find(|(known, _)| &**known == name).map(|(_, value)| value.to_string())
        };
        let labels: Vec<Option<String>> = LABELS.iter().map(label).collect();
        let samples = deltas(series, &observed.window);
        for (at, instant) in samples.timestamps.iter().enumerate() {
            let mut push = |numbers| {
                let (name, kind) = (series.name().to_string(), series.kind().name().to_owned());
                rows.push((name, kind, instant.to_string(), labels.clone(), numbers));
            };
            match &samples.columns {
                DeltaColumns::Values(values) => push([number(values[at]), None, None, None, None]),
                DeltaColumns::Histogram { sums, counts, bounds, buckets } => {
                    for (bucket, bound) in bounds.iter().enumerate() {
                        let observations = buckets[at * bounds.len() + bucket];
                        let le = Some(bound.le.to_string());
                        push([None, number(sums[at]), number(counts[at]), le, number(observations)]);
                    }
                }
            }
        }
    }
    rows
}

fn check(pages: usize, shapes: &[Shape]) -> Vec<i64> {
    let run = run_of(pages, shapes);
    let observed = run.server_metrics.as_deref().unwrap();
    let mut bytes = Vec::new();
    write_server_metrics_parquet(&mut bytes, &run, observed).unwrap();
    let (rows, groups) = read_rows(bytes);
    let expected = expected_rows(observed);
    assert_eq!(rows.len(), expected.len());
    for (at, (ours, theirs)) in rows.iter().zip(&expected).enumerate() {
        assert_eq!(ours, theirs, "row {at}");
    }
    assert!(groups.iter().all(|rows| (1..=10_000).contains(rows)), "{groups:?}");
    groups
}

fn scalar(labels: &[(&'static str, &'static str)]) -> Shape {
    Shape { labels: labels.to_vec(), bounds: 0, every: 1 }
}

#[test]
fn long_series_have_groups_of_their_own_and_short_ones_share_them() {
    let shapes = [
        scalar(&[("engine", "0")]),
        Shape { labels: vec![("engine", "0"), ("model_name", "m")], bounds: 12, every: 1 },
        scalar(&[]),
        Shape { labels: vec![("count", "c"), ("unit", "u")], bounds: 3, every: 7 },
        scalar(&[("model_name", "é\"\n")]),
    ];
    assert_eq!(check(901, &shapes), [900, 5_400, 5_400, 900 + 3 * 128 + 900]);
}

#[test]
fn a_histogram_of_very_many_buckets_is_taken_apart() {
    let shapes = [Shape { labels: Vec::new(), bounds: 25_000, every: 1 }];
    assert_eq!(check(2, &shapes), [10_000, 10_000, 5_000]);
}

fn any_shape() -> impl Strategy<Value = Shape> {
    let labels =
        prop::sample::subsequence(vec![("count", "1"), ("engine", "0"), ("model_name", "a/b"), ("unit", "")], 0..=4);
    (labels, prop_oneof![Just(0), 1..40usize], 1..5usize).prop_map(|(labels, bounds, every)| Shape {
        labels,
        bounds,
        every,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn whatever_was_kept_reads_back_the_same(shapes in prop::collection::vec(any_shape(), 1..12), pages in 2..120usize) {
        check(pages, &shapes);
    }
}
