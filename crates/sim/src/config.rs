//! The configuration of the server: one plain value, checked once when the server is bound.

use std::net::{IpAddr, Ipv4Addr};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use crate::encoding::ContentEncoding;
use crate::error::SimError;
use crate::exposition::{MetricsFormat, MetricsKind, Snapshot};
use crate::fault::FaultRate;
use crate::metrics::Metrics;
use crate::page_fault::{PageFault, PageFaultKind};
use crate::spread::{Latency, Spread};
use crate::tls::TlsOptions;

/// The script of a simulated server.
#[derive(Debug, Clone)]
pub struct SimConfig {
    /// Address to listen on.
    pub host: IpAddr,
    /// Port to listen on; 0 takes a free one.
    pub port: u16,
    /// Path of a Unix domain socket to listen on beside the port. The kernel stamps nothing that arrives there.
    pub unix_socket: Option<PathBuf>,
    /// The port speaks TLS (the Unix socket does not).
    pub tls: Option<TlsOptions>,
    /// Threads that serve, each with its own connections.
    pub threads: NonZeroUsize,
    /// The one model served. Without it every model name is accepted and `/v1/models` lists [`DEFAULT_MODEL`].
    pub model: Option<String>,
    /// Most tokens (prompt and response) of a request, when the server shall refuse longer ones.
    pub max_model_len: Option<NonZeroU32>,
    /// From the moment a request is taken into the running batch to its first token.
    pub ttft: Latency,
    /// From one token to the next.
    pub itl: Latency,
    /// From the last token of a stream to its end: the finish reason, the usage and the end marker. If it is zero, one
    /// write carries the last token and the end.
    pub end_delay: Duration,
    /// Tokens in each content event. An event of N tokens comes N inter-token latencies after the one before.
    pub tokens_per_chunk: NonZeroU32,
    /// Length of a response whose request sets neither `max_tokens` nor `max_completion_tokens`.
    pub osl: NonZeroU32,
    /// Length at which the model stops by itself, unless `ignore_eos`. Without it, it goes on to the limit.
    pub eos: Option<Spread>,
    /// How many tokens of each response to chat, responses and messages are reasoning; they come first and count as
    /// output.
    pub reasoning_tokens: u32,
    /// Tokens drafted ahead in each step, as responses report it; 0 reports nothing.
    pub draft_tokens: u32,
    /// Length of an embedding.
    pub embedding_dim: NonZeroU32,
    /// From the submission of a video job to its end.
    pub video_time: Latency,
    /// The share of video jobs that fail, from 0 to 1.
    pub video_failures: f64,
    /// Requests served at once; further ones wait in order of arrival, and the wait is part of their first token's
    /// time.
    pub max_running: Option<NonZeroUsize>,
    /// Continuous batching: every running response writes one event each step, all of them back to back; the first
    /// token comes at the first step not before its time, and `itl` is not used.
    pub step: Option<Duration>,
    /// The faults, and how often each occurs.
    pub faults: Vec<FaultRate>,
    /// How inference responses are encoded, whatever the client accepts. Each event of a stream can be decoded when it
    /// arrives.
    pub encoding: Option<ContentEncoding>,
    /// Sends every inference request at once a response made beforehand: one of `osl` tokens, independent of the
    /// request.
    pub burst: bool,
    /// Which server's metrics page is shown.
    pub metrics: MetricsKind,
    pub metrics_format: MetricsFormat,
    /// The faults of metrics pages, and which pages have them.
    pub metrics_faults: Vec<PageFault>,
    /// Where to write when each request arrived and each event was written.
    pub truth_log: Option<PathBuf>,
    /// Seed of every random draw.
    pub seed: u64,
}

/// The model listed by a server that accepts every name.
pub const DEFAULT_MODEL: &str = "sim";

impl Default for SimConfig {
    fn default() -> Self {
        SimConfig {
            host: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 0,
            unix_socket: None,
            tls: None,
            threads: NonZeroUsize::MIN,
            model: None,
            max_model_len: None,
            ttft: Latency::constant(Duration::from_millis(50)),
            itl: Latency::constant(Duration::from_millis(10)),
            end_delay: Duration::ZERO,
            tokens_per_chunk: NonZeroU32::MIN,
            osl: NonZeroU32::MIN.saturating_add(31),
            eos: None,
            reasoning_tokens: 0,
            draft_tokens: 0,
            embedding_dim: NonZeroU32::MIN.saturating_add(15),
            video_time: Latency::constant(Duration::from_secs(1)),
            video_failures: 0.0,
            max_running: None,
            step: None,
            faults: Vec::new(),
            encoding: None,
            burst: false,
            metrics: MetricsKind::Vllm,
            metrics_format: MetricsFormat::Text,
            metrics_faults: Vec::new(),
            truth_log: None,
            seed: 0,
        }
    }
}

impl SimConfig {
    /// Checks the rules between fields.
    pub(crate) fn check(&self) -> Result<(), SimError> {
        if self.max_running.is_some() && self.threads.get() > 1 {
            return Err(SimError::Conflict(
                "a limit of running requests needs a single thread, which keeps their queue",
            ));
        }
        if self.burst && !(self.faults.is_empty() && self.metrics_faults.is_empty()) {
            return Err(SimError::Conflict("a burst server sends bytes made beforehand: it has no faults"));
        }
        if self.burst && self.truth_log.is_some() {
            return Err(SimError::Conflict("a burst server writes whole responses at once: it has no truth log"));
        }
        if self.burst && self.encoding.is_some() {
            return Err(SimError::Conflict("a burst server sends bytes made beforehand: it has no content encoding"));
        }
        if !(0.0..=1.0).contains(&self.video_failures) {
            return Err(SimError::Conflict("the share of video jobs that fail is from 0 to 1"));
        }
        if self.metrics == MetricsKind::None && !self.metrics_faults.is_empty() {
            return Err(SimError::Conflict("a server without metrics has no faults of them"));
        }
        if let Some(family) = unknown_family(self) {
            return Err(SimError::UnknownFamily { family: family.to_owned(), kind: self.metrics.name() });
        }
        if self.step.is_some_and(|step| step.is_zero()) {
            return Err(SimError::Conflict("a step is longer than zero"));
        }
        Ok(())
    }

    /// The model to name if no request names one.
    pub(crate) fn listed_model(&self) -> &str {
        self.model.as_deref().unwrap_or(DEFAULT_MODEL)
    }
}

/// The first family in a fault that no page of the server has.
fn unknown_family(config: &SimConfig) -> Option<&str> {
    let kind = config.metrics.kind()?;
    let metrics = Metrics::new(&kind.bounds);
    let nothing =
        Snapshot { metrics: &metrics, model: "", started: 0.0, uptime: 0.0, cpu_seconds: 0.0, generation_rate: 0.0 };
    let families = (kind.families)(&nothing);
    config.metrics_faults.iter().find_map(|fault| match &fault.kind {
        PageFaultKind::Type { family, .. } if families.list.iter().all(|found| found.name != family) => {
            Some(family.as_str())
        }
        _ => None,
    })
}
