//! Golden data: every case of every file, from this crate's folder or from `$AIPERF_GOLDEN_DIR`.
#![allow(clippy::unwrap_used)]

use aiperf_dialect::kinds::Request;
use aiperf_dialect::{Answer, Data, HeadTemplate, dialect, inputs, sse, url, usage};
use aiperf_plan::{BaseUrl, EndpointPlan, HttpSettings, ReuseStrategy};
use aiperf_types::{Conversation, EndpointKind, MonoNs, SpecDecode};
use base64::Engine;
use serde_json::{Map, Value, json};
use std::path::PathBuf;

fn cases(area: &str, file: &str) -> Vec<Value> {
    let root = std::env::var_os("AIPERF_GOLDEN_DIR").map_or_else(|| PathBuf::from("tests/golden"), PathBuf::from);
    let Ok(text) = std::fs::read_to_string(root.join(area).join(file)) else { return Vec::new() };
    let whole: Value = serde_json::from_str(&text).unwrap();
    whole["cases"].as_array().unwrap().clone()
}

fn kind(case: &Value) -> EndpointKind {
    EndpointKind::parse(case["endpoint_type"].as_str().unwrap()).unwrap()
}

fn name(case: &Value) -> &str {
    case["id"].as_str().or(case["name"].as_str()).unwrap_or_default()
}

#[test]
fn golden_urls_are_joined() {
    let cases = cases("endpoints", "url_join.json");
    for case in &cases {
        let params: Vec<(String, String)> = case["url_params"]
            .as_object()
            .map(|map| map.iter().map(|(k, v)| (k.clone(), v.as_str().unwrap().to_owned())).collect())
            .unwrap_or_default();
        let streaming = case["streaming"].as_bool().unwrap();
        let got =
            url::join(case["url"].as_str().unwrap(), kind(case), streaming, case["custom_endpoint"].as_str(), &params);
        assert_eq!(got, case["expected"].as_str().unwrap(), "{case}");
    }
    println!("url_join: {} cases", cases.len());
}

/// What the better line rules change: the reference ignores bare CR and a mark, and prefers LF LF over an earlier CRLF CRLF.
const SSE_CHANGED: &[&str] = &[
    "mixed-delims",     // earliest empty line wins
    "cr-only",          // CR is a line end
    "bom",              // the mark is skipped
    "line-sep-in-json", // only CR and LF end lines
];

#[test]
fn golden_event_streams_are_cut_into_messages() {
    let cases = cases("endpoints", "sse_bytes.json");
    let mut ran = 0;
    for case in cases.iter().filter(|case| !SSE_CHANGED.contains(&name(case))) {
        ran += 1;
        let chunks: Vec<Vec<u8>> = case["chunks_base64"]
            .as_array()
            .unwrap()
            .iter()
            .map(|chunk| base64::engine::general_purpose::STANDARD.decode(chunk.as_str().unwrap()).unwrap())
            .collect();
        let (mut splitter, mut got, mut error) = (sse::Splitter::default(), Vec::new(), None);
        let mut take = |message: &[u8], at: Value| {
            if let Some(text) = sse::error_event(message) {
                error = Some(text);
                return false;
            }
            let fields: Vec<Value> =
                sse::fields(message).into_iter().map(|(name, value)| json!([name, value])).collect();
            let data = String::from_utf8_lossy(&sse::data(message)).into_owned();
            let parsed: Option<Value> = serde_json::from_str(&data).ok();
            got.push(json!({"chunk_index": at, "fields": fields, "data": data, "json": parsed}));
            true
        };
        let mut on = true;
        for (i, chunk) in chunks.iter().enumerate() {
            on = on && splitter.feed(chunk, MonoNs(i as u64), |message, at| take(message, json!(at.0)));
        }
        if on {
            splitter.finish(MonoNs(0), |message, _| take(message, json!("eof")));
        }
        assert_eq!(Value::Array(got), case["expected"]["messages"], "{}", name(case));
        assert_eq!(error.is_some(), !case["expected"]["error"].is_null(), "{}", name(case));
        if let (Some(text), Some(wanted)) = (error, case["expected"]["error"]["message"].as_str()) {
            assert_eq!(format!("Error occurred in SSE response: {text}"), wanted, "{}", name(case));
        }
    }
    println!("sse_bytes: {ran} of {} cases", cases.len());
}

#[test]
fn golden_usage_objects_are_read() {
    let mut ran = 0;
    for (area, file) in [("endpoints", "usage.json"), ("metrics", "usage_mapping.json")] {
        for case in cases(area, file) {
            ran += 1;
            let Some(object) = case["usage"].as_object() else { continue };
            // Half a token is not a count: such a field is taken as absent.
            if case["usage"].to_string().contains("2.5") {
                continue;
            }
            let mut got = serde_json::to_value(usage::read(object)).unwrap();
            got["prompt_uncached_tokens"] = json!(usage::uncached_prompt_tokens(object));
            for (key, wanted) in case["expected"].as_object().unwrap() {
                assert_eq!(got[key].as_f64(), wanted.as_f64(), "{key} of {case}");
            }
        }
    }
    println!("usage: {ran} cases");
}

