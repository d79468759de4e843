//! Every metric that an output can show, written by hand from the specification: its name in files, its name for
//! people, its unit, its statistics, whether a record line has it, and its console table.
//!
//! Metrics that always occur together are one group, so that the metrics of a run are a short list of groups.

use Each::{Float, Int, List, Nothing};
use Shape::{Adjusted, Curve, Distribution, Single, WithoutCount};
use Table::{Active, Effective, Experimental, Hidden, Internal, Main, SpecDecode, Trace};

/// The statistics of a metric in a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// All of them.
    Distribution,
    /// All except the count: a distribution that is not of records.
    WithoutCount,
    /// One number.
    Single,
    /// A curve over time: no count, no sum, and only the upper percentiles.
    Curve,
    /// With one infinite value, for one failure among four requests: infinite statistics are left out.
    Adjusted,
}

/// The value of a metric in a record line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Each {
    Nothing,
    Int,
    Float,
    List,
}

/// The console table of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    Hidden,
    Experimental,
    Internal,
    Effective,
    Active,
    Main,
    /// Shown on request.
    Trace,
    SpecDecode,
}

/// One metric.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub tag: &'static str,
    pub header: &'static str,
    pub unit: &'static str,
    pub shape: Shape,
    pub each: Each,
    /// Only for requests that failed.
    pub of_failed: bool,
    pub table: Table,
    /// Position in the table.
    pub place: u32,
}

impl Row {
    const fn new(tag: &'static str, header: &'static str, unit: &'static str, shape: Shape, each: Each) -> Self {
        Self { tag, header, unit, shape, each, of_failed: false, table: Hidden, place: 0 }
    }

    const fn at(self, table: Table, place: u32) -> Self {
        Self { table, place, ..self }
    }

    const fn main(self, place: u32) -> Self {
        self.at(Main, place)
    }

    const fn of_failed(self) -> Self {
        Self { of_failed: true, ..self }
    }

    const fn in_no_record(self) -> Self {
        Self { each: Nothing, ..self }
    }

    const fn in_records(self) -> Self {
        Self { each: Int, ..self }
    }
}

/// Metrics that always occur together.
pub type Group = &'static [Row];

/// A number per request.
const fn number(tag: &'static str, header: &'static str, unit: &'static str) -> Row {
    Row::new(tag, header, unit, Distribution, Float)
}

/// A time per request.
const fn time(tag: &'static str, header: &'static str) -> Row {
    number(tag, header, "ms")
}

/// A whole number per request.
const fn count(tag: &'static str, header: &'static str, unit: &'static str) -> Row {
    Row::new(tag, header, unit, Distribution, Int)
}

/// Tokens per request.
const fn tokens(tag: &'static str, header: &'static str) -> Row {
    count(tag, header, "tokens")
}

/// One number of the whole run.
const fn single(tag: &'static str, header: &'static str, unit: &'static str) -> Row {
    Row::new(tag, header, unit, Single, Nothing)
}

/// Tokens of the whole run.
const fn total(tag: &'static str, header: &'static str) -> Row {
    single(tag, header, "tokens")
}

const fn curve(tag: &'static str, header: &'static str, unit: &'static str) -> Row {
    Row::new(tag, header, unit, Curve, Nothing)
}

/// Adjusted metrics have no display order: they follow all others.
const fn adjusted(tag: &'static str, header: &'static str, place: u32) -> Row {
    Row::new(tag, header, "ms", Adjusted, Nothing).main(10_000 + place)
}

/// A time without the network's share.
const fn less_network(tag: &'static str, header: &'static str) -> Row {
    Row::new(tag, header, "ms", WithoutCount, Nothing)
}

/// Every run that sent a request.
pub const SENT: Group = &[
    single("min_request_timestamp", "Minimum Request Timestamp", "ns"),
    single("completed_request_count", "Completed Requests (Success + Error)", "requests").main(1075),
    single("request_error_rate", "Request Error Rate", "%").main(1080),
    time("credit_to_start_latency", "Credit-to-Start Latency").in_no_record(),
    time("effective_latency", "Effective Latency (CO-aware)").in_no_record().at(Effective, 10),
];

