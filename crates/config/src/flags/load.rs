//! Flags: load generator, scenario, warmup, user-centric rate, request cancellation.

use super::Status::*;
use super::*;

pub(super) const LOAD_GENERATOR: &[Flag] = &[
    Flag {
        name: "--benchmark-duration",
        kind: Kind::FloatOrList(ANY),
        path: "phases[profiling].duration",
        status: Acts,
        summary: "Stop sending after this many seconds; list sweeps",
        ..BASE
    },
    Flag {
        name: "--benchmark-grace-period",
        kind: Kind::Float(at_least(0.0)),
        default: Some("30.0"),
        path: "phases[profiling].grace_period",
        status: Acts,
        summary: "Seconds to wait for in-flight requests after the duration",
        ..BASE
    },
    Flag {
        name: "--concurrency",
        kind: Kind::IntOrList(ANY),
        path: "phases[profiling].concurrency",
        status: Acts,
        summary: "In-flight request limit; list sweeps",
        ..BASE
    },
    Flag {
        name: "--prefill-concurrency",
        kind: Kind::IntOrList(ANY),
        path: "phases[profiling].prefill_concurrency",
        status: NotYet("its feature does not exist yet"),
        summary: "Limit on requests still before first token; streaming only; list sweeps",
        ..BASE
    },
    Flag {
        name: "--request-rate",
        kind: Kind::FloatOrList(ANY),
        path: "phases[profiling].rate",
        status: NotYet("its feature does not exist yet"),
        summary: "Target requests per second; list sweeps",
        ..BASE
    },
    Flag {
        name: "--arrival-pattern",
        kind: Kind::Choice(&["concurrency_burst", "constant", "gamma", "poisson"]),
        aliases: &["--request-rate-mode"],
        default: Some("poisson"),
        path: "phases[profiling].type",
        status: NotYet("its feature does not exist yet"),
        summary: "Inter-arrival law used with a rate",
        ..BASE
    },
    Flag {
        name: "--arrival-smoothness",
        kind: Kind::Float(more_than(0.0)),
        aliases: &["--vllm-burstiness"],
        path: "phases[profiling].smoothness",
        status: NotYet("its feature does not exist yet"),
        summary: "Gamma shape; alone it selects gamma arrivals",
        ..BASE
    },
    Flag {
        name: "--request-count",
        kind: Kind::IntOrList(ANY),
        aliases: &["--num-requests"],
        path: "phases[profiling].requests",
        status: Acts,
        summary: "Stop after this many requests; list sweeps",
        ..BASE
    },
    Flag {
        name: "--concurrency-ramp-duration",
        kind: Kind::Float(more_than(0.0)),
        path: "phases[profiling].concurrency_ramp.duration",
        status: NotYet("its feature does not exist yet"),
        summary: "Seconds to ramp concurrency up",
        ..BASE
    },
    Flag {
        name: "--prefill-concurrency-ramp-duration",
        kind: Kind::Float(more_than(0.0)),
        path: "phases[profiling].prefill_ramp.duration",
        status: NotYet("its feature does not exist yet"),
        summary: "Seconds to ramp prefill concurrency up",
        ..BASE
    },
    Flag {
        name: "--request-rate-ramp-duration",
        kind: Kind::Float(more_than(0.0)),
        path: "phases[profiling].rate_ramp.duration",
        status: NotYet("its feature does not exist yet"),
        summary: "Seconds to ramp the rate up",
        ..BASE
    },
    Flag {
        name: "--request-rate-series",
        kind: Kind::Path,
        path: "phases[profiling].rate_series",
        status: NotYet("its feature does not exist yet"),
        summary: "JSON file with a piecewise-linear rate schedule",
        ..BASE
    },
    Flag {
        name: "--failed-request-threshold",
        kind: Kind::Float(between(0.0, true, 1.0, true)),
        path: "phases[*].failed_request_threshold",
        status: NotYet("its feature does not exist yet"),
        summary: "Abort when the failed share passes this ratio",
        ..BASE
    },
    Flag {
        name: "--trajectory-start-min-ratio",
        kind: Kind::Float(between(0.0, true, 1.0, true)),
        default: Some("0.25"),
        path: "phases[*].trajectory_start_min_ratio",
        status: NotYet("its feature does not exist yet"),
        summary: "Agentic replay: earliest random start within a trace",
        ..BASE
    },
    Flag {
        name: "--trajectory-start-max-ratio",
        kind: Kind::Float(between(0.0, true, 1.0, true)),
        default: Some("0.75"),
        path: "phases[*].trajectory_start_max_ratio",
        status: NotYet("its feature does not exist yet"),
        summary: "Agentic replay: latest random start within a trace",
        ..BASE
    },
    Flag {
        name: "--burst-phase-starts",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        path: "phases[*].burst_phase_starts",
        status: NotYet("its feature does not exist yet"),
        summary: "Agentic replay: start all lanes together at phase boundaries",
        ..BASE
    },
    Flag {
        name: "--trace-idle-gap-cap-seconds",
        kind: Kind::Float(at_least(0.0)),
        path: "datasets[0].trace_idle_gap_cap_seconds",
        status: NotYet("its feature does not exist yet"),
        summary: "Weka replay: cap idle gaps inside a trace",
        ..BASE
    },
    Flag {
        name: "--system-idle-gap-cap-seconds",
        kind: Kind::Float(at_least(0.0)),
        path: "phases[*].system_idle_gap_cap_seconds",
        status: NotYet("its feature does not exist yet"),
        summary: "Agentic replay: cap the time the whole system may idle",
        ..BASE
    },
];

