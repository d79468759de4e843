//! Golden data: what the reference makes of rows, by kind.

use aiperf_golden::kinds::datasets::{PUBLIC_DATASET, PUBLIC_OUTPUTS};
use aiperf_plan::{PublicPlan, PublicSet};
use aiperf_tokenize::Tokenizer;
use aiperf_types::Conversation;
use serde_json::{Value, json};

use super::exgentic::filters::source_model;
use super::exgentic::messages;
use super::first_message::FirstMessage;
use super::kind::{RowReader, With};
use super::row::{Fault, Row, cell, list};
use super::sharegpt;
use super::video_question::VideoQuestion;

fn found(case: &Value) -> Result<Value, Fault> {
    let cells = |name: &str| list(&cell(case[name].clone())).unwrap_or_default().to_vec();
    let input = &case["input"];
    Ok(match case["kind"].as_str().unwrap() {
        "sharegpt_pairs" => json!(sharegpt::pairs(&cells("conversations"))),
        "first_user_message" => {
            let kind = FirstMessage { column: "messages", content: "content", image: "image" };
            json!(prompt_of(&kind, json!({"messages": case["messages"]}))?)
        }
        "mmvu_prompt" => {
            let mut row = case["row"].clone();
            row["video"] = json!("http://h/v.mp4");
            if row.get("question").is_none() {
                row["question"] = Value::Null;
            }
            json!(prompt_of(&VideoQuestion, row)?.unwrap_or_default())
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

/// The prompt of a row, as a run reads it; `None` if the row is dropped.
fn prompt_of(kind: &dyn RowReader, row: Value) -> Result<Option<String>, Fault> {
    let (plan, tokenizer) = (PublicPlan::new(PublicSet::SpecAlMbpp), Tokenizer::builtin());
    let found = kind.read(Row::of_json(row)?, With { plan: &plan, tokenizer: &tokenizer })?;
    let text = |conversation: &Conversation| conversation.turns[0].texts[0].contents[0].clone();
    Ok(found.conversations.first().map(text))
}

/// Whether the case has a non-text value in a member, which the reference converts.
fn holds_no_text(case: &Value) -> bool {
    // A choice of 0 is used here, but dropped by the reference.
    let is_number = |value: &Value| value.as_f64().is_some_and(|number| number != 0.0);
    let is_plain = |value: &Value| value.is_string() || value.is_null() || is_number(value);
    let choices = case["row"]["choices"].as_object().into_iter().flatten().map(|(_, choice)| choice);
    let messages = case["messages"].as_array().into_iter().flatten();
    let members = messages.filter_map(Value::as_object).flatten().map(|(_, member)| member);
    choices.into_iter().any(|choice| !is_plain(choice))
        || members.into_iter().any(|member| !member.is_string() && !member.is_null())
}

fn check(case: &Value) {
    let (_, out) = PUBLIC_OUTPUTS.iter().find(|(kind, _)| case["kind"] == *kind).unwrap();
    match (found(case), case.get("error")) {
        (Ok(found), None) => assert_eq!(found, case[out]),
        (Err(_), Some(_)) => {}
        (found, wanted) => panic!("{found:?} instead of {wanted:?}"),
    }
}

#[test]
fn golden_public_datasets_give_the_recorded_conversations() {
    let skip = |case: &Value| holds_no_text(case).then(|| "a member that holds no text is none".to_owned());
    PUBLIC_DATASET.run(skip, check);
}
