//! Variables: Dataset, HTTP.

use super::variable::Status::*;
use super::variable::Variable;
use super::variable::VariableType::*;
use crate::range::{at_least, between};

// One row per variable.
#[rustfmt::skip]
pub(super) static VARIABLES: &[Variable] = &[
    Variable { name: "AIPERF_DATASET_CONFIGURATION_TIMEOUT", kind: Float(between(1.0, true, 100000.0, true)), default: "300.0", status: NotYet, about: "Limit for preparing the dataset. Must be ≤ SERVICE_PROFILE_CONFIGURE_TIMEOUT" },
    Variable { name: "AIPERF_DATASET_BASETEN_SESSION_COLUMN", kind: Choice(&["provided_session_id", "poor_man_session_id"]), default: "provided_session_id", status: Acts, about: "Which Baseten session column is preferred; the other is used if it is missing" },
    Variable { name: "AIPERF_DATASET_PREPARED_BYTES", kind: Int(at_least(0.0)), default: "1073741824", status: Acts, about: "Request bodies encoded before the run starts, in bytes; at most a quarter of the free memory. The others are encoded during the run, ahead of use" },
    Variable { name: "AIPERF_DATASET_PUBLIC_DATASET_TIMEOUT", kind: Float(between(1.0, true, 100000.0, true)), default: "300.0", status: Acts, about: "Seconds that fetching the files of a public dataset may take" },
    Variable { name: "AIPERF_DATASET_MEDIA_DOWNLOAD_TIMEOUT", kind: Float(between(1.0, true, 100000.0, true)), default: "60.0", status: Acts, about: "Limit per media URL fetched for inlining" },
    Variable { name: "AIPERF_DATASET_MEDIA_DOWNLOAD_MAX_CONCURRENCY", kind: Int(between(1.0, true, 100.0, true)), default: "10", status: Acts, about: "Parallel media fetches" },
    Variable { name: "AIPERF_DATASET_INLINE_RECORDS_WARN_THRESHOLD", kind: Int(at_least(1.0)), default: "500", status: Acts, about: "Warn when a YAML dataset has more inline records" },
    Variable { name: "AIPERF_DATASET_TRACELAB_SUBAGENT_JOIN", kind: Bool, default: "true", status: NotYet, about: "Recover subagent links in TraceLab data by time containment" },
    Variable { name: "AIPERF_DATASET_TRACELAB_CODEX_SUBAGENT_JOIN", kind: Bool, default: "true", status: NotYet, about: "Apply that recovery to codex sessions too" },
    Variable { name: "AIPERF_DATASET_TRACELAB_MIN_SPAWN_MS", kind: Int(at_least(0.0)), default: "10000", status: NotYet, about: "Shortest tool call treated as a subagent, ms" },
    Variable { name: "AIPERF_DATASET_WEKA_SPLIT_FLATTENED_AGENTS", kind: Bool, default: "true", status: NotYet, about: "Split flat request lists into agent conversations by shared prefix" },
    Variable { name: "AIPERF_DATASET_WEKA_TOOL_SHAPED_MESSAGES", kind: Bool, default: "false", status: NotYet, about: "Send tool-result turns as tool messages" },
    Variable { name: "AIPERF_DATASET_WEKA_SEAM_MAX_GAP_SECONDS", kind: Float(at_least(0.0)), default: "3600.0", status: NotYet, about: "Gap beyond which a low-overlap continuation starts a new conversation" },
    Variable { name: "AIPERF_DATASET_WEKA_SEAM_MIN_OVERLAP_RATIO", kind: Float(between(0.0, true, 1.0, true)), default: "0.5", status: NotYet, about: "Prefix overlap required past that gap" },
    Variable { name: "AIPERF_DATASET_WEKA_AUX_MAX_REQUESTS", kind: Int(at_least(0.0)), default: "1", status: NotYet, about: "Longest chain that may count as an auxiliary call; 0 = off" },
    Variable { name: "AIPERF_DATASET_WEKA_AUX_ISL_RATIO", kind: Float(at_least(0.0)), default: "0.1", status: NotYet, about: "Auxiliary if first input < max(floor, ratio × main peak input)" },
    Variable { name: "AIPERF_DATASET_WEKA_AUX_ISL_FLOOR", kind: Int(at_least(0.0)), default: "16384", status: NotYet, about: "Floor of that test, tokens" },
    Variable { name: "AIPERF_DATASET_WEKA_AUX_CROSS_MODEL", kind: Bool, default: "true", status: NotYet, about: "A short chain on another model is auxiliary at any size" },
    Variable { name: "AIPERF_DATASET_WEKA_AUX_REDUCTION_OSL_MAX", kind: Int(at_least(0.0)), default: "4000", status: NotYet, about: "Output bound of the large-in/short-out auxiliary test; 0 = off" },
    Variable { name: "AIPERF_DATASET_WEKA_AUX_REDUCTION_RATIO", kind: Float(at_least(0.0)), default: "20.0", status: NotYet, about: "Input/output ratio of that test" },
    Variable { name: "AIPERF_DATASET_WEKA_WORKER_GROUP_MIN", kind: Int(at_least(0.0)), default: "3", status: NotYet, about: "Concurrent siblings needed to form a worker group; 0 = off" },
    Variable { name: "AIPERF_HTTP_CONNECTION_LIMIT", kind: Int(between(1.0, true, 65000.0, true)), default: "unset", status: Acts, about: "Maximum number of concurrent connections of the process (over HTTP/2: requests); unset = as many as the concurrency needs" },
    Variable { name: "AIPERF_HTTP_KEEPALIVE_TIMEOUT", kind: Int(between(0.0, true, 10000.0, true)), default: "300", status: Acts, about: "Idle seconds before a pooled connection closes" },
    Variable { name: "AIPERF_HTTP_SO_RCVBUF", kind: Int(between(1024.0, true, 1073741824.0, true)), default: "10485760", status: Acts, about: "Receive buffer bytes" },
    Variable { name: "AIPERF_HTTP_SO_SNDBUF", kind: Int(between(1024.0, true, 1073741824.0, true)), default: "10485760", status: Acts, about: "Send buffer bytes" },
    Variable { name: "AIPERF_HTTP_TCP_KEEPCNT", kind: Int(between(1.0, true, 100.0, true)), default: "1", status: Acts, about: "Keepalive probes before giving up" },
    Variable { name: "AIPERF_HTTP_TCP_KEEPIDLE", kind: Int(between(1.0, true, 100000.0, true)), default: "60", status: Acts, about: "Idle seconds before probing" },
    Variable { name: "AIPERF_HTTP_TCP_KEEPINTVL", kind: Int(between(1.0, true, 100000.0, true)), default: "30", status: Acts, about: "Seconds between probes" },
    Variable { name: "AIPERF_HTTP_TCP_USER_TIMEOUT", kind: Int(between(1.0, true, 1000000.0, true)), default: "30000", status: Acts, about: "TCP user timeout, ms (Linux)" },
    Variable { name: "AIPERF_HTTP_TTL_DNS_CACHE", kind: Int(between(0.0, true, 1000000.0, true)), default: "300", status: Acts, about: "Seconds for which a resolved name is cached; 0 = forever" },
    Variable { name: "AIPERF_HTTP_FORCE_CLOSE", kind: Bool, default: "false", status: Acts, about: "Close each connection after its request" },
    Variable { name: "AIPERF_HTTP_USE_DNS_CACHE", kind: Bool, default: "true", status: Acts, about: "Cache resolved names; false resolves them for every connection" },
    Variable { name: "AIPERF_HTTP_SSL_VERIFY", kind: Bool, default: "true", status: Acts, about: "Verify TLS certificates, by the system's authorities or those of SSL_CERT_FILE" },
    Variable { name: "AIPERF_HTTP_REQUEST_CANCELLATION_SEND_TIMEOUT", kind: Float(between(10.0, true, 3600.0, true)), default: "300.0", status: Acts, about: "Longest wait for a request to be fully sent before cancelling it, if --request-timeout-seconds is 0" },
    Variable { name: "AIPERF_HTTP_IP_VERSION", kind: Choice(&["4", "6", "auto"]), default: "4", status: Acts, about: "Address family: 4, 6 or auto; a host without such an address uses the other family" },
    Variable { name: "AIPERF_HTTP_TRUST_ENV", kind: Bool, default: "false", status: Acts, about: "Honour HTTP_PROXY, HTTPS_PROXY, NO_PROXY and the credentials of a netrc file" },
    Variable { name: "AIPERF_HTTP_X_SESSION_ID_FROM_CORRELATION_ID", kind: Bool, default: "false", status: Acts, about: "Also send X-Session-ID with the correlation id" },
    Variable { name: "AIPERF_HTTP_X_SESSION_AFFINITY_FROM_CORRELATION_ID", kind: Bool, default: "true", status: Acts, about: "Also send X-Session-Affinity with the correlation id" },
    Variable { name: "AIPERF_HTTP_X_SMG_ROUTING_KEY_FROM_CORRELATION_ID", kind: Bool, default: "false", status: Acts, about: "Also send X-SMG-Routing-Key" },
    Variable { name: "AIPERF_HTTP_X_DYNAMO_SESSION_ID_FROM_CORRELATION_ID", kind: Bool, default: "false", status: Acts, about: "Also send X-Dynamo-Session-ID" },
    Variable { name: "AIPERF_HTTP_METRICS_SCRAPE_READ_TIMEOUT", kind: Float(between(1.0, true, 3600.0, true)), default: "30.0", status: Acts, about: "Read limit of metric scrapes" },
    Variable { name: "AIPERF_HTTP_VIDEO_POLL_INTERVAL", kind: Float(between(0.001, true, 10.0, true)), default: "0.1", status: Acts, about: "Seconds between video job polls" },
    Variable { name: "AIPERF_HTTP_ANSWER_MEMORY_BYTES", kind: Int(at_least(0.0)), default: "1073741824", status: Acts, about: "Memory for all responses in flight, in bytes; a response below 1 MiB does not count. A response beyond it fails with ResponseMemoryExceeded" },
];
