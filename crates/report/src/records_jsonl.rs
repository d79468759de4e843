//! The records file: one compact JSON line a request, in order of completion.
//!
//! This is the one writer on the path of every request, so it does nothing twice: what is the same for a whole run
//! (metric keys and units, names of phases) is text already, numbers go straight into a buffer that is reused, and
//! nothing is allocated. `cargo bench -p aiperf-report` gives its cost.

use crate::export::{RecordFile, RecordWriting};
use crate::files::LinesFile;
use crate::json::{push_f64, push_int, push_str};
use crate::trace_data;
use aiperf_metrics::{Metric, RecordEncoder, RecordMetrics, RecordView, Value, registry};
use aiperf_types::{CorrelationId, Measured, PhaseId, RecordMeta, RequestError, SpecDecode, uuid_text};
use std::sync::Arc;

pub(crate) const SINK: RecordFile = RecordFile {
    name: "records",
    label: "Records JSONL",
    file: |names| &names.records_jsonl,
    wanted: |plan| plan.records.jsonl,
    open: |path, run| {
        let benchmark_id = run.benchmark_id.clone();
        Ok(RecordWriting {
            encoder: Box::new(move || Box::new(RecordLine::new(&benchmark_id))),
            file: Box::new(LinesFile::create(path)?),
            complete: None,
        })
    },
};

/// Writes record lines. Each record thread has its own.
#[derive(Debug)]
pub struct RecordLine {
    ids: RunIds,
    keys: Vec<MetricKey>,
    phases: Vec<(Arc<PhaseId>, Vec<u8>)>,
}

/// The text around a metric's value.
#[derive(Debug)]
struct MetricKey {
    metric: &'static Metric,
    /// `,"tag":{"value":`
    before: Vec<u8>,
    /// `,"unit":"ms"}`
    after: Vec<u8>,
}

impl RecordLine {
    /// A writer for the run with this id, from which the names of its workers and record threads are derived.
    pub fn new(benchmark_id: &str) -> Self {
        let keys = registry::all().iter().map(|metric| MetricKey::new(metric)).collect();
        Self { ids: RunIds::new(benchmark_id), keys, phases: Vec::new() }
    }

    /// Appends the line of one request, with its line break. A record with neither a metric nor an error has nothing to
    /// say and gives no line; the return value says whether there is one.
    pub fn write(
        &mut self,
        out: &mut Vec<u8>,
        meta: &RecordMeta,
        measured: &Measured,
        metrics: &RecordMetrics,
    ) -> bool {
        let start = out.len();
        self.push_metadata(out, meta);
        out.extend_from_slice(b",\"metrics\":{");
        let has_metrics = self.push_metrics(out, metrics);
        out.push(b'}');
        if let Some(trace) = &measured.http_trace {
            trace_data::push(out, trace);
        }
        if let Some(spec_decode) = &measured.spec_decode {
            out.extend_from_slice(b",\"spec_decode_acceptance\":");
            push_spec_decode(out, spec_decode);
        }
        out.extend_from_slice(b",\"error\":");
        match &measured.error {
            Some(error) => push_error(out, error),
            None if has_metrics => out.extend_from_slice(b"null"),
            None => {
                out.truncate(start);
                return false;
            }
        }
        out.extend_from_slice(b"}\n");
        true
    }

    fn push_metadata(&mut self, out: &mut Vec<u8>, meta: &RecordMeta) {
        out.extend_from_slice(b"{\"metadata\":{\"session_num\":");
        push_int(out, meta.session_num);
        out.extend_from_slice(b",\"x_request_id\":\"");
        out.extend_from_slice(&uuid_text(meta.request_id));
        out.extend_from_slice(b"\",\"x_correlation_id\":");
        push_correlation_id(out, &meta.correlation_id);
        out.extend_from_slice(b",\"conversation_id\":");
        push_str(out, &meta.conversation_id);
        out.extend_from_slice(b",\"turn_index\":");
        push_int(out, meta.turn_index);
        push_time(out, b",\"credit_issued_ns\":", meta.credit_issued.map(|at| at.0));
        push_time(out, b",\"request_start_ns\":", Some(meta.request_start.0));
        push_time(out, b",\"request_ack_ns\":", meta.request_ack.map(|at| at.0));
        push_time(out, b",\"request_end_ns\":", Some(meta.request_end.0));
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
        push_time(out, b",\"cancellation_time_ns\":", meta.cancelled_at.map(|at| at.0));
        out.extend_from_slice(b",\"context_overflow_skip\":false,\"agent_depth\":0,\"root_correlation_id\":");
        push_correlation_id(out, &meta.correlation_id);
        out.push(b'}');
    }

    /// The members that name a phase, made when the phase is first met.
    fn phase(&mut self, phase: &Arc<PhaseId>) -> &[u8] {
        let known = self.phases.iter().position(|(known, _)| known == phase);
        let at = known.unwrap_or_else(|| {
            self.phases.push((phase.clone(), phase_members(phase)));
            self.phases.len() - 1
        });
        &self.phases[at].1
    }

