//! The cost of a record, and of summarising a run.

#[path = "../tests/it/load.rs"]
mod load;

use aiperf_metrics::{Accumulator, Context, Instruments, Metrics, RecordHistograms, RecordMetrics, RunTraits};
use aiperf_types::{CorrelationId, EndpointKind, Measured, PhaseId, PhaseKind, RecordMeta, WallNs};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use load::Load;
use std::hint::black_box;
use std::sync::Arc;

const CHUNKS: u64 = 64;

fn records(count: usize) -> Vec<Measured> {
    let mut load = Load::new(1, 100, CHUNKS, 20_000_000, 1000);
    let mut records: Vec<Measured> = (0..count).map(|_| Measured::default()).collect();
    records.iter_mut().for_each(|m| load.next_into(m));
    records
}

fn accumulate(metrics: &Metrics, records: &[Measured]) -> Accumulator {
    let mut accumulator = Accumulator::new(metrics);
    let mut record = RecordMetrics::default();
    for m in records {
        metrics.record(m, &mut record);
        accumulator.add(m, &record);
    }
    accumulator
}

fn meta() -> RecordMeta {
    let phase = PhaseId { index: 0, profiling_index: Some(0), name: "profiling".into(), kind: PhaseKind::Profiling };
    RecordMeta {
        session_num: 0,
        request_id: 0,
        correlation_id: CorrelationId::Uuid(0),
        conversation_id: "".into(),
        turn_index: 0,
        credit_issued: None,
        request_start: WallNs(0),
        request_ack: None,
        request_end: WallNs(1_000_000),
        worker: 0,
        record_thread: 0,
        phase: Arc::new(phase),
        was_cancelled: false,
        cancelled_at: None,
    }
}

fn bench(criterion: &mut Criterion) {
    let metrics = Metrics::for_run(RunTraits::new(EndpointKind::Chat, true));
    let records = records(10_000);
    let mut group = criterion.benchmark_group("metrics");
    group.sample_size(20);
    group.throughput(Throughput::Elements(records.len() as u64));
    group.bench_function("record", |bencher| {
        let mut record = RecordMetrics::default();
        bencher.iter(|| {
            for m in &records {
                metrics.record(m, &mut record);
                black_box(&record);
            }
        });
    });
    group.bench_function("record and histograms", |bencher| {
        let mut record = RecordMetrics::default();
        let (mut histograms, meta) = (RecordHistograms::new(Arc::new(Instruments::of(&metrics))), meta());
        bencher.iter(|| {
            for m in &records {
                metrics.record(m, &mut record);
                histograms.add(&meta, &record, None);
            }
        });
    });
    group.bench_function("record and accumulate", |bencher| bencher.iter(|| accumulate(&metrics, &records)));
    let accumulator = accumulate(&metrics, &records);
    group.bench_function("summarise", |bencher| bencher.iter(|| accumulator.summarise(&metrics, Context::default())));
    group.throughput(Throughput::Elements(1));
    group.bench_function("live", |bencher| bencher.iter(|| accumulator.live().map(|live| live.summary(&metrics))));
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
