//! The parts of a request that all record files contain: its `metadata`, and its error.

use crate::format::json::{push_int, push_str};
use aiperf_types::{CorrelationId, PhaseId, RecordMeta, RequestError, uuid_text};
use std::sync::Arc;

/// Writes the `metadata` of records. Each record thread has its own.
#[derive(Debug)]
pub(crate) struct Metadata {
    ids: RunIds,
    phases: Vec<(Arc<PhaseId>, Vec<u8>)>,
}

impl Metadata {
    /// For the run with this id; the names of its workers and record threads derive from it.
    pub(crate) fn new(benchmark_id: &str) -> Self {
        Self { ids: RunIds::new(benchmark_id), phases: Vec::new() }
    }

    /// Appends the member: `"metadata":{...}`.
    pub(crate) fn push(&mut self, out: &mut Vec<u8>, meta: &RecordMeta) {
        out.extend_from_slice(b"\"metadata\":{\"session_num\":");
        push_int(out, meta.session_num);
        out.extend_from_slice(b",\"x_request_id\":\"");
        out.extend_from_slice(&uuid_text(meta.request_id));
        out.extend_from_slice(b"\",\"x_correlation_id\":");
        push_correlation_id(out, &meta.correlation_id);
        out.extend_from_slice(b",\"conversation_id\":");
        push_str(out, &meta.conversation_id);
        out.extend_from_slice(b",\"turn_index\":");
        push_int(out, meta.turn_index);
        push_count(out, b",\"credit_issued_ns\":", meta.credit_issued.map(|at| at.0));
        push_count(out, b",\"request_start_ns\":", Some(meta.request_start.0));
        push_count(out, b",\"request_ack_ns\":", meta.request_ack.map(|at| at.0));
        push_count(out, b",\"request_end_ns\":", Some(meta.request_end.0));
        out.extend_from_slice(b",\"worker_id\":\"worker_");
        out.extend_from_slice(&hex(self.ids.worker(meta.worker)));
        out.extend_from_slice(b"\",\"record_processor_id\":\"record_processor_");
        out.extend_from_slice(&hex(self.ids.record_thread(meta.record_thread)));
        out.push(b'"');
        out.extend_from_slice(self.phase(&meta.phase));
        out.extend_from_slice(if meta.was_cancelled {
            b",\"was_cancelled\":true"
        } else {
            b",\"was_cancelled\":false"
        });
        push_count(out, b",\"cancellation_time_ns\":", meta.cancelled_at.map(|at| at.0));
        out.extend_from_slice(b",\"context_overflow_skip\":false,\"agent_depth\":0,\"root_correlation_id\":");
        push_correlation_id(out, &meta.correlation_id);
        out.push(b'}');
    }

    /// The members that name a phase, made when the phase first occurs.
    fn phase(&mut self, phase: &Arc<PhaseId>) -> &[u8] {
        let known = self.phases.iter().position(|(known, _)| known == phase);
        let at = known.unwrap_or_else(|| {
            self.phases.push((phase.clone(), phase_members(phase)));
            self.phases.len() - 1
        });
        &self.phases[at].1
    }
}

fn push_correlation_id(out: &mut Vec<u8>, id: &CorrelationId) {
    match id {
        CorrelationId::Uuid(bits) => {
            out.push(b'"');
            out.extend_from_slice(&uuid_text(*bits));
            out.push(b'"');
        }
        CorrelationId::Text(text) => push_str(out, text),
    }
}

/// Appends a member with a whole number, if there is one.
#[inline]
pub(crate) fn push_count(out: &mut Vec<u8>, key: &[u8], value: Option<u64>) {
    if let Some(value) = value {
        out.extend_from_slice(key);
        push_int(out, value);
    }
}

fn phase_members(phase: &PhaseId) -> Vec<u8> {
    let kind = phase.kind.name();
    let mut out = format!(",\"benchmark_phase\":\"{kind}\",\"phase_index\":{}", phase.index).into_bytes();
    if let Some(index) = phase.profiling_index {
        out.extend_from_slice(b",\"profiling_index\":");
        push_int(&mut out, index);
    }
    out.extend_from_slice(b",\"phase_name\":");
    push_str(&mut out, &phase.name);
    out.extend_from_slice(format!(",\"phase_kind\":\"{kind}\"").as_bytes());
    out
}

/// Appends an error as an object.
pub(crate) fn push_error(out: &mut Vec<u8>, error: &RequestError) {
    out.push(b'{');
    if let Some(code) = error.code {
        out.extend_from_slice(b"\"code\":");
        push_int(out, code);
        out.push(b',');
    }
    if let Some(kind) = &error.kind {
        out.extend_from_slice(b"\"type\":");
        push_str(out, kind);
        out.push(b',');
    }
    out.extend_from_slice(b"\"message\":");
    push_str(out, &error.message);
    if let Some(cause) = &error.cause {
        out.extend_from_slice(b",\"cause\":");
        push_str(out, cause);
    }
    if let Some(chain) = &error.cause_chain {
        out.extend_from_slice(b",\"cause_chain\":[");
        for (at, name) in chain.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            push_str(out, name);
        }
        out.push(b']');
    }
    out.push(b'}');
}

const HEX: &[u8; 16] = b"0123456789abcdef";

pub(crate) fn hex(value: u32) -> [u8; 8] {
    std::array::from_fn(|at| HEX[(value >> (28 - 4 * at) & 15) as usize])
}

/// Names for the workers and record threads of a run: they look random, differ from run to run, and never collide
/// within one.
#[derive(Clone, Copy, Debug)]
pub struct RunIds {
    seed: u32,
}

impl RunIds {
    pub fn new(benchmark_id: &str) -> Self {
        // FNV-1a: any hash that spreads short texts works.
        let seed = benchmark_id
            .bytes()
            .fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        Self { seed }
    }

    pub(crate) fn worker(self, number: u16) -> u32 {
        scramble(self.seed ^ u32::from(number))
    }

    pub(crate) fn record_thread(self, number: u16) -> u32 {
        scramble(!self.seed ^ u32::from(number))
    }

    /// The name of a worker in records and in exports.
    pub fn worker_id(self, number: u16) -> String {
        format!("worker_{:08x}", self.worker(number))
    }

    pub(crate) fn record_processor_id(self, number: u16) -> String {
        format!("record_processor_{:08x}", self.record_thread(number))
    }
}

/// A permutation of 32-bit numbers (the finaliser of MurmurHash3).
fn scramble(mut value: u32) -> u32 {
    value = (value ^ value >> 16).wrapping_mul(0x85eb_ca6b);
    value = (value ^ value >> 13).wrapping_mul(0xc2b2_ae35);
    value ^ value >> 16
}
