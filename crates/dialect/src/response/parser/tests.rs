use super::*;
use crate::testing::{api, chat};
use aiperf_types::EndpointKind;
use proptest::prelude::*;
use serde_json::json;

fn chunk(text: &str, tail: &str) -> String {
    let quoted = Value::String(text.to_owned()).to_string();
    format!("data: {{\"id\":\"x\",\"choices\":[{{\"delta\":{{\"content\":{quoted}}}{tail}}}]}}\n\n")
}

fn stream(events: &[&str]) -> Parsed {
    let mut parser = ResponseParser::new(&chat(), MonoNs(1));
    for (i, event) in events.iter().enumerate() {
        parser.feed_stream(format!("data: {event}\n\n").as_bytes(), MonoNs(i as u64 + 2));
    }
    parser.finish()
}

#[test]
fn events_that_only_lenient_readers_take_lose_no_token() {
    let parsed = stream(&[
        r#"{"choices":[{"delta":{"content":"a"},"logprobs":{"x":NaN}}]}"#,
        r#"{"choices":[{"delta":{"content":"\ud83d"},"x":-Infinity}]}"#,
        r#"{"choices":[],"usage":{"completion_tokens":2,"rate":1e999}}"#,
    ]);
    assert_eq!(parsed.output_text.as_deref(), Some("a\u{fffd}"));
    assert_eq!((parsed.content.len(), parsed.content[0].at, parsed.unreadable), (2, MonoNs(2), 0));
    assert_eq!(parsed.usage.and_then(|usage| usage.completion_tokens), Some(2));
}

#[test]
fn events_that_cannot_be_read_are_counted() {
    let parsed = stream(&["{nope", "hello", &"[".repeat(5000), "[1]", "null", "[DONE]", &chunk("b", "")[6..]]);
    assert_eq!((parsed.unreadable, parsed.responses, parsed.content.len()), (3, 7, 1));
}

