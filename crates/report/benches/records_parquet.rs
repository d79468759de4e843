//! Cost of the Parquet file of records: encoding records as rows, which the record threads do, and writing the file;
//! once for responses in bursts (many chunks per read) and once for responses chunk by chunk. For instructions per
//! record, where clocks are noisy: `valgrind --tool=callgrind` of the bench's binary with `--test`.

#[path = "../tests/it/support/mod.rs"]
#[expect(clippy::unwrap_used, reason = "made for tests, which may panic")]
mod support;

use aiperf_metrics::{RecordMetrics, RecordView};
use aiperf_plan::{ArtifactPlan, FileNames};
use aiperf_report::{Artifacts, OpenRecordFile, RecordRun, RunResult};
use aiperf_types::{Exchange, Measured, Parsed, RecordMeta};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::path::Path;
use support::streamed::{Noise, streamed_in_bursts};
use support::{empty_run, record_run};

const RECORDS: u64 = 20_000;

struct ResponseShape {
    name: &'static str,
    chunks: u64,
    /// Chunks per read.
    burst: u64,
}

const RESPONSE_SHAPES: [ResponseShape; 2] = [
    ResponseShape { name: "32 chunks in bursts", chunks: 32, burst: 12 },
    ResponseShape { name: "100 chunks one by one", chunks: 100, burst: 1 },
];

fn records(shape: &ResponseShape) -> Vec<(RecordMeta, Measured)> {
    let mut noise = Noise(1);
    let record = |number| streamed_in_bursts(number, shape.chunks, shape.burst, &mut noise);
    (0..RECORDS).map(record).collect()
}

fn open(dir: &Path, run: &RecordRun) -> OpenRecordFile {
    let artifacts = Artifacts::prepare(&ArtifactPlan::new(dir, FileNames::new(None))).expect("a new directory");
    let files = artifacts.open_record_files(run).expect("a new directory");
    files.into_iter().find(|file| file.name == "records_parquet").expect("the plan has it")
}

/// Rows as the record threads hand them over, sixteen at a time.
fn rows(file: &OpenRecordFile, run: &RecordRun, records: &[(RecordMeta, Measured)]) -> Vec<Vec<u8>> {
    let mut encoder = (file.writing.encoder)();
    let (exchange, parsed, mut metrics) = (Exchange::default(), Parsed::default(), RecordMetrics::default());
    let mut batch = |records: &[(RecordMeta, Measured)]| {
        let mut out = Vec::new();
        for (meta, measured) in records {
            run.metrics.record(measured, &mut metrics);
            let metrics = &metrics;
            let view = RecordView { exchange: &exchange, parsed: &parsed, meta, measured, metrics, raw: None };
            encoder.encode(&view, &mut out);
        }
        out
    };
    records.chunks(16).map(&mut batch).collect()
}

/// The bytes of a file of all rows.
fn write(mut file: OpenRecordFile, rows: &[Vec<u8>], run: &RunResult) -> u64 {
    for batch in rows {
        file.writing.file.write_all(batch).expect("room on the disk");
    }
    let complete = file.writing.complete.expect("rows are not all");
    complete(run).expect("room on the disk");
    std::fs::metadata(&file.path).map_or(0, |file| file.len())
}

fn records_parquet(c: &mut Criterion) {
    let (run, result) = (record_run(), empty_run());
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut group = c.benchmark_group("records parquet");
    group.throughput(Throughput::Elements(RECORDS)).sample_size(10);
    for shape in &RESPONSE_SHAPES {
        let records = records(shape);
        let file = open(dir.path(), &run);
        let rows = rows(&file, &run, &records);
        let (of_row, of_file) = (rows.iter().map(Vec::len).sum::<usize>() as u64, write(file, &rows, &result));
        println!("{}: {} bytes a row, {} in the file", shape.name, of_row / RECORDS, of_file / RECORDS);
        group.bench_function(shape.name, |b| {
            let open = || open(dir.path(), &run);
            b.iter_batched(open, |file| write(file, black_box(&rows), &result), BatchSize::PerIteration);
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(std::time::Duration::from_millis(500)).measurement_time(std::time::Duration::from_secs(2));
    targets = records_parquet
}
criterion_main!(benches);