/// Types whose bodies have shapes of their own: read with their dialects.
const OTHER_SHAPES: &[EndpointKind] = &[
    EndpointKind::Responses,
    EndpointKind::Messages,
    EndpointKind::ImageRetrieval,
    EndpointKind::CohereRankings,
    EndpointKind::HfTeiRankings,
    EndpointKind::NimRankings,
    EndpointKind::SolidoRag,
];

#[test]
fn golden_request_bodies_give_their_input_texts() {
    let mut ran = 0;
    for (area, file) in [("endpoints", "payload_extraction.json"), ("metrics", "payload_inputs.json")] {
        for case in cases(area, file).iter().filter(|case| !OTHER_SHAPES.contains(&kind(case))) {
            ran += 1;
            let wanted = &case["expected"];
            let got = inputs::extract(kind(case), case["payload"].to_string().as_bytes()).unwrap_or_default();
            assert_eq!(json!(got.texts), wanted["texts"], "{case}");
            assert_eq!(json!(got.tool_texts), wanted["tool_texts"], "{case}");
            assert_eq!(json!(got.messages), wanted["messages"], "{case}");
            let number = |a: &str, b: &str| wanted[a].as_u64().or(wanted[b].as_u64());
            assert_eq!(Some(u64::from(got.images)), number("image_count", "images"), "{case}");
            assert_eq!(Some(u64::from(got.audios)), number("audio_count", "audios"), "{case}");
            assert_eq!(Some(u64::from(got.videos)), number("video_count", "videos"), "{case}");
            assert_eq!(Some(got.pretokenised), number("pretokenised_token_count", "pretokenised"), "{case}");
        }
    }
    println!("inputs: {ran} cases");
}

fn endpoint(case: &Value) -> EndpointPlan {
    let config = &case["config"];
    let pairs = |key: &str| config[key].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    EndpointPlan {
        kind: kind(case),
        urls: vec![BaseUrl::parse("http://localhost:8000").unwrap()],
        path: config["custom_endpoint"].as_str().map(str::to_owned),
        streaming: config["streaming"].as_bool().unwrap_or(false),
        api_key: config["api_key"].as_str().map(str::to_owned),
        headers: pairs("headers").iter().map(|pair| (text(&pair[0]), text(&pair[1]))).collect(),
        extra: pairs("extra").iter().map(|pair| (text(&pair[0]), pair[1].clone())).collect(),
        timeout_seconds: 0.0,
        legacy_max_tokens: config["use_legacy_max_tokens"].as_bool().unwrap_or(false),
        server_token_count: config["use_server_token_count"].as_bool().unwrap_or(false),
        per_chunk_usage: config["per_chunk_usage"].as_bool().unwrap_or(false),
        reuse: ReuseStrategy::Pooled,
        http: HttpSettings::default(),
    }
}

/// Cases that need what turns cannot carry yet, or settings that do not exist yet.
const REQUESTS_NOT_YET: &[&str] = &[
    "chat-image-uuids",             // image ids
    "chat-image-uuid-only",         // image ids
    "chat-force-parts",             // AIPERF_ENDPOINT_FORCE_CONTENT_PARTS
    "chat-system-merge-str",        // raw messages
    "chat-system-merge-list",       // raw messages
    "chat-system-merge-null",       // raw messages
    "chat-multiturn-raw-assistant", // raw messages
    "chat-reset-context",           // raw messages
    "chat-reset-ignored",           // reset_context
    "chat-raw-empty",               // raw messages
    "chat-tools-latest",            // tools
    "chat-tools-empty-list",        // tools
    "chat-extra-body",              // per-turn body
    "chat-raw-payload",             // raw payloads
    "chat-headers",                 // per-turn headers
    "chat-headers-session",         // --session-header
    "chat-headers-env-all",         // session header variables
    "chat-headers-env-none",        // session header variables
    "chat-url-index",               // several URLs
    "compl-extra",                  // per-turn body
];

