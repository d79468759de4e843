//! Phases: their flags, their timelines, their limits and rates.

use super::all_have;
use crate::Found::{Case, List};
use crate::has;

kinds! {
    /// Phases and a server, and what happened when.
    TIMELINE = ["load"], ["schedule"],
        Case(|case| case["config"]["phases"].is_array() && case["expected"]["timeline"].is_array());
    /// Records of a phase, some of them failed, and whether they end the run.
    FAILURE_THRESHOLD = ["load"], ["schedule"],
        Case(|case| case["expected"]["abort"].is_boolean() && case["error_records"].is_u64());
    /// Slots taken and given back under a limit that changes.
    CHANGING_LIMIT = ["load"], ["schedule"], Case(|case| case["initial_limit"].is_u64() && case["ops"].is_array());
    /// Users at the start of a phase.
    USER_GRID = ["load"], ["schedule"],
        Case(|case| case["users"].is_u64() && case["expected"]["initial"].is_array());
    /// A ramp, and the values that it takes.
    RAMP = ["load"], ["schedule"],
        Case(|case| case["expected_set_calls"].is_array() && case["duration_s"].is_number());
    /// A series, and its rate at a time.
    RATE_SERIES = ["load"], ["schedule"], Case(|case| case["op"] == "value_at");
    /// The text of a series, and its points.
    RATE_SERIES_TEXT = ["load"], ["config"], Case(|case| case["op"] == "load_json");
    /// Flags, and the phases that they give.
    FLAGS_OF_PHASES = ["load"], ["config"], List(|cases| all_have(cases, &["flags", "expected"]));
    /// The text of a duration, and its seconds.
    DURATION_TEXT = ["load"], ["config"], List(|cases| {
        all_have(cases, &["input", "expected"]) && cases.iter().all(|case| case.get("flags").is_none())
    });
    /// The delay of a turn, under a cap.
    CAPPED_DELAY = ["load"], ["dataset"], Case(|case| has(case, "delay_ms") && has(case, "cap_s"));
}
