//! Cost of the records file as columns: putting records into rows, which the record threads do, and the file that is
//! made of them, once for answers that came in a burst (many chunks with one read) and once for answers chunk by chunk.
//! Instructions a record, where clocks are noisy: `valgrind --tool=callgrind` of the bench's binary with `--test`.

use aiperf_metrics::{Metrics, RecordMetrics, RecordView, RunTraits};
use aiperf_plan::redact::Redactor;
use aiperf_plan::{ArtifactPlan, FileNames};
use aiperf_report::{Artifacts, OpenRecordFile, RecordRun, RunInfo, RunResult};
use aiperf_types::{
    ContentMark, CorrelationId, EndpointKind, Exchange, HttpTiming, Measured, MonoNs, Parsed, PhaseId, PhaseKind,
    RecordMeta, TokenCounts, Usage, WallNs,
};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

const RECORDS: u64 = 20_000;

/// Numbers that look random and are the same each time.
struct Noise(u64);

impl Noise {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn id(&mut self) -> u128 {
        (0..4).fold(0, |id, _| id << 32 | u128::from(self.below(1 << 31) << 1 | self.below(2)))
    }
}

struct Answers {
    name: &'static str,
    chunks: u64,
    /// Chunks that come with one read.
    burst: u64,
    /// Nanoseconds from one read to the next, at least and by chance.
    pause: (u64, u64),
    /// Requests a second.
    rate: u64,
}

const ANSWERS: [Answers; 2] = [
    Answers { name: "32 chunks in bursts", chunks: 32, burst: 12, pause: (4_000, 40_000), rate: 50_000 },
    Answers { name: "100 chunks one by one", chunks: 100, burst: 1, pause: (5_000_000, 6_000_000), rate: 250 },
];

fn record(answers: &Answers, number: u64, phase: &Arc<PhaseId>, noise: &mut Noise) -> (RecordMeta, Measured) {
    let issued = number * (1_000_000_000 / answers.rate);
    let wall = 1_794_702_161_284_864_294 + issued + noise.below(50_000);
    let start = 5_000_000_000 + issued;
    let first = start + 300_000 + noise.below(900_000);
    let (mut at, mut content) = (first, Vec::new());
    for chunk in 0..answers.chunks {
        if chunk > 0 && chunk % answers.burst == 0 {
            at += answers.pause.0 + noise.below(answers.pause.1);
        }
        content.push(ContentMark { at: MonoNs(at), output: true, reasoning: false });
    }
    let end = at + noise.below(9_000);
    let measured = Measured {
        number,
        start_wall: WallNs(wall),
        start: MonoNs(start),
        end: MonoNs(end),
        head: Some(MonoNs(first - 20_000)),
        credit_issued: Some(WallNs(wall - 4_403)),
        content,
        tokens: TokenCounts { input: Some(128), output: Some(answers.chunks), ..TokenCounts::default() },
        usage: Usage {
            prompt_tokens: Some(124 + noise.below(6)),
            completion_tokens: Some(answers.chunks),
            total_tokens: Some(130 + answers.chunks),
            ..Usage::default()
        },
        requested_osl: Some(answers.chunks as u32),
        http: Some(HttpTiming {
            blocked: Some(0),
            dns_lookup: Some(0),
            connecting: Some(0),
            tls_handshaking: Some(0),
            sending: Some(7_000 + noise.below(3_000)),
            waiting: Some(first - start),
            receiving: Some(end - first),
            duration: Some(end - start),
            reused: Some(true),
            data_sent: Some(1_190 + noise.below(20)),
            chunks_sent: Some(1),
            data_received: Some(22_700 + noise.below(90)),
            chunks_received: Some(answers.chunks + 1),
        }),
        ..Measured::default()
    };
    let meta = RecordMeta {
        session_num: number,
        request_id: noise.id(),
        correlation_id: CorrelationId::Uuid(noise.id()),
        conversation_id: format!("session_{:06}", noise.below(100)).into(),
        turn_index: 0,
        credit_issued: measured.credit_issued,
        request_start: WallNs(wall),
        request_ack: Some(WallNs(wall + first - start - 20_000)),
        request_end: WallNs(wall + end - start),
        worker: noise.below(2) as u16,
        record_thread: noise.below(2) as u16,
        phase: phase.clone(),
        was_cancelled: false,
        cancelled_at: None,
    };
    (meta, measured)
}

fn records(answers: &Answers) -> Vec<(RecordMeta, Measured)> {
    let kind = PhaseKind::Profiling;
    let phase = Arc::new(PhaseId { index: 0, profiling_index: Some(0), name: "profiling".into(), kind });
    let mut noise = Noise(1);
    (0..RECORDS).map(|number| record(answers, number, &phase, &mut noise)).collect()
}

fn open(dir: &Path, run: &RecordRun) -> OpenRecordFile {
    let artifacts = Artifacts::prepare(&ArtifactPlan::new(dir, FileNames::new(None))).expect("a new directory");
    let files = artifacts.open_record_files(run).expect("a new directory");
    files.into_iter().find(|file| file.name == "records_parquet").expect("the plan has it")
}

/// Rows as the record threads hand them on, sixteen together.
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

/// What is known of the run when its file is completed, which does not change with its records.
fn summed_up() -> RunResult {
    RunResult {
        version: "0.0.0".into(),
        info: RunInfo::single("465e2a4541a2", None, None),
        endpoint: EndpointKind::Chat,
        models: vec!["m".into()],
        concurrency: Some(4),
        input_config: serde_json::json!({}),
        artifacts: ArtifactPlan::new("/runs/one", FileNames::new(None)),
        metrics: aiperf_metrics::Summary::default(),
        slices: Vec::new(),
        warmup: None,
        phases: Vec::new(),
        errors: Vec::new(),
        start: WallNs(0),
        end: WallNs(0),
        was_cancelled: false,
        incomplete_reason: None,
        measurement: None,
        doubts: Vec::new(),
        degraded: Vec::new(),
        limits: aiperf_metrics::Thresholds::default(),
        show_trace_timing: false,
        server_metrics: None,
    }
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
    let metrics = Arc::new(Metrics::for_run(RunTraits::new(EndpointKind::Chat, true)));
    let redactor = Arc::new(Redactor::new(Vec::<String>::new()));
    let run = RecordRun { benchmark_id: "465e2a4541a2".into(), metrics, redactor };
    let result = summed_up();
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut group = c.benchmark_group("records parquet");
    group.throughput(Throughput::Elements(RECORDS)).sample_size(10);
    for answers in &ANSWERS {
        let records = records(answers);
        let file = open(dir.path(), &run);
        let rows = rows(&file, &run, &records);
        let (of_row, of_file) = (rows.iter().map(Vec::len).sum::<usize>() as u64, write(file, &rows, &result));
        println!("{}: {} bytes a row, {} in the file", answers.name, of_row / RECORDS, of_file / RECORDS);
        group.bench_function(answers.name, |b| {
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
