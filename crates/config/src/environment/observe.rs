//! Variables: GPU, ServerMetrics, NetworkLatency, OTel, MLflow, Wandb, Metrics, Record, SearchPlanner.

use super::variable::Status::*;
use super::variable::Variable;
use super::variable::VariableType::*;
use crate::range::{at_least, between};

// One row per variable.
#[rustfmt::skip]
pub(super) static VARIABLES: &[Variable] = &[
    Variable { name: "AIPERF_GPU_COLLECTION_INTERVAL", kind: Float(between(0.01, true, 300.0, true)), default: "0.333", status: Acts, about: "Seconds between GPU samples" },
    Variable { name: "AIPERF_GPU_DEFAULT_DCGM_ENDPOINTS", kind: List, default: "[\"http://localhost:9400/metrics\", \"http://localhost:9401/metrics\"]", status: Acts, about: "DCGM URLs tried by default (comma list or JSON array)" },
    Variable { name: "AIPERF_GPU_FINAL_SCRAPE_GRACE_NS", kind: Int(between(0.0, true, 60000000000.0, true)), default: "666000000", status: Acts, about: "Time after a phase in which a GPU sample still counts for it, ns; about two intervals" },
    Variable { name: "AIPERF_GPU_REACHABILITY_TIMEOUT", kind: Int(between(1.0, true, 300.0, true)), default: "10", status: Acts, about: "Limit of the start-up reachability check, s" },
    Variable { name: "AIPERF_SERVER_METRICS_COLLECTION_FLUSH_PERIOD", kind: Float(between(0.0, true, 30.0, true)), default: "2.0", status: Acts, about: "Seconds of scraping after profiling ends" },
    Variable { name: "AIPERF_SERVER_METRICS_CANCEL_RESULT_WAIT_SEC", kind: Float(at_least(0.0)), default: "5.0", status: Acts, about: "Wait for server metrics on a cancelled run; 0 = none. Finite" },
    Variable { name: "AIPERF_SERVER_METRICS_COLLECTION_INTERVAL", kind: Float(between(0.001, true, 300.0, true)), default: "0.333", status: Acts, about: "Seconds between scrapes" },
    Variable { name: "AIPERF_SERVER_METRICS_SCRAPE_TIMEOUT", kind: Float(between(0.1, true, 600.0, true)), default: "30.0", status: Acts, about: "Limit of one boundary scrape" },
    Variable { name: "AIPERF_SERVER_METRICS_REACHABILITY_TIMEOUT", kind: Int(between(1.0, true, 300.0, true)), default: "10", status: Acts, about: "Limit of the start-up check, s" },
    Variable { name: "AIPERF_SERVER_METRICS_REALTIME_PUBLISH_INTERVAL_SECONDS", kind: Float(between(1e-9, true, 300.0, true)), default: "1.0", status: Acts, about: "Least seconds between live snapshots" },
    Variable { name: "AIPERF_NETWORK_LATENCY_DEFAULT_PROBE_INTERVAL", kind: Float(between(0.001, true, 300.0, true)), default: "1.0", status: Acts, about: "Seconds between round-trip probes, if neither a flag nor a file sets it" },
    Variable { name: "AIPERF_NETWORK_LATENCY_MIN_SAMPLES", kind: Int(between(1.0, true, 100000.0, true)), default: "5", status: Acts, about: "Successful probes that each server should have, topping up at the end" },
    Variable { name: "AIPERF_NETWORK_LATENCY_CONNECT_TIMEOUT", kind: Float(between(0.001, true, 300.0, true)), default: "5.0", status: Acts, about: "Limit of one probe, s" },
    Variable { name: "AIPERF_NETWORK_LATENCY_COMPLETE_TOPUP_TIMEOUT", kind: Float(between(0.0, true, 30.0, true)), default: "3.0", status: Acts, about: "Seconds that the top-up may take, for all servers together" },
    Variable { name: "AIPERF_OTEL_FLUSH_INTERVAL_SECONDS", kind: Float(between(0.1, true, 60.0, true)), default: "2.0", status: Acts, about: "Seconds between exports of metrics by OTLP" },
    Variable { name: "AIPERF_OTEL_REQUEST_TIMEOUT_SECONDS", kind: Float(between(0.1, true, 300.0, true)), default: "10.0", status: Acts, about: "Seconds that one export by OTLP may take; if unset, OTEL_EXPORTER_OTLP_TIMEOUT (milliseconds) is used" },
    Variable { name: "AIPERF_MLFLOW_EXPORT_TIMEOUT_SECONDS", kind: Float(between(1.0, true, 600.0, true)), default: "30.0", status: NotYet, about: "Limit of the MLflow upload" },
    Variable { name: "AIPERF_WANDB_EXPORT_TIMEOUT_SECONDS", kind: Float(between(1.0, true, 600.0, true)), default: "30.0", status: NotYet, about: "Limit of the W&B upload" },
    Variable { name: "AIPERF_METRICS_EXPORT_FLUSH_INTERVAL", kind: Float(between(0.05, true, 60.0, true)), default: "0.2", status: Acts, about: "Seconds between flushes of written records to the operating system, where they survive a crash of the process" },
    Variable { name: "AIPERF_METRICS_USAGE_PCT_DIFF_THRESHOLD", kind: Float(between(0.0, true, 100.0, true)), default: "10.0", status: Acts, about: "Percent gap between server and client token counts that is flagged" },
    Variable { name: "AIPERF_METRICS_OSL_MISMATCH_PCT_THRESHOLD", kind: Float(between(0.0, true, 100.0, true)), default: "5.0", status: Acts, about: "Percent gap between requested and actual output length that is flagged" },
    Variable { name: "AIPERF_METRICS_OSL_MISMATCH_MAX_TOKEN_THRESHOLD", kind: Int(at_least(1.0)), default: "50", status: Acts, about: "Token cap of that gap" },
    Variable { name: "AIPERF_METRICS_TDIGEST_COMPRESSION", kind: Int(between(20.0, true, 10000.0, true)), default: "500", status: NotYet, about: "Sketch size when the tdigest backend is used" },
    Variable { name: "AIPERF_METRICS_LIST_BACKEND", kind: Choice(&["ragged", "tdigest"]), default: "ragged", status: NotYet, about: "Keep list metrics exactly (ragged) or as a sketch (tdigest)" },
    Variable { name: "AIPERF_RECORD_STRIP_PAYLOAD_BYTES", kind: Bool, default: "unset", status: Always("requests share the bodies of their prompts, and a sent body is kept only until its record is written"), about: "Drop request bodies after sending" },
    Variable { name: "AIPERF_SEARCH_PLANNER_SLA_PRECISION_DEFAULT", kind: Float(between(0.0, false, 1.0, false)), default: "0.05", status: NotYet, about: "Relative bracket width at which an SLA search stops" },
    Variable { name: "AIPERF_SEARCH_PLANNER_DEFAULT_WARMUP_SECONDS", kind: Float(between(0.0, false, 100000.0, true)), default: "30.0", status: NotYet, about: "Warmup per probe when none is configured" },
    Variable { name: "AIPERF_SEARCH_PLANNER_FIRST_PROBE_WARMUP_FLOOR", kind: Float(between(0.0, false, 100000.0, true)), default: "60.0", status: NotYet, about: "Least warmup at a value probed for the first time" },
    Variable { name: "AIPERF_SEARCH_PLANNER_REPLICATE_WARMUP_FLOOR", kind: Float(between(0.0, false, 100000.0, true)), default: "15.0", status: NotYet, about: "Least warmup of a repeated probe" },
    Variable { name: "AIPERF_SEARCH_PLANNER_SLA_PRECISION_REQUESTS", kind: Json, default: "{\"tight\": 10000, \"normal\": 1000, \"coarse\": 300}", status: NotYet, about: "Requests per probe for tight/normal/coarse; JSON object, values > 0" },
];
