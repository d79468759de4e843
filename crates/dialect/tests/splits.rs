//! Streams in any splits: the same answer, whatever comes and however it comes.

use aiperf_dialect::{Answer, Api};
use aiperf_plan::{BaseUrl, EndpointPlan};
use aiperf_types::{EndpointKind, MonoNs, Parsed};
use proptest::prelude::*;

const CHAT: &[&str] = &[
    r#"{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
    r#"{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"ab"}}]}"#,
    r#"{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"c\n"}}]}"#,
    r#"{"choices":[{"index":1,"delta":{"content":"z"}},{"index":0,"delta":{"reasoning":"r"}}]}"#,
    r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{"}}]}}]}"#,
    r#"{"choices":[{"delta":{"function_call":{"name":"f","arguments":"{}"}}}]}"#,
    r#"{"choices":[],"usage":{"completion_tokens":3}}"#,
    r#"{"error":{"message":"lost"}}"#,
];
const COMPLETIONS: &[&str] = &[
    r#"{"object":"text_completion","choices":[{"index":0,"text":"ab"}]}"#,
    r#"{"object":"text_completion","choices":[{"index":1,"text":"c"}]}"#,
    r#"{"object":"text_completion","choices":[{"index":0,"text":7}],"usage":{"prompt_tokens":1}}"#,
];
const EMBEDDINGS: &[&str] = &[r#"{"data":[{"object":"embedding","embedding":[1]}]}"#, r#"{"embedding":[1,2]}"#];
const RESPONSES: &[&str] = &[
    r#"{"type":"response.created","response":{"id":"r","store":true}}"#,
    r#"{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"ab","sequence_number":1}"#,
    r#"{"type":"response.output_text.done","output_index":0,"content_index":0,"text":"ab"}"#,
    r#"{"type":"response.output_item.added","item":{"type":"function_call","name":"f"}}"#,
    r#"{"type":"response.output_item.done","item":{"id":"i","type":"message"}}"#,
    r#"{"type":"response.completed","response":{"usage":{"output_tokens":2}}}"#,
    r#"{"type":"response.failed","response":{"error":{"message":"lost"}}}"#,
];
const MESSAGES: &[&str] = &[
    r#"{"type":"message_start","message":{"usage":{"input_tokens":1}}}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"f"}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#,
    r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"ab"}}"#,
    r#"{"type":"message_delta","usage":{"output_tokens":2}}"#,
    r#"{"type":"error","error":{"message":"busy"}}"#,
];

const KINDS: &[(EndpointKind, &[&str])] = &[
    (EndpointKind::Chat, CHAT),
    (EndpointKind::Completions, COMPLETIONS),
    (EndpointKind::ChatEmbeddings, EMBEDDINGS),
    (EndpointKind::Responses, RESPONSES),
    (EndpointKind::Messages, MESSAGES),
];

/// An event as it may come, or anything else.
fn any_piece(events: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let event = (
        prop::sample::select(vec!["", "event: x\n", "event: x\r\n", ": ping\n", "id: 1\n"]),
        prop::sample::select(events.to_vec()),
        prop::sample::select(vec!["\n\n", "\r\n\r\n", "\r\r", "\n"]),
    );
    prop_oneof![
        6 => event.prop_map(|(before, json, after)| format!("{before}data: {json}{after}").into_bytes()),
        1 => Just(b"data: [DONE]\n\n".to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..20),
        1 => "[\\[\\]{}\":,0-9a-z\r\n ]{0,30}".prop_map(String::into_bytes),
    ]
}

fn any_stream() -> impl Strategy<Value = (EndpointKind, Vec<u8>)> {
    prop::sample::select(KINDS.to_vec()).prop_flat_map(|(kind, events)| {
        prop::collection::vec(any_piece(events), 0..14).prop_map(move |pieces| (kind, pieces.concat()))
    })
}

fn answer(kind: EndpointKind, reads: &[&[u8]]) -> Parsed {
    let url = BaseUrl::parse("http://localhost:8000").expect("a URL");
    let api = Api::new(&EndpointPlan::new(kind, vec![url]), "m").expect("an endpoint");
    let mut answer = Answer::new(&api, MonoNs(1)).capturing(&api);
    let mut goes_on = true;
    for (i, read) in reads.iter().enumerate() {
        goes_on = goes_on && answer.feed_stream(read, MonoNs(i as u64 + 2));
    }
    if goes_on {
        answer.end_stream(MonoNs(reads.len() as u64 + 2));
    }
    answer.finish()
}

/// What must not depend on how a stream is split: all but the instants.
fn told(parsed: &Parsed) -> impl PartialEq + std::fmt::Debug + use<> {
    (
        (parsed.output_text.clone(), parsed.choice_ends.clone(), parsed.reasoning_text.clone()),
        parsed.content.iter().map(|mark| (mark.output, mark.reasoning)).collect::<Vec<_>>(),
        (parsed.usage, parsed.responses, parsed.unreadable),
        (format!("{:?}", parsed.error), parsed.reply.clone()),
    )
}

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn a_stream_says_the_same_in_any_splits(
        (kind, stream) in any_stream(),
        cuts in prop::collection::vec(1usize..40, 1..50),
    ) {
        let mut reads = Vec::new();
        let mut rest = &stream[..];
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (read, after) = rest.split_at((*cut).min(rest.len()));
            reads.push(read);
            rest = after;
        }
        prop_assert_eq!(told(&answer(kind, &reads)), told(&answer(kind, &[&stream])));
    }

    #[test]
    fn a_whole_body_may_be_anything(
        (kind, body) in any_stream(),
        event in 0usize..8,
    ) {
        let url = BaseUrl::parse("http://localhost:8000").expect("a URL");
        let api = Api::new(&EndpointPlan::new(kind, vec![url]), "m").expect("an endpoint");
        let events = KINDS.iter().find(|(known, _)| *known == kind).map_or(&[][..], |(_, events)| events);
        for body in [&body[..], events.get(event).map_or(&[][..], |event| event.as_bytes())] {
            let mut answer = Answer::new(&api, MonoNs(1)).capturing(&api);
            answer.feed_body(body, MonoNs(2));
            prop_assert_eq!(answer.finish().responses, 1);
        }
    }
}
