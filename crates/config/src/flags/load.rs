//! Flags: Load Generator, Scenario, Warmup, User-Centric Rate, Request Cancellation.

use super::flag::Status::{Acts, NotYet};
use super::flag::{FlagType, Takes, To, WhenAbsent, flags};
use crate::choice::Choice;
use crate::range::between;
use crate::sections::phases::{ArrivalPattern, DEFAULT_CONCURRENCY, GRACE_SECONDS, LEAST_REQUESTS};

flags! { LOAD_GENERATOR_FLAGS:
    BENCHMARK_DURATION {
        name: "--benchmark-duration",
        kind: FlagType::FloatOrList,
        value_name: Some("SECONDS"),
        to: To::Profiling("duration"),
        status: Acts,
        summary: "Stop sending after this many seconds; list sweeps",
    }
    BENCHMARK_GRACE_PERIOD {
        name: "--benchmark-grace-period",
        kind: FlagType::Float,
        value_name: Some("SECONDS"),
        default: Some(WhenAbsent::Made(|| format!("{GRACE_SECONDS} with {}", BENCHMARK_DURATION.name))),
        to: To::Profiling("grace_period"),
        status: Acts,
        summary: "Seconds to wait for in-flight requests after the duration",
    }
    CONCURRENCY {
        name: "--concurrency",
        kind: FlagType::IntOrList,
        default: Some(WhenAbsent::Made(|| format!("{DEFAULT_CONCURRENCY} without a rate, no limit with one"))),
        to: To::Profiling("concurrency"),
        status: Acts,
        summary: "Concurrent sessions; a conversation keeps its slot until its last turn has finished; list sweeps",
    }
    PREFILL_CONCURRENCY {
        name: "--prefill-concurrency",
        kind: FlagType::IntOrList,
        to: To::Profiling("prefill_concurrency"),
        status: Acts,
        summary: "Limit on requests still before first token; streaming only; list sweeps",
    }
    REQUEST_RATE {
        name: "--request-rate",
        kind: FlagType::FloatOrList,
        to: To::Profiling("rate"),
        status: Acts,
        summary: "Requests sent per second, whether or not earlier ones have finished; list sweeps",
    }
    ARRIVAL_PATTERN {
        name: "--arrival-pattern",
        kind: FlagType::Choice(ArrivalPattern::NAMES),
        aliases: &["--request-rate-mode"],
        default: Some(WhenAbsent::Made(|| ArrivalPattern::DEFAULT.name().to_owned())),
        to: To::Rule("phases.profiling.type"),
        status: Acts,
        summary: "Arrival pattern of requests at a rate",
    }
    ARRIVAL_SMOOTHNESS {
        name: "--arrival-smoothness",
        kind: FlagType::Float,
        aliases: &["--vllm-burstiness"],
        to: To::Profiling("smoothness"),
        status: Acts,
        summary: "Shape of gamma arrivals, which it selects: 1 is poisson, larger is more even",
    }
    REQUEST_COUNT {
        name: "--request-count",
        kind: FlagType::IntOrList,
        aliases: &["--num-requests"],
        default: Some(WhenAbsent::Made(|| format!("twice the concurrent sessions or users, at least {LEAST_REQUESTS}"))),
        to: To::Profiling("requests"),
        status: Acts,
        summary: "Stop after this many requests; list sweeps",
    }
    CONCURRENCY_RAMP_DURATION {
        name: "--concurrency-ramp-duration",
        kind: FlagType::Float,
        value_name: Some("SECONDS"),
        to: To::Profiling("concurrency_ramp.duration"),
        status: Acts,
        summary: "Seconds in which concurrency ramps up from 1",
    }
    PREFILL_CONCURRENCY_RAMP_DURATION {
        name: "--prefill-concurrency-ramp-duration",
        kind: FlagType::Float,
        value_name: Some("SECONDS"),
        to: To::Profiling("prefill_ramp.duration"),
        status: Acts,
        summary: "Seconds in which prefill concurrency ramps up from 1",
    }
    REQUEST_RATE_RAMP_DURATION {
        name: "--request-rate-ramp-duration",
        kind: FlagType::Float,
        value_name: Some("SECONDS"),
        to: To::Profiling("rate_ramp.duration"),
        status: Acts,
        summary: "Seconds in which the rate ramps up",
    }
    REQUEST_RATE_SERIES {
        name: "--request-rate-series",
        kind: FlagType::Path,
        value_name: Some("FILE"),
        to: To::Rule("phases.profiling.rate_series"),
        status: Acts,
        summary: "JSON file of rates over time: a list of {time_s, qps}, linear between them",
    }
    FAILED_REQUEST_THRESHOLD {
        name: "--failed-request-threshold",
        kind: FlagType::Float,
        to: To::EveryPhase("failed_request_threshold"),
    }
    TRAJECTORY_START_MIN_RATIO {
        name: "--trajectory-start-min-ratio",
        kind: FlagType::Float,
        to: To::EveryPhase("trajectory_start_min_ratio"),
        status: NotYet("agentic traces are not replayed"),
    }
    TRAJECTORY_START_MAX_RATIO {
        name: "--trajectory-start-max-ratio",
        kind: FlagType::Float,
        to: To::EveryPhase("trajectory_start_max_ratio"),
        status: NotYet("agentic traces are not replayed"),
    }
    BURST_PHASE_STARTS {
        name: "--burst-phase-starts",
        kind: FlagType::Bool,
        takes: Takes::Nothing,
        to: To::EveryPhase("burst_phase_starts"),
        status: NotYet("agentic traces are not replayed"),
    }
    TRACE_IDLE_GAP_CAP_SECONDS {
        name: "--trace-idle-gap-cap-seconds",
        kind: FlagType::Float,
        value_name: Some("SECONDS"),
        to: To::Dataset("trace_idle_gap_cap_seconds"),
        status: Acts,
    }
    SYSTEM_IDLE_GAP_CAP_SECONDS {
        name: "--system-idle-gap-cap-seconds",
        kind: FlagType::Float,
        value_name: Some("SECONDS"),
        to: To::EveryPhase("system_idle_gap_cap_seconds"),
        status: NotYet("agentic traces are not replayed"),
    }
}

