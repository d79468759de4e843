//! Records, runs and the metrics of both.

use crate::Found::Case;
use serde_json::Value;

kinds! {
    RECORD_METRICS = ["metrics"], ["metrics"],
        Case(|case| case["record"].is_object() && case["expected"]["metrics_base"].is_object());
    /// The metrics of a record as its line has them.
    EXPORTED_RECORD = ["metrics"], ["metrics"],
        Case(|case| case["record"].is_object() && case["expected_exported"].is_object());
    /// The records of a run, and its metrics.
    RUN_METRICS = ["metrics"], ["metrics"], Case(is_run);
    /// The same, with the metrics of each time slice.
    SLICED_RUN = ["metrics"], ["metrics"], Case(|case| is_run(case) && case["expected"]["timeslices"].is_array());
    STATISTICS = ["metrics"], ["metrics"], Case(|case| case["values"].is_array() && case["expected"].is_object());
    /// Power and energy of GPUs, and the metrics of each vendor.
    POWER = ["metrics"], ["metrics"], Case(|case| case["gpus"].is_object() && case["expected"].is_array());
    /// The text of objectives.
    OBJECTIVES = ["metrics"], ["metrics"],
        Case(|case| case["input"].is_string() && (case["error"].is_string() || case["expected"].is_object()));
    /// A metric of the reference: its name, its units, its place.
    LISTED_METRIC = ["metrics"], ["metrics"], Case(|case| case["tag"].is_string() && case["conditions"].is_array());
    /// The metrics of several runs, and each statistic over them.
    COMPARED_RUNS = ["metrics"], ["campaign"],
        Case(|case| case["runs"].is_array() && case["confidence_level"].is_number());
    /// The metrics of a run in progress, and the block that it prints.
    BLOCK_OF_METRICS = ["metrics"], ["report"], Case(|case| {
        case["phase"]["total_records"].is_u64() && case["metrics"].is_object() && case["expected"].is_string()
    });
    /// A histogram of accepted drafts, and the line it makes.
    LINE_OF_DRAFTS = ["metrics"], ["report"], Case(|case| {
        case["histogram"].is_object() && (case["expected"].is_string() || case["expected"].is_null())
    });
}

fn is_run(case: &Value) -> bool {
    case["records"].is_array() && case["expected"]["metrics"].is_object()
}
