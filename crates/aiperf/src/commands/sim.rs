//! `aiperf sim`: the simulated server from the command line.

use std::net::{IpAddr, Ipv4Addr};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use aiperf_sim::{
    Certificate, ContentEncoding, FaultRate, Latency, MetricsFormat, MetricsKind, PageFault, Sim, SimConfig, SimError,
    Spread, TlsOptions, parse_duration,
};
use clap::{Args, Parser};

use crate::exit::{self, Exit};
use crate::terminal;

/// Start a simulated server, to practise on or to measure a client against.
///
/// Paths: /v1/chat/completions, /v1/completions, /v1/responses, /v1/messages, /v1/embeddings, /generate,
/// /generate_stream, /v2/rerank, /v1/rerank, /rerank, /v1/ranking, /v1/images/generations, /v1/images/edits,
/// /v1/videos (with /ID and /ID/content), /v1/audio/transcriptions, /v1/infer, /rag/api/prompt; /v1/models, /health and
/// metrics.
///
/// Latencies are written `50` or `50ms` (also `us`, `s`), `normal:MEAN,DEVIATION` or `lognormal:MEAN,DEVIATION`, where mean
/// and deviation are those of the drawn values.
///
/// The prompt_tokens of a response are an estimate: words and punctuation marks. A client that counts with a tokenizer
/// finds some percent more or fewer, and aiperf profile may warn of the difference.
///
/// HTTP/1.1 and HTTP/2 are supported. With --tls the client selects one by ALPN; without it HTTP/2 needs prior
/// knowledge.
#[derive(Debug, Args)]
pub(crate) struct SimArgs {
    /// Address to listen on.
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    host: IpAddr,
    /// Port to listen on; 0 takes a free one.
    #[arg(long, default_value_t = 8000)]
    port: u16,
    /// Path of a Unix domain socket to listen on, in addition to the port.
    #[arg(long, value_name = "PATH")]
    unix_socket: Option<PathBuf>,
    /// Use TLS on the port, with a certificate generated at the start for localhost, 127.0.0.1 and ::1.
    #[arg(long)]
    tls: bool,
    /// A further name in the certificate; may be given several times.
    #[arg(long = "tls-host", value_name = "NAME", requires = "tls")]
    tls_hosts: Vec<String>,
    /// Where to write the CA certificate in PEM, for clients to trust; aiperf profile trusts it with
    /// SSL_CERT_FILE=FILE.
    #[arg(long, value_name = "FILE", requires = "tls")]
    tls_ca_file: Option<PathBuf>,
    /// Kind of certificate: good, expired, wrong-host, or unknown-ca (signed by another CA than the written one).
    #[arg(long, value_name = "KIND", default_value = "good", requires = "tls")]
    tls_certificate: Certificate,
    /// Serving threads, each with its own connections.
    #[arg(long, default_value = "1")]
    threads: NonZeroUsize,
    /// The only model served; by default every name is accepted.
    #[arg(long)]
    model: Option<String>,
    /// Maximum tokens of prompt and response together; longer requests are refused.
    #[arg(long)]
    max_model_len: Option<NonZeroU32>,
    /// Latency of the first token.
    #[arg(long, default_value = "50")]
    ttft: Latency,
    /// Latency from one token to the next.
    #[arg(long, default_value = "10")]
    itl: Latency,
    /// Time from the last token of a stream to its end (finish reason, usage, end marker), which is then a write of its
    /// own. With 0, one write carries both.
    #[arg(long, value_parser = parse_duration, default_value = "0")]
    end_delay: Duration,
    /// Tokens in each event of a stream.
    #[arg(long, default_value = "1")]
    tokens_per_chunk: NonZeroU32,
    /// Tokens of a response whose request sets no limit.
    #[arg(long, default_value = "32")]
    osl: NonZeroU32,
    /// Tokens after which a response ends by itself, unless the request sets ignore_eos: a number, normal:.. or
    /// lognormal:...
    #[arg(long)]
    eos: Option<Spread>,
    /// How many tokens of each response of chat, responses and messages are reasoning.
    #[arg(long, default_value_t = 0)]
    reasoning_tokens: u32,
    /// Draft tokens per step of speculative decoding, as reported in responses; 0 reports none.
    #[arg(long, default_value_t = 0)]
    draft_tokens: u32,
    /// Length of embeddings.
    #[arg(long, default_value = "16")]
    embedding_dim: NonZeroU32,
    /// Time from the submission of a video job to its end.
    #[arg(long, value_name = "LATENCY", default_value = "1s")]
    video_time: Latency,
    /// Share of video jobs that fail, from 0 to 1.
    #[arg(long, value_name = "RATE", default_value_t = 0.0)]
    video_failures: f64,
    /// Requests served at once; further ones wait in order of arrival.
    #[arg(long)]
    max_running: Option<NonZeroUsize>,
    /// Continuous batching: every running response writes one event each step, all of them back to back (replaces --itl).
    #[arg(long, value_parser = parse_duration)]
    step: Option<Duration>,
    /// A fault and its rate: KIND=RATE or KIND:ARGUMENT=RATE; may be given several times.
    ///
    /// Kinds: refuse, reset, reset-midway, status:CODE, cut, stall, stall:TIME, malformed-sse, malformed-json, error-event,
    /// error-data, goaway, slow-headers:TIME, hook-status:CODE, hook-status:CODE,COUNT (the first COUNT calls of each path that is
    /// neither inference nor /metrics, such as those about video jobs), redirect:CODE (with ,HOPS or ,endless and ,absolute or
    /// ,ORIGIN after the code).
    #[arg(long = "fault", value_name = "FAULT")]
    faults: Vec<FaultRate>,
    /// Encode inference responses, whatever the client accepts: gzip or deflate. Each event of a stream can be decoded
    /// immediately.
    #[arg(long, value_name = "ENCODING")]
    encoding: Option<ContentEncoding>,
    /// Respond to every request immediately with prepared bytes, --osl tokens each.
    #[arg(long)]
    burst: bool,
    /// Whose metrics to show: vllm, sglang, dynamo or triton at /metrics; trtllm at /prometheus/metrics (and JSON at /metrics); none.
    #[arg(long, value_name = "KIND", default_value = "vllm")]
    metrics: MetricsKind,
    /// How metrics are written: text or openmetrics.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    metrics_format: MetricsFormat,
    /// A fault of metrics pages and its pages: KIND=PAGES or KIND:ARGUMENT=PAGES; may be given several times.
    ///
    /// Pages are counted from 1: 3 is one page, 3- all from there on, 3-5 a range.
    /// Kinds: restart (all counters begin again), type:FAMILY,TYPE (gauge, counter or histogram), malformed-lines, malformed, endless,
    /// huge, huge:BYTES, delay:TIME, trickle:TIME (its bytes are spread over it), status:CODE, json, reset, redirect:CODE (as above), gzip.
    #[arg(long = "metrics-fault", value_name = "FAULT")]
    metrics_faults: Vec<PageFault>,
    /// Log when each request arrived and each event was sent: one JSON line per request.
    #[arg(long, value_name = "FILE")]
    truth_log: Option<PathBuf>,
    /// Seed of every random draw.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

impl From<SimArgs> for SimConfig {
    fn from(args: SimArgs) -> Self {
        SimConfig {
            host: args.host,
            port: args.port,
            unix_socket: args.unix_socket,
            tls: args.tls.then_some(TlsOptions {
                hosts: args.tls_hosts,
                ca_file: args.tls_ca_file,
                certificate: args.tls_certificate,
            }),
            threads: args.threads,
            model: args.model,
            max_model_len: args.max_model_len,
            ttft: args.ttft,
            itl: args.itl,
            end_delay: args.end_delay,
            tokens_per_chunk: args.tokens_per_chunk,
            osl: args.osl,
            eos: args.eos,
            reasoning_tokens: args.reasoning_tokens,
            draft_tokens: args.draft_tokens,
            embedding_dim: args.embedding_dim,
            video_time: args.video_time,
            video_failures: args.video_failures,
            max_running: args.max_running,
            step: args.step,
            faults: args.faults,
            encoding: args.encoding,
            burst: args.burst,
            metrics: args.metrics,
            metrics_format: args.metrics_format,
            metrics_faults: args.metrics_faults,
            truth_log: args.truth_log,
            seed: args.seed,
        }
    }
}

#[derive(Debug, Parser)]
#[command(name = "aiperf sim", version)]
pub(crate) struct SimCommand {
    #[command(flatten)]
    args: SimArgs,
}

/// Runs with the arguments after `sim`.
pub(crate) fn main(args: &[String]) -> Exit {
    let args = std::iter::once("aiperf sim").chain(args.iter().map(String::as_str));
    match SimCommand::try_parse_from(args) {
        Err(error) => exit::print_clap(error),
        Ok(command) => match run(command.args) {
            Ok(()) => Exit::Success,
            Err(error) => exit::refuse(error),
        },
    }
}

/// Serves until SIGINT or SIGTERM.
fn run(args: SimArgs) -> Result<(), SimError> {
    let mut sim = Sim::bind(args.into())?;
    sim.stop_on_signals()?;
    terminal::print(&format!("listening on {}\n", sim.url()));
    sim.run()
}
