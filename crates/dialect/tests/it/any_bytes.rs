//! Whatever servers send, in whatever pieces: nothing panics, and a response is the same however it came.

use aiperf_dialect::{Api, ResponseParser};
use aiperf_plan::{BaseUrl, EndpointPlan};
use aiperf_types::{EndpointKind, MonoNs};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Types to which a body that is no JSON, or JSON of nothing, is a text.
const TAKE_ANY_TEXT: &[EndpointKind] = &[EndpointKind::AudioTranscription, EndpointKind::Raw, EndpointKind::Template];

/// Names that mean something to one of them.
const MEMBERS: &[&str] = &[
    "data",
    "object",
    "embedding",
    "embeddings",
    "results",
    "rankings",
    "index",
    "relevance_score",
    "score",
    "token",
    "text",
    "generated_text",
    "url",
    "b64_json",
    "partial_image_index",
    "content",
    "sources",
    "usage",
    "prompt_tokens",
    "error",
    "size",
    "choices",
    "delta",
    "message",
    "type",
    "reasoning",
];

/// What servers send in streams.
const EVENTS: &[&str] = &[
    r#"{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
    r#"{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"ab"}}]}"#,
    r#"{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"c\n"}}]}"#,
    r#"{"choices":[{"index":1,"delta":{"content":"z"}},{"index":0,"delta":{"reasoning":"r"}}]}"#,
    r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{"}}]}}]}"#,
    r#"{"choices":[{"delta":{"function_call":{"name":"f","arguments":"{}"}}}]}"#,
    r#"{"choices":[],"usage":{"completion_tokens":3}}"#,
    r#"{"object":"text_completion","choices":[{"index":1,"text":"c"}]}"#,
    r#"{"object":"text_completion","choices":[{"index":0,"text":7}],"usage":{"prompt_tokens":1}}"#,
    r#"{"type":"response.created","response":{"id":"r","store":true}}"#,
    r#"{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"ab","sequence_number":1}"#,
    r#"{"type":"response.output_text.done","output_index":0,"content_index":0,"text":"ab"}"#,
    r#"{"type":"response.output_item.added","item":{"type":"function_call","name":"f"}}"#,
    r#"{"type":"response.output_item.done","item":{"id":"i","type":"message"}}"#,
    r#"{"type":"response.completed","response":{"usage":{"output_tokens":2}}}"#,
    r#"{"type":"response.failed","response":{"error":{"message":"lost"}}}"#,
    r#"{"type":"message_start","message":{"usage":{"input_tokens":1}}}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"f"}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#,
    r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"ab"}}"#,
    r#"{"type":"message_delta","usage":{"output_tokens":2}}"#,
    r#"{"type":"error","error":{"message":"busy"}}"#,
    r#"{"index":1,"token":{"id":5,"text":" a\n","special":false},"generated_text":null}"#,
    r#"{"type":"image_generation.partial_image","b64_json":"AAAA","partial_image_index":0}"#,
    r#"{"data":[{"object":"embedding","embedding":[1]}]}"#,
    r#"{"content":"ab","sources":[1]}"#,
    r#"{"error":{"message":"lost"}}"#,
];

fn api(kind: EndpointKind) -> Api {
    Api::new(&EndpointPlan::new(kind, vec![BaseUrl::parse("http://localhost:8000").unwrap()]), "m").unwrap()
}

/// All that was read of a stream.
fn streamed<'a>(kind: EndpointKind, reads: impl IntoIterator<Item = &'a [u8]>) -> String {
    let api = api(kind);
    let mut parser = ResponseParser::new(&api, MonoNs(1)).capturing(&api);
    if reads.into_iter().all(|bytes| parser.feed_stream(bytes, MonoNs(2))) {
        parser.end_stream(MonoNs(2));
    }
    format!("{:?}", parser.finish())
}

/// All that was read of a body. An error may show it as it was written.
fn whole(kind: EndpointKind, body: &[u8]) -> String {
    let api = api(kind);
    let mut parser = ResponseParser::new(&api, MonoNs(1)).capturing(&api);
    parser.feed_body(body, MonoNs(2));
    let mut parsed = parser.finish();
    let error = parsed.error.take().map(|error| (error.code, error.kind));
    format!("{parsed:?} {error:?}")
}

fn kind(is_wanted: fn(&EndpointKind) -> bool) -> impl Strategy<Value = EndpointKind> {
    prop::sample::select(EndpointKind::ALL.iter().copied().filter(is_wanted).collect::<Vec<_>>())
}

/// JSON that looks like responses.
fn response_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        (-4.0..4.0).prop_map(|number: f64| json!(number)),
        "[a-z\"\\\\\n\u{e9}]{0,4}".prop_map(Value::from),
        Just(json!("embedding")),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let member = prop::sample::select(MEMBERS).prop_map(str::to_owned);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((member, inner), 0..4)
                .prop_map(|members| members.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}

/// What a stream is made of.
fn fragment() -> impl Strategy<Value = Vec<u8>> {
    let event = (
        prop::sample::select(vec!["", "event: x\n", "event: x\r\n", ": ping\n", "id: 1\n"]),
        prop_oneof![2 => prop::sample::select(EVENTS).prop_map(str::to_owned), 1 => response_json().prop_map(|json| json.to_string())],
        prop::sample::select(vec!["\n\n", "\r\n\r\n", "\r\r", "\n"]),
    );
    prop_oneof![
        4 => event.prop_map(|(before, json, after)| format!("{before}data: {json}{after}").into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..12),
        1 => prop::sample::select(vec!["data: ", "\n\n", "\r\n\r\n", "data: [DONE]\n\n", "event: error\n", ": ping\n\n"])
            .prop_map(|text| text.as_bytes().to_vec()),
    ]
}

/// Few enough to be run every time; `PROPTEST_CASES` asks for more.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(192)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases()) })]

    #[test]
    fn a_stream_means_the_same_in_any_pieces(
        kind in kind(|_| true),
        fragments in prop::collection::vec(fragment(), 0..14),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let bytes = fragments.concat();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let reads = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]);
        let in_one = streamed(kind, [&bytes[..]]);
        prop_assert_eq!(&streamed(kind, reads), &in_one);
        prop_assert_eq!(&streamed(kind, bytes.chunks(1)), &in_one);
    }

    #[test]
    fn a_body_means_the_same_however_it_is_written(kind in kind(|kind| !TAKE_ANY_TEXT.contains(kind)), response in response_json()) {
        let compact = whole(kind, response.to_string().as_bytes());
        prop_assert_eq!(&whole(kind, format!("\u{feff}{response:#}\n").as_bytes()), &compact);
        // A member that is there twice is read by way of a tree.
        if let Value::Object(members) = &response && !members.is_empty() && !members.contains_key("error") {
            let twice = format!("{{\"error\":1,\"error\":null,{}", &response.to_string()[1..]);
            prop_assert_eq!(&whole(kind, twice.as_bytes()), &compact);
        }
    }

    #[test]
    fn any_bytes_are_a_body(kind in kind(|_| true), body in prop_oneof![
        prop::collection::vec(any::<u8>(), 0..64),
        prop::collection::vec(fragment(), 0..4).prop_map(|fragments| fragments.concat()),
        prop::sample::select(EVENTS).prop_map(|event| event.as_bytes().to_vec()),
    ]) {
        prop_assert!(whole(kind, &body).contains("responses: 1,"));
    }
}
