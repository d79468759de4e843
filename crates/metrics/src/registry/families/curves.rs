//! Time-weighted curves: the load at each instant.

use crate::curves::curve::Curve;
use crate::registry::metric::Compute::{Active, Effective};
use crate::registry::metric::{ConsoleGroup, Metric};
use crate::registry::unit::Unit;

pub(super) const METRICS: &[Metric] = &[
    Metric::new(
        "active_decode_throughput",
        "Active Decode Throughput",
        Unit::TokensPerSec,
        Active(Curve::DecodeThroughput),
    )
    .group(ConsoleGroup::Active)
    .formula("effective curve restricted to time where the matching concurrency > 0")
    .absent("no record in the phase"),
    Metric::new(
        "active_decode_throughput_per_user",
        "Active Decode Throughput Per User",
        Unit::TokensPerSecPerUser,
        Active(Curve::DecodePerUser),
    )
    .group(ConsoleGroup::Active)
    .formula("effective curve restricted to time where the matching concurrency > 0")
    .absent("no record in the phase"),
    Metric::new(
        "active_prefill_throughput",
        "Active Prefill Throughput",
        Unit::TokensPerSec,
        Active(Curve::PrefillThroughput),
    )
    .group(ConsoleGroup::Active)
    .formula("effective curve restricted to time where the matching concurrency > 0")
    .absent("no record in the phase"),
    Metric::new(
        "active_prefill_throughput_per_user",
        "Active Prefill Throughput Per User",
        Unit::TokensPerSecPerUser,
        Active(Curve::PrefillPerUser),
    )
    .group(ConsoleGroup::Active)
    .formula("effective curve restricted to time where the matching concurrency > 0")
    .absent("no record in the phase"),
    Metric::new(
        "active_total_throughput",
        "Active Total Throughput",
        Unit::TokensPerSec,
        Active(Curve::TotalThroughput),
    )
    .group(ConsoleGroup::Active)
    .formula("effective curve restricted to time where the matching concurrency > 0")
    .absent("no record in the phase"),
    Metric::new("effective_concurrency", "Effective Concurrency", Unit::Requests, Effective(Curve::Concurrency))
        .group(ConsoleGroup::Effective)
        .formula("time-weighted in-flight requests")
        .absent("no record in the phase"),
    Metric::new(
        "effective_decode_concurrency",
        "Effective Decode Concurrency",
        Unit::Requests,
        Effective(Curve::DecodeConcurrency),
    )
    .group(ConsoleGroup::Effective)
    .formula("time-weighted requests in decode")
    .absent("no record in the phase"),
    Metric::new(
        "effective_decode_throughput",
        "Effective Decode Throughput",
        Unit::TokensPerSec,
        Effective(Curve::DecodeThroughput),
    )
    .group(ConsoleGroup::Effective)
    .formula("time-weighted decode token rate")
    .absent("no record in the phase"),
    Metric::new(
        "effective_decode_throughput_per_user",
        "Effective Decode Throughput Per User",
        Unit::TokensPerSecPerUser,
        Effective(Curve::DecodePerUser),
    )
    .group(ConsoleGroup::Effective)
    .formula("decode rate / decode concurrency")
    .absent("no record in the phase"),
    Metric::new(
        "effective_prefill_concurrency",
        "Effective Prefill Concurrency",
        Unit::Requests,
        Effective(Curve::PrefillConcurrency),
    )
    .group(ConsoleGroup::Effective)
    .formula("time-weighted requests in prefill")
    .absent("no record in the phase"),
    Metric::new(
        "effective_prefill_throughput",
        "Effective Prefill Throughput",
        Unit::TokensPerSec,
        Effective(Curve::PrefillThroughput),
    )
    .group(ConsoleGroup::Effective)
    .formula("time-weighted prefill token rate")
    .absent("no record in the phase"),
    Metric::new(
        "effective_prefill_throughput_per_user",
        "Effective Prefill Throughput Per User",
        Unit::TokensPerSecPerUser,
        Effective(Curve::PrefillPerUser),
    )
    .group(ConsoleGroup::Effective)
    .formula("prefill rate / prefill concurrency")
    .absent("no record in the phase"),
    Metric::new(
        "effective_total_throughput",
        "Effective Total Throughput",
        Unit::TokensPerSec,
        Effective(Curve::TotalThroughput),
    )
    .group(ConsoleGroup::Effective)
    .formula("time-weighted prefill + decode token rate")
    .absent("no record in the phase"),
    Metric::new("tokens_in_flight", "Tokens In Flight", Unit::Tokens, Effective(Curve::TokensInFlight))
        .group(ConsoleGroup::Effective)
        .formula("time-weighted input + generated tokens of in-flight requests")
        .absent("no record in the phase"),
];
