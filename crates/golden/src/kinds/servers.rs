//! What servers send: metrics pages and responses.

use crate::Found::{Case, Whole};
use crate::{GoldenFile, has};

kinds! {
    METRICS_PAGE = ["server-metrics"], ["observe"],
        Case(|case| has(case, "content_type") && has(case, "text") && has(case, "expected.outcome"));
    /// The unit of a metric, by its name and description.
    INFERRED_UNIT = ["server-metrics"], ["observe"],
        Case(|case| has(case, "name") && has(case, "description") && has(case, "unit"));
    /// Percentiles of a histogram.
    ESTIMATES = ["server-metrics"], ["observe"],
        Case(|case| case["buckets"].is_object() && has(case, "learned") && has(case, "sum"));
    HISTOGRAM_SERIES = ["server-metrics"], ["observe"], Case(|case| case["snapshots"].is_array());
    SCALAR_SERIES = ["server-metrics"], ["observe"],
        Case(|case| case["samples"].is_array() && case["type"].is_string());
    /// Where slices of time begin and end.
    SLICE_BOUNDARIES = ["server-metrics"], ["observe"], Case(|case| {
        has(case, "slice_duration_s") && case["expected"].is_array() && has(case, "start_ns")
    });
    /// The pages of a whole run, and the files that contain their statistics.
    WATCHED_RUN = ["server-metrics"], ["observe", "report"],
        Whole(|file| file.json["scrapes"].is_array() && file.json["texts"].is_array());
    METRICS_URL = ["server-metrics"], ["plan"],
        Case(|case| case["kind"].is_string() && has(case, "input") && has(case, "expected"));
    /// A metrics page of a real server.
    CAPTURED_PAGE = ["real-vllm-0.32"], ["observe", "sim"],
        Whole(|file| is_captured(file) && file.text.contains("\n# HELP "));
    /// A response of a real server.
    CAPTURED_RESPONSE = ["real-vllm-0.32"], ["dialect", "sim"],
        Whole(|file| is_captured(file) && !file.text.contains("\n# HELP "));
}

fn is_captured(file: &GoldenFile) -> bool {
    file.text.starts_with("HTTP/1.1 ")
}