#[test]
fn golden_requests_are_put_as_the_api_wants_them() {
    let mut ran = 0;
    for file in ["request_chat.json", "request_text.json"] {
        for case in cases("endpoints", file) {
            let Some(dialect) = dialect(kind(&case)) else { continue };
            if REQUESTS_NOT_YET.contains(&name(&case)) {
                continue;
            }
            ran += 1;
            let endpoint = endpoint(&case);
            let conversation: Conversation = serde_json::from_value(case["request"].clone()).unwrap();
            let turn = conversation.turns.len().saturating_sub(1);
            let request = Request { endpoint: &endpoint, model: "test-model", conversation: &conversation, turn };
            let body = request.encode(dialect);
            if !case["expected"]["error"].is_null() {
                assert!(body.is_err(), "{}", name(&case));
                continue;
            }
            assert_eq!(
                String::from_utf8(body.unwrap()).unwrap(),
                case["expected"]["body_text"].as_str().unwrap(),
                "{}",
                name(&case)
            );
            let head = HeadTemplate::new(&endpoint, &endpoint.urls[0], "0.13.0");
            assert_eq!(
                json!(head.fields("req-id-0001", "corr-id-0001")),
                case["expected"]["headers"],
                "{}",
                name(&case)
            );
            assert_eq!(head.url(), case["expected"]["url"].as_str().unwrap(), "{}", name(&case));
        }
    }
    println!("requests: {ran} cases");
}

/// Cases where a better reading changes what the reference gives.
const RESPONSES_CHANGED: &[&str] = &[
    "chat-json-list",                     // no data rather than an internal error
    "chat-content-list",                  // text parts of a list are joined
    "chat-refusal",                       // a refusal is an answer
    "chat-no-object",                     // `object` may be missing
    "chat-wrong-object",                  // or different
    "chat_unknown_object",                // likewise
    "chat-error-chunk",                   // an error object is an error
    "chat-error-only",                    // likewise
    "chat-tool-and-content",              // prose beside tool calls is counted
    "chat_stream_tool_call_with_content", // likewise
];

fn describe(data: &Data<'_>) -> Value {
    match data {
        Data::Text(text) => json!({"kind": "text", "text": text}),
        Data::Reasoning { reasoning, content } => {
            json!({"kind": "reasoning", "reasoning": reasoning, "content": content})
        }
        Data::ToolCall { text, content } => json!({"kind": "tool_call", "tool_call_text": text, "content": content}),
    }
}

fn compare_data(got: &Value, wanted: &Value, case: &str) {
    for (key, value) in wanted.as_object().into_iter().flatten().filter(|(key, _)| *key != "text_all") {
        // An absent content and an empty one say the same.
        let norm = |v: &Value| if v.as_str() == Some("") { Value::Null } else { v.clone() };
        assert_eq!(norm(&got[key]), norm(value), "{key} of {case}");
    }
}

#[test]
fn golden_responses_are_read() {
    let mut ran = 0;
    for file in ["response_chat.json", "response_other.json"] {
        for case in cases("endpoints", file) {
            let Some(dialect) = dialect(kind(&case)) else { continue };
            if RESPONSES_CHANGED.contains(&name(&case)) {
                continue;
            }
            ran += 1;
            let mut answer = Answer::new(dialect, MonoNs(50));
            let mut pieces = Vec::new();
            for response in case["responses"].as_array().unwrap() {
                let at = response["timestamp"].as_u64().unwrap();
                let text = response["raw"].as_str().or(response["text"].as_str()).unwrap_or_default();
                let json =
                    if response["kind"] == "sse" { sse::data(text.as_bytes()).into_owned() } else { text.into() };
                if let Some(piece) = (dialect.parse)(std::str::from_utf8(&json).unwrap()) {
                    pieces.push((at, piece.data.as_ref().map(describe), piece.usage, piece.spec_decode));
                }
                if response["kind"] == "sse" {
                    answer.stream(format!("{text}\n\n").as_bytes(), MonoNs(at));
                } else {
                    answer.body(text.as_bytes(), MonoNs(at));
                }
            }
            let parsed = answer.finish();
            let wanted = &case["expected"];
            if !wanted["error"].is_null() {
                continue;
            }
            pieces.retain(|(_, data, usage, spec)| data.is_some() || usage.is_some() || spec.is_some());
            let listed = wanted["parsed"].as_array().unwrap();
            assert_eq!(pieces.len(), listed.len(), "{} {pieces:?}", name(&case));
            for ((at, data, usage, spec), wanted) in pieces.iter().zip(listed) {
                assert_eq!(json!(spec), wanted["spec_decode_stats"], "{}", name(&case));
                assert_eq!(json!(at), wanted["timestamp"], "{}", name(&case));
                compare_data(&json!(data), &wanted["data"], name(&case));
                assert_eq!(json!(usage), wanted["usage"], "{}", name(&case));
            }
            assert_eq!(json!(parsed.output_text), wanted["output_text"], "{}", name(&case));
            assert_eq!(json!(parsed.reasoning_text), wanted["reasoning_text"], "{}", name(&case));
            let stamps: Vec<u64> = parsed.content.iter().map(|mark| mark.at.0).collect();
            assert_eq!(json!(stamps), wanted["content_timestamps"], "{}", name(&case));
            assert_eq!(!parsed.content.is_empty(), wanted["valid"].as_bool().unwrap(), "{}", name(&case));
            let first = &wanted["first_content_chunk_completion_tokens"];
            if case["config"]["per_chunk_usage"].as_bool() == Some(true) {
                assert_eq!(json!(parsed.first_content_tokens), *first, "{}", name(&case));
            }
        }
    }
    println!("responses: {ran} cases");
}