/// Requests were due at instants, and one succeeded.
pub const DUE: Group = &[time("intended_request_latency", "Intended Request Latency").at(Effective, 11)];

/// The same, and tokens were streamed.
pub const DUE_STREAM: Group = &[time("intended_time_to_first_token", "Intended Time to First Token").at(Effective, 12)];

/// Curves over the time of the run. They are always present; what the endpoint does not have is zero.
pub const CURVES: Group = &[
    curve("effective_concurrency", "Effective Concurrency", "requests").at(Effective, 1),
    curve("effective_decode_throughput", "Effective Decode Throughput", "tokens/sec").at(Effective, 2),
    curve("effective_prefill_throughput", "Effective Prefill Throughput", "tokens/sec").at(Effective, 3),
    curve("effective_decode_concurrency", "Effective Decode Concurrency", "requests").at(Effective, 4),
    curve("effective_prefill_concurrency", "Effective Prefill Concurrency", "requests").at(Effective, 5),
    curve("effective_total_throughput", "Effective Total Throughput", "tokens/sec").at(Effective, 6),
    curve("effective_decode_throughput_per_user", "Effective Decode Throughput Per User", "tokens/sec/user")
        .at(Effective, 7),
    curve("effective_prefill_throughput_per_user", "Effective Prefill Throughput Per User", "tokens/sec/user")
        .at(Effective, 8),
    curve("tokens_in_flight", "Tokens In Flight", "tokens").at(Effective, 9),
    curve("active_decode_throughput", "Active Decode Throughput", "tokens/sec").at(Active, 1),
    curve("active_prefill_throughput", "Active Prefill Throughput", "tokens/sec").at(Active, 2),
    curve("active_decode_throughput_per_user", "Active Decode Throughput Per User", "tokens/sec/user").at(Active, 3),
    curve("active_prefill_throughput_per_user", "Active Prefill Throughput Per User", "tokens/sec/user").at(Active, 4),
    curve("active_total_throughput", "Active Total Throughput", "tokens/sec").at(Active, 5),
];

/// Every run with a successful request.
pub const ANSWERED: Group = &[
    time("request_latency", "Request Latency").main(300),
    single("request_throughput", "Request Throughput", "requests/sec").main(900),
    single("request_count", "Request Count", "requests").main(1100),
    single("max_response_timestamp", "Maximum Response Timestamp", "ns"),
    single("benchmark_duration", "Benchmark Duration", "sec"),
];

/// The exchange itself: in every file of a run over HTTP, on the console on request.
pub const HTTP: Group = &[
    time("http_req_blocked", "HTTP Blocked").at(Trace, 2000),
    time("http_req_dns_lookup", "HTTP DNS Lookup").at(Trace, 2010),
    time("http_req_connecting", "HTTP Connecting").at(Trace, 2020),
    time("http_req_tls_handshaking", "HTTP TLS Handshaking").at(Trace, 2025),
    time("http_req_sending", "HTTP Sending").at(Trace, 2030),
    time("http_req_waiting", "HTTP Waiting (TTFB)").at(Trace, 2040),
    time("http_req_receiving", "HTTP Receiving").at(Trace, 2050),
    count("http_req_connection_reused", "HTTP Connection Reused", "ratio").at(Trace, 2060),
    number("http_req_data_sent", "HTTP Data Sent", "KB").at(Trace, 2070),
    count("http_req_chunks_sent", "HTTP Chunks Sent", "count").at(Trace, 2080),
    number("http_req_data_received", "HTTP Data Received", "KB").at(Trace, 2090),
    count("http_req_chunks_received", "HTTP Chunks Received", "count").at(Trace, 2100),
    time("http_req_connection_overhead", "HTTP Connection Overhead").at(Trace, 2110),
    time("http_req_duration", "HTTP Duration (excl. conn)").at(Trace, 2120),
    time("http_req_total", "HTTP Total Time").at(Trace, 2130),
];

/// The endpoint tokenizes its input.
pub const INPUT: Group = &[
    tokens("input_sequence_length", "Input Sequence Length").main(700),
    total("total_isl", "Total Input Sequence Length"),
    single("input_token_throughput", "Input Token Throughput", "tokens/sec").main(805),
];

