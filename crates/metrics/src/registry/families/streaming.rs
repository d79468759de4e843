//! Metrics of a stream: when tokens arrived, and how fast.

use crate::facts::{Fact, Facts};
use crate::registry::flags::Flags;
use crate::registry::metric::Compute::{Floats, Gaps, Ints};
use crate::registry::metric::Short::{Bare, WithUnit};
use crate::registry::metric::{ConsoleGroup, Metric};
use crate::registry::rules::Rules;
use crate::registry::unit::Unit;

use super::requests::request_latency;
use super::tokens::{input_sequence_length, output_tokens};
use super::{NS_PER_SEC, int};

pub(super) const METRICS: &[Metric] = &[
    Metric::new("time_to_first_token", "Time to First Token", Unit::Ns, Ints(time_to_first_token))
        .short("TTFT", WithUnit)
        .shown_in(Unit::Ms)
        .flags(&[Flags::STREAMING_ONLY, Flags::PRODUCES_TOKENS_ONLY, Flags::PERCENTILE_INCLUDES_FAILED_REQUESTS])
        .group(ConsoleGroup::Default)
        .order(100)
        .facts(&[Fact::First])
        .formula("content_responses[0].perf_ns - start_perf_ns")
        .absent("no content response; first content earlier than start"),
    Metric::new("time_to_second_token", "Time to Second Token", Unit::Ns, Ints(time_to_second_token))
        .short("TTST", WithUnit)
        .shown_in(Unit::Ms)
        .flags(&[Flags::STREAMING_ONLY, Flags::PRODUCES_TOKENS_ONLY])
        .group(ConsoleGroup::Default)
        .order(200)
        .facts(&[Fact::SecondGap])
        .formula("content_responses[1].perf_ns - content_responses[0].perf_ns")
        .absent("fewer than 2 content responses; second earlier than first"),
    Metric::new("time_to_first_output_token", "Time to First Output Token", Unit::Ns, Ints(time_to_first_output_token))
        .short("TTFO", WithUnit)
        .shown_in(Unit::Ms)
        .flags(&[Flags::STREAMING_ONLY, Flags::PRODUCES_TOKENS_ONLY, Flags::SUPPORTS_REASONING])
        .group(ConsoleGroup::Default)
        .order(210)
        .facts(&[Fact::FirstOutput])
        .formula("perf_ns of first content response carrying non-reasoning output (text non-empty, or reasoning chunk with non-empty content, or tool-call text non-empty) - start_perf_ns")
        .absent("no such response, or it is earlier than the start"),
    Metric::new("inter_token_latency", "Inter Token Latency", Unit::Ns, Floats(inter_token_latency))
        .short("ITL", WithUnit)
        .shown_in(Unit::Ms)
        .flags(&[Flags::STREAMING_ONLY, Flags::PRODUCES_TOKENS_ONLY, Flags::PERCENTILE_INCLUDES_FAILED_REQUESTS])
        .group(ConsoleGroup::Default)
        .order(400)
        .needs(&["output_sequence_length", "request_latency", "time_to_first_token"])
        .facts(&[Fact::Chunks, Fact::FirstChunkTokens])
        .formula("(request_latency - time_to_first_token) / (OSL - 1); only with --per-chunk-usage the divisor is OSL - first_content_chunk_tokens when that count is > 0 and < OSL")
        .absent("OSL < 2; fewer than 2 content responses; the last content is stamped before the first"),
    Metric::new("inter_chunk_latency", "Inter Chunk Latency", Unit::Ns, Gaps)
        .short("ICL", WithUnit)
        .shown_in(Unit::Ms)
        .flags(&[Flags::STREAMING_ONLY, Flags::PRODUCES_TOKENS_ONLY])
        .facts(&[Fact::Chunks, Fact::Status])
        .formula("list of consecutive differences of content_responses[].perf_ns")
        .absent("fewer than 2 content responses; any difference negative"),
    Metric::new("decode_duration", "Decode Duration", Unit::Ns, Ints(decode_duration))
        .short("Decode Duration", WithUnit)
        .shown_in(Unit::Ms)
        .flags(&[Flags::STREAMING_ONLY, Flags::PRODUCES_TOKENS_ONLY, Flags::PERCENTILE_INCLUDES_FAILED_REQUESTS])
        .group(ConsoleGroup::Default)
        .order(350)
        .needs(&["request_latency", "time_to_first_token"])
        .formula("request_latency - time_to_first_token")
        .absent("negative result"),
    Metric::new("output_token_throughput_per_user", "Output Token Throughput Per User", Unit::TokensPerSecPerUser, Floats(output_token_throughput_per_user))
        .short("Output TPS/User", Bare)
        .flags(&[Flags::STREAMING_ONLY, Flags::PRODUCES_TOKENS_ONLY, Flags::LARGER_IS_BETTER])
        .group(ConsoleGroup::Default)
        .order(500)
        .needs(&["inter_token_latency"])
        .formula("1 / (inter_token_latency in seconds)")
        .absent("inter_token_latency == 0 or missing"),
    Metric::new("prefill_throughput_per_user", "Prefill Throughput Per User", Unit::TokensPerSecPerUser, Floats(prefill_throughput_per_user))
        .short("Prefill TPS/User", Bare)
        .flags(&[Flags::STREAMING_ONLY, Flags::PRODUCES_TOKENS_ONLY, Flags::LARGER_IS_BETTER, Flags::TOKENIZES_INPUT_ONLY])
        .needs(&["input_sequence_length", "time_to_first_token"])
        .formula("input_sequence_length / (time_to_first_token in seconds)")
        .absent("time_to_first_token == 0 or missing"),
    Metric::new("stream_setup_latency", "Stream Setup Latency", Unit::Ns, Ints(stream_setup_latency))
        .shown_in(Unit::Ms)
        .flags(&[Flags::STREAMING_ONLY, Flags::EXPERIMENTAL])
        .group(ConsoleGroup::Default)
        .facts(&[Fact::Head])
        .formula("recv_start_perf_ns - start_perf_ns")
        .absent("either null or 0; negative"),
    Metric::new("stream_prefill_latency", "Stream Prefill Latency", Unit::Ns, Ints(stream_prefill_latency))
        .shown_in(Unit::Ms)
        .flags(&[Flags::STREAMING_ONLY, Flags::PRODUCES_TOKENS_ONLY, Flags::EXPERIMENTAL])
        .group(ConsoleGroup::Default)
        .needs(&["stream_setup_latency", "time_to_first_token"])
        .formula("time_to_first_token - stream_setup_latency"),
];

