//! Distributions adjusted for failures and for the network.

use crate::registry::flags::Flags;
use crate::registry::metric::Compute::{ErrorAdjusted, NetworkAdjusted, NetworkRtt};
use crate::registry::metric::Short::WithUnit;
use crate::registry::metric::{ConsoleGroup, Metric};
use crate::registry::unit::Unit;

pub(super) const METRICS: &[Metric] = &[
    Metric::new("adj_request_latency", "Request Latency (error-adjusted)", Unit::Ns, ErrorAdjusted("request_latency"))
        .group(ConsoleGroup::Default)
        .shown_in(Unit::Ms)
        .needs(&["request_latency"])
        .formula(
            "distribution of request_latency with one +inf sample appended per failed record; nearest-rank percentiles",
        )
        .absent("no failed record in scope, or request_latency absent"),
    Metric::new(
        "adj_time_to_first_token",
        "Time to First Token (error-adjusted)",
        Unit::Ns,
        ErrorAdjusted("time_to_first_token"),
    )
    .group(ConsoleGroup::Default)
    .shown_in(Unit::Ms)
    .flags(&[Flags::STREAMING_TOKENS_ONLY])
    .needs(&["time_to_first_token"])
    .formula(
        "distribution of time_to_first_token with one +inf sample appended per failed record; nearest-rank percentiles",
    )
    .absent("no failed record in scope, or time_to_first_token absent"),
    Metric::new(
        "adj_inter_token_latency",
        "Inter Token Latency (error-adjusted)",
        Unit::Ns,
        ErrorAdjusted("inter_token_latency"),
    )
    .group(ConsoleGroup::Default)
    .shown_in(Unit::Ms)
    .flags(&[Flags::STREAMING_TOKENS_ONLY])
    .needs(&["inter_token_latency"])
    .formula(
        "distribution of inter_token_latency with one +inf sample appended per failed record; nearest-rank percentiles",
    )
    .absent("no failed record in scope, or inter_token_latency absent"),
    Metric::new("adj_decode_duration", "Decode Duration (error-adjusted)", Unit::Ns, ErrorAdjusted("decode_duration"))
        .group(ConsoleGroup::Default)
        .shown_in(Unit::Ms)
        .flags(&[Flags::STREAMING_TOKENS_ONLY])
        .needs(&["decode_duration"])
        .formula(
            "distribution of decode_duration with one +inf sample appended per failed record; nearest-rank percentiles",
        )
        .absent("no failed record in scope, or decode_duration absent"),
    Metric::new("network_rtt", "Network RTT", Unit::Ns, NetworkRtt)
        .short("Net RTT", WithUnit)
        .shown_in(Unit::Ms)
        .flags(&[Flags::NO_INDIVIDUAL_RECORDS])
        .group(ConsoleGroup::Default)
        .order(305)
        .formula("mean round-trip time (single value repeated in every stat; std 0)")
        .absent("calibration off or no RTT"),
    Metric::new(
        "network_adjusted_request_latency",
        "Network-Adjusted Request Latency",
        Unit::Ns,
        NetworkAdjusted("request_latency"),
    )
    .short("Net-Adj Req Latency", WithUnit)
    .shown_in(Unit::Ms)
    .group(ConsoleGroup::Default)
    .order(301)
    .needs(&["request_latency"])
    .formula("full distribution of max(request_latency - mean_rtt, 0)")
    .absent("network latency calibration off or no RTT; no request_latency values"),
    Metric::new(
        "network_adjusted_time_to_first_token",
        "Network-Adjusted Time to First Token",
        Unit::Ns,
        NetworkAdjusted("time_to_first_token"),
    )
    .short("Net-Adj TTFT", WithUnit)
    .shown_in(Unit::Ms)
    .flags(&[Flags::STREAMING_ONLY, Flags::PRODUCES_TOKENS_ONLY])
    .group(ConsoleGroup::Default)
    .order(101)
    .needs(&["time_to_first_token"])
    .formula("full distribution of max(time_to_first_token - mean_rtt, 0)")
    .absent("network latency calibration off or no RTT; no time_to_first_token values"),
    Metric::new(
        "network_adjusted_time_to_first_output_token",
        "Network-Adjusted Time to First Output Token",
        Unit::Ns,
        NetworkAdjusted("time_to_first_output_token"),
    )
    .short("Net-Adj TTFO", WithUnit)
    .shown_in(Unit::Ms)
    .flags(&[Flags::STREAMING_ONLY, Flags::PRODUCES_TOKENS_ONLY, Flags::SUPPORTS_REASONING])
    .group(ConsoleGroup::Default)
    .order(211)
    .needs(&["time_to_first_output_token"])
    .formula("full distribution of max(time_to_first_output_token - mean_rtt, 0)")
    .absent("network latency calibration off or no RTT; no time_to_first_output_token values"),
];
