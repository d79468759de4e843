//! Whatever servers send, in whatever pieces: nothing panics, and an answer is the same however it came.
#![expect(clippy::unwrap_used, reason = "a test that cannot begin is a failed one")]

use aiperf_dialect::{Answer, Api};
use aiperf_plan::{BaseUrl, EndpointPlan};
use aiperf_types::{EndpointKind, MonoNs};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Types to which a body that is no JSON, or JSON that says nothing, is a text.
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

fn api(kind: EndpointKind) -> Api {
    Api::new(&EndpointPlan::new(kind, vec![BaseUrl::parse("http://localhost:8000").unwrap()]), "m").unwrap()
}

/// All that was read of a stream.
fn streamed<'a>(kind: EndpointKind, reads: impl IntoIterator<Item = &'a [u8]>) -> String {
    let api = api(kind);
    let mut answer = Answer::new(&api, MonoNs(1)).capturing(&api);
    if reads.into_iter().all(|bytes| answer.feed_stream(bytes, MonoNs(2))) {
        answer.end_stream(MonoNs(2));
    }
    format!("{:?}", answer.finish())
}

/// All that was read of a body. What an error says may show it as it was written.
fn whole(kind: EndpointKind, body: &[u8]) -> String {
    let api = api(kind);
    let mut answer = Answer::new(&api, MonoNs(1)).capturing(&api);
    answer.feed_body(body, MonoNs(2));
    let mut parsed = answer.finish();
    let error = parsed.error.take().map(|error| (error.code, error.kind));
    format!("{parsed:?} {error:?}")
}

fn kind(is_wanted: fn(&EndpointKind) -> bool) -> impl Strategy<Value = EndpointKind> {
    prop::sample::select(EndpointKind::ALL.iter().copied().filter(is_wanted).collect::<Vec<_>>())
}

/// JSON that looks like answers.
fn answer() -> impl Strategy<Value = Value> {
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
    prop_oneof![
        answer().prop_map(|answer| format!("data: {answer}\n\n").into_bytes()),
        prop::collection::vec(any::<u8>(), 0..12),
        prop::sample::select(vec!["data: ", "\n\n", "\r\n\r\n", "data: [DONE]\n\n", "event: error\n", ": ping\n\n"])
            .prop_map(|text| text.as_bytes().to_vec()),
    ]
}

/// Enough to find what is broken sooner or later, few enough to be run every time.
const CASES: u32 = 192;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(CASES) })]

    #[test]
    fn a_stream_says_the_same_in_any_pieces(
        kind in kind(|_| true),
        fragments in prop::collection::vec(fragment(), 0..8),
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
    fn a_body_says_the_same_however_it_is_written(kind in kind(|kind| !TAKE_ANY_TEXT.contains(kind)), answer in answer()) {
        let compact = whole(kind, answer.to_string().as_bytes());
        prop_assert_eq!(&whole(kind, format!("\u{feff}{answer:#}\n").as_bytes()), &compact);
        // A member that is there twice is read by way of a tree.
        if let Value::Object(members) = &answer && !members.is_empty() && !members.contains_key("error") {
            let twice = format!("{{\"error\":1,\"error\":null,{}", &answer.to_string()[1..]);
            prop_assert_eq!(&whole(kind, twice.as_bytes()), &compact);
        }
    }

    #[test]
    fn any_bytes_are_a_body(kind in kind(|_| true), body in prop::collection::vec(any::<u8>(), 0..64)) {
        whole(kind, &body);
    }
}