#[test]
fn golden_bodies_are_parsed_and_counted() {
    let words = |text: &str| text.split_ascii_whitespace().count() as u64;
    let mut ran = 0;
    for case in cases("metrics", "response_parsing.json") {
        let Some(dialect) = dialect(kind(&case)) else { continue };
        if RESPONSES_CHANGED.contains(&name(&case)) || !case["expected"]["error"].is_null() {
            continue;
        }
        ran += 1;
        let mut answer = Answer::new(dialect, MonoNs(1));
        for (i, body) in case["bodies"].as_array().unwrap().iter().enumerate() {
            let at = MonoNs(1_000_000 * (i as u64 + 1));
            if case["streaming"].as_bool() == Some(true) {
                answer.stream(format!("data: {body}\n\n").as_bytes(), at);
            } else {
                answer.body(body.to_string().as_bytes(), at);
            }
        }
        let parsed = answer.finish();
        let wanted = &case["expected"];
        let usage: Option<Map<String, Value>> =
            parsed.usage.map(|usage| serde_json::to_value(usage).unwrap().as_object().unwrap().clone());
        if case["use_server_token_count"].as_bool() != Some(true) {
            let output = parsed.output_text.as_deref().map(words);
            let reasoning = parsed.reasoning_text.as_deref().map(words);
            assert_eq!(json!(output), wanted["token_counts"]["output"], "{}", name(&case));
            assert_eq!(json!(reasoning), wanted["token_counts"]["reasoning"], "{}", name(&case));
            let inputs = inputs::extract(kind(&case), case["payload"].to_string().as_bytes()).unwrap();
            let input = (!inputs.texts.is_empty()).then(|| words(&inputs.texts.join(" ")) + inputs.pretokenised);
            assert_eq!(json!(input), wanted["token_counts"]["input"], "{}", name(&case));
        }
        compare_spec_decode(parsed.spec_decode.as_deref(), &wanted["spec_decode"], name(&case));
        for (key, value) in wanted["final_usage"].as_object().into_iter().flatten() {
            if let Some(got) = usage.as_ref().and_then(|usage| usage.get(key)) {
                assert_eq!(got.as_f64(), value.as_f64(), "{key} of {}", name(&case));
            }
        }
    }
    println!("response_parsing: {ran} cases");
}

fn compare_spec_decode(got: Option<&SpecDecode>, wanted: &Value, case: &str) {
    assert_eq!(got.is_some(), !wanted.is_null(), "{case}");
    let got = json!(got);
    for (key, value) in wanted.as_object().into_iter().flatten().filter(|(key, _)| *key != "engine") {
        assert_eq!(got[key], *value, "{key} of {case}");
    }
}

/// Whole responses of a real vLLM server.
#[test]
fn golden_real_answers_are_read_with_their_usage() {
    let root = std::env::var_os("AIPERF_GOLDEN_DIR").map_or_else(|| PathBuf::from("tests/golden"), PathBuf::from);
    let mut ran = 0;
    for (file, kind, streaming) in [
        ("chat.http", EndpointKind::Chat, false),
        ("chat-stream.http", EndpointKind::Chat, true),
        ("completions-stream.http", EndpointKind::Completions, true),
        ("chat-stream-n2-continuous-usage.http", EndpointKind::Chat, true),
    ] {
        let Ok(bytes) = std::fs::read(root.join("real-vllm-0.32").join(file)) else { continue };
        ran += 1;
        let text = String::from_utf8(bytes).unwrap().replace("\r\n", "\n");
        let body = text.split_once("\n\n").unwrap().1;
        let mut answer = Answer::new(dialect(kind).unwrap(), MonoNs(1));
        if streaming {
            answer.stream(body.as_bytes(), MonoNs(2));
        } else {
            answer.body(body.as_bytes(), MonoNs(2));
        }
        let parsed = answer.finish();
        assert!(parsed.error.is_none() && !parsed.content.is_empty(), "{file}");
        let usage = parsed.usage.unwrap();
        assert!(usage.prompt_tokens.is_some() && usage.completion_tokens.is_some(), "{file}");
        assert!(parsed.output_text.is_some_and(|text| !text.is_empty()), "{file}");
    }
    println!("real vLLM answers: {ran}");
}
