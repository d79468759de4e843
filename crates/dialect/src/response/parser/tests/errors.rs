//! Errors inside responses, in every form that servers give them.

use super::*;

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