#[test]
fn of_a_member_that_is_there_twice_the_last_counts() {
    let parsed = stream(&[r#"{"choices":[{"delta":{"content":"a","content":"b"}}]}"#]);
    assert_eq!((parsed.output_text.as_deref(), parsed.unreadable), (Some("b"), 0));
}

#[test]
fn a_response_with_several_choices_is_one_response() {
    let chunk = |index: u32, text: &str| json!({"index": index, "delta": {"content": text}});
    let both = json!({"choices": [chunk(1, "x"), chunk(0, "a")]}).to_string();
    let parsed = stream(&[&both, &json!({"choices": [chunk(1, "y")]}).to_string()]);
    assert_eq!((parsed.content.len(), parsed.output_text.as_deref()), (2, Some("axy")));
    assert_eq!(parsed.choice_ends, [1, 3]);
}

#[test]
fn each_choice_thinks_for_itself() {
    let thought = |index: u32, text: &str| json!({"choices": [{"index": index, "delta": {"reasoning": text}}]});
    let events = [(1, "x"), (0, "a"), (2, "p"), (1, "y"), (0, "b")].map(|(at, text)| thought(at, text).to_string());
    let parsed = stream(&events.each_ref().map(String::as_str));
    assert_eq!((parsed.reasoning_text.as_deref(), &parsed.reasoning_ends[..]), (Some("abxyp"), &[2, 4, 5][..]));
    assert_eq!((parsed.content.len(), parsed.output_text, parsed.choice_ends), (5, None, vec![]));
}

#[test]
fn a_response_without_content_leaves_no_id_to_go_on_from() {
    let api = api(EndpointKind::Responses);
    for (text, id) in [("a", Some("r")), ("", None)] {
        let mut parser = ResponseParser::new(&api, MonoNs(1)).capturing(&api);
        let body = json!({"object": "response", "id": "r", "store": true, "output_text": text});
        parser.feed_body(body.to_string().as_bytes(), MonoNs(2));
        assert_eq!(parser.finish().reply.unwrap().response_id.as_deref(), id, "{text:?}");
    }
}

#[test]
fn an_error_keeps_what_came_before_it_and_leaves_no_id_to_go_on_from() {
    let api = api(EndpointKind::Responses);
    let mut parser = ResponseParser::new(&api, MonoNs(1)).capturing(&api);
    for (event, goes_on) in [
        (json!({"type": "response.output_text.delta", "delta": "par"}), true),
        (json!({"type": "response.output_item.done", "item": {"type": "message"}}), true),
        (json!({"type": "response.created", "response": {"id": "r", "store": true}}), true),
        (json!({"type": "response.failed", "response": {"error": {"message": "x"}, "usage": {}}}), false),
    ] {
        assert_eq!(parser.feed_stream(format!("data: {event}\n\n").as_bytes(), MonoNs(2)), goes_on);
    }
    let parsed = parser.finish();
    assert_eq!((parsed.content.len(), parsed.output_text.as_deref()), (1, Some("par")));
    assert!(parsed.error.is_some_and(|error| error.code == Some(502)));
    let reply = parsed.reply.unwrap();
    assert_eq!(reply.response_id, None);
    assert_eq!(reply.turn.unwrap().texts[0].contents, ["par"]);
}

/// Content in a whole response of each type.
const CONTENTS: [(EndpointKind, &str); 18] = [
    (EndpointKind::Chat, r#""choices":[{"message":{"content":"a"}}]"#),
    (EndpointKind::Completions, r#""choices":[{"text":"a"}]"#),
    (EndpointKind::Responses, r#""object":"response","output_text":"a""#),
    (EndpointKind::Messages, r#""type":"message","content":[{"type":"text","text":"a"}]"#),
    (EndpointKind::Embeddings, r#""data":[{"object":"embedding","embedding":[1]}]"#),
    (EndpointKind::ChatEmbeddings, r#""data":[{"object":"embedding","embedding":[1]}]"#),
    (EndpointKind::NimEmbeddings, r#""data":[{"object":"embedding","embedding":[1]}]"#),
    (EndpointKind::CohereRankings, r#""results":[{"index":0,"relevance_score":1}]"#),
    (EndpointKind::HfTeiRankings, r#""results":[{"index":0,"score":1}]"#),
    (EndpointKind::NimRankings, r#""rankings":[{"index":0,"logit":1}]"#),
    (EndpointKind::HuggingfaceGenerate, r#""generated_text":"a""#),
    (EndpointKind::ImageGeneration, r#""data":[{"b64_json":"AAAA"}]"#),
    (EndpointKind::ImageEdit, r#""data":[{"b64_json":"AAAA"}]"#),
    (EndpointKind::ImageRetrieval, r#""data":[1]"#),
    (EndpointKind::AudioTranscription, r#""text":"a""#),
    (EndpointKind::SolidoRag, r#""content":"a""#),
    (EndpointKind::Raw, r#""text":"a""#),
    (EndpointKind::Template, r#""text":"a""#),
];

#[test]
fn an_error_beside_content_is_an_error_in_every_type_but_videos() {
    let kinds = CONTENTS.iter().map(|(kind, _)| *kind).chain([EndpointKind::VideoGeneration]);
    assert!(EndpointKind::ALL.iter().all(|kind| kinds.clone().any(|known| known == *kind)));
    for (kind, content) in CONTENTS {
        let read = |error: &str| {
            let mut parser = ResponseParser::new(&api(kind), MonoNs(1));
            parser.feed_body(format!("{{{content},\"error\":{error}}}").as_bytes(), MonoNs(2));
            parser.finish()
        };
        let parsed = read(r#"{"message":"lost","code":507}"#);
        let error = parsed.error.map(|error| (error.kind, error.code, error.message));
        let message = "ResponseError('the server answered with an error: lost')".to_owned();
        assert_eq!(error, Some((Some("ResponseError".into()), Some(507), message)), "{kind:?}");
        assert_eq!(parsed.content.len(), 1, "{kind:?}");
        for nothing in ["null", "\"\"", "{}", "false"] {
            let parsed = read(nothing);
            assert_eq!((parsed.error, parsed.content.len()), (None, 1), "{kind:?} {nothing}");
        }
    }
    let mut parser = ResponseParser::new(&api(EndpointKind::VideoGeneration), MonoNs(1));
    parser.feed_body(br#"{"id":"v","status":"failed","error":{"message":"lost"}}"#, MonoNs(2));
    assert_eq!(parser.finish().error, None);
}

#[test]
fn an_error_beside_content_ends_a_stream_with_that_content_kept() {
    let events: [(EndpointKind, &str); 6] = [
        (EndpointKind::Chat, r#""choices":[{"delta":{"content":"a"}}]"#),
        (EndpointKind::Completions, r#""choices":[{"text":"a"}]"#),
        (EndpointKind::Responses, r#""type":"response.output_text.delta","delta":"a""#),
        (EndpointKind::Messages, r#""type":"content_block_delta","delta":{"type":"text_delta","text":"a"}"#),
        (EndpointKind::HuggingfaceGenerate, r#""token":{"text":"a"}"#),
        (EndpointKind::SolidoRag, r#""content":"a""#),
    ];
    for (kind, content) in events {
        let mut parser = ResponseParser::new(&api(kind), MonoNs(1));
        assert!(parser.feed_stream(format!("data: {{{content}}}\n\n").as_bytes(), MonoNs(2)), "{kind:?}");
        let last = format!("data: {{{content},\"error\":\"lost\"}}\n\n");
        assert!(sse::search_end(last.as_bytes()).is_break(), "{last}");
        assert!(!parser.feed_stream(last.as_bytes(), MonoNs(3)), "{kind:?}");
        let parsed = parser.finish();
        assert_eq!(parsed.output_text.as_deref(), Some("aa"), "{kind:?}");
        assert!(parsed.error.is_some_and(|error| error.kind.as_deref() == Some("SSEResponseError")), "{kind:?}");
    }
}

#[test]
fn an_error_that_is_the_whole_response_fails_it_in_every_type() {
    let errors = [
        (r#"{"object":"error","message":"lost","type":"InternalServerError","param":null,"code":507}"#, 507),
        (r#"{"code":507,"message":"lost"}"#, 507),
        (r#"{"code":"ModelLost","message":"lost"}"#, 502),
        (r#"{"status_code":507,"message":"lost"}"#, 507),
        (r#"{"errors":[{"message":"lost"}]}"#, 502),
        (r#"{"detail":"lost"}"#, 502),
        (r#"[{"error":{"code":507,"message":"lost","status":"INTERNAL"}}]"#, 507),
    ];
    for (kind, _) in CONTENTS {
        for (error, code) in errors {
            let mut parser = ResponseParser::new(&api(kind), MonoNs(1));
            parser.feed_body(error.as_bytes(), MonoNs(2));
            let read = parser.finish().error.map(|error| (error.kind, error.code));
            assert_eq!(read, Some((Some("ResponseError".into()), Some(code))), "{kind:?} {error}");
            let (mut parser, event) = (ResponseParser::new(&api(kind), MonoNs(1)), format!("data: {error}\n\n"));
            assert!(!parser.feed_stream(event.as_bytes(), MonoNs(2)), "{kind:?} {error}");
            assert!(sse::search_end(event.as_bytes()).is_break(), "{error}");
        }
    }
}

#[test]
fn what_looks_like_an_error_beside_content_or_usage_is_none() {
    let call = r#"{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"error\":1}"}}]}"#;
    let parsed = stream(&[
        r#"{"choices":[{"delta":{"content":"a"}}],"message":"fine","code":"ok","detail":"x","errors":["y"]}"#,
        r#"{"choices":[{"delta":{"content":"b"}}],"message":"fine","code":500,"status_code":500}"#,
        &format!(r#"{{"choices":[{{"delta":{call}}}],"detail":"x"}}"#),
        r#"{"choices":[],"usage":{"completion_tokens":2},"detail":"x"}"#,
        r#"{"code":"ok","message":"fine"}"#,
        "[1]",
    ]);
    assert_eq!((parsed.error, parsed.content.len(), parsed.unreadable), (None, 3, 0));
}

#[test]
fn a_finish_reason_of_failure_is_an_error_that_keeps_what_came() {
    for kind in [EndpointKind::Chat, EndpointKind::Completions] {
        for reason in ["abort", "error"] {
            let choice = json!({"index": 0, "delta": {"content": "b"}, "text": "b", "finish_reason": reason});
            let event = json!({"id": "x", "created": 1, "choices": [choice, {"index": 1, "finish_reason": "stop"}]});
            for choices in [1, 2] {
                let mut event = event.clone();
                event["choices"].as_array_mut().unwrap().truncate(choices);
                let mut parser = ResponseParser::new(&api(kind), MonoNs(1));
                assert!(!parser.feed_stream(format!("data: {event}\n\n").as_bytes(), MonoNs(2)));
                let parsed = parser.finish();
                assert_eq!(parsed.output_text.as_deref(), Some("b"));
                assert!(parsed.error.unwrap().message.contains(&format!("finish_reason '{reason}'")), "{kind:?}");
            }
        }
    }
}

#[test]
fn a_reason_of_failure_that_is_an_object_or_a_detail_is_an_error_too() {
    let abort = json!({"type": "abort", "message": "queue full", "status_code": 503});
    let length = json!({"type": "length", "length": 2});
    let chunk =
        |reason: &Value| json!({"choices": [{"delta": {"content": "a"}, "text": "a", "finish_reason": reason}]});
    let native = |reason: &Value| json!({"text": "a", "meta_info": {"finish_reason": reason, "completion_tokens": 1}});
    let token = |reason: &Value| json!({"token": {"text": "a"}, "details": {"finish_reason": reason}});
    type Event<'a> = &'a dyn Fn(&Value) -> Value;
    let cases: [(EndpointKind, Event<'_>); 6] = [
        (EndpointKind::Chat, &chunk),
        (EndpointKind::Completions, &chunk),
        (EndpointKind::Raw, &native),
        (EndpointKind::Raw, &chunk),
        (EndpointKind::Template, &native),
        (EndpointKind::HuggingfaceGenerate, &token),
    ];
    for (kind, event) in cases {
        let read = |reason: &Value| {
            let mut parser = ResponseParser::new(&api(kind), MonoNs(1));
            let on = parser.feed_stream(format!("data: {}\n\n", event(reason)).as_bytes(), MonoNs(2));
            parser.end_stream(MonoNs(3));
            let parsed = parser.finish();
            assert_eq!((on, parsed.output_text.as_deref()), (parsed.error.is_none(), Some("a")), "{kind:?} {reason}");
            (parsed.error.map(|error| error.code), parsed.is_unfinished)
        };
        assert_eq!(read(&abort).0, Some(Some(503)), "{kind:?}");
        for failure in ["abort", "ABORTED", "backend_error", "cancelled", "failed", "Error", "model_error"] {
            assert_eq!(read(&failure.into()).0, Some(Some(502)), "{kind:?} {failure}");
        }
        for fine in [&length, &json!({"type": "stop", "matched": 2}), &json!("length"), &json!("tool_calls")] {
            assert_eq!(read(fine), (None, false), "{kind:?} {fine}");
        }
        assert_eq!(read(&Value::Null).0, None, "{kind:?}");
    }
}

#[test]
fn an_error_inside_a_choice_is_an_error_that_keeps_the_text() {
    let error = json!({"code": 502, "message": "lost"});
    let choice = json!({"index": 0, "delta": {"content": "a"}, "text": "a", "finish_reason": "stop", "error": error});
    let whole = json!({"index": 0, "message": {"content": "a"}, "text": "a", "finish_reason": "stop", "error": error});
    for kind in [EndpointKind::Chat, EndpointKind::Completions] {
        let mut stream = ResponseParser::new(&api(kind), MonoNs(1));
        stream.feed_stream(format!("data: {}\n\n", json!({"choices": [choice]})).as_bytes(), MonoNs(2));
        let mut body = ResponseParser::new(&api(kind), MonoNs(1));
        body.feed_body(json!({"choices": [whole]}).to_string().as_bytes(), MonoNs(2));
        for parser in [stream, body] {
            let parsed = parser.finish();
            assert_eq!(parsed.output_text.as_deref(), Some("a"), "{kind:?}");
            let error = parsed.error.unwrap();
            assert_eq!((error.code, error.message.contains("lost")), (Some(502), true), "{kind:?}: {error:?}");
        }
    }
}

#[test]
fn an_error_after_content_fails_a_stream_in_whatever_form_it_is_written() {
    for tail in [
        "event: exception\ndata: {\"message\":\"lost\"}\n\n",
        "data: {\"internalServerException\":{\"message\":\"lost\"}}\n\n",
        "data: {\"error_code\":336100,\"error_msg\":\"lost\",\"id\":\"x\"}\n\n",
        "data: {\"type\":\"error\",\"message\":\"lost\"}\n\n",
        "data: {\"Error\":{\"message\":\"lost\"}}\n\n",
        "data: {\"status\":\"error\",\"reason\":\"lost\"}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"error\":\"lost\"},\"finish_reason\":null}]}\n\n",
        "{\"error\":{\"message\":\"lost\"}}\n\n",
        "{\"error\":{\"message\":\"lost\"}}",
        "<html><body>lost: 504 Gateway Time-out</body></html>",
        "<!DOCTYPE html>\r\n<html><body>lost</body></html>\r\n\r\n",
        "error: {\"code\":500,\"message\":\"lost\",\"type\":\"server_error\"}\n\n",
        "Error: lost",
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":null}],\"x_groq\":{\"error\":\"lost\"}}\n\n",
        "data: {\"choices\":null,\"base_resp\":{\"status_code\":1013,\"status_msg\":\"lost\"}}\n\n",
        "data: {\"type\":\"urn:x\",\"title\":\"t\",\"status\":500,\"detail\":\"lost\"}\n\n",
        "data: {\"__type\":\"ThrottlingException\",\"message\":\"lost\"}\n\n",
        "data: {\"type\":\"message-end\",\"delta\":{\"error\":\"lost\",\"finish_reason\":\"ERROR\"}}\n\n",
        "upstream connect error or disconnect/reset before headers. reset reason: lost",
        "Traceback (most recent call last):\n  File \"lost.py\"\n",
        "502 Bad Gateway: lost\n\n",
        "RuntimeError: lost\n",
        "id: 7\n: ping\nconnection lost\n\n",
    ] {
        // With or without an end, after an empty line, a line end or nothing.
        for end in ["", "data: [DONE]\n\n", "\ndata: [DONE]\n\n", "\n\ndata: [DONE]\n\n"] {
            let mut parser = ResponseParser::new(&chat(), MonoNs(1));
            parser.feed_stream(chunk("a", "").as_bytes(), MonoNs(2));
            parser.feed_stream(format!("{tail}{end}").as_bytes(), MonoNs(3));
            parser.end_stream(MonoNs(4));
            let parsed = parser.finish();
            assert_eq!(parsed.output_text.as_deref(), Some("a"), "{tail}{end}");
            let error = parsed.error.map(|error| (error.kind, error.message.contains("lost")));
            assert_eq!(error, Some((Some("SSEResponseError".to_owned()), true)), "{tail}{end}");
        }
    }
}

#[test]
fn an_error_of_a_vendor_beside_content_is_an_error() {
    let members = [
        (r#""x_groq":{"id":"r","error":"lost"}"#, Some(502)),
        (r#""base_resp":{"status_code":1013,"status_msg":"lost"}"#, Some(1013)),
        (r#""x_groq":{"id":"lost"}"#, None),
        (r#""base_resp":{"status_code":0,"status_msg":"lost"}"#, None),
        (r#""x_groq":null,"base_resp":null"#, None),
    ];
    for kind in [EndpointKind::Chat, EndpointKind::Completions] {
        for (member, code) in members {
            let body = format!(
                r#"{{"choices":[{{"message":{{"content":"a"}},"text":"a","finish_reason":"stop"}}],{member}}}"#
            );
            let mut parser = ResponseParser::new(&api(kind), MonoNs(1));
            parser.feed_body(body.as_bytes(), MonoNs(2));
            let parsed = parser.finish();
            let error = parsed.error.map(|error| (error.code, error.message.contains("lost")));
            assert_eq!(
                (parsed.output_text.as_deref(), error),
                (Some("a"), code.map(|code| (Some(code), true))),
                "{body}"
            );
            let (mut parser, event) =
                (ResponseParser::new(&api(kind), MonoNs(1)), body.replace("\"message\"", "\"delta\""));
            let is_fine = parser.feed_stream(format!("data: {event}\n\n").as_bytes(), MonoNs(2));
            assert_eq!(is_fine, code.is_none(), "{event}");
        }
        for (native, is_error) in [("error", true), ("stop", false), ("MAX_TOKENS", false)] {
            let choice = json!({"delta": {"content": "a"}, "text": "a", "finish_reason": "stop",
                "native_finish_reason": native});
            let mut parser = ResponseParser::new(&api(kind), MonoNs(1));
            parser.feed_stream(format!("data: {}\n\n", json!({"choices": [choice]})).as_bytes(), MonoNs(2));
            let error = parser.finish().error.map(|error| error.message.contains("native_finish_reason 'error'"));
            assert_eq!(error, is_error.then_some(true), "{kind:?} {native}");
        }
    }
}

#[test]
fn text_between_events_is_an_error_only_within_a_stream_of_events() {
    let text = "Internal Server Error\n\n";
    let content = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"text\":\"a\"}],\"text\":\"a\"}\n\n";
    for (kind, events, is_error) in [
        (EndpointKind::Chat, [content, text, "data: [DONE]\n\n"], true),
        (EndpointKind::Completions, [content, text, content], true),
        (EndpointKind::Chat, [text, content, "data: [DONE]\n\n"], false),
        (EndpointKind::Chat, [content, "data: [DONE]\n\n", text], false),
        (EndpointKind::Raw, ["data: a\n\n", "b c\n\n", "data: d\n\n"], false),
        (EndpointKind::Chat, [content, "ping\n\nkeep-alive: 3 s\n\nretry: 5\n\n", content], false),
        (EndpointKind::Chat, [content, ": an Error: of a comment\nevent: b c\nid: d e\n\n", content], false),
        (EndpointKind::Chat, [content, "error: null\nerror:\n\n", content], false),
    ] {
        let mut parser = ResponseParser::new(&api(kind), MonoNs(1));
        let on = events.iter().all(|event| parser.feed_stream(event.as_bytes(), MonoNs(2)));
        assert_eq!((on, parser.finish().error.is_some()), (!is_error, is_error), "{kind:?} {events:?}");
    }
}

#[test]
fn a_text_about_errors_is_a_text() {
    let about = r#"{"error":"x"} <html> event: exception {"status":"error"} internalServerException"#;
    let mut parser = ResponseParser::new(&chat(), MonoNs(1));
    parser.feed_stream(chunk(about, "").as_bytes(), MonoNs(2));
    parser.feed_stream(chunk("<html>", ",\"error\":null").as_bytes(), MonoNs(3));
    for silent in [
        ": <html>\n\n",
        "id: {\"error\":\"x\"}\n\n",
        "<p>error</p>\n\n",
        "{\"choices\":[{\"delta\":{\"content\":\"error\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"error\":null}}]}\n\n",
    ] {
        assert!(parser.feed_stream(silent.as_bytes(), MonoNs(4)), "{silent}");
    }
    let parsed = parser.finish();
    assert_eq!((parsed.error, parsed.output_text), (None, Some(format!("{about}<html>"))));
}

#[test]
fn a_stop_reason_or_a_status_of_failure_is_an_error() {
    let stopped = json!({"type": "message_delta", "delta": {"stop_reason": "error"}});
    let mut stream = ResponseParser::new(&api(EndpointKind::Messages), MonoNs(1));
    stream.feed_stream(format!("data: {stopped}\n\n").as_bytes(), MonoNs(2));
    assert!(stream.finish().error.is_some());
    let text = json!([{"type": "text", "text": "a"}]);
    let output = json!([{"type": "message", "content": [{"type": "output_text", "text": "a"}]}]);
    for (kind, body, is_error) in [
        (EndpointKind::Messages, json!({"type": "message", "content": text, "stop_reason": "error"}), true),
        (EndpointKind::Messages, json!({"type": "message", "content": text, "stop_reason": "end_turn"}), false),
        (EndpointKind::Responses, json!({"object": "response", "status": "cancelled", "output": output}), true),
        (EndpointKind::Responses, json!({"object": "response", "status": "failed", "output": output}), true),
        (EndpointKind::Responses, json!({"object": "response", "status": "in_progress", "output": output}), true),
        (EndpointKind::Responses, json!({"object": "response", "status": "incomplete", "output": output}), false),
    ] {
        let mut parser = ResponseParser::new(&api(kind), MonoNs(1));
        parser.feed_body(body.to_string().as_bytes(), MonoNs(2));
        let parsed = parser.finish();
        assert_eq!((parsed.output_text.as_deref(), parsed.error.is_some()), (Some("a"), is_error), "{body}");
    }
}

#[test]
fn a_stream_is_finished_by_what_marks_the_end_of_its_type() {
    let stop = r#"{"id":"x","created":1,"choices":[{"index":0,"delta":{},"text":"","finish_reason":"stop"}]}"#;
    let cases: [(EndpointKind, &[&str], bool); 11] = [
        (EndpointKind::Chat, &[], true),
        (EndpointKind::Chat, &["[DONE]"], false),
        (EndpointKind::Chat, &[stop], false),
        (EndpointKind::Completions, &[stop], false),
        (EndpointKind::Completions, &[], true),
        (EndpointKind::Messages, &["[DONE]"], true),
        (EndpointKind::Messages, &[r#"{"type":"message_delta"}"#, r#"{"type":"message_stop"}"#], false),
        (EndpointKind::Responses, &[], true),
        (EndpointKind::Responses, &[r#"{"type":"response.completed","response":{}}"#], false),
        (EndpointKind::Responses, &[r#"{"type":"response.incomplete","response":{}}"#], false),
        (EndpointKind::HuggingfaceGenerate, &[], false),
    ];
    for (kind, events, is_unfinished) in cases {
        // What one response teaches the next does not hide its end.
        let known = KnownMessages::default();
        for _ in 0..2 {
            let mut parser = ResponseParser::new(&api(kind), MonoNs(1)).knowing(&known);
            for event in events {
                parser.feed_stream(format!("data: {event}\n\n").as_bytes(), MonoNs(2));
            }
            parser.end_stream(MonoNs(3));
            assert_eq!(parser.finish().is_unfinished, is_unfinished, "{kind:?} {events:?}");
        }
    }
}

#[test]
fn a_stream_that_ends_inside_an_event_is_cut() {
    let first = chunk("a", "");
    let event = chunk("b", ",\"finish_reason\":\"stop\"");
    let event = event.trim_end();
    let read = |kind: EndpointKind, first: &str, last: &str| {
        let mut parser = ResponseParser::new(&api(kind), MonoNs(1));
        parser.feed_stream(first.as_bytes(), MonoNs(2));
        parser.feed_stream(last.as_bytes(), MonoNs(3));
        parser.end_stream(MonoNs(4));
        let parsed = parser.finish();
        (parsed.output_text.unwrap_or_default(), parsed.error.and_then(|error| error.kind))
    };
    let cut = || ("a".to_owned(), Some("ClientPayloadError".to_owned()));
    for end in "data: {".len()..event.len() {
        assert_eq!(read(EndpointKind::Chat, &first, &event[..end]), cut(), "{}", &event[..end]);
    }
    assert_eq!(read(EndpointKind::Chat, &first, "event: x\ndata: {\"a\":NaN,\"b"), cut());
    let usage = r#"data: {"choices":[],"usage":{"completion_tokens":2"#;
    assert_eq!(read(EndpointKind::Chat, &first, usage), cut());
    assert_eq!(read(EndpointKind::Raw, "data: {\"text\":\"a\"}\n\n", "data: {\"text\":\"b"), cut());
    // A last event that is whole needs no empty line.
    for end in ["", "\n", "\r\n", " "] {
        assert_eq!(read(EndpointKind::Chat, &first, &format!("{event}{end}")), ("ab".to_owned(), None), "{end:?}");
    }
    let done = format!("{first}data: [DONE]\n\n");
    for last in ["d", "dat", "data:", "data: ", "event: x\ndat"] {
        assert_eq!(read(EndpointKind::Chat, &first, last), cut(), "{last:?}");
        let finished = chunk("a", ",\"finish_reason\":\"stop\"");
        assert_eq!(read(EndpointKind::Chat, &finished, last), ("a".to_owned(), None), "the content is whole: {last:?}");
    }
    for last in ["", "data: [DONE]", "data: [DO", ": pi", "event: x"] {
        assert_eq!(read(EndpointKind::Chat, &first, last), ("a".to_owned(), None), "{last:?}");
    }
    assert_eq!(read(EndpointKind::Chat, &done, "data: {\"a"), ("a".to_owned(), None));
    assert_eq!(read(EndpointKind::Raw, "", "data: plain te"), ("plain te".to_owned(), None));
    let over = "data: {\"type\":\"response.output_text.delta\",\"delta\":\"a\"}\n\n\
                data: {\"type\":\"response.completed\",\"response\":{}}\n\n";
    assert_eq!(read(EndpointKind::Responses, over, "data: {\"a"), ("a".to_owned(), None));
}

#[test]
fn a_last_event_that_cannot_be_read_is_an_error_unless_the_stream_has_ended() {
    let kind_of = |events: &[&str]| {
        let mut parser = ResponseParser::new(&chat(), MonoNs(1));
        for event in events {
            parser.feed_stream(event.as_bytes(), MonoNs(2));
        }
        parser.end_stream(MonoNs(3));
        parser.finish().error.and_then(|error| error.kind)
    };
    let (first, last) = (chunk("a", ""), chunk("b", ",\"finish_reason\":\"stop\""));
    for broken in ["data: {nope", "data: {\"a\":x", "data: Internal Server Error", "data: a b"] {
        let event = format!("{broken}\n\n");
        assert_eq!(kind_of(&[&first, broken]).as_deref(), Some("ClientPayloadError"), "{broken:?}");
        assert_eq!(kind_of(&[&first, &event]).as_deref(), Some("ClientPayloadError"), "{broken:?}");
        assert_eq!(kind_of(&[&first, &event, &first]), None, "{broken:?} is not the last");
        assert_eq!(kind_of(&[&first, &last, &event]), None, "{broken:?} follows the end");
        assert_eq!(kind_of(&[&first, &event, "data: [DONE]\n\n"]), None, "{broken:?} is before the end");
    }
}

#[test]
fn a_choice_that_stopped_by_an_error_is_an_error() {
    for kind in [EndpointKind::Chat, EndpointKind::Completions] {
        let code = |choice: &str| {
            let mut parser = ResponseParser::new(&api(kind), MonoNs(1));
            let event = format!("data: {{\"choices\":[{{\"delta\":{{}},\"text\":\"\",{choice}}}]}}\n\n");
            parser.feed_stream(event.as_bytes(), MonoNs(2));
            parser.finish().error.map(|error| error.code)
        };
        for choice in [
            r#""stop_reason":"error""#,
            r#""stop_reason":"error","finish_reason":null"#,
            r#""finish_reason":"preempted""#,
        ] {
            assert_eq!(code(choice), Some(Some(502)), "{kind:?} {choice}");
        }
        for choice in
            [r#""stop_reason":"error","finish_reason":"stop""#, r#""stop_reason":128009"#, r#""stop_reason":"end""#]
        {
            assert_eq!(code(choice), None, "{kind:?} {choice}");
        }
    }
}

#[test]
fn a_text_with_the_reason_to_end_beside_it_ends_its_response() {
    let mut parser = ResponseParser::new(&chat(), MonoNs(1));
    for text in ["a", "b"] {
        parser.feed_stream(chunk(text, ",\"finish_reason\":\"stop\"").as_bytes(), MonoNs(2));
    }
    parser.end_stream(MonoNs(3));
    let parsed = parser.finish();
    assert_eq!((parsed.output_text.as_deref(), parsed.is_unfinished), (Some("ab"), false));
}

#[test]
fn a_stream_of_empty_events_is_not_read_to_its_end() {
    let mut parser = ResponseParser::new(&chat(), MonoNs(1));
    parser.feed_stream(chunk("a", "").as_bytes(), MonoNs(2));
    let empty = ":\n\n".repeat(MOST_SILENT / 4);
    (0..4).for_each(|at| assert!(parser.feed_stream(empty.as_bytes(), MonoNs(at + 3))));
    assert!(!parser.feed_stream(empty.as_bytes(), MonoNs(9)));
    let parsed = parser.finish();
    assert_eq!((parsed.responses as usize, parsed.output_text.as_deref()), (MOST_SILENT + 1, Some("a")));
    assert!(parsed.error.unwrap().message.contains("1000000 events of the stream have no content"));
}

#[test]
fn vectors_are_counted() {
    let vector = r#"{"object":"embedding","embedding":[1]}"#;
    for (body, vectors) in [(format!("[{vector},{vector}]"), Some(2)), ("[]".to_owned(), None)] {
        let mut parser = ResponseParser::new(&api(EndpointKind::Embeddings), MonoNs(1));
        parser.feed_body(format!("{{\"data\":{body}}}").as_bytes(), MonoNs(2));
        assert_eq!(parser.finish().vectors, vectors);
    }
}

#[test]
fn many_reports_of_speculative_decoding_are_none() {
    let report = r#"{"choices":[],"metrics":{"speculative_decoding":{"num_drafts":2}}}"#;
    let mut parser = ResponseParser::new(&chat(), MonoNs(1));
    for at in 2..100 {
        parser.feed_stream(format!("data: {report}\n\n").as_bytes(), MonoNs(at));
    }
    assert_eq!(parser.spec_decode.len(), 2);
}

#[test]
fn usage_that_cannot_be_is_left_out_and_noted() {
    let parsed = stream(&[r#"{"choices":[],"usage":{"completion_tokens":100000000000000000000,"prompt_tokens":7}}"#]);
    let usage = parsed.usage.unwrap();
    assert_eq!((usage.completion_tokens, usage.prompt_tokens, parsed.unreadable_usage), (None, Some(7), true));
}

#[test]
fn a_whole_body_may_begin_with_a_byte_order_mark() {
    let mut parser = ResponseParser::new(&chat(), MonoNs(1));
    parser.feed_body(b"\xef\xbb\xbf{\"choices\":[{\"message\":{\"content\":\"a\"},\"x\":NaN}]}", MonoNs(2));
    assert_eq!(parser.finish().output_text.as_deref(), Some("a"));
}

/// A way to send a text, by its place in the stream.
type Form = (EndpointKind, fn(usize, Value) -> Value);

const FORMS: [Form; 3] = [
    (EndpointKind::Chat, |_, text| json!({"id": "x", "choices": [{"delta": {"content": text}, "logprobs": null}]})),
    (
        EndpointKind::Messages,
        |_, text| json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}, "index": 0}),
    ),
    (
        EndpointKind::Responses,
        |at, text| json!({"type": "response.output_text.delta", "delta": text, "sequence_number": at}),
    ),
];

proptest! {
    #[test]
    fn a_text_is_the_same_in_all_dialects(
        texts in prop::collection::vec("[a-z \"\\\\\n\u{e9}{}:,]{0,6}", 1..20),
        (kind, form) in prop::sample::select(FORMS.to_vec()),
        name in prop::sample::select(vec!["", "event: x\n"]),
    ) {
        let api = api(kind);
        let mut parser = ResponseParser::new(&api, MonoNs(1)).capturing(&api);
        for (i, text) in texts.iter().enumerate() {
            let event = format!("{name}data: {}\n\n", form(i, text.as_str().into()));
            parser.feed_stream(event.as_bytes(), MonoNs(i as u64 + 2));
        }
        let parsed = parser.finish();
        prop_assert_eq!(parsed.output_text.unwrap_or_default(), texts.concat());
        prop_assert_eq!(parsed.content.len(), texts.iter().filter(|text| !text.is_empty()).count());
        let reply = parsed.reply.and_then(|reply| reply.turn).map(|turn| turn.texts[0].contents.concat());
        prop_assert_eq!(reply.unwrap_or_default(), texts.concat());
    }

    #[test]
    fn however_a_stream_is_cut_it_means_the_same(
        texts in prop::collection::vec("[a-z \"\\\\\n\u{e9}{}:,]{0,6}", 1..12),
        tails in prop::collection::vec(prop::sample::select(vec!["", ",\"finish_reason\":null"]), 12),
        ends in prop::collection::vec(prop::sample::select(vec!["\n\n", "\r\n\r\n", "\r\r", "\n\r\n", "\n\n\n"]), 12),
        cuts in prop::collection::vec(1..40_usize, 1..40),
    ) {
        let messages = texts.iter().zip(&tails).zip(&ends).map(|((text, tail), end)| {
            chunk(text, tail).trim_end().to_owned() + end
        });
        let stream: String = messages.collect();
        let read = |pieces: &mut dyn Iterator<Item = usize>| {
            let api = chat();
            let (mut parser, mut rest) = (ResponseParser::new(&api, MonoNs(1)).capturing(&api), stream.as_bytes());
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(pieces.next().unwrap_or(rest.len()).min(rest.len()));
                parser.feed_stream(piece, MonoNs(2));
                rest = after;
            }
            parser.end_stream(MonoNs(2));
            let Parsed { output_text, content, responses, reply, .. } = parser.finish();
            (output_text, content.len(), responses, reply)
        };
        let whole = read(&mut std::iter::empty());
        prop_assert_eq!(whole.0.clone().unwrap_or_default(), texts.concat());
        prop_assert_eq!(whole, read(&mut cuts.iter().copied().cycle()));
    }

    #[test]
    fn what_earlier_responses_taught_changes_nothing(
        responses in prop::collection::vec(prop::collection::vec((0..7_usize, "[a-z\"\u{e9}]{0,3}"), 0..8), 1..6),
        captures in prop::collection::vec(any::<bool>(), 6),
    ) {
        let api = chat();
        let known = KnownMessages::default();
        for (number, (events, captures)) in responses.iter().zip(captures).enumerate() {
            let read = |known: Option<&KnownMessages>| {
                let mut parser = ResponseParser::new(&api, MonoNs(1));
                if captures {
                    parser = parser.capturing(&api);
                }
                if let Some(known) = known {
                    parser = parser.knowing(known);
                }
                for (kind, text) in events {
                    let delta = match kind {
                        0 => json!({"role": "assistant", "content": ""}),
                        1 => json!({}),
                        2 => json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": text}}]}),
                        3 => json!({"reasoning": text}),
                        _ => json!({"content": text}),
                    };
                    let index = usize::from(*kind == 5);
                    let choices = json!([{"index": index, "delta": delta, "finish_reason": null}]);
                    let choices = if *kind == 6 { json!([]) } else { choices };
                    let (id, time) = (format!("chat-{number}"), 1_700_000_000 + number);
                    let event = json!({"id": id, "object": "chunk", "created": time, "choices": choices});
                    parser.feed_stream(format!("data: {event}\n\n").as_bytes(), MonoNs(2));
                }
                let Parsed { output_text, reasoning_text, choice_ends, content, responses, reply, unreadable, .. } =
                    parser.finish();
                (output_text, reasoning_text, choice_ends, content, responses, reply, unreadable)
            };
            prop_assert_eq!(read(Some(&known)), read(None));
        }
    }

    #[test]
    fn a_remembered_shape_changes_nothing(
        texts in prop::collection::vec("[a-z \"\\\\\n\u{e9}{}:,]{0,6}", 1..20),
        tails in prop::collection::vec(prop::sample::select(vec!["", ",\"finish_reason\":null"]), 20),
    ) {
        let mut parser = ResponseParser::new(&chat(), MonoNs(1));
        for (i, (text, tail)) in texts.iter().zip(&tails).enumerate() {
            parser.feed_stream(chunk(text, tail).as_bytes(), MonoNs(i as u64 + 2));
        }
        let parsed = parser.finish();
        prop_assert_eq!(parsed.output_text.unwrap_or_default(), texts.concat());
        prop_assert_eq!(parsed.content.len(), texts.iter().filter(|text| !text.is_empty()).count());
    }
}

/// Feeds the reads of a stream that was sent at instant 1000, each with its bytes.
fn reads(reads: &[(Read, String)]) -> Parsed {
    let mut parser = ResponseParser::new(&chat(), MonoNs(1000));
    reads.iter().for_each(|(read, bytes)| assert!(parser.feed_stream(bytes.as_bytes(), read)));
    parser.finish()
}

/// A stamped read at an instant, of a socket that was empty this long before.
fn read(at: u64, width: u32) -> Read {
    Read { at: MonoNs(at), width, ..Read::default() }
}

fn widths(parsed: &Parsed) -> (u64, u64) {
    (parsed.first_uncertainty.width.0, parsed.last_uncertainty.width.0)
}

#[test]
fn events_with_a_read_of_their_own_are_exact() {
    let parsed = reads(&[(read(2000, 900), chunk("a", "")), (read(3000, 900), chunk("b", ""))]);
    assert_eq!((parsed.merged, widths(&parsed)), (0, (0, 0)));
}

#[test]
fn of_events_in_one_read_all_but_the_last_are_uncertain() {
    let three = chunk("a", "") + &chunk("b", "") + &chunk("c", "");
    let parsed = reads(&[(Read { is_late: true, ..read(2000, 700) }, three), (read(3000, 900), chunk("d", ""))]);
    assert_eq!((parsed.merged, parsed.merged_late, widths(&parsed)), (2, 2, (700, 0)));
    assert_eq!((parsed.merged_width_sum, parsed.merged_width_max), (1400, 700));
    assert!(parsed.first_uncertainty.is_late);
}

#[test]
fn a_part_of_the_next_event_makes_the_one_before_uncertain() {
    let second = chunk("b", "");
    let (part, rest) = second.split_at(9);
    let parsed = reads(&[(read(2000, 700), chunk("a", "") + part), (read(3000, 900), rest.to_owned())]);
    assert_eq!((parsed.merged, widths(&parsed)), (1, (700, 0)));
}

#[test]
fn an_end_marker_in_the_read_of_the_last_content_makes_it_uncertain() {
    let last = chunk("b", "") + "data: [DONE]\n\n";
    let parsed = reads(&[(read(2000, 700), chunk("a", "")), (read(3000, 900), last)]);
    assert_eq!((parsed.merged, widths(&parsed)), (0, (0, 900)), "most streams end in this way: they are not merged");
}

#[test]
fn a_read_that_is_full_shared_or_without_a_stamp_is_not_exact() {
    let alone = |read: Read| reads(&[(read, chunk("a", ""))]);
    let full = alone(Read { is_full: true, ..read(2000, 700) });
    let shared = alone(Read { is_shared: true, ..read(2000, 700) });
    let unstamped = alone(Read { lag: Read::NO_STAMP, ..read(2000, 700) });
    for parsed in [&full, &shared, &unstamped] {
        assert_eq!(widths(parsed), (700, 700));
    }
    assert_eq!([full.merged, shared.merged, unstamped.merged], [1, 1, 0]);
    let followed = alone(Read { is_followed: true, ..read(2000, 700) });
    assert_eq!((widths(&followed), followed.merged), ((700, 700), 0), "the end of the response is no event");
    assert!(unstamped.first_uncertainty.is_unstamped && !full.first_uncertainty.is_unstamped);
}

#[test]
fn nothing_arrives_before_its_request_is_sent() {
    let both = || chunk("a", "") + &chunk("b", "");
    assert_eq!(widths(&reads(&[(read(2000, 5000), both())])).0, 1000);
    assert_eq!(widths(&reads(&[(read(9_000_000_000, u32::MAX), both())])).0, 8_999_999_000, "longer than it can say");
}
