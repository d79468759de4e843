//! Cost of one record line: a streamed response of 32 chunks with every metric that such a record has.

use aiperf_metrics::{Metrics, RecordMetrics, RunTraits};
use aiperf_report::RecordLine;
use aiperf_types::{
    ContentMark, CorrelationId, EndpointKind, HttpTiming, Measured, MonoNs, PhaseId, PhaseKind, RecordMeta,
    TokenCounts, Usage, WallNs,
};
use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::sync::Arc;

fn streamed_record() -> Measured {
    let start = 5_000_000_000;
    let arrival = |chunk: u64| MonoNs(start + 36_366_798 + chunk * 5_309_127 + chunk * chunk % 977_123);
    Measured {
        start_wall: WallNs(1_794_702_161_284_864_294),
        start: MonoNs(start),
        end: arrival(32),
        head: Some(MonoNs(start + 4_530_083)),
        credit_issued: Some(WallNs(1_794_702_161_275_537_969)),
        content: (0..32).map(|chunk| ContentMark { at: arrival(chunk), output: true, reasoning: false }).collect(),
        tokens: TokenCounts { input: Some(550), output: Some(63), ..TokenCounts::default() },
        usage: Usage {
            prompt_tokens: Some(561),
            completion_tokens: Some(64),
            total_tokens: Some(625),
            ..Usage::default()
        },
        requested_osl: Some(64),
        http: Some(HttpTiming {
            blocked: Some(0),
            dns_lookup: Some(0),
            connecting: Some(1_661_794),
            tls_handshaking: Some(0),
            sending: Some(220_909),
            waiting: Some(34_005_695),
            receiving: Some(164_263_929),
            duration: Some(200_479_533),
            reused: Some(false),
            data_sent: Some(2_245),
            chunks_sent: Some(1),
            data_received: Some(7_928),
            chunks_received: Some(34),
        }),
        ..Measured::default()
    }
}

fn meta() -> RecordMeta {
    RecordMeta {
        session_num: 12_345,
        request_id: 0xa7ee56ab_9e9d_49fa_8395_81d8f7008f1a,
        correlation_id: CorrelationId::Uuid(0xa2998d6d_687b_451d_8514_ccbb30f9b7da),
        conversation_id: "session_012345".into(),
        turn_index: 0,
        credit_issued: Some(WallNs(1_794_702_161_275_537_969)),
        request_start: WallNs(1_794_702_161_284_864_294),
        request_ack: Some(WallNs(1_794_702_161_289_394_377)),
        request_end: WallNs(1_794_702_161_485_434_320),
        worker: 1,
        record_thread: 0,
        phase: Arc::new(PhaseId {
            index: 0,
            profiling_index: Some(0),
            name: "profiling".into(),
            kind: PhaseKind::Profiling,
        }),
        was_cancelled: false,
        cancelled_at: None,
    }
}

fn record_line(c: &mut Criterion) {
    let metrics = Metrics::for_run(RunTraits::new(EndpointKind::Chat, true));
    let mut record = RecordMetrics::default();
    let measured = streamed_record();
    metrics.record(&measured, &mut record);
    let (meta, mut writer, mut out) = (meta(), RecordLine::new("465e2a4541a2"), Vec::new());
    writer.write(&mut out, &meta, &measured, &record);
    println!("{} metrics, {} bytes", record.iter().count(), out.len());
    c.bench_function("record line, 32 chunks", |b| {
        b.iter(|| {
            out.clear();
            writer.write(&mut out, black_box(&meta), black_box(&measured), black_box(&record));
            black_box(&out);
        });
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(std::time::Duration::from_millis(500)).measurement_time(std::time::Duration::from_secs(2));
    targets = record_line
}
criterion_main!(benches);
