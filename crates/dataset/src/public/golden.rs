//! Golden data: what the reference makes of rows, kind by kind.

use aiperf_golden::{Area, has};
use serde_json::{Value, json};

use super::exgentic::filters::source_model;
use super::exgentic::messages;
use super::row::{Fault, cell, list};
use super::{first_message, sharegpt, video_question};

/// The kinds of cases that are known here, each with the member that holds what comes out.
const KINDS: &[(&str, &str)] = &[
    ("sharegpt_pairs", "pairs"),
    ("first_user_message", "prompt"),
    ("mmvu_prompt", "prompt"),
    ("valid_sequence", "valid"),
    ("exgentic_messages", "out"),
    ("exgentic_system", "out"),
    ("exgentic_tools", "out"),
    ("exgentic_extra", "out"),
    ("exgentic_model", "out"),
];

fn is_known(case: &Value) -> bool {
    KINDS.iter().any(|(kind, out)| case["kind"] == *kind && (has(case, out) || has(case, "error")))
}

fn found(case: &Value) -> Result<Value, Fault> {
    let cells = |name: &str| list(&cell(case[name].clone())).unwrap_or_default().to_vec();
    let input = &case["input"];
    Ok(match case["kind"].as_str().unwrap() {
        "sharegpt_pairs" => json!(sharegpt::pairs(&cells("conversations"))),
        "first_user_message" => json!(first_message::first_user_message(&cells("messages"), "content")),
        "mmvu_prompt" => {
            let choices = cell(case["row"]["choices"].clone());
            json!(video_question::prompt(case["row"]["question"].as_str().unwrap(), Some(&choices)))
        }
        "valid_sequence" => {
            let tokens = |name: &str| case[name].as_u64().unwrap() as usize;
            json!(sharegpt::is_valid(tokens("prompt_len"), tokens("output_len"), case["skip_min_output"] == true))
        }
        "exgentic_messages" => json!(messages::messages(input)?),
        "exgentic_system" => json!(messages::system(input)?),
        "exgentic_tools" => json!(messages::tools(input)?),
        "exgentic_extra" => json!(messages::extra(input)?),
        "exgentic_model" => json!(source_model(input.as_str().unwrap())),
        other => panic!("{other}"),
    })
}

fn check(case: &Value) {
    let (_, out) = KINDS.iter().find(|(kind, _)| case["kind"] == *kind).unwrap();
    match (found(case), case.get("error")) {
        (Ok(found), None) => assert_eq!(found, case[out]),
        (Err(_), Some(_)) => {}
        (found, wanted) => panic!("{found:?} instead of {wanted:?}"),
    }
}

#[test]
fn golden_public_datasets_give_the_recorded_conversations() {
    let skip = |case: &Value| (!is_known(case)).then(|| format!("{} is of another kind", case["kind"]));
    Area::of(env!("CARGO_MANIFEST_DIR"), "datasets").run_cases("golden public datasets", is_known, skip, check);
}