pub(super) const SCENARIO: &[Flag] = &[
    Flag {
        name: "--scenario",
        kind: Kind::Text,
        path: "scenario",
        status: NotYet("its feature does not exist yet"),
        summary: "Named lock of benchmark invariants",
        ..BASE
    },
    Flag {
        name: "--unsafe-override",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        path: "unsafe_override",
        status: NotYet("its feature does not exist yet"),
        summary: "Turn scenario lock errors into warnings",
        ..BASE
    },
];

pub(super) const WARMUP: &[Flag] = &[
    Flag {
        name: "--warmup-request-count",
        kind: Kind::Int(more_than(0.0)),
        aliases: &["--num-warmup-requests"],
        path: "phases[warmup].requests",
        status: Acts,
        summary: "Warmup stop: requests; enables warmup",
        ..BASE
    },
    Flag {
        name: "--warmup-duration",
        kind: Kind::Float(more_than(0.0)),
        path: "phases[warmup].duration",
        status: NotYet("its feature does not exist yet"),
        summary: "Warmup stop: seconds; enables warmup",
        ..BASE
    },
    Flag {
        name: "--agentic-cache-warmup-duration",
        kind: Kind::Float(more_than(0.0)),
        path: "phases[*].agentic_cache_warmup_duration",
        status: NotYet("its feature does not exist yet"),
        summary: "Agentic replay: extra cache-pressure warmup seconds",
        ..BASE
    },
    Flag {
        name: "--agentic-warmup-grace-period",
        kind: Kind::Float(at_least(0.0)),
        path: "phases[*].agentic_warmup_grace_period",
        status: NotYet("its feature does not exist yet"),
        summary: "Agentic replay: wait for priming requests, seconds",
        ..BASE
    },
    Flag {
        name: "--num-warmup-sessions",
        kind: Kind::Int(at_least(1.0)),
        path: "phases[warmup].sessions",
        status: NotYet("its feature does not exist yet"),
        summary: "Warmup stop: conversations; enables warmup",
        ..BASE
    },
    Flag {
        name: "--warmup-concurrency",
        kind: Kind::Int(at_least(1.0)),
        path: "phases[warmup].concurrency",
        status: NotYet("its feature does not exist yet"),
        summary: "Warmup concurrency; inherits --concurrency when scalar",
        ..BASE
    },
    Flag {
        name: "--warmup-prefill-concurrency",
        kind: Kind::Int(at_least(1.0)),
        path: "phases[warmup].prefill_concurrency",
        status: NotYet("its feature does not exist yet"),
        summary: "Warmup prefill limit; inherits the main one",
        ..BASE
    },
    Flag {
        name: "--warmup-request-rate",
        kind: Kind::Float(more_than(0.0)),
        path: "phases[warmup].rate",
        status: NotYet("its feature does not exist yet"),
        summary: "Warmup rate; inherits --request-rate",
        ..BASE
    },
    Flag {
        name: "--warmup-arrival-pattern",
        kind: Kind::Choice(&["concurrency_burst", "constant", "gamma", "poisson"]),
        path: "phases[warmup].type",
        status: NotYet("its feature does not exist yet"),
        summary: "Warmup arrival law; inherits --arrival-pattern",
        ..BASE
    },
    Flag {
        name: "--warmup-grace-period",
        kind: Kind::Float(at_least(0.0)),
        path: "phases[warmup].grace_period",
        status: NotYet("its feature does not exist yet"),
        summary: "Warmup drain seconds; needs --warmup-duration",
        ..BASE
    },
    Flag {
        name: "--warmup-concurrency-ramp-duration",
        kind: Kind::Float(more_than(0.0)),
        path: "phases[warmup].concurrency_ramp.duration",
        status: NotYet("its feature does not exist yet"),
        summary: "Warmup concurrency ramp seconds",
        ..BASE
    },
    Flag {
        name: "--warmup-prefill-concurrency-ramp-duration",
        kind: Kind::Float(more_than(0.0)),
        path: "phases[warmup].prefill_ramp.duration",
        status: NotYet("its feature does not exist yet"),
        summary: "Warmup prefill ramp seconds",
        ..BASE
    },
    Flag {
        name: "--warmup-request-rate-ramp-duration",
        kind: Kind::Float(more_than(0.0)),
        path: "phases[warmup].rate_ramp.duration",
        status: NotYet("its feature does not exist yet"),
        summary: "Warmup rate ramp seconds",
        ..BASE
    },
];

pub(super) const USER_CENTRIC_RATE: &[Flag] = &[
    Flag {
        name: "--user-centric-rate",
        kind: Kind::Float(more_than(0.0)),
        path: "phases[profiling].rate",
        status: NotYet("its feature does not exist yet"),
        summary: "Global rate shared by simulated users; selects user-centric mode",
        ..BASE
    },
    Flag {
        name: "--num-users",
        kind: Kind::IntOrList(ANY),
        path: "phases[profiling].users",
        status: NotYet("its feature does not exist yet"),
        summary: "Number of simulated users; list sweeps",
        ..BASE
    },
];

pub(super) const REQUEST_CANCELLATION: &[Flag] = &[
    Flag {
        name: "--request-cancellation-rate",
        kind: Kind::Float(between(0.0, false, 100.0, true)),
        path: "phases[profiling].cancellation.rate",
        status: NotYet("its feature does not exist yet"),
        summary: "Percent of requests to cancel",
        ..BASE
    },
    Flag {
        name: "--request-cancellation-delay",
        kind: Kind::Float(at_least(0.0)),
        path: "phases[profiling].cancellation.delay",
        status: NotYet("its feature does not exist yet"),
        summary: "Seconds after full send before cancelling",
        ..BASE
    },
];
