//! `outputs.json`: the generated text, in the order of requests.
//!
//! Record threads make entries, which are collected while the run is on. The file appears as a whole at the end.

use super::jsonl::push_value;
use super::sorted_entries::{SortedEntries, key, push_entry};
use crate::export::{RecordFile, RecordWriting};
use crate::files;
use crate::format::json::{push_int, push_new_line, push_str};
use aiperf_metrics::{Metric, RecordEncoder, RecordMetrics, RecordView, registry};
use aiperf_plan::FileNames;
use aiperf_plan::redact::Redactor;
use aiperf_types::{Parsed, PhaseKind, uuid_text};
use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// The metrics of an entry's request, in this order.
const METRICS: [&str; 6] = [
    "input_sequence_length",
    "output_token_count",
    "output_sequence_length",
    "request_latency",
    "time_to_first_token",
    "inter_token_latency",
];

pub(crate) const SINK: RecordFile = RecordFile {
    name: "outputs",
    label: "Outputs JSON",
    file: |_| FileNames::OUTPUTS,
    wanted: |plan| plan.outputs,
    open: |path, run| {
        let redactor = run.redactor.clone();
        let entries = Arc::new(Mutex::new(SortedEntries::new(path)));
        let (path, gathered) = (path.to_owned(), entries.clone());
        Ok(RecordWriting {
            encoder: Box::new(move || Box::new(OutputEntry::new(redactor.clone()))),
            file: Box::new(Gathering(entries)),
            holds: SortedEntries::HOLDS,
            complete: Some(Box::new(move |_| {
                let gathered = gathered.lock().unwrap_or_else(PoisonError::into_inner);
                if gathered.is_empty() {
                    Ok(())
                } else {
                    files::write_whole(&path, |out| write_document(out, &gathered))
                }
            })),
        })
    },
};

/// Collects entries as they arrive. No other thread reads them before the run is over.
struct Gathering(Arc<Mutex<SortedEntries>>);

impl Write for Gathering {
    fn write(&mut self, entries: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take(entries)?;
        Ok(entries.len())
    }

    /// Collected entries are not needed before the run is over.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_document(out: &mut impl Write, entries: &SortedEntries) -> io::Result<()> {
    out.write_all(b"{\n  \"schema_version\": \"1.0\",\n  \"data\": [")?;
    let mut comma: &[u8] = b"";
    entries.visit(|entry| {
        out.write_all(std::mem::replace(&mut comma, b","))?;
        out.write_all(entry)
    })?;
    out.write_all(b"\n  ]\n}")
}

/// Writes entries. Each record thread has its own.
struct OutputEntry {
    redactor: Arc<Redactor>,
    metrics: [Option<&'static Metric>; METRICS.len()],
}

impl OutputEntry {
    fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, metrics: METRICS.map(registry::find) }
    }

    fn push_metrics(&self, out: &mut Vec<u8>, metrics: &RecordMetrics) {
        let mut values = [None; METRICS.len()];
        for (metric, value) in metrics.iter() {
            if let Some(at) = self.metrics.iter().position(|wanted| wanted.is_some_and(|it| std::ptr::eq(it, metric))) {
                values[at] = Some(value);
            }
        }
        out.push(b'{');
        let start = out.len();
        for (tag, value) in METRICS.iter().zip(values).filter_map(|(tag, value)| Some((tag, value?))) {
            if out.len() > start {
                out.push(b',');
            }
            push_new_line(out, 4);
            push_str(out, tag);
            out.extend_from_slice(b": ");
            push_value(out, value);
        }
        if out.len() > start {
            push_new_line(out, 3);
        }
        out.push(b'}');
    }
}

impl RecordEncoder for OutputEntry {
    fn encode(&mut self, record: &RecordView<'_>, out: &mut Vec<u8>) {
        let RecordView { meta, .. } = record;
        // A request that the run cut off is no result of the server: only files of single requests list it.
        if meta.phase.kind != PhaseKind::Profiling || record.exchange.was_cut_off() {
            return;
        }
        push_entry(out, key(meta.session_num, meta.turn_index, meta.phase.index), |out| {
            push_new_line(out, 2);
            out.extend_from_slice(b"{\n      \"session_num\": ");
            push_int(out, meta.session_num);
            out.extend_from_slice(b",\n      \"conversation_id\": ");
            push_str(out, &meta.conversation_id);
            out.extend_from_slice(b",\n      \"turn_index\": ");
            push_int(out, meta.turn_index);
            out.extend_from_slice(b",\n      \"x_request_id\": \"");
            out.extend_from_slice(&uuid_text(meta.request_id));
            out.extend_from_slice(b"\",\n      \"request_start_ns\": ");
            push_int(out, meta.request_start.0);
            out.extend_from_slice(b",\n      \"request_end_ns\": ");
            push_int(out, meta.request_end.0);
            out.extend_from_slice(b",\n      \"metrics\": ");
            self.push_metrics(out, record.metrics);
            out.extend_from_slice(b",\n      \"response_text\": ");
            match generated(record.parsed) {
                Some(text) => push_str(out, &self.redactor.with_body(&record.exchange.request_body).hide(&text)),
                None => out.extend_from_slice(b"null"),
            }
            out.extend_from_slice(b"\n    }");
        });
    }
}

/// The reasoning of a model and then its output; `None` if both are empty.
fn generated(parsed: &Parsed) -> Option<Cow<'_, str>> {
    let [reasoning, output] =
        [&parsed.reasoning_text, &parsed.output_text].map(|text| text.as_deref().unwrap_or_default());
    match (reasoning, output) {
        ("", "") => None,
        ("", output) => Some(output.into()),
        (reasoning, "") => Some(reasoning.into()),
        (reasoning, output) => Some(format!("{reasoning}{output}").into()),
    }
}