/// The endpoint produces tokens; all of these tokenize their input too.
pub const OUTPUT: Group = &[
    number("e2e_output_token_throughput", "E2E Output Token Throughput", "tokens/sec/user").main(510),
    tokens("output_sequence_length", "Output Sequence Length").main(600),
    total("total_osl", "Total Output Sequence Length"),
    single("output_token_throughput", "Output Token Throughput", "tokens/sec").main(800),
    single("total_token_throughput", "Total Token Throughput", "tokens/sec"),
];

/// Responses are embeddings or rankings, and we count: no tokens.
pub const EMPTY_OUTPUT: Group = &[tokens("output_sequence_length", "Output Sequence Length").main(600)];

/// Some of the tokens were not reasoning.
pub const OUTPUT_TEXT: Group =
    &[tokens("output_token_count", "Output Token Count"), total("total_output_tokens", "Total Output Tokens")];

/// Some of the tokens were reasoning.
pub const REASONING: Group = &[
    tokens("reasoning_token_count", "Reasoning Token Count"),
    total("total_reasoning_tokens", "Total Reasoning Tokens"),
];

/// A length was requested, and the endpoint produces tokens.
pub const ASKED_LENGTH: Group = &[
    number("osl_mismatch_diff_pct", "OSL Mismatch Diff %", "%"),
    single("osl_mismatch_count", "OSL Mismatch Count", "requests"),
];

const FIRST_TOKEN: Row = time("time_to_first_token", "Time to First Token").main(100);
const SECOND_TOKEN: Row = time("time_to_second_token", "Time to Second Token").main(200);
const DECODE: Row = time("decode_duration", "Decode Duration").main(350);
const CHUNKS: Row = Row::new("inter_chunk_latency", "Inter Chunk Latency", "ms", Distribution, List);

/// Tokens were streamed.
pub const STREAM: Group =
    &[FIRST_TOKEN, DECODE, number("prefill_throughput_per_user", "Prefill Throughput Per User", "tokens/sec/user")];

/// Some of the streamed tokens were not reasoning.
pub const STREAM_OUTPUT: Group = &[time("time_to_first_output_token", "Time to First Output Token").main(210)];

/// Tokens were streamed in two chunks or more.
pub const STREAM_GAPS: Group = &[
    SECOND_TOKEN,
    time("inter_token_latency", "Inter Token Latency").main(400),
    number("output_token_throughput_per_user", "Output Token Throughput Per User", "tokens/sec/user").main(500),
    CHUNKS,
];

/// Tokens were streamed in two chunks or more, and were not counted: times of chunks, none of tokens.
pub const UNCOUNTED_STREAM: Group = &[FIRST_TOKEN, SECOND_TOKEN, DECODE, CHUNKS];

/// The server reports the tokens of the prompt, for an endpoint that tokenizes its input.
pub const USAGE_PROMPT: Group = &[
    tokens("usage_prompt_tokens", "Usage Prompt Tokens"),
    total("total_usage_prompt_tokens", "Total Usage Prompt Tokens"),
];

/// The same, and we counted them too.
pub const PROMPT_DIFFERENCE: Group = &[
    number("usage_prompt_tokens_diff_pct", "Usage Prompt Diff %", "%"),
    single("usage_discrepancy_count", "Usage Discrepancy Count", "requests"),
];

/// The server reports the output tokens, for an endpoint that produces tokens.
pub const USAGE_COMPLETION: Group = &[
    tokens("usage_completion_tokens", "Usage Completion Tokens"),
    tokens("usage_total_tokens", "Usage Total Tokens"),
    total("total_usage_completion_tokens", "Total Usage Completion Tokens"),
    total("total_usage_total_tokens", "Total Usage Total Tokens"),
];

/// The same, and we counted them too.
pub const COMPLETION_DIFFERENCE: Group = &[number("usage_completion_tokens_diff_pct", "Usage Completion Diff %", "%")];

/// The server reports the reasoning tokens.
pub const USAGE_REASONING: Group = &[
    tokens("usage_reasoning_tokens", "Usage Reasoning Tokens"),
    total("total_usage_reasoning_tokens", "Total Usage Reasoning Tokens"),
];

