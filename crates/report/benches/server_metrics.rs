//! Cost of the server metrics files after an hour: 10,800 pages of about 600 numbers, as from a vLLM server.

#[path = "../tests/it/support/mod.rs"]
#[expect(clippy::unwrap_used, reason = "made for tests, which may panic")]
mod support;

use aiperf_observe::{
    Family, HistogramSample, MetricKind, Observed, ObservedEndpoint, Samples, ScalarSample, Scrape, ScrapeTimes, Store,
    TimeRange, Windowing, summarise,
};
use aiperf_plan::ServerMetricsFormats;
use aiperf_report::server_metrics::csv::write_server_metrics_csv;
use aiperf_report::server_metrics::json::write_server_metrics_json;
use aiperf_report::server_metrics::parquet::write_server_metrics_parquet;
use aiperf_report::{RunResult, ServerMetricsResult, scrape_line};
use aiperf_types::{Nanos, PhaseId, PhaseKind, WallNs};
use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::io::{BufWriter, Seek, Write};
use std::sync::Arc;
use support::empty_run;

const PAGES: u64 = 10_800;
const HISTOGRAMS: u64 = 46;
const SCALARS: u64 = 50;
const BOUNDS: [&str; 12] = ["0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1.0", "2.5", "5.0", "10.0", "60.0", "+Inf"];
const START: u64 = 1_765_793_060_000_000_000;
const INTERVAL: u64 = 333_000_000;
const URL: &str = "http://localhost:8000/metrics";

/// Names and labels are shared between pages, as a reader shares them.
struct Names {
    url: Arc<str>,
    phase: Arc<PhaseId>,
    families: Vec<(Arc<str>, Arc<str>)>,
    labels: Vec<(Arc<str>, Arc<str>)>,
    bounds: Vec<Arc<str>>,
}

impl Names {
    fn new() -> Self {
        let family = |at: u64| (format!("vllm:metric_{at}_seconds").into(), format!("Family {at} in seconds.").into());
        let phase =
            PhaseId { index: 0, profiling_index: Some(0), name: "profiling".into(), kind: PhaseKind::Profiling };
        Self {
            url: URL.into(),
            phase: Arc::new(phase),
            families: (0..HISTOGRAMS + SCALARS).map(family).collect(),
            labels: vec![("engine".into(), "0".into()), ("model_name".into(), "Qwen/Qwen3-0.6B".into())],
            bounds: BOUNDS.map(Arc::from).into(),
        }
    }

    fn page(&self, page: u64) -> Scrape {
        let family = |at: u64| {
            let (name, description) = self.families[at as usize].clone();
            let labels = self.labels.clone();
            // Differs from page to page and from family to family, and grows.
            let count = (page * (at + 3) / 2 + page * page % 7) as f64;
            if at < HISTOGRAMS {
                let share = |bound: usize| (count * (bound + 1) as f64 / BOUNDS.len() as f64).floor();
                let buckets = self.bounds.iter().enumerate().map(|(at, le)| (le.clone(), share(at))).collect();
                let sample = HistogramSample { labels, buckets, sum: Some(count * 0.137), count: Some(count) };
                return Family {
                    name,
                    kind: MetricKind::Histogram,
                    description,
                    samples: Samples::Histograms(vec![sample]),
                };
            }
            let (kind, value) = if at.is_multiple_of(2) {
                (MetricKind::Counter, count)
            } else {
                (MetricKind::Gauge, count * 0.731 % 9.0)
            };
            Family { name, kind, description, samples: Samples::Scalars(vec![ScalarSample { labels, value }]) }
        };
        let at = WallNs(START + page * INTERVAL);
        Scrape {
            endpoint_url: self.url.clone(),
            times: ScrapeTimes { sent: at, first_byte: Some(at), latency: Nanos(4_000_000), at },
            phase: Some(self.phase.clone()),
            is_duplicate: false,
            families: (0..HISTOGRAMS + SCALARS).map(family).collect(),
        }
    }
}

fn watched() -> RunResult {
    let names = Names::new();
    let mut store = Store::new();
    (0..PAGES).for_each(|page| drop(store.add(names.page(page))));
    let observed = Observed {
        configured: vec![URL.into()],
        successful: vec![URL.into()],
        endpoints: vec![ObservedEndpoint { url: URL.into(), display_name: "localhost:8000".into(), errors: 0 }],
        profiling: TimeRange { start: WallNs(START), end: WallNs(START + PAGES * INTERVAL) },
        warmup: None,
        phases: Vec::new(),
        slice: None,
        errors: Vec::new(),
        windowing: Windowing::ProfilingWindow,
    };
    let server_metrics = ServerMetricsResult {
        metrics: summarise(&store, &observed),
        window: observed.profiling_window(&store),
        store,
        formats: ServerMetricsFormats { json: true, csv: true, jsonl: true, parquet: true },
        hostname: "here".into(),
        exported: WallNs(START),
    };
    RunResult { server_metrics: Some(Arc::new(server_metrics)), ..empty_run() }
}

#[expect(clippy::unwrap_used, reason = "a bench may panic")]
fn server_metrics(c: &mut Criterion) {
    let page = Names::new().page(1_000);
    let mut line = Vec::new();
    c.bench_function("line of one page", |b| {
        b.iter(|| {
            line.clear();
            scrape_line(&mut line, black_box(&page));
        });
    });
    let run = watched();
    let observed = run.server_metrics.as_deref().unwrap();
    let mut file = BufWriter::new(tempfile::tempfile().unwrap());
    let mut length = 0;
    c.bench_function("Parquet of an hour", |b| {
        b.iter(|| {
            file.rewind().unwrap();
            write_server_metrics_parquet(&mut file, &run, observed).unwrap();
            file.flush().unwrap();
            length = file.stream_position().unwrap();
        });
    });
    println!("{} rows, {length} bytes", PAGES * (HISTOGRAMS * BOUNDS.len() as u64 + SCALARS));
    c.bench_function("JSON and CSV of an hour", |b| {
        b.iter(|| {
            write_server_metrics_json(&mut std::io::sink(), &run, &observed.metrics).unwrap();
            write_server_metrics_csv(&mut std::io::sink(), observed).unwrap();
        });
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).warm_up_time(std::time::Duration::from_millis(500)).measurement_time(std::time::Duration::from_secs(5));
    targets = server_metrics
}
criterion_main!(benches);
