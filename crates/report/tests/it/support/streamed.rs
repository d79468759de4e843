//! Records of streamed responses that look like those of a server, and are the same each time.

use aiperf_types::{
    ContentMark, CorrelationId, HttpTiming, Measured, MonoNs, PhaseId, PhaseKind, RecordMeta, TokenCounts, Usage,
    WallNs,
};
use std::sync::Arc;

/// Numbers that look random and are the same each time.
pub(crate) struct Noise(pub(crate) u64);

impl Noise {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn id(&mut self) -> u128 {
        (0..4).fold(0, |id, _| id << 32 | u128::from(self.below(1 << 31) << 1 | self.below(2)))
    }
}

pub(crate) fn phase(kind: PhaseKind) -> Arc<PhaseId> {
    let (index, profiling_index, name) = match kind {
        PhaseKind::Warmup => (0, None, "warmup"),
        PhaseKind::Profiling => (1, Some(0), "profiling"),
    };
    Arc::new(PhaseId { index, profiling_index, name: name.into(), kind })
}

const MILLISECOND: u64 = 1_000_000;

/// A streamed response of `chunks` chunks, as a server sends it: one by one.
pub(crate) fn streamed(number: u64, chunks: u64, noise: &mut Noise) -> (RecordMeta, Measured) {
    streamed_in_bursts(number, chunks, 1, noise)
}

/// The same with `burst` chunks per read.
pub(crate) fn streamed_in_bursts(number: u64, chunks: u64, burst: u64, noise: &mut Noise) -> (RecordMeta, Measured) {
    let wall = 1_794_702_161_284_864_294 + number * 4 * MILLISECOND + noise.below(3 * MILLISECOND);
    let start = MonoNs(5_000_000_000 + number * 4 * MILLISECOND);
    let mut at = start.0 + 30 * MILLISECOND + noise.below(60 * MILLISECOND);
    let first = at;
    let mut content = Vec::new();
    for chunk in 1..=chunks {
        content.push(ContentMark { at: MonoNs(at), output: true, reasoning: false });
        if chunk % burst > 0 {
            continue;
        }
        // Nearly normal, by the sum of four.
        at += 5 * MILLISECOND + (0..4).map(|_| noise.below(3 * MILLISECOND / 2)).sum::<u64>();
    }
    let end = content.last().map_or(at, |mark| mark.at.0);
    let measured = Measured {
        number,
        start_wall: WallNs(wall),
        start,
        end: MonoNs(end),
        head: Some(MonoNs(start.0 + 400_000)),
        credit_issued: Some(WallNs(wall - 1_104_403)),
        content,
        tokens: TokenCounts { input: Some(128), output: Some(chunks), ..TokenCounts::default() },
        usage: Usage {
            prompt_tokens: Some(124 + noise.below(6)),
            completion_tokens: Some(chunks),
            total_tokens: Some(230),
            ..Usage::default()
        },
        requested_osl: Some(chunks as u32),
        http: Some(HttpTiming {
            blocked: Some(0),
            dns_lookup: Some(0),
            connecting: Some(0),
            tls_handshaking: Some(0),
            sending: Some(7_000 + noise.below(3_000)),
            waiting: Some(first - start.0),
            receiving: Some(end - first + noise.below(90_000)),
            duration: Some(end - start.0),
            reused: Some(true),
            data_sent: Some(1_190 + noise.below(20)),
            chunks_sent: Some(1),
            data_received: Some(22_700 + noise.below(90)),
            chunks_received: Some(chunks + 1),
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
        request_ack: Some(WallNs(wall + 400_000)),
        request_end: WallNs(wall + end - start.0),
        worker: (number % 3) as u16,
        record_thread: (number % 2) as u16,
        phase: phase(PhaseKind::Profiling),
        was_cancelled: false,
        cancelled_at: None,
    };
    (meta, measured)
}