/// The same, and we counted them too.
pub const REASONING_DIFFERENCE: Group = &[number("usage_reasoning_tokens_diff_pct", "Usage Reasoning Diff %", "%")];

/// The server reports how much of the prompt was in its cache.
pub const USAGE_CACHE_READ: Group = &[
    tokens("usage_prompt_cache_read_tokens", "Usage Prompt Cache Read Tokens"),
    total("total_usage_prompt_cache_read_tokens", "Total Usage Prompt Cache Read Tokens"),
];

/// The same, and the length of the prompt.
pub const USAGE_CACHE_SHARE: Group =
    &[single("overall_usage_prompt_cache_read_pct", "Overall Usage Prompt Cache Read %", "%")];

/// The server reports its cache writes and misses.
pub const USAGE_CACHE_WRITE: Group = &[
    tokens("usage_prompt_cache_write_tokens", "Usage Prompt Cache Write Tokens"),
    tokens("usage_prompt_cache_miss_tokens", "Usage Prompt Cache Miss Tokens"),
    total("total_usage_prompt_cache_write_tokens", "Total Usage Prompt Cache Write Tokens"),
    total("total_usage_prompt_cache_miss_tokens", "Total Usage Prompt Cache Miss Tokens"),
];

/// The server reports how much of the prompt declares tools.
pub const USAGE_TOOLS: Group = &[
    tokens("usage_tool_use_prompt_tokens", "Usage Tool Use Prompt Tokens"),
    total("total_usage_tool_use_prompt_tokens", "Total Usage Tool Use Prompt Tokens"),
];

/// The server reports the input audio, for an endpoint that accepts audio.
pub const USAGE_AUDIO: Group = &[
    tokens("usage_prompt_audio_tokens", "Usage Prompt Audio Tokens"),
    number("usage_prompt_audio_seconds", "Usage Prompt Audio Seconds", "sec"),
    total("total_usage_prompt_audio_tokens", "Total Usage Prompt Audio Tokens"),
    single("total_usage_prompt_audio_seconds", "Total Usage Prompt Audio Seconds", "sec"),
];

/// The server reports the output audio, for an endpoint that accepts audio and produces tokens.
pub const USAGE_AUDIO_OUT: Group = &[
    tokens("usage_completion_audio_tokens", "Usage Completion Audio Tokens"),
    total("total_usage_completion_audio_tokens", "Total Usage Completion Audio Tokens"),
];

/// The server reports how much of a prediction it could use.
pub const USAGE_PREDICTION: Group = &[
    tokens("usage_accepted_prediction_tokens", "Usage Accepted Prediction Tokens"),
    tokens("usage_rejected_prediction_tokens", "Usage Rejected Prediction Tokens"),
    total("total_usage_accepted_prediction_tokens", "Total Usage Accepted Prediction Tokens"),
    total("total_usage_rejected_prediction_tokens", "Total Usage Rejected Prediction Tokens"),
];

/// The request contains images, for an endpoint that accepts or produces them.
pub const IMAGES: Group = &[
    count("num_images", "Number of Images", "images"),
    number("image_throughput", "Image Throughput", "images/sec").main(860),
    number("image_latency", "Image Latency", "ms/image").main(861),
];

/// The request contains audio of known length, for an endpoint that accepts it.
pub const AUDIO: Group = &[
    number("audio_duration", "Audio Duration", "sec"),
    number("rtfx", "Inverse Real-Time Factor (RTFx)", "ratio").main(850),
];

/// The endpoint produces video, and the server reports its cost.
pub const VIDEO: Group = &[
    time("video_inference_time", "Video Inference Time").main(310),
    number("video_peak_memory", "Video Peak Memory", "MB").main(311),
];

/// The run has service level objectives.
pub const GOODPUT: Group = &[
    single("good_request_count", "Good Request Count", "requests").in_records(),
    single("good_request_fraction", "Good Request Fraction", "ratio"),
];

/// It has, and a request succeeded, so there is a duration.
pub const GOODPUT_RATE: Group = &[single("goodput", "Goodput", "requests/sec").main(1000)];

/// A request failed.
pub const FAILED: Group = &[
    single("error_request_count", "Error Request Count", "requests"),
    single("context_overflow_count", "Context Overflow Count", "requests"),
];

