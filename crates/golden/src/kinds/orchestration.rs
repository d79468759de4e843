//! Many runs: sweeps, recipes, seeds, and what is made of their results.

use super::all_have;
use crate::Found::{Case, List};
use crate::has;
use serde_json::Value;

kinds! {
    /// Several runs, and each statistic over them.
    ORCHESTRATED_RUNS = ["orchestration"], ["campaign"], Case(|case| {
        let input = &case["input"];
        input["runs"].is_array()
            && input["confidence_level"].is_number()
            && !input["runs"][0]["variation_label"].is_string()
    });
    /// When trials have shown enough.
    CONVERGENCE = ["orchestration"], ["campaign"],
        Case(|case| case["input"]["mode"].is_string() && case["input"]["min_runs"].is_u64());
    /// The test between the last of several runs and all before it.
    TWO_SAMPLE_TEST = ["orchestration"], ["statistics"],
        Case(|case| case["input"]["runs"].is_array() && has(case, "ks_p_value"));
    /// The runs of a sweep, its cells and the best of them.
    SWEEP_ANALYSIS = ["orchestration"], ["campaign"], Case(|case| {
        case["input"]["runs"][0]["variation_values"].is_object()
            && case["expected"]["per_combination_metrics"].is_array()
    });
    /// What is made of a sweep.
    POST_PROCESS = ["orchestration"], ["campaign"],
        Case(|case| case["handler"].is_string() && has(case, "input.aggregate.per_combination_metrics"));
    RECIPE = ["orchestration"], ["config"], List(|cases| all_have(cases, &["input.recipe"]));
    LOG_STEPS = ["orchestration"], ["config"], List(|cases| all_have(cases, &["input.lo", "input.hi", "input.steps"]));
    /// The folder of a run of a sweep.
    VARIATION_FOLDER = ["orchestration"], ["config"],
        List(|cases| all_have(cases, &["input.values", "input.label", "input.index"]));
    /// The runs that a configuration of a sweep gives.
    SWEEP_RUNS = ["orchestration"], ["config"], List(|cases| all_have(cases, &["input.benchmark", "expected"]));
    /// The seed of a run of a sweep.
    RUN_SEED = ["orchestration"], ["config"], List(|cases| {
        cases.iter().all(|case| has(case, "input.root_seed") || has(case, "input.fold_uint32"))
    });
    /// The text of a flag about searches.
    SEARCH_FLAG = ["orchestration"], ["config"], List(|cases| {
        let is_one = |case: &Value| has(case, "expected.ok") || has(case, "expected.error");
        all_have(cases, &["kind", "input"]) && cases.iter().all(is_one)
    });
}
