mod errors;
mod intervals;

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
fn a_stream_of_known_events_without_content_is_not_read_to_its_end_either() {
    let known = KnownMessages::default();
    let silent = "data: {\"id\":\"a\",\"created\":1,\"choices\":[]}\n\n";
    for learned in [false, true] {
        let mut parser = ResponseParser::new(&chat(), MonoNs(1)).knowing(&known);
        let is_known = known.find(silent.trim().as_bytes(), false).is_some();
        assert_eq!(is_known, learned);
        assert!(parser.feed_stream(silent.as_bytes(), MonoNs(2)));
        parser.parsed.responses = MOST_SILENT as u32;
        assert!(!parser.feed_stream(silent.as_bytes(), MonoNs(3)));
        assert!(parser.finish().error.is_some());
    }
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
