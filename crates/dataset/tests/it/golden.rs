//! Golden data: files and the conversations that the reference makes of them, and cache-busting markers.

use aiperf_dataset::{Dataset, Making, TurnModels};
use aiperf_golden::kinds::datasets::{CACHE_MARKER, INPUT_FILE, MARKER_COST, TRACE_ID};
use aiperf_golden::skips_mark;
use aiperf_plan::additions::{WARMUP_MARKER, base_trace_id, session_marker};
use aiperf_plan::{
    Additions, BatchSizes, CacheBust, DatasetPlan, Distribution, Draws, FileFormat, FilePlan, MarkerKind, ModelPicker,
    ModelSelection,
};
use aiperf_tokenize::Tokenizer;
use aiperf_types::EndpointKind;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::path::Path;

use crate::shown_turn;
use shown_turn::shown_turn;

fn format(case: &Value) -> Option<FileFormat> {
    serde_json::from_value(case["format"].clone()).ok()
}

fn skip(case: &Value) -> Option<String> {
    if format(case).is_none() {
        return Some(format!("{} is a layout that is not tested here", case["format"].as_str().unwrap_or_default()));
    }
    if let Some(reason) = skips_mark(&case["files"]) {
        return Some(reason);
    }
    if has_negative_delay(case) {
        // The reference reads such a file, and refuses it only when it builds its schedule.
        return Some("a delay below 0 is refused in its row".into());
    }
    let synthesis = case["options"]["synthesis"].as_object().into_iter().flatten();
    let reshaped = synthesis.map(|(name, _)| name).find(|name| *name != "max_isl");
    reshaped.map(|name| format!("a capture is sent as it is, without {name}"))
}

fn has_negative_delay(case: &Value) -> bool {
    let is_negative = |turn: &Value| turn["delay"].as_f64().is_some_and(|delay| delay < 0.0);
    let conversations = case["conversations"].as_array().into_iter().flatten();
    conversations.flat_map(|one| one["turns"].as_array().into_iter().flatten()).any(is_negative)
}

/// Whether the endpoint of a case sends a system message; the default endpoint is chat.
fn sends_system(case: &Value) -> bool {
    let named = case["endpoint"].as_str();
    named.and_then(EndpointKind::parse).unwrap_or(EndpointKind::Chat).traits().system_message
}

fn write(folder: &Path, files: &Value) {
    for (name, content) in files.as_object().unwrap() {
        let bytes = match content.as_str() {
            Some(text) => text.as_bytes().to_vec(),
            None => STANDARD.decode(content["base64"].as_str().unwrap()).unwrap(),
        };
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

fn check(case: &Value) {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &case["files"]);
    let mut plan = FilePlan::new(folder.path().join(case["input"].as_str().unwrap()), format(case).unwrap());
    let osl = &case["options"]["osl"];
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    plan.osl = (!osl.is_null())
        .then(|| Distribution::normal(osl.as_f64().unwrap_or_else(|| number(&osl["mean"])), number(&osl["stddev"])));
    let options = &case["options"];
    plan.entries = options["entries"].as_u64();
    plan.max_isl = options["synthesis"]["max_isl"].as_u64();
    let batch = |name: &str| options[format!("{name}_batch_size")].as_u64().map_or(1, |size| size as u32);
    plan.batches =
        BatchSizes { texts: batch("prompt"), images: batch("image"), audios: batch("audio"), videos: batch("video") };
    plan.delay_cap_ms = case["options"]["inter_turn_delay_cap_seconds"].as_f64().map(|seconds| seconds * 1e3);
    plan.hoist_system = sends_system(case);
    let tokenizer = Tokenizer::builtin();
    let system_prompt = case["options"]["system_prompt"].as_str().map(str::to_owned);
    let (additions, draws) = (Additions { system_prompt, cache_bust: None }, Draws::new(Some(1), ""));
    let read =
        Dataset::of(&DatasetPlan::File(plan), Making { additions: &additions, ..Making::new(&draws, &tokenizer) });
    let wanted = case["conversations"].as_array();
    // An empty file is a separate fault, found before the run.
    if wanted.is_none_or(Vec::is_empty) {
        let error = read.expect_err("refused").to_string();
        assert!(error.starts_with(&*folder.path().to_string_lossy()), "{error}");
        return;
    }
    let dataset = read.unwrap();
    let shown = |conversation: &Value| {
        let turns: Value =
            conversation["turns"].as_array().unwrap().iter().map(|turn| Value::Object(shown_turn(turn))).collect();
        json!([conversation["session_id"], conversation["context_mode"], conversation["system_message"], turns])
    };
    let models: Vec<String> = serde_json::from_value(case["models"].clone()).unwrap_or_default();
    let picker = ModelPicker::new(models.len(), ModelSelection::RoundRobin, &Draws::new(Some(1), ""));
    let models = TurnModels::new(&models, picker);
    let found = (0..dataset.len()).map(|index| {
        let mut conversation = dataset.conversation(index).unwrap().into_owned();
        models.iter().for_each(|models| models.assign(index, &mut conversation, dataset.shapes()));
        serde_json::to_value(conversation).unwrap()
    });
    let found: Vec<Value> = found.map(|conversation| shown(&conversation)).collect();
    let wanted: Vec<Value> = wanted.unwrap().iter().map(shown).collect();
    assert_eq!(found, wanted);
}

#[test]
fn golden_files_give_the_recorded_conversations_or_are_refused() {
    INPUT_FILE.run(skip, check);
}

fn bust(case: &Value) -> Option<CacheBust> {
    CacheBust::ALL.into_iter().find(|known| case["target"] == known.target())
}

fn marker(case: &Value) {
    let text = |key: &str| case[key].as_str().unwrap();
    let number = |key: &str| case[key].as_u64().unwrap();
    let found = bust(case).map(|bust| match bust.marker {
        MarkerKind::Warmup => bust.with_gap(WARMUP_MARKER),
        MarkerKind::Prefix | MarkerKind::Suffix => {
            let (pass, lane) = (number("recycle_pass"), number("trajectory_index"));
            bust.with_gap(&session_marker(text("benchmark_id"), pass, lane, text("trace_id")))
        }
    });
    let wanted = case.get("marker").unwrap_or(&case["expected"]);
    assert_eq!(found.as_deref(), wanted.as_str());
}

#[test]
fn golden_markers_are_as_recorded() {
    let none = |_: &Value| None;
    CACHE_MARKER.run(none, marker);
    MARKER_COST.run(none, |case| {
        let tokenizer = Tokenizer::builtin();
        // The reference takes the rounded mean of this many.
        let cost = bust(case).map_or(0.0, |bust| bust.mean_cost(8, |text| tokenizer.count(text)));
        assert_eq!(Some(cost.round_ties_even() as u64), case["estimated_marker_tokens_builtin"].as_u64());
    });
    TRACE_ID.run(none, |case| {
        assert_eq!(base_trace_id(case["conversation_id"].as_str().unwrap()), case["base_trace_id"].as_str().unwrap());
    });
}
