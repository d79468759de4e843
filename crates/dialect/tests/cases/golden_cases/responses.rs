//! Responses read one by one, and folded into one.

use crate::golden_cases::decided::{self, Differences, Part};
use crate::golden_cases::requests::endpoint;
use crate::golden_cases::shapes::kind;
use aiperf_dialect::{Api, Data, Delivery, ResponseParser, sse, usage};
use aiperf_golden::cases::Trial;
use aiperf_golden::kinds::endpoints::{BODIES, RESPONSE};
use aiperf_types::{EndpointKind, MonoNs, Parsed, Reply, SpecDecode};
use base64::Engine;
use serde_json::{Map, Value, json};

fn describe(data: &Data<'_>) -> Value {
    match data {
        Data::Text(text) => json!({"kind": "text", "text": text}),
        Data::Reasoning { reasoning, content, .. } => {
            json!({"kind": "reasoning", "reasoning": reasoning, "content": content})
        }
        Data::Embeddings(vectors) => json!({"kind": "embedding", "embeddings": vectors.values().collect::<Vec<_>>()}),
        Data::Rankings(rankings) => json!({"kind": "rankings", "rankings": rankings}),
        Data::ImageRetrieval(data) => json!({"kind": "image_retrieval", "data": data}),
        Data::Images(made) => {
            let mut described = json!({"kind": "image", "images": made.images});
            described.as_object_mut().unwrap().extend(made.settings.clone());
            described
        }
        Data::Video(job) => {
            let mut described = json!({"kind": "video"});
            described.as_object_mut().unwrap().extend(job.clone());
            described
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
        // An absent content and an empty one are the same.
        let norm = |v: &Value| if v.as_str() == Some("") { Value::Null } else { v.clone() };
        assert_eq!(norm(&got[key]), norm(value), "{key}");
    }
}

/// The usage of the whole response: everything the case has of it, by our names or as the server has them.
fn compare_usage(got: &Parsed, folded: &Map<String, Value>, wanted: &Value) {
    let mut read: Map<String, Value> = serde_json::from_value(json!(got.usage.unwrap_or_default())).unwrap();
    read.insert("prompt_uncached_tokens".into(), json!(usage::uncached_prompt_tokens(folded)));
    for (key, value) in wanted.as_object().into_iter().flatten() {
        match read.get(key) {
            Some(read) => assert_eq!(read.as_f64(), value.as_f64(), "{key}"),
            None => assert_eq!(folded.get(key), Some(value), "{key}"),
        }
    }
}

/// The usage that a response shows: messages report usage bit by bit, and each case has it filled up.
fn shown_usage(case: &Value, usage: &Option<Map<String, Value>>, folded: &Map<String, Value>) -> Value {
    match usage {
        Some(_) if kind(case) == EndpointKind::Messages => json!(folded),
        usage => json!(usage),
    }
}

/// When content came. An empty text is none (seed 000), though the reference has it so.
fn content_stamps(wanted: &Value) -> Vec<Value> {
    let is_empty = |data: &Value| {
        matches!(data["kind"].as_str(), Some("text" | "reasoning" | "tool_call")) && data["text_all"] == ""
    };
    let parsed = wanted["parsed"].as_array().unwrap();
    let has_content = |at: &&Value| parsed.iter().any(|one| one["timestamp"] == **at && !is_empty(&one["data"]));
    wanted["content_timestamps"].as_array().unwrap().iter().filter(has_content).cloned().collect()
}

/// One response of a case: its bytes, and the JSON in it.
struct Response {
    at: u64,
    is_event: bool,
    is_binary: bool,
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
        let is_binary = response["kind"] == "binary";
        Response { at: response["timestamp"].as_u64().unwrap(), is_event, is_binary, bytes, json }
    };
    case["responses"].as_array().unwrap().iter().map(read).collect()
}