/// A request failed, and its input was counted.
pub const FAILED_INPUT: Group = &[
    tokens("error_isl", "Error Input Sequence Length").of_failed(),
    total("total_error_isl", "Total Error Input Sequence Length"),
];

/// A request failed, and others did not.
pub const ADJUSTED: Group = &[adjusted("adj_request_latency", "Request Latency (error-adjusted)", 2)];

/// A request failed, and others were streamed.
pub const ADJUSTED_STREAM: Group = &[
    adjusted("adj_time_to_first_token", "Time to First Token (error-adjusted)", 1),
    adjusted("adj_decode_duration", "Decode Duration (error-adjusted)", 3),
    adjusted("adj_inter_token_latency", "Inter Token Latency (error-adjusted)", 4),
];

/// The network round trip is known.
pub const NETWORK: Group = &[
    less_network("network_rtt", "Network RTT").main(305),
    less_network("network_adjusted_request_latency", "Network-Adjusted Request Latency").main(301),
];

/// It is known, and tokens were streamed.
pub const NETWORK_STREAM: Group = &[
    less_network("network_adjusted_time_to_first_token", "Network-Adjusted Time to First Token").main(101),
    less_network("network_adjusted_time_to_first_output_token", "Network-Adjusted Time to First Output Token")
        .main(211),
];

/// A schedule was replayed.
pub const REPLAY: Group = &[
    single("replay_sched_lag_p50", "Replay Schedule Lag p50", "ms"),
    single("replay_sched_lag_p90", "Replay Schedule Lag p90", "ms"),
    single("replay_sched_lag_p99", "Replay Schedule Lag p99", "ms"),
    single("replay_sched_degraded", "Replay Schedule Degraded", "count"),
];

/// The server reports the acceptance of its drafts.
pub const SPEC_DECODE: Group = &[
    number("spec_decode_acceptance_length", "Acceptance Length", "ratio").at(SpecDecode, 5000),
    single("spec_decode_token_weighted_acceptance_length", "Token-Weighted Acceptance Length", "ratio")
        .at(SpecDecode, 5010),
    number("spec_decode_draft_acceptance_rate", "Draft Acceptance Rate", "%").at(SpecDecode, 5020),
    single("spec_decode_overall_draft_acceptance_rate", "Overall Draft Acceptance Rate", "%").at(SpecDecode, 5025),
    number("spec_decode_accepted_per_verified", "Accepted per Verified", "ratio").at(SpecDecode, 5030),
    count("spec_decode_steps", "Spec Decode Steps", "count").at(SpecDecode, 5040),
    tokens("spec_decode_accepted_draft_tokens", "Accepted Draft Tokens"),
    tokens("spec_decode_draft_tokens", "Draft Tokens"),
    single("total_spec_decode_steps", "Total Spec Decode Steps", "count"),
    total("total_accepted_draft_tokens", "Total Accepted Draft Tokens"),
    total("total_draft_tokens", "Total Draft Tokens"),
];

/// GPUs reported power and energy: the last rows of the main table. Eight reported power, seven energy.
pub const GPU: Group = &[
    single("total_gpu_power", "Total GPU Power (8 GPUs)", "W").main(20_001),
    single("total_gpu_energy", "Total GPU Energy (7 GPUs)", "J").main(20_002),
    single("energy_per_user", "Energy per User (7 GPUs)", "joules/user").main(20_004),
];

/// The same, and tokens were produced.
pub const GPU_TOKENS: Group =
    &[single("output_tokens_per_joule", "Output Tokens per Joule (7 GPUs)", "tokens/J").main(20_003)];

/// The same metrics for the GPUs of one vendor, and more of them: only in files.
macro_rules! vendor {
    ($vendor:literal) => {
        &[
            single(concat!($vendor, "_total_gpu_power"), "Total GPU Power", "W"),
            single(concat!($vendor, "_average_gpu_power"), "Average GPU Power", "W"),
            single(concat!($vendor, "_total_gpu_energy"), "Total GPU Energy", "J"),
            single(concat!($vendor, "_energy_per_total_token"), "Energy per Total Token", "mJ/token"),
            single(concat!($vendor, "_energy_per_request"), "Energy per Request", "joules/request"),
            single(concat!($vendor, "_energy_per_user"), "Energy per User", "joules/user"),
            single(concat!($vendor, "_energy_delay_product"), "Energy Delay Product", "J*s"),
            single(concat!($vendor, "_performance_per_watt"), "Performance per Watt", "requests/sec/W"),
        ]
    };
}