flags! { SCENARIO_FLAGS:
    SCENARIO {
        name: "--scenario",
        kind: FlagType::Text,
        to: To::Key("scenario"),
        status: NotYet("agentic traces are not replayed"),
    }
    UNSAFE_OVERRIDE {
        name: "--unsafe-override",
        kind: FlagType::Bool,
        takes: Takes::Nothing,
        to: To::Key("unsafe_override"),
        status: NotYet("agentic traces are not replayed"),
    }
}

flags! { WARMUP_FLAGS:
    WARMUP_REQUEST_COUNT {
        name: "--warmup-request-count",
        kind: FlagType::Int,
        aliases: &["--num-warmup-requests"],
        to: To::Warmup("requests"),
        status: Acts,
        summary: "Warmup stop: requests; enables warmup",
    }
    WARMUP_DURATION {
        name: "--warmup-duration",
        kind: FlagType::Float,
        value_name: Some("SECONDS"),
        to: To::Warmup("duration"),
        status: Acts,
        summary: "Warmup stop: seconds; enables warmup",
    }
    AGENTIC_CACHE_WARMUP_DURATION {
        name: "--agentic-cache-warmup-duration",
        kind: FlagType::Float,
        value_name: Some("SECONDS"),
        to: To::EveryPhase("agentic_cache_warmup_duration"),
        status: NotYet("agentic traces are not replayed"),
    }
    AGENTIC_WARMUP_GRACE_PERIOD {
        name: "--agentic-warmup-grace-period",
        kind: FlagType::Float,
        value_name: Some("SECONDS"),
        to: To::EveryPhase("agentic_warmup_grace_period"),
        status: NotYet("agentic traces are not replayed"),
    }
    NUM_WARMUP_SESSIONS {
        name: "--num-warmup-sessions",
        kind: FlagType::Int,
        to: To::Warmup("sessions"),
        status: Acts,
        summary: "Warmup stop: conversations; enables warmup",
    }
    WARMUP_CONCURRENCY {
        name: "--warmup-concurrency",
        kind: FlagType::Int,
        to: To::Warmup("concurrency"),
        status: Acts,
        summary: "Warmup concurrency; inherits --concurrency when scalar",
    }
    WARMUP_PREFILL_CONCURRENCY {
        name: "--warmup-prefill-concurrency",
        kind: FlagType::Int,
        to: To::Warmup("prefill_concurrency"),
        status: Acts,
        summary: "Warmup prefill limit; inherits the main one",
    }
    WARMUP_REQUEST_RATE {
        name: "--warmup-request-rate",
        kind: FlagType::Float,
        to: To::Warmup("rate"),
        status: Acts,
        summary: "Warmup requests per second; inherits --request-rate",
    }
    WARMUP_ARRIVAL_PATTERN {
        name: "--warmup-arrival-pattern",
        kind: FlagType::Choice(ArrivalPattern::NAMES),
        to: To::Rule("phases.warmup.type"),
        status: Acts,
        summary: "Arrival pattern of warmup requests; inherits --arrival-pattern",
    }
    WARMUP_GRACE_PERIOD {
        name: "--warmup-grace-period",
        kind: FlagType::Float,
        value_name: Some("SECONDS"),
        to: To::Warmup("grace_period"),
        status: Acts,
        summary: "Warmup drain seconds; needs --warmup-duration",
    }
    WARMUP_CONCURRENCY_RAMP_DURATION {
        name: "--warmup-concurrency-ramp-duration",
        kind: FlagType::Float,
        value_name: Some("SECONDS"),
        to: To::Warmup("concurrency_ramp.duration"),
        status: Acts,
        summary: "Warmup concurrency ramp, seconds; inherits the main one",
    }
    WARMUP_PREFILL_CONCURRENCY_RAMP_DURATION {
        name: "--warmup-prefill-concurrency-ramp-duration",
        kind: FlagType::Float,
        value_name: Some("SECONDS"),
        to: To::Warmup("prefill_ramp.duration"),
        status: Acts,
        summary: "Warmup prefill ramp, seconds; inherits the main one",
    }
    WARMUP_REQUEST_RATE_RAMP_DURATION {
        name: "--warmup-request-rate-ramp-duration",
        kind: FlagType::Float,
        value_name: Some("SECONDS"),
        to: To::Warmup("rate_ramp.duration"),
        status: Acts,
        summary: "Warmup rate ramp, seconds; inherits the main one",
    }
}

flags! { USER_CENTRIC_RATE_FLAGS:
    USER_CENTRIC_RATE {
        name: "--user-centric-rate",
        kind: FlagType::Float,
        to: To::Profiling("rate"),
        status: Acts,
        summary: "Turns per second of all users together; each user sends its next turn after a fixed interval",
    }
    NUM_USERS {
        name: "--num-users",
        kind: FlagType::IntOrList,
        to: To::Profiling("users"),
        status: Acts,
        summary: "Concurrent users, with --user-centric-rate; list sweeps",
    }
}

flags! { REQUEST_CANCELLATION_FLAGS:
    REQUEST_CANCELLATION_RATE {
        name: "--request-cancellation-rate",
        kind: FlagType::Float,
        range: Some(between(0.0, false, 100.0, true)),
        to: To::Profiling("cancellation.rate"),
        status: Acts,
    }
    REQUEST_CANCELLATION_DELAY {
        name: "--request-cancellation-delay",
        kind: FlagType::Float,
        to: To::Profiling("cancellation.delay"),
        status: Acts,
    }
}