pub(crate) fn golden_responses_are_read() -> Vec<Trial> {
    RESPONSE.trials(decided::unreadable, |case| {
        let api = Api::new(&endpoint(case), "m").unwrap();
        let mut parser = ResponseParser::new(&api, MonoNs(50)).capturing(&api);
        let mut reader = (api.dialect.reader)(&api);
        let responses = responses(case);
        let mut pieces = Vec::new();
        for response in &responses {
            let delivery = if response.is_event { Delivery::Event } else { Delivery::Body };
            let is_end = response.is_event && response.json == b"[DONE]";
            let is_text = !response.is_binary && !is_end;
            let text = std::str::from_utf8(&response.json).ok().filter(|text| is_text && !text.is_empty());
            if let Some(piece) = text.and_then(|json| reader.read(json, delivery)) {
                let sources = piece.sources.clone();
                let data = piece.data.as_ref().map(describe);
                pieces.push((response.at, data, piece.usage, piece.spec_decode, sources));
            }
            if response.is_binary {
                parser.feed_binary(MonoNs(response.at));
            } else if response.is_event {
                parser.feed_stream(&[&response.bytes[..], b"\n\n"].concat(), MonoNs(response.at));
            } else {
                parser.feed_body(&response.bytes, MonoNs(response.at));
            }
        }
        let parsed = parser.finish();
        let wanted = &case["expected"];
        let bodies: Vec<Value> =
            responses.iter().filter_map(|response| serde_json::from_slice(&response.json).ok()).collect();
        let differences = Differences::of(case, &bodies);
        differences.check(&parsed, wanted);
        if let Some(kind) = wanted["error"]["type"].as_str() {
            if !differences.have(Part::Failure) {
                assert_eq!(parsed.error.and_then(|error| error.kind).as_deref(), Some(kind));
            }
            return;
        }
        let mut folded = Map::new();
        let usages: Vec<Value> = pieces
            .iter()
            .map(|(_, _, usage, ..)| {
                usage::fold(&mut folded, usage.clone().unwrap_or_default());
                shown_usage(case, usage, &folded)
            })
            .collect();
        let listed = wanted["parsed"].as_array().unwrap();
        if !differences.have(Part::Responses) {
            let is_listed = |(_, data, usage, spec, _): &&(_, Option<Value>, Option<_>, Option<_>, _)| {
                data.is_some() || spec.is_some() || usage.is_some() && !differences.have(Part::Usage)
            };
            let shown: Vec<_> = pieces.iter().filter(is_listed).collect();
            assert_eq!(shown.len(), listed.len(), "{shown:?}");
            for ((at, data, _, _, sources), wanted) in shown.into_iter().zip(listed) {
                assert_eq!((json!(at), json!(sources)), (wanted["timestamp"].clone(), wanted["sources"].clone()));
                compare_data(&json!(data), &wanted["data"]);
            }
        }
        for wanted in listed {
            let shown = pieces.iter().zip(&usages).find(|((at, ..), _)| wanted["timestamp"] == *at);
            let (spec, usage) = shown.map_or_else(Default::default, |(piece, usage)| (json!(piece.3), usage.clone()));
            assert_eq!(spec, wanted["spec_decode_stats"]);
            assert!(differences.have(Part::Usage) || usage == wanted["usage"], "{usage} is not {}", wanted["usage"]);
        }
        if !differences.have(Part::Text) {
            assert_eq!(json!(parsed.output_text), wanted["output_text"]);
        }
        if !differences.have(Part::Reasoning) {
            assert_eq!(json!(parsed.reasoning_text), wanted["reasoning_text"]);
        }
        if !differences.have(Part::Usage) {
            compare_usage(&parsed, &folded, &wanted["final_usage"]);
        }
        if !differences.have(Part::Content) {
            let stamps: Vec<u64> = parsed.content.iter().map(|mark| mark.at.0).collect();
            assert_eq!(json!(stamps), json!(content_stamps(wanted)));
            assert_eq!(!parsed.content.is_empty(), wanted["valid"].as_bool().unwrap());
        }
        if case["config"]["per_chunk_usage"].as_bool() == Some(true) {
            assert_eq!(json!(parsed.first_content_tokens), wanted["first_content_chunk_completion_tokens"]);
        }
        compare_reply(parsed.reply.as_deref().unwrap(), wanted, &differences);
    })
}

