//! Responses read one by one, and folded into an answer.

use crate::shapes::{self, BODIES, RESPONSE, kind, unspoken};
use aiperf_dialect::{Answer, Data, dialect, inputs, sse};
use aiperf_golden::Tally;
use aiperf_types::{EndpointKind, MonoNs, Parsed, SpecDecode};
use base64::Engine;
use serde_json::{Map, Value, json};

/// Where a better reading gives another answer than the reference's; `bodies` are the JSON of the case's responses.
fn other_reading(kind: EndpointKind, bodies: &[Value], expected: &Value) -> Option<String> {
    let message = |body: &Value| {
        let choice = &body["choices"][0];
        if choice["delta"].is_null() { choice["message"].clone() } else { choice["delta"].clone() }
    };
    let text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    let is_known = |object: &Value| matches!(object.as_str(), Some("chat.completion" | "chat.completion.chunk"));
    let chat = kind == EndpointKind::Chat;
    let reason = if expected["error"]["type"].is_string() {
        "do better, endpoints 8: what made the reference fail is read, or is no data"
    } else if bodies.iter().any(|body| !body["error"].is_null() && body.get("choices").is_none()) {
        "do better, transport 11: an error object in an answer is an error"
    } else if chat && bodies.iter().any(|body| !is_known(&body["object"]) && message(body).is_object()) {
        "do better, endpoints 7: `object` may be missing or different"
    } else if chat && bodies.iter().map(message).any(|said| text(&said["refusal"]) && !text(&said["content"])) {
        "do better, endpoints 6: a refusal is an answer"
    } else if chat && bodies.iter().map(message).any(|said| text(&said["content"]) && calls_tools(&said)) {
        "do better, endpoints 4: text beside tool calls is counted"
    } else {
        return None;
    };
    Some(reason.to_owned())
}