pub(super) fn time_to_first_token(f: &Facts, _: &Rules) -> Option<i64> {
    int(f.get(Fact::First))
}

fn time_to_second_token(f: &Facts, _: &Rules) -> Option<i64> {
    int(f.get(Fact::SecondGap))
}

fn time_to_first_output_token(f: &Facts, _: &Rules) -> Option<i64> {
    int(f.get(Fact::FirstOutput))
}

pub(super) fn decode_duration(f: &Facts, rules: &Rules) -> Option<i64> {
    let duration = request_latency(f, rules)? - time_to_first_token(f, rules)?;
    (duration >= 0).then_some(duration)
}

/// A stream of one chunk has no time between tokens, however many tokens the chunk carries.
pub(super) fn inter_token_latency(f: &Facts, rules: &Rules) -> Option<f64> {
    let divisor = token_divisor(f)?;
    f.get(Fact::Chunks).filter(|&chunks| chunks >= 2)?;
    Some(decode_duration(f, rules)? as f64 / divisor as f64)
}

/// The tokens after those of the first chunk: the divisor of an inter-token latency.
pub(crate) fn token_divisor(f: &Facts) -> Option<i64> {
    let tokens = output_tokens(f).filter(|&tokens| tokens >= 2)?;
    let first = int(f.get(Fact::FirstChunkTokens)).filter(|&first| first > 0 && first < tokens).unwrap_or(1);
    Some(tokens - first)
}

fn output_token_throughput_per_user(f: &Facts, rules: &Rules) -> Option<f64> {
    let latency = inter_token_latency(f, rules)?;
    (latency > 0.0).then(|| 1.0 / (latency / NS_PER_SEC))
}

fn prefill_throughput_per_user(f: &Facts, rules: &Rules) -> Option<f64> {
    let first = time_to_first_token(f, rules).filter(|&first| first > 0)?;
    Some(input_sequence_length(f, rules)? as f64 / (first as f64 / NS_PER_SEC))
}

fn stream_setup_latency(f: &Facts, _: &Rules) -> Option<i64> {
    int(f.get(Fact::Head))
}

fn stream_prefill_latency(f: &Facts, rules: &Rules) -> Option<i64> {
    Some(time_to_first_token(f, rules)? - stream_setup_latency(f, rules)?)
}
