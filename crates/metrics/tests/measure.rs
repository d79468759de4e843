//! A run of a million streams, measured: `cargo test --release -p aiperf-metrics --test measure -- --ignored --nocapture`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

#[path = "support/load.rs"]
#[allow(unreachable_pub, reason = "shared with benches")]
mod load;

use aiperf_metrics::{Accumulator, Context, Metrics, RecordMetrics, RunTraits};
use aiperf_types::{EndpointKind, Measured};
use load::Load;
use std::time::Duration;

const RECORDS: u64 = 1_000_000;
const CHUNKS: u64 = 64;

/// The most memory the process has held since the last call of [`forget_peak`], in MB.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("");
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}

/// Time this thread has spent on a core, so that a busy machine does not count; known to some milliseconds.
fn busy() -> Duration {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(times.split_whitespace().next().and_then(|ns| ns.parse().ok()).unwrap_or(0))
}

fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

#[test]
#[ignore = "takes a million records and half a minute"]
fn a_million_streams_fit_their_budgets() {
    let metrics = Metrics::for_run(RunTraits::new(EndpointKind::Chat, true));
    let mut accumulator = Accumulator::new(&metrics);
    let mut record = RecordMetrics::default();
    let mut batch: Vec<Measured> = (0..1000).map(|_| Measured::default()).collect();
    let mut load = Load::new(1, 1000, CHUNKS, 20_000_000, 1000);
    let (mut computing, mut adding) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..RECORDS / 1000 {
        batch.iter_mut().for_each(|m| load.next_into(m));
        let start = busy();
        for m in &batch {
            metrics.record(m, &mut record);
            std::hint::black_box(&record);
        }
        computing += busy() - start;
        let start = busy();
        for m in &batch {
            metrics.record(m, &mut record);
            accumulator.add(m, &record);
        }
        adding += busy() - start;
    }
    let start = busy();
    for _ in 0..100 {
        std::hint::black_box(accumulator.live().summary(&metrics));
    }
    let watching = busy() - start;
    let each = |time: Duration| time.as_secs_f64() * 1e6 / RECORDS as f64;
    println!("record {:.2} us, record and accumulate {:.2} us", each(computing), each(adding));
    println!("a live snapshot with its summary {:.3} ms", watching.as_secs_f64() * 10.0);
    println!("held {:.1} bytes a record", accumulator.size() as f64 / RECORDS as f64);
    forget_peak();
    let before = peak();
    let start = busy();
    let summary = accumulator.summarise(&metrics, Context::default());
    println!(
        "summary of {} metrics in {:.2} s, {:.0} MB more",
        summary.results.len(),
        (busy() - start).as_secs_f64(),
        peak() - before
    );
    println!("{:?}", summary.exactness);
    println!("{} requests, {:?} gaps", summary.records, summary.get("inter_chunk_latency").unwrap().stats.count);
}
