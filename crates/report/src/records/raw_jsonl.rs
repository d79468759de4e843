//! The raw file: one compact JSON line per request, with everything that was sent and received.
//!
//! A JSON body is in its line byte by byte as it was sent, except for secrets and for line breaks between its tokens,
//! which become spaces. A body that is not JSON, such as a form, is a string. A body that is not text is an object with
//! its `raw_bytes` in Base64.

use super::metadata::{Metadata, push_count, push_error};
use crate::export::{RecordFile, RecordWriting};
use crate::files::LinesFile;
use crate::format::json::{push_int, push_str, push_texts};
use aiperf_metrics::{RecordEncoder, RecordView};
use aiperf_plan::redact::Redactor;
use aiperf_types::{Body, CacheMarker, RawBody, RawEvents, RawResponse};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::IgnoredAny;
use std::sync::Arc;

pub(crate) const SINK: RecordFile = RecordFile {
    name: "raw",
    label: "Raw Records",
    file: |names| &names.raw_jsonl,
    wanted: |plan| plan.raw,
    open: |path, run| {
        let run = run.clone();
        let file = LinesFile::create(path)?;
        let loss = file.loss();
        Ok(RecordWriting {
            encoder: Box::new(move || Box::new(RawLine::new(&run.benchmark_id, run.redactor.clone()))),
            file: Box::new(file),
            holds: 0,
            complete: Some(Box::new(move |_| loss.check())),
        })
    },
};

/// Writes raw lines. Each record thread has its own.
#[derive(Debug)]
pub struct RawLine {
    metadata: Metadata,
    redactor: Arc<Redactor>,
}

impl RawLine {
    /// A writer for the run with this id, and the secrets to hide.
    pub fn new(benchmark_id: &str, redactor: Arc<Redactor>) -> Self {
        Self { metadata: Metadata::new(benchmark_id), redactor }
    }
}

impl RecordEncoder for RawLine {
    fn encode(&mut self, record: &RecordView<'_>, out: &mut Vec<u8>) {
        let Some(raw) = record.raw else { return };
        out.push(b'{');
        self.metadata.push(out, record.meta);
        out.extend_from_slice(b",\"start_perf_ns\":");
        push_int(out, record.measured.start.0);
        if let Some(fields) = &raw.request_headers {
            out.extend_from_slice(b",\"request_headers\":");
            push_texts(out, fields);
        }
        push_count(out, b",\"status\":", record.exchange.status.map(u64::from));
        out.extend_from_slice(b",\"responses\":[");
        match &raw.response {
            RawResponse::None => {}
            RawResponse::Events(events) => push_events(out, events),
            RawResponse::Body { at, content_type, body } => {
                out.extend_from_slice(b"{\"perf_ns\":");
                push_int(out, at.0);
                match body {
                    RawBody::Text(text) => {
                        out.extend_from_slice(b",\"text\":");
                        push_str(out, text);
                    }
                    RawBody::Bytes(bytes) => {
                        out.extend_from_slice(b",\"raw_bytes\":");
                        self.push_base64(out, bytes);
                    }
                }
                out.extend_from_slice(b",\"content_type\":");
                push_str(out, content_type);
                out.push(b'}');
            }
        }
        out.push(b']');
        if matches!(&raw.response, RawResponse::Events(events) if events.is_cut) {
            out.extend_from_slice(b",\"responses_cut\":true");
        }
        if let Some(error) = &record.measured.error {
            out.extend_from_slice(b",\"error\":");
            push_error(out, error);
        }
        if let Some(CacheMarker { text, target }) = &record.exchange.tag.marker {
            out.extend_from_slice(b",\"cache_bust_marker\":");
            push_str(out, text);
            out.extend_from_slice(b",\"cache_bust_target\":");
            push_str(out, target);
        }
        self.push_payload(out, &record.exchange.request_body);
        out.extend_from_slice(b"}\n");
    }
}

impl RawLine {
    /// Appends the body of a request, if it had one.
    fn push_payload(&self, out: &mut Vec<u8>, body: &Body) {
        if body.is_empty() {
            return;
        }
        out.extend_from_slice(b",\"payload\":");
        let sent = body.joined();
        let shown = self.redactor.body(&sent);
        match std::str::from_utf8(&shown) {
            Ok(text) if serde_json::from_str::<IgnoredAny>(text).is_ok() => push_on_one_line(out, &shown),
            Ok(text) => push_str(out, &self.redactor.hide(text)),
            Err(_) => {
                out.extend_from_slice(b"{\"raw_bytes\":");
                self.push_base64(out, &shown);
                out.push(b'}');
            }
        }
    }

    /// Secrets are hidden in their encoded form: there is no text to find them in.
    fn push_base64(&self, out: &mut Vec<u8>, bytes: &[u8]) {
        push_str(out, &self.redactor.hide(&STANDARD.encode(bytes)));
    }
}

/// Line breaks of valid JSON occur only between its tokens.
fn push_on_one_line(out: &mut Vec<u8>, json: &[u8]) {
    let start = out.len();
    out.extend_from_slice(json);
    if json.contains(&b'\n') || json.contains(&b'\r') {
        let breaks = out[start..].iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r'));
        breaks.for_each(|byte| *byte = b' ');
    }
}

fn push_events(out: &mut Vec<u8>, events: &RawEvents) {
    for (index, (at, fields)) in events.iter().enumerate() {
        out.extend_from_slice(if index == 0 { b"{\"perf_ns\":" } else { b",{\"perf_ns\":" });
        push_int(out, at.0);
        out.extend_from_slice(b",\"packets\":[");
        for (index, (name, value)) in fields.enumerate() {
            out.extend_from_slice(if index == 0 { b"{\"name\":" } else { b",{\"name\":" });
            push_str(out, name);
            out.extend_from_slice(b",\"value\":");
            match value {
                Some(value) => push_str(out, value),
                None => out.extend_from_slice(b"null"),
            }
            out.push(b'}');
        }
        out.extend_from_slice(b"]}");
    }
}