/// Whether a message is read as tool calls: reasoning beside them comes first.
fn calls_tools(message: &Value) -> bool {
    let reasons =
        ["reasoning_content", "reasoning"].iter().any(|key| message[*key].as_str().is_some_and(|t| !t.is_empty()));
    !reasons && message["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty())
}

fn describe(data: &Data<'_>) -> Value {
    match data {
        Data::Text(text) => json!({"kind": "text", "text": text}),
        Data::Reasoning { reasoning, content } => {
            json!({"kind": "reasoning", "reasoning": reasoning, "content": content})
        }
        // Two files, two names for the same.
        Data::ToolCall { text, content } => {
            json!({"kind": "tool_call", "tool_call_text": text, "text": text, "content": content})
        }
    }
}

fn compare_data(got: &Value, wanted: &Value) {
    assert_eq!(got.is_null(), wanted.is_null(), "{got} is not {wanted}");
    for (key, value) in wanted.as_object().into_iter().flatten().filter(|(key, _)| *key != "text_all") {
        // An absent content and an empty one say the same.
        let norm = |v: &Value| if v.as_str() == Some("") { Value::Null } else { v.clone() };
        assert_eq!(norm(&got[key]), norm(value), "{key}");
    }
}

/// The usage of the whole answer: whatever the case says of it that is read.
fn compare_usage(got: &Parsed, wanted: &Value) {
    let got: Map<String, Value> = serde_json::from_value(json!(got.usage.unwrap_or_default())).unwrap();
    for (key, value) in wanted.as_object().into_iter().flatten() {
        if let Some(got) = got.get(key) {
            assert_eq!(got.as_f64(), value.as_f64(), "{key}");
        }
    }
}

/// One response of a case: its bytes, and the JSON in it.
struct Response {
    at: u64,
    is_event: bool,
    bytes: Vec<u8>,
    json: Vec<u8>,
}

fn responses(case: &Value) -> Vec<Response> {
    let read = |response: &Value| {
        let text = response["raw"].as_str().or(response["text"].as_str()).unwrap_or_default();
        let binary = response["data_base64"].as_str();
        let bytes = match binary {
            Some(coded) => base64::engine::general_purpose::STANDARD.decode(coded).unwrap(),
            None => text.as_bytes().to_vec(),
        };
        let is_event = response["kind"] == "sse";
        let json = if is_event { sse::data(&bytes).into_owned() } else { bytes.clone() };
        Response { at: response["timestamp"].as_u64().unwrap(), is_event, bytes, json }
    };
    case["responses"].as_array().unwrap().iter().map(read).collect()
}

#[test]
fn golden_responses_are_read() {
    let mut tally = Tally::new("responses");
    let skip = |case: &Value| {
        let bodies: Vec<Value> =
            responses(case).iter().filter_map(|response| serde_json::from_slice(&response.json).ok()).collect();
        unspoken(case).or_else(|| other_reading(kind(case), &bodies, &case["expected"]))
    };
    tally.run_files(&shapes::files(RESPONSE), RESPONSE, skip, |case| {
        let dialect = dialect(kind(case)).unwrap();
        let mut answer = Answer::new(dialect, MonoNs(50));
        let responses = responses(case);
        let mut pieces = Vec::new();
        for response in &responses {
            let read = std::str::from_utf8(&response.json).ok().and_then(|json| (dialect.parse)(json));
            if let Some(piece) = read {
                pieces.push((response.at, piece.data.as_ref().map(describe), piece.usage, piece.spec_decode));
            }
            if response.is_event {
                answer.feed_stream(&[&response.bytes[..], b"\n\n"].concat(), MonoNs(response.at));
            } else {
                answer.feed_body(&response.bytes, MonoNs(response.at));
            }
        }
        let parsed = answer.finish();
        let wanted = &case["expected"];
        pieces.retain(|(_, data, usage, spec)| data.is_some() || usage.is_some() || spec.is_some());
        let listed = wanted["parsed"].as_array().unwrap();
        assert_eq!(pieces.len(), listed.len(), "{pieces:?}");
        for ((at, data, usage, spec), wanted) in pieces.iter().zip(listed) {
            assert_eq!(json!(spec), wanted["spec_decode_stats"]);
            assert_eq!(json!(at), wanted["timestamp"]);
            compare_data(&json!(data), &wanted["data"]);
            assert_eq!(json!(usage), wanted["usage"]);
        }
        assert_eq!(json!(parsed.output_text), wanted["output_text"]);
        assert_eq!(json!(parsed.reasoning_text), wanted["reasoning_text"]);
        compare_usage(&parsed, &wanted["final_usage"]);
        let stamps: Vec<u64> = parsed.content.iter().map(|mark| mark.at.0).collect();
        assert_eq!(json!(stamps), wanted["content_timestamps"]);
        assert_eq!(!parsed.content.is_empty(), wanted["valid"].as_bool().unwrap());
        if case["config"]["per_chunk_usage"].as_bool() == Some(true) {
            assert_eq!(json!(parsed.first_content_tokens), wanted["first_content_chunk_completion_tokens"]);
        }
    });
    tally.finish();
}

#[test]
fn golden_bodies_are_parsed_and_counted() {
    let words = |text: &str| text.split_ascii_whitespace().count() as u64;
    let mut tally = Tally::new("bodies");
    let skip = |case: &Value| {
        unspoken(case).or_else(|| other_reading(kind(case), case["bodies"].as_array().unwrap(), &case["expected"]))
    };
    tally.run_files(&shapes::files(BODIES), BODIES, skip, |case| {
        let dialect = dialect(kind(case)).unwrap();
        let mut answer = Answer::new(dialect, MonoNs(1));
        let bodies: Vec<String> = case["bodies"].as_array().unwrap().iter().map(Value::to_string).collect();
        for (i, body) in bodies.iter().enumerate() {
            let at = MonoNs(1_000_000 * (i as u64 + 1));
            if case["streaming"].as_bool() == Some(true) {
                answer.feed_stream(format!("data: {body}\n\n").as_bytes(), at);
            } else {
                answer.feed_body(body.as_bytes(), at);
            }
        }
        let parsed = answer.finish();
        let wanted = &case["expected"];
        assert_eq!(!parsed.content.is_empty(), wanted["valid"].as_bool().unwrap());
        for wanted in wanted["parsed"].as_array().unwrap() {
            let piece = (dialect.parse)(&bodies[wanted["index"].as_u64().unwrap() as usize]).unwrap_or_default();
            compare_data(&json!(piece.data.as_ref().map(describe)), &wanted["data"]);
            assert_eq!(json!(piece.usage), wanted["usage"]);
        }
        if case["use_server_token_count"].as_bool() != Some(true) {
            let output = parsed.output_text.as_deref().map(words);
            let reasoning = parsed.reasoning_text.as_deref().map(words);
            assert_eq!(json!(output), wanted["token_counts"]["output"]);
            assert_eq!(json!(reasoning), wanted["token_counts"]["reasoning"]);
            let inputs = inputs::extract(kind(case), case["payload"].to_string().as_bytes()).unwrap();
            let input = (!inputs.texts.is_empty()).then(|| words(&inputs.texts.join(" ")) + inputs.pretokenised);
            assert_eq!(json!(input), wanted["token_counts"]["input"]);
        }
        compare_spec_decode(parsed.spec_decode.as_deref(), &wanted["spec_decode"]);
        compare_usage(&parsed, &wanted["final_usage"]);
    });
    tally.finish();
}

fn compare_spec_decode(got: Option<&SpecDecode>, wanted: &Value) {
    assert_eq!(got.is_some(), !wanted.is_null());
    let got = json!(got);
    for (key, value) in wanted.as_object().into_iter().flatten().filter(|(key, _)| *key != "engine") {
        assert_eq!(got[key], *value, "{key}");
    }
}
