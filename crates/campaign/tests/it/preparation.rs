//! What is checked before anything is sent.

use aiperf_campaign::Campaign;
use aiperf_engine::Stop;
use aiperf_plan::{DatasetPlan, FileFormat, FilePlan};
use aiperf_types::EndpointKind;
use std::sync::Arc;

#[test]
fn a_conversation_that_cannot_be_built_is_bad_input_and_leaves_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let mut plan = aiperf_testkit::plan::plan("http://127.0.0.1:1");
    plan.artifacts.dir = directory.path().join("run");
    // Synthetic conversations have no images to edit.
    plan.endpoint.kind = EndpointKind::ImageEdit;
    plan.endpoint.body = plan.endpoint.kind.traits().body;
    plan.endpoint.streaming = false;
    plan.tokenizer.name = Some("builtin".into());
    let campaign = Campaign::new("1", Stop::default(), Arc::default());
    let error = campaign.prepare(plan).map(|_| ()).unwrap_err();
    assert!(error.is_input() && error.to_string().starts_with("conversation session_000000: "), "{error}");
    assert!(!directory.path().join("run/inputs.json").exists());
}

#[test]
fn a_run_whose_inputs_cannot_be_written_does_not_start_and_reports_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let mut plan = aiperf_testkit::plan::plan("http://127.0.0.1:1");
    plan.artifacts.dir = directory.path().to_owned();
    plan.tokenizer.name = Some("builtin".into());
    // A disk that is full from the first byte on.
    let beside = directory.path().join(format!(".inputs.json.{}.tmp", std::process::id()));
    std::os::unix::fs::symlink("/dev/full", &beside).unwrap();
    let campaign = Campaign::new("1", Stop::default(), Arc::default());
    let error = campaign.prepare(plan).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("inputs.json") && error.contains("No space left"), "{error}");
    assert!(!beside.exists() && !directory.path().join("inputs.json").exists());
}

#[test]
fn secrets_in_rows_are_not_written() {
    let directory = tempfile::tempdir().unwrap();
    let rows = directory.path().join("d.jsonl");
    let row =
        r#"{"text":"a","image":"https://u:TOPSECRET1@h/x.png?token=TOPSECRET2","extra":{"api_key":"TOPSECRET3"}}"#;
    std::fs::write(&rows, row).unwrap();
    let mut plan = aiperf_testkit::plan::plan("http://127.0.0.1:1");
    plan.artifacts.dir = directory.path().join("run");
    plan.dataset = DatasetPlan::File(FilePlan::new(rows, FileFormat::SingleTurn));
    plan.tokenizer.name = Some("builtin".into());
    let campaign = Campaign::new("1", Stop::default(), Arc::default());
    campaign.prepare(plan).map(|_| ()).unwrap();
    let inputs = std::fs::read_to_string(directory.path().join("run/inputs.json")).unwrap();
    assert!(inputs.contains("x.png?token=<redacted>") && inputs.contains("\"api_key\""), "{inputs}");
    assert!(!inputs.contains("TOPSECRET"), "{inputs}");
}