/// What a response leaves: a text of one role, or messages as the API has them.
fn compare_reply(got: &Reply, wanted: &Value, differences: &Differences) {
    if !differences.have(Part::Id) {
        assert_eq!(json!(got.response_id), wanted["response_id"]);
    }
    if differences.have(Part::Turn) {
        return;
    }
    let turn = &wanted["assistant_turn"];
    assert_eq!(got.turn.is_some(), !turn.is_null(), "{:?} is not {turn}", got.turn);
    if let Some(got) = &got.turn {
        let text: String = got.texts.iter().flat_map(|media| media.contents.clone()).collect();
        let role = got.role.as_deref();
        assert!(role.is_none_or(|role| Some(role) == turn["role"].as_str()), "{role:?} is not {turn}");
        assert_eq!(json!(got.raw_messages), turn["raw_messages"]);
        assert_eq!(text, turn["text"].as_str().unwrap_or_default());
    }
}

fn words(text: &str) -> u64 {
    text.split_ascii_whitespace().count() as u64
}

pub(crate) fn golden_bodies_are_parsed_and_counted() -> Vec<Trial> {
    BODIES.trials(decided::unreadable, |case| {
        let api = Api::new(&endpoint(case), "m").unwrap();
        let mut parser = ResponseParser::new(&api, MonoNs(1));
        let bodies: Vec<String> = case["bodies"].as_array().unwrap().iter().map(Value::to_string).collect();
        let streaming = case["streaming"].as_bool() == Some(true);
        let delivery = if streaming { Delivery::Event } else { Delivery::Body };
        for (i, body) in bodies.iter().enumerate() {
            let at = MonoNs(1_000_000 * (i as u64 + 1));
            if streaming {
                parser.feed_stream(format!("data: {body}\n\n").as_bytes(), at);
            } else {
                parser.feed_body(body.as_bytes(), at);
            }
        }
        let parsed = parser.finish();
        let wanted = &case["expected"];
        let differences = Differences::of(case, case["bodies"].as_array().unwrap());
        differences.check(&parsed, wanted);
        if !differences.have(Part::Content) {
            assert_eq!(!parsed.content.is_empty(), wanted["valid"].as_bool().unwrap());
        }
        let (mut reader, mut folded) = ((api.dialect.reader)(&api), Map::new());
        for (i, body) in bodies.iter().enumerate() {
            let piece = reader.read(body, delivery).unwrap_or_default();
            usage::fold(&mut folded, piece.usage.clone().unwrap_or_default());
            if let Some(wanted) = wanted["parsed"].as_array().unwrap().iter().find(|one| one["index"] == i) {
                if !differences.have(Part::Responses) {
                    compare_data(&json!(piece.data.as_ref().map(describe)), &wanted["data"]);
                }
                if !differences.have(Part::Usage) {
                    assert_eq!(shown_usage(case, &piece.usage, &folded), wanted["usage"]);
                }
            }
        }
        // Of what is no text, in or out, tokens are not counted.
        if case["use_server_token_count"].as_bool() != Some(true) && api.endpoint.kind.traits().tokenizes_input {
            let output = parsed.output_text.as_deref().map(words);
            let reasoning = parsed.reasoning_text.as_deref().map(words);
            if !differences.have(Part::Text) {
                assert_eq!(json!(output), wanted["token_counts"]["output"]);
            }
            if !differences.have(Part::Reasoning) {
                assert_eq!(json!(reasoning), wanted["token_counts"]["reasoning"]);
            }
            let inputs = api.dialect.inputs_of(case["payload"].to_string().as_bytes()).unwrap();
            let input = (!inputs.texts.is_empty()).then(|| words(&inputs.texts.join(" ")) + inputs.pretokenised);
            assert_eq!(json!(input), wanted["token_counts"]["input"]);
        }
        compare_spec_decode(parsed.spec_decode.as_deref(), &wanted["spec_decode"]);
        if !differences.have(Part::Usage) {
            compare_usage(&parsed, &folded, &wanted["final_usage"]);
        }
    })
}

fn compare_spec_decode(got: Option<&SpecDecode>, wanted: &Value) {
    assert_eq!(got.is_some(), !wanted.is_null());
    let got = json!(got);
    for (key, value) in wanted.as_object().into_iter().flatten().filter(|(key, _)| *key != "engine") {
        assert_eq!(got[key], *value, "{key}");
    }
}
