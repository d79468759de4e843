//! The cost of storing pages, in time and memory: `cargo bench -p aiperf-observe --bench store`.

use aiperf_observe::{
    Family, HistogramSample, MetricKind, Observed, Samples, ScalarSample, Scrape, ScrapeTimes, Store, TimeRange,
    deltas, summarise,
};
use aiperf_types::{Nanos, PhaseId, PhaseKind, WallNs};
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

const INTERVAL: u64 = 333_000_000;

fn main() {
    println!("| what | cost |");
    println!("| --- | --- |");
    // Must be first: nothing has been freed yet that it could use again.
    an_hour();
    for (what, scalars, histograms) in
        [("5,000 scalar series", 5_000, 0), ("5,000 numbers, 200 histograms of 22 buckets among them", 200, 200)]
    {
        let mut store = Store::new();
        let mut page = page(scalars, histograms);
        let mut costs: Vec<Duration> = (0..1_000).map(|number| add(&mut store, &mut page, number)).collect();
        costs.sort();
        println!("| a page of {what}, median | {:?} |", costs[500]);
        println!("| the same, slowest of 1,000 | {:?} |", costs[999]);
    }
}

fn an_hour() {
    let (scalars, histograms, pages) = (120, 20, 10_800);
    let mut page = page(scalars, histograms);
    let before = resident_mib();
    let mut store = Store::new();
    let total: Duration = (0..pages).map(|number| add(&mut store, &mut page, number)).sum();
    println!("| an hour at 3 Hz of 600 numbers a page: adding | {total:?} |");
    println!("| the same: memory | {:.0} MiB |", resident_mib() - before);
    let mut run = run(pages);
    for (what, slice) in [("without slices", None), ("slices of 1 s", Some(Nanos(1_000_000_000)))] {
        run.slice = slice;
        let start = Instant::now();
        black_box(summarise(&store, &run));
        println!("| the same: summarised, {what} | {:?} |", start.elapsed());
    }
    let start = Instant::now();
    let window = run.profiling_window(&store);
    store.series().for_each(|series| _ = black_box(deltas(series, &window)));
    println!("| the same: all rows of samples | {:?} |", start.elapsed());
}

/// Adds a page whose numbers have all grown.
fn add(store: &mut Store, page: &mut Scrape, number: u64) -> Duration {
    page.times.at = WallNs(1_000_000_000 + number * INTERVAL);
    for family in &mut page.families {
        match &mut family.samples {
            Samples::Scalars(samples) => samples.iter_mut().for_each(|sample| sample.value += 1.0),
            Samples::Histograms(samples) => samples.iter_mut().for_each(grow),
        }
    }
    let page = page.clone();
    let start = Instant::now();
    black_box(store.add(page));
    start.elapsed()
}

fn grow(sample: &mut HistogramSample) {
    let count = sample.buckets.len() as f64;
    sample.buckets.iter_mut().enumerate().for_each(|(at, (_, up_to))| *up_to += (at + 1) as f64);
    sample.count = sample.count.map(|before| before + count);
    sample.sum = sample.sum.map(|before| before + count * count / 2.0);
}

fn page(scalars: usize, histograms: usize) -> Scrape {
    let labels = |number: usize| {
        let pair = |name: &str, value: &str| (Arc::from(name), Arc::from(value));
        vec![pair("engine", "0"), pair("model_name", "org/a-model-of-some-size"), pair("number", &number.to_string())]
    };
    let family =
        |name: String, kind, samples| Family { name: Arc::from(name), kind, description: Arc::from(""), samples };
    let gauges = (0..scalars)
        .collect::<Vec<_>>()
        .chunks(10)
        .map(|numbers| {
            let samples = numbers.iter().map(|&number| ScalarSample { labels: labels(number), value: number as f64 });
            family(format!("vllm:family_{}", numbers[0]), MetricKind::Counter, Samples::Scalars(samples.collect()))
        })
        .collect::<Vec<_>>();
    let histograms = (0..histograms).map(|number| {
        let bounds = (1..22).map(|bound| bound.to_string()).chain(["+Inf".to_owned()]);
        let buckets = bounds.map(|le| (Arc::from(le), 0.0)).collect();
        let sample = HistogramSample { labels: labels(number), buckets, sum: Some(0.0), count: Some(0.0) };
        family(format!("vllm:histogram_{number}"), MetricKind::Histogram, Samples::Histograms(vec![sample]))
    });
    let phase =
        PhaseId { index: 0, profiling_index: Some(0), name: Arc::from("profiling"), kind: PhaseKind::Profiling };
    Scrape {
        endpoint_url: Arc::from("http://localhost:8000/metrics"),
        times: ScrapeTimes::default(),
        phase: Some(Arc::new(phase)),
        is_duplicate: false,
        families: gauges.into_iter().chain(histograms).collect(),
    }
}

fn run(pages: u64) -> Observed {
    Observed {
        profiling: TimeRange { start: WallNs(1_000_000_000), end: WallNs(1_000_000_000 + pages * INTERVAL) },
        ..Observed::default()
    }
}

/// The memory of the process, as Linux counts it.
fn resident_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok()).unwrap_or(f64::NAN) / 1024.0
}
