//! Cells, tables, panels, names: the parts of what a run shows and writes.

use super::all_have;
use crate::Found::{Case, List};
use crate::has;

kinds! {
    CSV_CELL = ["exports"], ["report"], Case(|case| has(case, "input.value") && has(case, "expected.summary_csv"));
    /// Metrics, and how each file and table shows them.
    RENDERED_METRICS = ["exports"], ["report"],
        Case(|case| has(case, "input.metrics") && has(case, "expected.json_blocks"));
    ERROR_TABLE = ["exports"], ["report"],
        Case(|case| has(&case["input"]["errors"][0], "count") && case["expected"].is_string());
    EXIT_PANEL = ["exports"], ["report"],
        Case(|case| has(&case["input"]["errors"][0], "operation") && case["expected"].is_string());
    /// A histogram of accepted drafts, and the line it makes.
    DRAFTS_LINE = ["exports"], ["report"], Case(|case| {
        let is_step = |step: &String| step.parse::<u32>().is_ok();
        let is_line = |line: &str| line.starts_with("Accepted drafts");
        let steps = case["input"].as_object();
        steps.is_some_and(|steps| steps.keys().all(is_step))
            && (case["expected"].is_null() || case["expected"].as_str().is_some_and(is_line))
    });
    /// How a metric is shown, in a file that lists all of them.
    SHOWN_METRIC = ["exports"], ["report"], Case(|case| has(case, "header") && has(case, "console_group"));
    /// A run in progress, and the block that it prints.
    LIVE_BLOCK = ["exports"], ["report"], Case(|case| has(case, "input.elapsed_s") && case["expected"].is_string());
    /// A number, and its two forms in that block.
    LIVE_NUMBER = ["exports"], ["report"], Case(|case| has(case, "expected.ms") && has(case, "expected.int"));
    /// A length of time, and its forms.
    SHOWN_DURATION = ["exports"], ["report"], Case(|case| has(case, "expected.elapsed") && has(case, "expected.eta"));
    /// A count of bytes, and its text.
    SHOWN_BYTES = ["exports"], ["report"], Case(|case| {
        let is_bytes = |text: &str| text == "--" || text.ends_with('B');
        (case["input"].is_null() || case["input"].is_u64()) && case["expected"].as_str().is_some_and(is_bytes)
    });
    /// Tables and rows of GPUs.
    GPU_TABLES = ["exports"], ["report"], Case(|case| has(case, "input.endpoints") && has(case, "expected.console"));
    /// One statistic over several runs.
    STATISTIC_OF_RUNS = ["exports"], ["campaign"],
        Case(|case| case["input"]["values"].is_array() && case["input"]["confidence_level"].is_number());
    /// Statistics that count failed requests.
    ADJUSTED_STATISTICS = ["exports"], ["metrics"],
        Case(|case| has(case, "input.values") && has(case, "input.errors") && has(case, "expected.count"));
    /// A screen of the dashboard.
    SCREEN = ["exports"], ["aiperf"], Case(|case| has(case, "cols") && has(case, "rows") && case["lines"].is_array());
    /// The name of the folder of a run.
    ARTIFACT_FOLDER = ["exports"], ["config"],
        List(|cases| all_have(cases, &["input.models", "input.endpoint_type", "input.phase"]));
    /// A command line as files show it.
    SHOWN_COMMAND_LINE = ["exports"], ["config"],
        List(|cases| cases.iter().all(|case| case["input"].is_array() && case["expected"].is_string()));
    /// The names of the files of a run.
    FILE_NAMES = ["exports"], ["config"], List(|cases| all_have(cases, &["input.prefix", "expected.csv"]));
    /// The name of a header field, and whether its value is a secret.
    HEADER_NAME = ["exports"], ["config"],
        List(|cases| cases.iter().all(|case| case["input"].is_string() && case["expected"].is_boolean()));
    /// A text without its secrets.
    REDACTED_TEXT = ["exports"], ["config"], List(|cases| {
        cases.iter().all(|case| case["input"].is_string() && case["expected"].is_string())
            && cases.iter().any(|case| case["expected"].as_str().is_some_and(|text| text.contains("<redacted>")))
    });
}
