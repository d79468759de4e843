//! The records file: one compact JSON line per request, in order of completion.
//!
//! This writer runs for every request, so it does nothing twice: text that is the same for a whole run (metric keys and
//! units, names of phases) is prepared, numbers go straight into a reused buffer, and nothing is allocated. `cargo
//! bench -p aiperf-report` gives its cost.

use super::measurement::RecordMeasurement;
use super::metadata::{Metadata, push_count, push_error};
use super::trace_data;
use crate::export::{RecordFile, RecordWriting};
use crate::files::LinesFile;
use crate::format::json::{push_f64, push_int, push_str};
use aiperf_metrics::{Metric, RecordEncoder, RecordMetrics, RecordView, Value, registry};
use aiperf_types::{Measured, RecordMeta, SpecDecode};

pub(crate) const SINK: RecordFile = RecordFile {
    name: "records",
    label: "Records JSONL",
    file: |names| &names.records_jsonl,
    wanted: |plan| plan.records.jsonl,
    open: |path, run| {
        let benchmark_id = run.benchmark_id.clone();
        let file = LinesFile::create(path)?;
        let loss = file.loss();
        Ok(RecordWriting {
            encoder: Box::new(move || Box::new(RecordLine::new(&benchmark_id))),
            file: Box::new(file),
            holds: 0,
            complete: Some(Box::new(move |_| loss.check())),
        })
    },
};

/// Writes record lines. Each record thread has its own.
#[derive(Debug)]
pub struct RecordLine {
    metadata: Metadata,
    keys: Vec<MetricKey>,
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
    /// A writer for the run with this id; the names of its workers and record threads derive from it.
    pub fn new(benchmark_id: &str) -> Self {
        let keys = registry::all().iter().map(|metric| MetricKey::new(metric)).collect();
        Self { metadata: Metadata::new(benchmark_id), keys }
    }

    /// Appends the line of one request, with its line break. A record with neither a metric nor an error has no line;
    /// returns whether there is one.
    pub fn write(
        &mut self,
        out: &mut Vec<u8>,
        meta: &RecordMeta,
        measured: &Measured,
        metrics: &RecordMetrics,
    ) -> bool {
        let start = out.len();
        out.push(b'{');
        self.metadata.push(out, meta);
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
        if let Some(measurement) = RecordMeasurement::of(measured) {
            measurement.push(out);
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

    /// Metrics are in registry order, like the keys: one pass finds them all.
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

/// Appends a metric's value.
#[inline]
pub(crate) fn push_value(out: &mut Vec<u8>, value: Value<'_>) {
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

/// The server's data on speculative decoding; absent values are left out.
pub(crate) fn push_spec_decode(out: &mut Vec<u8>, reported: &SpecDecode) {
    out.extend_from_slice(b"{\"engine\":\"vllm\"");
    let float = |out: &mut Vec<u8>, key: &str, value: Option<f64>| {
        if let Some(value) = value {
            out.extend_from_slice(key.as_bytes());
            push_f64(out, value);
        }
    };
    let count = |out: &mut Vec<u8>, key: &str, value: Option<u64>| push_count(out, key.as_bytes(), value);
    let list = |out: &mut Vec<u8>, key: &str, values: &Option<Vec<u64>>| {
        let Some(values) = values else { return };
        out.extend_from_slice(key.as_bytes());
        for (at, value) in values.iter().enumerate() {
            out.push(if at == 0 { b'[' } else { b',' });
            push_int(out, *value);
        }
        out.extend_from_slice(if values.is_empty() { b"[]" } else { b"]" });
    };
    float(out, ",\"mean_acceptance_length\":", reported.mean_acceptance_length);
    float(out, ",\"draft_acceptance_rate\":", reported.draft_acceptance_rate);
    out.extend_from_slice(b",\"acceptance_histogram\":{");
    for (at, (accepted, steps)) in reported.acceptance_histogram.iter().enumerate() {
        out.extend_from_slice(if at == 0 { b"\"" } else { b",\"" });
        push_int(out, *accepted);
        out.extend_from_slice(b"\":");
        push_int(out, *steps);
    }
    out.push(b'}');
    count(out, ",\"num_accepted_draft_tokens\":", reported.num_accepted_draft_tokens);
    count(out, ",\"num_draft_tokens\":", reported.num_draft_tokens);
    count(out, ",\"num_spec_steps\":", reported.num_spec_steps);
    count(out, ",\"num_spec_tokens\":", reported.num_spec_tokens);
    count(out, ",\"completion_tokens\":", reported.completion_tokens);
    list(out, ",\"per_step_accepted\":", &reported.per_step_accepted);
    list(out, ",\"per_step_drafted\":", &reported.per_step_drafted);
    out.push(b'}');
}
