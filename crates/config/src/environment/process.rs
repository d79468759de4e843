//! Variables: Accuracy, AgentX, API key, APIServer, Chat, Compression, CLIRunner, Dag, Endpoint, Developer, Logging,
//! Service, Timing, Tokenizer, UI, Worker.

use super::variable::Status::*;
use super::variable::Variable;
use super::variable::VariableType::*;
use crate::range::{at_least, between, more_than};

// One row per variable.
#[rustfmt::skip]
pub(super) static VARIABLES: &[Variable] = &[
    Variable { name: "AIPERF_ACCURACY_CANCEL_RESULT_WAIT_SEC", kind: Float(at_least(0.0)), default: "5.0", status: NotYet, about: "How long a cancelled run waits for the accuracy summary before exporting; 0 = no wait. Finite" },
    Variable { name: "AIPERF_ACCURACY_LCB_GRADE_TIMEOUT_MAX_S", kind: Float(more_than(0.0)), default: "300.0", status: NotYet, about: "Ceiling for grading one LiveCodeBench problem" },
    Variable { name: "AIPERF_ACCURACY_LCB_RELEASE_TAG", kind: Text, default: "v4_v5", status: NotYet, about: "LiveCodeBench snapshot name to load" },
    Variable { name: "AIPERF_AGENTX_CONTEXT_OVERFLOW_SUBSTRINGS", kind: List, default: "[\"context length\", \"maximum context\", \"context_length_exceeded\", \"prompt is too long\"]", status: NotYet, about: "Case-insensitive fragments that mark an error body as context overflow; empty list disables. JSON array" },
    Variable { name: "AIPERF_AGENTX_CONTEXT_OVERFLOW_RATE_LIMIT", kind: Float(between(0.0, true, 1.0, true)), default: "0.01", status: NotYet, about: "Overflow share above which (strictly) a scenario result is invalid" },
    Variable { name: "AIPERF_API_KEY", kind: Secret, default: "unset", status: Acts, about: "The key of --api-key if neither a flag nor a file sets it. Unlike an argument, it is not visible in the process list or the shell history. From a file: --api-key @FILE" },
    Variable { name: "AIPERF_API_SERVER_HOST", kind: Text, default: "127.0.0.1", status: Acts, about: "Name or address that the live API listens on, unless --api-host is given" },
    Variable { name: "AIPERF_API_SERVER_PORT", kind: Int(between(1.0, true, 65535.0, true)), default: "unset", status: Acts, about: "Port of the live API, unless --api-port is given; unset = API off. A port in use is a warning" },
    Variable { name: "AIPERF_API_SERVER_CORS_ORIGINS", kind: List, default: "[]", status: Acts, about: "Origins of other sites whose pages may read the live API, as in [\"https://grafana.example\"]; their hosts may also be what requests call this machine; * = all" },
    Variable { name: "AIPERF_API_SERVER_SHUTDOWN_RESPONSE_DELAY_SECONDS", kind: Float(between(0.0, true, 60.0, true)), default: "0.5", status: Acts, about: "Seconds between the response to POST /api/shutdown and the exit" },
    Variable { name: "AIPERF_API_SERVER_SHUTDOWN_TIMEOUT", kind: Float(between(1.0, true, 300.0, true)), default: "5.0", status: Acts, about: "Seconds that pending responses may take when the live API stops" },
    Variable { name: "AIPERF_API_SERVER_POST_COMPLETE_GRACE", kind: Float(between(0.0, true, 300.0, true)), default: "5.0", status: Acts, about: "Seconds that the live API keeps running after the run, so that clients can read the results; Ctrl-C stops it immediately" },
    Variable { name: "AIPERF_API_SERVER_WEBSOCKET_MAX_CONNECTIONS", kind: Int(between(1.0, true, 100000.0, true)), default: "100", status: Acts, about: "Most WebSocket clients at once" },
    Variable { name: "AIPERF_CHAT_CONNECT_TIMEOUT", kind: Float(more_than(0.0)), default: "10.0", status: NotYet, about: "`chat`: connection limit, seconds" },
    Variable { name: "AIPERF_CHAT_READ_TIMEOUT", kind: Float(more_than(0.0)), default: "300.0", status: NotYet, about: "`chat`: longest gap between stream chunks, seconds; no total limit" },
    Variable { name: "AIPERF_DAG_FAIL_FAST", kind: Bool, default: "false", status: NotYet, about: "One failed DAG child aborts its parent and siblings" },
    Variable { name: "AIPERF_ENDPOINT_FORCE_CONTENT_PARTS", kind: Bool, default: "false", status: Acts, about: "Always send content as an array of parts" },
    Variable { name: "AIPERF_DEV_MODE", kind: Bool, default: "false", status: Acts, about: "Developer mode" },
    Variable { name: "AIPERF_DEV_SHOW_EXPERIMENTAL_METRICS", kind: Bool, default: "false", status: Acts, about: "Show experimental metrics; ignored with a warning without DEV_MODE" },
    Variable { name: "AIPERF_DEV_SHOW_INTERNAL_METRICS", kind: Bool, default: "false", status: Acts, about: "Show internal metrics; ignored with a warning without DEV_MODE" },
    Variable { name: "AIPERF_TIMING_CANCEL_DRAIN_TIMEOUT", kind: Float(between(1.0, true, 300.0, true)), default: "10.0", status: Acts, about: "Seconds to wait for cancelled requests before a phase ends without them" },
    Variable { name: "AIPERF_TIMING_RATE_RAMP_UPDATE_INTERVAL", kind: Float(between(0.01, true, 10.0, true)), default: "0.1", status: Acts, about: "A rate ramp starts at the value of a linear ramp after this many seconds" },
    Variable { name: "AIPERF_TIMING_HIGH_RES_TIMER", kind: Bool, default: "true", status: Always("requests are always sent at absolute deadlines of the system's finest timer"), about: "High-resolution pacing" },
    Variable { name: "AIPERF_TIMING_MAX_CATCHUP_SECONDS", kind: Float(between(0.0, true, 10.0, true)), default: "unset", status: Acts, about: "If sending is late by more than this many seconds, the overdue requests are skipped; unset = all are sent" },
    Variable { name: "AIPERF_TOKENIZER_PRELOAD_TIMEOUT", kind: Float(between(1.0, true, 100000.0, true)), default: "120.0", status: Acts, about: "Limit for fetching a tokenizer; if --tokenizer is not given, the run falls back to builtin" },
    Variable { name: "AIPERF_UI_CONSOLE_EXPORT_WIDTH", kind: Int(between(40.0, true, 10000.0, true)), default: "140", status: Acts, about: "Columns of the final report in the text export, and if stdout is not a terminal" },
    Variable { name: "AIPERF_UI_LOG_REFRESH_INTERVAL", kind: Float(between(0.01, true, 100000.0, true)), default: "0.1", status: Acts, about: "Seconds between two frames of the dashboard, for its log; the smaller of this and AIPERF_UI_SPINNER_REFRESH_RATE is used, within 0.1 and 1" },
    Variable { name: "AIPERF_UI_MIN_UPDATE_PERCENT", kind: Float(between(0.01, true, 100.0, true)), default: "1.0", status: Acts, about: "Progress, in percent, between two redraws of the bar of the simple UI" },
    Variable { name: "AIPERF_UI_REALTIME_METRICS_INTERVAL", kind: Float(between(0.0, true, 1000.0, true)), default: "unset", status: Acts, about: "Seconds between live statistics: in the dashboard's table (unset = 5), otherwise in the log; 0 = none in the log" },
    Variable { name: "AIPERF_UI_REALTIME_METRICS_ENABLED", kind: Bool, default: "false", status: Acts, about: "Live statistics in the log, every 30 s unless another interval is given" },
    Variable { name: "AIPERF_UI_SPINNER_REFRESH_RATE", kind: Float(between(0.1, true, 100.0, true)), default: "0.1", status: Acts, about: "Seconds between two frames of the dashboard, for its spinners; the smaller of this and AIPERF_UI_LOG_REFRESH_INTERVAL is used, within 0.1 and 1" },
    Variable { name: "AIPERF_SERVICE_WARMUP_PROGRESS_LOG_INTERVAL", kind: Float(between(0.0, true, 100000.0, true)), default: "30.0", status: Acts, about: "Seconds between warmup log lines; 0 = off" },
    Variable { name: "AIPERF_SERVICE_PROFILE_CONFIGURE_TIMEOUT", kind: Float(between(1.0, true, 100000.0, true)), default: "600.0", status: NotYet, about: "Limit of the configure step (≥ DATASET_CONFIGURATION_TIMEOUT)" },
    Variable { name: "AIPERF_WORKER_CPU_UTILIZATION_FACTOR", kind: Float(between(0.1, true, 1.0, true)), default: "0.75", status: NotYet, about: "Default workers = max(1, min(int(cpus × factor) − 1, MAX_WORKERS_CAP))" },
    Variable { name: "AIPERF_WORKER_MAX_WORKERS_CAP", kind: Int(between(1.0, true, 10000.0, true)), default: "32", status: NotYet, about: "Absolute worker limit" },
];
