//! One finished request as the metrics see it.

use crate::{
    ContentMark, CorrelationId, HttpTrace, MonoNs, Nanos, RequestError, SpecDecode, Uncertainty, Usage, WallNs,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Whether a phase counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseKind {
    /// Runs before and is kept apart.
    Warmup,
    Profiling,
}

impl PhaseKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Warmup => "warmup",
            Self::Profiling => "profiling",
        }
    }
}

/// A phase's identity in the outputs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseId {
    /// Position among all phases.
    pub index: u16,
    /// Position among profiling phases; `None` for warm-up.
    pub profiling_index: Option<u16>,
    pub name: Arc<str>,
    pub kind: PhaseKind,
}

/// Who a record is about: the `metadata` of its exported line.
#[derive(Clone, Debug)]
pub struct RecordMeta {
    /// Request number within its phase.
    pub session_num: u64,
    /// `X-Request-ID`.
    pub request_id: u128,
    /// `X-Correlation-ID`.
    pub correlation_id: CorrelationId,
    /// Dataset session id.
    pub conversation_id: Arc<str>,
    pub turn_index: u32,
    /// When the conductor released it.
    pub credit_issued: Option<WallNs>,
    /// When the worker began it.
    pub request_start: WallNs,
    /// When the head of a 2xx response came.
    pub request_ack: Option<WallNs>,
    /// Last response byte, or the error.
    pub request_end: WallNs,
    /// Number of the worker that sent it.
    pub worker: u16,
    /// Number of the record thread that computed it.
    pub record_thread: u16,
    pub phase: Arc<PhaseId>,
    pub was_cancelled: bool,
    /// When it was cancelled.
    pub cancelled_at: Option<WallNs>,
}

/// Token counts of a record; `None` where nothing was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenCounts {
    pub input: Option<u64>,
    /// Output tokens without reasoning.
    pub output: Option<u64>,
    pub reasoning: Option<u64>,
    /// Tokens of the first content chunk, by per-chunk usage.
    pub first_content_chunk_tokens: Option<u64>,
}

/// HTTP phases of a record, in nanoseconds; `None` where a phase began and did not end, or is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HttpTiming {
    /// Waiting for a connection; 0 without a wait.
    pub blocked: Option<u64>,
    /// Name lookup; 0 without one.
    pub dns_lookup: Option<u64>,
    /// TCP and TLS connect; 0 when reused.
    pub connecting: Option<u64>,
    /// TLS handshake, a part of connecting; 0 without one.
    pub tls_handshaking: Option<u64>,
    /// First to last byte sent.
    pub sending: Option<u64>,
    /// Last byte sent to first body byte.
    pub waiting: Option<u64>,
    /// First body byte to last; 0 for a single read.
    pub receiving: Option<u64>,
    /// First byte sent to last received.
    pub duration: Option<u64>,
    pub reused: Option<bool>,
    /// Bytes sent, head and body.
    pub data_sent: Option<u64>,
    /// Writes.
    pub chunks_sent: Option<u64>,
    /// Bytes received, head and body.
    pub data_received: Option<u64>,
    /// Reads of the body.
    pub chunks_received: Option<u64>,
}

/// One finished request, parsed and counted: all that a metric may depend on.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Its number within the phase, in the order of sending.
    pub number: u64,
    /// Wall clock at the start; latencies use `start`.
    pub start_wall: WallNs,
    pub start: MonoNs,
    /// Last raw response, else the end of the exchange, else the start.
    pub end: MonoNs,
    /// Response head received with a 2xx status.
    pub head: Option<MonoNs>,
    /// When the conductor released it.
    pub credit_issued: Option<WallNs>,
    /// From the conductor's release to the start of the request.
    pub credit_drop: Option<u64>,
    /// From when the schedule of its phase wanted it sent to its start; `None` in a closed loop.
    pub schedule_delay: Option<Nanos>,
    /// Content responses; empty for a failed record.
    pub content: Vec<ContentMark>,
    /// How much earlier the first of them, and the last, may have arrived.
    pub first_uncertainty: Uncertainty,
    pub last_uncertainty: Uncertainty,
    /// Longest time from the arrival of a byte to the read of it; `None` if no read has a stamp.
    pub receive_lag: Option<Nanos>,
    /// Token counts; a failed record keeps only `input`.
    pub tokens: TokenCounts,
    pub usage: Usage,
    pub requested_osl: Option<u32>,
    pub images: u32,
    /// Seconds of audio sent.
    pub audio_seconds: Option<f64>,
    /// Inference time that a video server reported, in seconds.
    pub video_inference_seconds: Option<f64>,
    /// Peak memory that a video server reported, in MB.
    pub video_peak_memory_mb: Option<f64>,
    /// Scheduled send time of a trace, in milliseconds.
    pub scheduled_send_ms: Option<f64>,
    pub http: Option<HttpTiming>,
    /// The exchange step by step, where it is asked for.
    pub http_trace: Option<Box<HttpTrace>>,
    pub spec_decode: Option<Box<SpecDecode>>,
    /// Why it failed; `None` is a valid record.
    pub error: Option<RequestError>,
    /// The error reports a context that is too long.
    pub context_overflow: bool,
}
