//! Every page of a server as one compact JSON line, written while the run is on.

use super::unique_names::UniqueNames;
use crate::files::LinesFile;
use crate::format::json::{push_f64, push_key, push_number, push_str, push_text};
use aiperf_observe::scrape::Labels;
use aiperf_observe::{Family, HistogramSample, Samples, ScalarSample, Scrape};
use aiperf_types::PhaseId;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Its name in the ready marker.
pub const NAME: &str = "server_metrics_jsonl";
pub(crate) const LABEL: &str = "Server Metrics JSONL Export";

/// A file that receives lines while a run is on. It is created with its first line: a run without any leaves no file.
#[derive(Debug)]
pub struct ScrapeFile {
    path: PathBuf,
    file: Option<LinesFile>,
}

impl ScrapeFile {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, file: None }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Write for ScrapeFile {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(LinesFile::create(&self.path)?),
        };
        file.write_all(lines).map(|()| lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        file.flush()?;
        file.loss().check()
    }
}

/// Appends the line of one scrape, with its line break.
pub fn scrape_line(out: &mut Vec<u8>, scrape: &Scrape) {
    out.extend_from_slice(b"{\"endpoint_url\":");
    push_str(out, &scrape.endpoint_url);
    push_number(out, "timestamp_ns", scrape.times.at.0);
    push_number(out, "endpoint_latency_ns", scrape.times.latency.0);
    out.extend_from_slice(b",\"metrics\":{");
    let mut names = UniqueNames::default();
    for (at, family) in scrape.families.iter().enumerate() {
        push_comma(out, at);
        push_str(out, &names.name(&family.name, family.kind));
        out.push(b':');
        push_family(out, family);
    }
    out.push(b'}');
    push_number(out, "request_sent_ns", scrape.times.sent.0);
    if let Some(at) = scrape.times.first_byte {
        push_number(out, "first_byte_ns", at.0);
    }
    if let Some(phase) = &scrape.phase {
        push_phase(out, phase);
    }
    out.extend_from_slice(b"}\n");
}

fn push_phase(out: &mut Vec<u8>, phase: &PhaseId) {
    push_text(out, "benchmark_phase", phase.kind.name());
    push_number(out, "phase_index", phase.index.into());
    if let Some(index) = phase.profiling_index {
        push_number(out, "profiling_index", index.into());
    }
    push_text(out, "phase_name", &phase.name);
    push_text(out, "phase_kind", phase.kind.name());
}

fn push_family(out: &mut Vec<u8>, family: &Family) {
    out.push(b'[');
    match &family.samples {
        Samples::Scalars(samples) => {
            for (at, ScalarSample { labels, value }) in samples.iter().enumerate() {
                push_comma(out, at);
                push_labels(out, labels);
                out.extend_from_slice(b"\"value\":");
                push_f64(out, *value);
                out.push(b'}');
            }
        }
        Samples::Histograms(samples) => {
            for (at, sample) in samples.iter().enumerate() {
                push_comma(out, at);
                push_histogram(out, sample);
            }
        }
    }
    out.push(b']');
}

fn push_histogram(out: &mut Vec<u8>, sample: &HistogramSample) {
    push_labels(out, &sample.labels);
    out.extend_from_slice(b"\"buckets\":{");
    for (at, (le, count)) in sample.buckets.iter().enumerate() {
        push_comma(out, at);
        push_str(out, le);
        out.push(b':');
        push_f64(out, *count);
    }
    out.push(b'}');
    for (key, value) in [("sum", sample.sum), ("count", sample.count)] {
        if let Some(value) = value {
            push_key(out, key);
            push_f64(out, value);
        }
    }
    out.push(b'}');
}

/// Opens a sample.
fn push_labels(out: &mut Vec<u8>, labels: &Labels) {
    out.push(b'{');
    if labels.is_empty() {
        return;
    }
    out.extend_from_slice(b"\"labels\":{");
    for (at, (name, value)) in labels.iter().enumerate() {
        push_comma(out, at);
        push_str(out, name);
        out.push(b':');
        push_str(out, value);
    }
    out.extend_from_slice(b"},");
}

fn push_comma(out: &mut Vec<u8>, at: usize) {
    if at > 0 {
        out.push(b',');
    }
}
