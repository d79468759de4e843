//! GPUs, and metrics that are sent elsewhere.

use crate::Found::Case;
use crate::has;

kinds! {
    DCGM_PAGE = ["telemetry"], ["observe"], Case(|case| case["input"].is_string() && has(case, "expected.records"));
    /// A page that the official client of Prometheus made.
    CLIENT_PAGE = ["prometheus-client"], ["observe"], Case(|case| case["page"].is_string() && has(case, "gpus"));
    /// A file that names metrics of GPUs.
    GPU_METRICS_FILE = ["telemetry"], ["observe"],
        Case(|case| case["input"].is_string() && has(case, "expected.mapping"));
    /// Samples of one metric, and their statistics.
    GPU_SERIES = ["telemetry"], ["observe"], Case(|case| has(case, "input.snapshots") && has(case, "input.metric"));
    /// The URL of a source, and what tables call it.
    SOURCE_NAME = ["telemetry"], ["observe"], Case(|case| case["name"] == "endpoint_display");
    /// Samples of GPUs, and the metrics of each vendor.
    GPU_SAMPLES = ["telemetry"], ["metrics"], Case(|case| has(case, "input.gpus") && case["expected"].is_array());
    ERROR_TYPE = ["telemetry"], ["metrics"], Case(|case| case["name"] == "error_type");
    /// An instrument of a captured run.
    INSTRUMENT = ["telemetry"], ["metrics"],
        Case(|case| case["name"].is_string() && has(case, "temporality") && has(case, "unit"));
    /// The URL of an exporter of DCGM.
    EXPORTER_URL = ["telemetry"], ["plan"], Case(|case| case["name"] == "dcgm_url");
    /// The GenAI attributes of a run.
    GEN_AI_ATTRIBUTE = ["telemetry"], ["plan"],
        Case(|case| ["provider", "operation_name"].contains(&case["name"].as_str().unwrap_or_default()));
    /// Settings of what is sent by OTLP.
    OTLP_SETTING = ["telemetry"], ["config"],
        Case(|case| ["otel_url", "otel_attrs", "stream"].contains(&case["name"].as_str().unwrap_or_default()));
    /// The metrics of a run as a page for Prometheus.
    PROMETHEUS_PAGE = ["telemetry"], ["aiperf"], Case(|case| {
        has(case, "input.metrics") && has(case, "input.labels") && case["expected"].is_string()
    });
}