    /// Metrics come in registry order, as the keys are: one walk finds them all.
    fn push_metrics(&self, out: &mut Vec<u8>, metrics: &RecordMetrics) -> bool {
        let start = out.len();
        let mut keys = self.keys.iter();
        for (metric, value) in metrics.iter() {
            let key = keys.by_ref().find(|key| std::ptr::eq(key.metric, metric));
            let Some(key) = key.or_else(|| self.keys.iter().find(|key| key.metric.tag == metric.tag)) else { continue };
            let comma = usize::from(out.len() == start);
            out.extend_from_slice(&key.before[comma..]);
            push_value(out, value);
            out.extend_from_slice(&key.after);
        }
        out.len() > start
    }
}

impl RecordEncoder for RecordLine {
    fn encode(&mut self, record: &RecordView<'_>, out: &mut Vec<u8>) {
        self.write(out, record.meta, record.measured, record.metrics);
    }
}

impl MetricKey {
    fn new(metric: &'static Metric) -> Self {
        let mut before = vec![b','];
        push_str(&mut before, metric.tag);
        before.extend_from_slice(b":{\"value\":");
        let mut after = b",\"unit\":".to_vec();
        push_str(&mut after, metric.display.name());
        after.push(b'}');
        Self { metric, before, after }
    }
}

#[inline]
fn push_value(out: &mut Vec<u8>, value: Value<'_>) {
    match value {
        Value::Int(value) => push_int(out, value),
        Value::Float(value) => push_f64(out, value),
        Value::List(values) => {
            out.push(b'[');
            for (at, value) in values.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                push_f64(out, *value);
            }
            out.push(b']');
        }
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

#[inline]
fn push_time(out: &mut Vec<u8>, key: &[u8], nanoseconds: Option<u64>) {
    if let Some(nanoseconds) = nanoseconds {
        out.extend_from_slice(key);
        push_int(out, nanoseconds);
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

/// What the server told of speculative decoding; what it left out is left out.
pub(crate) fn push_spec_decode(out: &mut Vec<u8>, told: &SpecDecode) {
    out.extend_from_slice(b"{\"engine\":\"vllm\"");
    let float = |out: &mut Vec<u8>, key: &str, value: Option<f64>| {
        if let Some(value) = value {
            out.extend_from_slice(key.as_bytes());
            push_f64(out, value);
        }
    };
    let count = |out: &mut Vec<u8>, key: &str, value: Option<u64>| push_time(out, key.as_bytes(), value);
    let list = |out: &mut Vec<u8>, key: &str, values: &Option<Vec<u64>>| {
        let Some(values) = values else { return };
        out.extend_from_slice(key.as_bytes());
        for (at, value) in values.iter().enumerate() {
            out.push(if at == 0 { b'[' } else { b',' });
            push_int(out, *value);
        }
        out.extend_from_slice(if values.is_empty() { b"[]" } else { b"]" });
    };
    float(out, ",\"mean_acceptance_length\":", told.mean_acceptance_length);
    float(out, ",\"draft_acceptance_rate\":", told.draft_acceptance_rate);
    out.extend_from_slice(b",\"acceptance_histogram\":{");
    for (at, (accepted, steps)) in told.acceptance_histogram.iter().enumerate() {
        out.extend_from_slice(if at == 0 { b"\"" } else { b",\"" });
        push_int(out, *accepted);
        out.extend_from_slice(b"\":");
        push_int(out, *steps);
    }
    out.push(b'}');
    count(out, ",\"num_accepted_draft_tokens\":", told.num_accepted_draft_tokens);
    count(out, ",\"num_draft_tokens\":", told.num_draft_tokens);
    count(out, ",\"num_spec_steps\":", told.num_spec_steps);
    count(out, ",\"num_spec_tokens\":", told.num_spec_tokens);
    count(out, ",\"completion_tokens\":", told.completion_tokens);
    list(out, ",\"per_step_accepted\":", &told.per_step_accepted);
    list(out, ",\"per_step_drafted\":", &told.per_step_drafted);
    out.push(b'}');
}

fn push_error(out: &mut Vec<u8>, error: &RequestError) {
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

/// Names for the workers and record threads of a run: look random, differ from run to run, never collide within one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunIds {
    seed: u32,
}

impl RunIds {
    pub(crate) fn new(benchmark_id: &str) -> Self {
        // FNV-1a: any hash that spreads short texts will do.
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
}

/// A permutation of 32-bit numbers (the finaliser of MurmurHash3).
fn scramble(mut value: u32) -> u32 {
    value = (value ^ value >> 16).wrapping_mul(0x85eb_ca6b);
    value = (value ^ value >> 13).wrapping_mul(0xc2b2_ae35);
    value ^ value >> 16
}
