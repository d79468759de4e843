//! Runs of a few records, written by the real writers.

use aiperf_metrics::{Accumulator, Context, GpuTotals, Metrics, RecordMetrics, RunTraits, Thresholds, VendorTotals};
use aiperf_plan::{ArtifactPlan, FileNames};
use aiperf_report::summary::csv::summary_csv;
use aiperf_report::summary::json::summary_json;
use aiperf_report::{Page, RecordLine, RunInfo, RunResult, report};
use aiperf_testkit::outputs::Shown;
use aiperf_types::{
    ContentMark, CorrelationId, EndpointKind, GpuVendor, HttpTiming, Measured, MonoNs, PhaseId, PhaseKind, RecordMeta,
    RequestError, TokenCounts, Usage, WallNs,
};
use serde_json::json;
use std::sync::Arc;

const EPOCH: u64 = 1_760_000_000_000_000_000;
const MS: u64 = 1_000_000;
/// Wide enough for all lines of every label.
const WIDE: Page = Page::plain(400);

/// Request `number` of a run: sent 100 ms after the one before, with a response in pieces after these milliseconds.
pub(crate) fn answered(number: u64, pieces_ms: &[u64]) -> Measured {
    let start = 1_000 * MS + number * 100 * MS;
    let start_wall = EPOCH + number * 100 * MS;
    let last = pieces_ms.last().copied().unwrap_or(0) * MS;
    let piece = |after: &u64| ContentMark { at: MonoNs(start + after * MS), output: true, reasoning: false };
    Measured {
        start_wall: WallNs(start_wall),
        start: MonoNs(start),
        end: MonoNs(start + last + MS),
        head: Some(MonoNs(start + MS)),
        credit_issued: Some(WallNs(start_wall - 2 * MS)),
        credit_drop: Some(2 * MS),
        content: pieces_ms.iter().map(piece).collect(),
        http: Some(HttpTiming {
            blocked: Some(0),
            dns_lookup: Some(0),
            connecting: Some(MS),
            tls_handshaking: Some(0),
            sending: Some(MS),
            waiting: Some(3 * MS),
            receiving: Some(5 * MS),
            duration: Some(9 * MS),
            reused: Some(false),
            data_sent: Some(2048),
            chunks_sent: Some(1),
            data_received: Some(1024),
            chunks_received: Some(2),
        }),
        ..Measured::default()
    }
}

/// Request `number` of a run, which the server refused after 5 ms.
pub(crate) fn refused(number: u64) -> Measured {
    Measured {
        error: Some(RequestError::status(500, "Internal Server Error", "no")),
        content: Vec::new(),
        ..answered(number, &[4])
    }
}

/// Three requests, with responses as in the first, the second and the third list.
pub(crate) fn three(pieces_ms: [&[u64]; 3]) -> Vec<Measured> {
    (0..).zip(pieces_ms).map(|(number, pieces)| answered(number, pieces)).collect()
}

/// Three requests with whole responses after 10, 20 and 40 ms.
pub(crate) fn three_whole() -> Vec<Measured> {
    three([&[10], &[20], &[40]])
}

/// Three requests, streamed in three chunks each: the first after 10, 20 and 30 ms, the last 20 ms later.
pub(crate) fn three_streams() -> Vec<Measured> {
    three([&[10, 15, 30], &[20, 25, 40], &[30, 35, 50]])
}

/// Client-side token counts for each request: input and output.
pub(crate) fn counted(mut records: Vec<Measured>, input: u64, output: Option<u64>) -> Vec<Measured> {
    for record in &mut records {
        record.tokens = TokenCounts { input: Some(input), output, ..TokenCounts::default() };
    }
    records
}

/// The same usage for each request.
pub(crate) fn with_usage(mut records: Vec<Measured>, usage: Usage) -> Vec<Measured> {
    records.iter_mut().for_each(|record| record.usage = usage);
    records
}

/// Usage as text endpoints report it.
pub(crate) fn text_usage(prompt: u64, completion: u64) -> Usage {
    Usage {
        prompt_tokens: Some(prompt),
        completion_tokens: Some(completion),
        total_tokens: Some(prompt + completion),
        ..Usage::default()
    }
}

/// A run to measure.
pub(crate) struct Bench {
    traits: RunTraits,
    network_rtt_ns: Option<f64>,
    with_trace: bool,
    gpu: Option<GpuTotals>,
    extra_members: &'static [&'static str],
}

impl Bench {
    pub(crate) fn of(endpoint: EndpointKind, streaming: bool) -> Self {
        Self {
            traits: RunTraits::new(endpoint, streaming),
            network_rtt_ns: None,
            with_trace: false,
            gpu: None,
            extra_members: &[],
        }
    }

