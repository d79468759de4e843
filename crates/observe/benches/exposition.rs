//! A page of 5,000 samples as large servers present them: read on its own, and by a reader that has read it before.

use aiperf_observe::exposition::{self, Reader, document};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::fmt::Write;
use std::hint::black_box;

/// Histograms, mostly: 16 engines, each with 11 histograms of 26 lines and 24 gauges and counters.
fn page() -> (String, u64) {
    let mut page = String::new();
    let mut samples = 0;
    for histogram in 0..11 {
        let name = format!("vllm:request_stage_{histogram}_time_seconds");
        let _ = writeln!(page, "# HELP {name} Histogram of time spent in stage {histogram} in seconds.");
        let _ = writeln!(page, "# TYPE {name} histogram");
        for engine in 0..16 {
            let labels = format!("engine=\"{engine}\",model_name=\"meta-llama/Llama-3.1-70B-Instruct\"");
            for bucket in 0..24 {
                let (bound, count) = (0.005 * 1.5_f64.powi(bucket), 1000 * bucket + engine);
                let bound = if bucket == 23 { "+Inf".to_owned() } else { format!("{bound:.4}") };
                let _ = writeln!(page, "{name}_bucket{{{labels},le=\"{bound}\"}} {count}.0");
            }
            let _ = writeln!(page, "{name}_count{{{labels}}} 23015.0\n{name}_sum{{{labels}}} 4312.8431293");
            samples += 26;
        }
    }
    for scalar in 0..27 {
        let (kind, suffix) = if scalar % 2 == 0 { ("gauge", "") } else { ("counter", "_total") };
        let name = format!("vllm:scheduler_figure_{scalar}{suffix}");
        let _ = writeln!(page, "# HELP {name} What the scheduler counts, number {scalar}.\n# TYPE {name} {kind}");
        for engine in 0..16 {
            let labels = format!("engine=\"{engine}\",model_name=\"meta-llama/Llama-3.1-70B-Instruct\"");
            let _ = writeln!(page, "{name}{{{labels}}} {}.{engine}", scalar * 31);
            samples += 1;
        }
    }
    (page, samples)
}

fn exposition(c: &mut Criterion) {
    let (page, samples) = page();
    let mut group = c.benchmark_group(format!("page of {samples} samples"));
    group.throughput(Throughput::Elements(samples));
    group.bench_function("declared families", |b| b.iter(|| document::parse(black_box(&page))));
    group.bench_function("kept families, first page", |b| b.iter(|| exposition::read(black_box(&page))));
    let mut reader = Reader::default();
    group.bench_function("kept families, later page", |b| b.iter(|| reader.read(black_box(&page))));
    group.finish();
}

criterion_group!(benches, exposition);
criterion_main!(benches);