/// The same, if tokens were produced.
macro_rules! vendor_tokens {
    ($vendor:literal) => {
        &[
            single(concat!($vendor, "_output_tokens_per_joule"), "Output Tokens per Joule", "tokens/J"),
            single(concat!($vendor, "_energy_per_output_token"), "Energy per Output Token", "mJ/token"),
            single(concat!($vendor, "_output_tps_per_watt"), "Output Tokens per Second per Watt", "tokens/sec/W"),
        ]
    };
}

/// The same, if there were objectives.
macro_rules! vendor_goodput {
    ($vendor:literal) => {
        &[single(concat!($vendor, "_goodput_per_watt"), "Goodput per Watt", "good-req/s/W")]
    };
}

pub const NVIDIA: Group = vendor!("nvidia");
pub const NVIDIA_TOKENS: Group = vendor_tokens!("nvidia");
pub const NVIDIA_GOODPUT: Group = vendor_goodput!("nvidia");
pub const AMD: Group = vendor!("amd");
pub const AMD_TOKENS: Group = vendor_tokens!("amd");
pub const AMD_GOODPUT: Group = vendor_goodput!("amd");

/// Internal metrics are shown: those of every text endpoint with a requested length.
pub const INTERNAL: Group = &[
    time("credit_drop_latency", "Credit Drop Latency").at(Internal, 1),
    tokens("requested_osl", "Requested OSL").at(Internal, 3),
];

/// Internal metrics are shown, and a schedule was replayed.
pub const INTERNAL_REPLAY: Group =
    &[count("replay_send_schedule_offset", "Replay Send Schedule Offset", "ns").at(Internal, 2)];

/// Experimental metrics are shown, and tokens with reasoning among them were streamed.
pub const EXPERIMENTAL: Group = &[
    single("overall_thinking_efficiency", "Overall Thinking Efficiency", "ratio").at(Experimental, 1),
    time("stream_prefill_latency", "Stream Prefill Latency").at(Experimental, 2),
    time("stream_setup_latency", "Stream Setup Latency").at(Experimental, 3),
    number("thinking_efficiency", "Thinking Efficiency", "ratio").at(Experimental, 4),
];

/// Every whole run has it.
pub const JUDGED: Group = &[single("verdict", "Verdict", "count")];

/// Every group that a run can show without settings for hidden metrics.
pub const EVERY_GROUP: &[Group] = &[
    SENT,
    JUDGED,
    DUE,
    DUE_STREAM,
    CURVES,
    ANSWERED,
    HTTP,
    INPUT,
    OUTPUT,
    OUTPUT_TEXT,
    REASONING,
    ASKED_LENGTH,
    STREAM,
    STREAM_OUTPUT,
    STREAM_GAPS,
    USAGE_PROMPT,
    PROMPT_DIFFERENCE,
    USAGE_COMPLETION,
    COMPLETION_DIFFERENCE,
    USAGE_REASONING,
    REASONING_DIFFERENCE,
    USAGE_CACHE_READ,
    USAGE_CACHE_SHARE,
    USAGE_CACHE_WRITE,
    USAGE_TOOLS,
    USAGE_AUDIO,
    USAGE_AUDIO_OUT,
    USAGE_PREDICTION,
    IMAGES,
    AUDIO,
    VIDEO,
    GOODPUT,
    GOODPUT_RATE,
    FAILED,
    FAILED_INPUT,
    ADJUSTED,
    ADJUSTED_STREAM,
    NETWORK,
    NETWORK_STREAM,
    REPLAY,
    SPEC_DECODE,
    GPU,
    GPU_TOKENS,
    NVIDIA,
    NVIDIA_TOKENS,
    NVIDIA_GOODPUT,
    AMD,
    AMD_TOKENS,
    AMD_GOODPUT,
];