    /// The same with other traits.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut RunTraits)) -> Self {
        change(&mut self.traits);
        self
    }

    pub(crate) fn with_network_rtt(self, nanoseconds: f64) -> Self {
        Self { network_rtt_ns: Some(nanoseconds), ..self }
    }

    pub(crate) fn with_trace_table(self) -> Self {
        Self { with_trace: true, ..self }
    }

    pub(crate) fn with_gpus(self, totals: GpuTotals) -> Self {
        Self { gpu: Some(totals), ..self }
    }

    /// Members of the summary besides those of every run.
    pub(crate) fn with_members(self, extra_members: &'static [&'static str]) -> Self {
        Self { extra_members, ..self }
    }

    /// Measures some requests and writes the results.
    pub(crate) fn run(self, records: &[Measured]) -> Shown {
        let metrics = Metrics::for_run(self.traits);
        let mut accumulator = Accumulator::new(&metrics);
        let mut record = RecordMetrics::default();
        let mut writer = RecordLine::new("465e2a4541a2");
        let mut lines = Vec::new();
        for (number, m) in (0..).zip(records) {
            metrics.record(m, &mut record);
            accumulator.add(m, &record);
            writer.write(&mut lines, &meta(number, m), m, &record);
        }
        let context = Context { window: None, network_rtt_ns: self.network_rtt_ns, ..Context::default() };
        let mut summary = accumulator.summarise(&metrics, context);
        if let Some(totals) = self.gpu {
            let output_tokens = summary.avg("total_output_tokens");
            let own = totals.metrics(metrics.traits(), output_tokens, Some(4));
            let seconds = summary.avg("benchmark_duration").unwrap_or(0.0);
            let vendor =
                VendorTotals::of(&totals, seconds).metrics(GpuVendor::Nvidia, metrics.traits(), &summary, Some(4));
            summary.results.extend(own.into_iter().chain(vendor));
        }
        let endpoint = metrics.traits().endpoint;
        let run = RunResult {
            version: "0.0.0".into(),
            info: RunInfo::single("465e2a4541a2", None, None),
            endpoint,
            models: vec!["m".into()],
            concurrency: Some(4),
            input_config: json!({}),
            artifacts: ArtifactPlan::new("/runs/one", FileNames::new(None)),
            metrics: summary,
            warmup: None,
            phases: Vec::new(),
            errors: accumulator.errors(),
            start: WallNs(EPOCH),
            end: WallNs(EPOCH),
            was_cancelled: false,
            incomplete_reason: None,
            has_lost_records: false,
            measurement: None,
            notes: Vec::new(),
            degraded: Vec::new(),
            limits: Thresholds::default(),
            slices: Vec::new(),
            judged: Vec::new(),
            show_trace_timing: self.with_trace,
            dataset: None,
            server_metrics: None,
            gpu_telemetry: None,
        };
        Shown {
            title: title(endpoint),
            summary: serde_json::from_slice(&summary_json(&run)).unwrap(),
            csv: summary_csv(&run.metrics),
            lines: lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(read).collect(),
            console: report(&run, WIDE),
            with_trace: self.with_trace,
            extra_members: self.extra_members,
            one_of_four: true,
        }
    }
}

fn read(line: &[u8]) -> serde_json::Value {
    serde_json::from_slice(line).unwrap()
}

fn meta(number: u64, m: &Measured) -> RecordMeta {
    RecordMeta {
        session_num: number,
        request_id: u128::from(number),
        correlation_id: CorrelationId::Uuid(u128::from(number)),
        conversation_id: "session_000000".into(),
        turn_index: 0,
        credit_issued: m.credit_issued,
        request_start: m.start_wall,
        request_ack: None,
        request_end: WallNs(m.start_wall.0 + m.end.since(m.start).0),
        worker: 0,
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

/// The console title of the metrics of an endpoint type.
fn title(endpoint: EndpointKind) -> &'static str {
    use EndpointKind::*;
    match endpoint {
        Chat | Completions | Responses | Messages | HuggingfaceGenerate | Raw | Template => "LLM Metrics",
        Embeddings | ChatEmbeddings => "Embeddings Metrics",
        NimEmbeddings => "NIM Embeddings Metrics",
        CohereRankings | HfTeiRankings => "Ranking Metrics",
        NimRankings => "Rankings Metrics",
        ImageGeneration => "Image Generation Metrics",
        ImageEdit => "Image Edit Metrics",
        ImageRetrieval => "Image Retrieval Metrics",
        VideoGeneration => "Video Generation Metrics",
        AudioTranscription => "Audio Transcription Metrics",
        SolidoRag => "SOLIDO RAG Metrics",
    }
}
