//! Conversations as they go on: what each turn sends of those before it.

use aiperf_dialect::{Api, EncodedRequest, Session, kinds};
use aiperf_plan::{BaseUrl, EndpointPlan};
use aiperf_types::{ContextMode, Conversation, EndpointKind, Reply, Turn};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::sync::Arc;

fn api(kind: EndpointKind) -> Arc<Api> {
    let endpoint = EndpointPlan::new(kind, vec![BaseUrl::parse("http://localhost:8000").unwrap()]);
    Api::new(&endpoint, "m").unwrap().into()
}

fn conversation(mode: ContextMode, turns: Vec<Turn>) -> Conversation {
    Conversation { turns, context_mode: Some(mode), ..Conversation::default() }
}

fn assistant_turn(text: &str) -> Turn {
    Turn { role: Some("assistant".into()), ..Turn::text(text) }
}

fn reply(text: &str) -> Reply {
    Reply { turn: Some(assistant_turn(text)), response_id: None }
}

fn body(request: &EncodedRequest) -> Value {
    serde_json::from_slice(&request.body.joined()).unwrap()
}

/// The messages of a chat request, each with the first letter of its role.
fn messages(request: &EncodedRequest) -> String {
    let body = body(request);
    let items = body["messages"].as_array().or(body["input"].as_array()).unwrap();
    let one = |item: &Value| format!("{:.1}:{}", item["role"].as_str().unwrap(), item["content"].as_str().unwrap());
    items.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[test]
fn each_turn_carries_those_before_it_with_their_responses() {
    let turns = vec![Turn::text("1"), Turn::text("2"), Turn::text("3")];
    let talk = conversation(ContextMode::DeltasWithoutResponses, turns);
    let mut session = Session::new(api(EndpointKind::Chat), talk.into());
    assert_eq!(messages(&session.ask(0).unwrap()), "u:1");
    assert!(session.wants_reply());
    session.take(reply("a")).unwrap();
    assert_eq!(messages(&session.ask(1).unwrap()), "u:1 a:a u:2");
    // An empty response: two users in a row.
    session.take(Reply::default()).unwrap();
    assert_eq!(messages(&session.ask(2).unwrap()), "u:1 a:a u:2 u:3");
    assert!(!session.wants_reply());
}

#[test]
fn a_body_has_as_memory_of_its_own_what_is_new_in_it() {
    let long = "word ".repeat(100_000);
    let turns = vec![Turn::text("1"), Turn::text(&long), Turn::text("3"), Turn::text("4"), Turn::text("5")];
    let talk = conversation(ContextMode::DeltasWithoutResponses, turns);
    let mut session = Session::new(api(EndpointKind::Chat), talk.into());
    let bodies = [0, 1, 2, 3, 4].map(|turn| {
        let body = session.ask(turn).unwrap().body;
        session.take(reply("a")).unwrap();
        body
    });
    assert_eq!(bodies[0].owned(), bodies[0].len(), "all of the first is new");
    assert!(bodies[1].owned() > long.len());
    assert!(bodies[2].owned() < bodies[2].len(), "what is short is joined with it, once");
    assert!(bodies[3..].iter().all(|body| body.len() > long.len() && body.owned() < 1000));
}

#[test]
fn responses_that_a_dataset_holds_are_not_taken_from_the_server() {
    let turns = vec![Turn::text("1"), assistant_turn("a"), Turn::text("2")];
    let talk = conversation(ContextMode::DeltasWithResponses, turns);
    let mut session = Session::new(api(EndpointKind::Chat), talk.into());
    assert_eq!(messages(&session.ask(0).unwrap()), "u:1");
    assert!(!session.wants_reply());
    session.take(reply("x")).unwrap();
    assert_eq!(messages(&session.ask(2).unwrap()), "u:1 a:a u:2", "the turn between was skipped, and is there");
}

#[test]
fn a_turn_with_all_messages_is_sent_alone() {
    let tools = Some(vec![json!({"name": "f"})]);
    let turns = vec![Turn { raw_tools: tools, ..Turn::text("1") }, Turn::text("2")];
    let talk = conversation(ContextMode::MessageArrayWithResponses, turns);
    let mut session = Session::new(api(EndpointKind::Chat), talk.into());
    session.ask(0).unwrap();
    session.take(reply("x")).unwrap();
    let second = session.ask(1).unwrap();
    assert_eq!(messages(&second), "u:2");
    assert_eq!(body(&second).get("tools"), None);
}

#[test]
fn a_system_message_is_merged_with_whatever_comes_first_after_a_reset() {
    let raw = |messages: Value, reset_context: bool| Turn {
        raw_messages: Some(messages.as_array().unwrap().clone()),
        reset_context,
        ..Turn::default()
    };
    let turns = vec![
        Turn::text("1"),
        raw(json!([{"role": "system", "content": "own"}, {"role": "user", "content": "2"}]), true),
        Turn::text("3"),
        raw(json!([]), true),
        Turn::text("4"),
    ];
    let talk = Conversation {
        system_message: Some("S".into()),
        user_context_message: Some("C".into()),
        ..conversation(ContextMode::DeltasWithoutResponses, turns)
    };
    let mut session = Session::new(api(EndpointKind::Chat), talk.into());
    let asked: Vec<String> = (0..5).map(|turn| messages(&session.ask(turn).unwrap())).collect();
    let merged = "s:S\n\nown u:C u:2";
    assert_eq!(asked[..3], ["s:S u:C u:1".to_owned(), merged.to_owned(), format!("{merged} u:3")]);
    assert_eq!(asked[3..], ["s:S u:C".to_owned(), "s:S u:C u:4".to_owned()]);
}

#[test]
fn tools_and_system_blocks_hold_until_others_come() {
    let tools = |names: &[&str]| Some(names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>());
    let turns = vec![
        Turn { raw_tools: tools(&["f"]), raw_system: Some(vec![json!({"text": "s"})]), ..Turn::text("1") },
        Turn::text("2"),
        Turn { raw_tools: tools(&[]), ..Turn::text("3") },
    ];
    let talk = conversation(ContextMode::DeltasWithoutResponses, turns);
    let mut session = Session::new(api(EndpointKind::Messages), talk.into());
    let asked: Vec<Value> = (0..3).map(|turn| body(&session.ask(turn).unwrap())).collect();
    assert_eq!(asked[1]["tools"], json!([{"name": "f"}]));
    assert_eq!(asked[2]["tools"], json!([]));
    assert!(asked.iter().all(|body| body["system"] == json!([{"text": "s"}])));
}

#[test]
fn what_a_server_has_kept_is_not_sent_again() {
    let turns =
        vec![Turn::text("1"), Turn::text("2"), Turn { reset_context: true, ..Turn::text("3") }, Turn::text("4")];
    let talk = conversation(ContextMode::DeltasWithoutResponses, turns);
    let mut session = Session::new(api(EndpointKind::Responses), talk.into());
    let kept = |id: &str| Reply { response_id: Some(id.into()), ..reply("a") };
    session.ask(0).unwrap();
    session.take(kept("r1")).unwrap();
    let second = session.ask(1).unwrap();
    assert_eq!((messages(&second), body(&second)["previous_response_id"].clone()), ("u:2".into(), json!("r1")));
    session.take(kept("r2")).unwrap();
    let third = session.ask(2).unwrap();
    assert_eq!(body(&third).get("previous_response_id"), None, "a new beginning goes on from nothing");
    assert_eq!(messages(&third), "u:1 a:a u:2 a:a u:3");
    // A response that was not kept cannot be gone on from.
    session.take(Reply { response_id: Some(String::new()), ..reply("b") }).unwrap();
    assert_eq!(messages(&session.ask(3).unwrap()), "u:1 a:a u:2 a:a u:3 a:b u:4");
}

#[test]
fn a_conversation_with_more_turns_than_a_type_sends_is_refused() {
    let talk = conversation(ContextMode::DeltasWithoutResponses, vec![Turn::text("1"), Turn::text("2")]);
    let mut session = Session::new(api(EndpointKind::Completions), talk.into());
    assert!(session.ask(0).is_ok());
    assert!(session.ask(1).is_err());
    assert!(session.ask(2).is_err(), "there is no such turn");
}

const KINDS: [EndpointKind; 4] =
    [EndpointKind::Chat, EndpointKind::ChatEmbeddings, EndpointKind::Responses, EndpointKind::Messages];

fn any_turn() -> impl Strategy<Value = Turn> {
    let text = "[a-z \"\u{e9}\\\\]{0,6}";
    let raw = prop::collection::vec((prop::sample::select(vec!["system", "user", "tool"]), text), 0..3);
    (text, prop::option::weighted(0.4, raw), prop::bool::weighted(0.2), prop::option::of(1u32..9)).prop_map(
        |(text, raw, reset_context, max_tokens)| {
            let message = |(role, content): (&str, String)| json!({"role": role, "content": content});
            let raw_messages = raw.map(|raw| raw.into_iter().map(message).collect());
            let extra_body = max_tokens.map(|seed| Map::from_iter([("seed".to_owned(), json!(seed))]));
            Turn { raw_messages, reset_context, max_tokens, extra_body, ..Turn::text(text) }
        },
    )
}

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    /// The same conversation with its responses as turns of its own, put together at once.
    #[test]
    fn a_body_grown_turn_by_turn_is_the_body_made_from_scratch(
        kind in prop::sample::select(KINDS.to_vec()),
        turns in prop::collection::vec((any_turn(), prop::option::of("[a-z\"]{1,5}")), 1..7),
        system_message in prop::option::of("[a-z]{0,3}"),
        user_context_message in prop::option::of("[a-z]{0,3}"),
    ) {
        let of = |mode: ContextMode, turns: Vec<Turn>| Conversation {
            system_message: system_message.clone(),
            user_context_message: user_context_message.clone(),
            ..conversation(mode, turns)
        };
        let asked: Vec<Turn> = turns.iter().map(|(turn, _)| turn.clone()).collect();
        let mut session = Session::new(api(kind), of(ContextMode::DeltasWithoutResponses, asked).into());
        let mut written = Vec::new();
        for (at, (turn, reply_text)) in turns.iter().enumerate() {
            written.push(turn.clone());
            let grown = session.ask(at).unwrap();
            let all = of(ContextMode::DeltasWithResponses, written.clone());
            let scratch = Session::new(api(kind), all.into()).ask(written.len() - 1).unwrap();
            prop_assert_eq!(grown.body.joined(), scratch.body.joined());
            prop_assert!(serde_json::from_slice::<Value>(&grown.body.joined()).is_ok());
            written.extend(reply_text.as_deref().map(assistant_turn));
            session.take(reply_text.as_deref().map_or_else(Reply::default, reply)).unwrap();
        }
    }

    /// What a turn costs is what was not in the body before it.
    #[test]
    fn earlier_turns_are_encoded_once_and_copied_now_and_then(
        kind in prop::sample::select(KINDS.to_vec()),
        texts in prop::collection::vec("[a-z]{1,9}", 2..9),
        times in 1usize..40,
    ) {
        let turns: Vec<Turn> = texts.iter().map(Turn::text).cycle().take(texts.len() * times).collect();
        let count = turns.len();
        let mut session = Session::new(api(kind), conversation(ContextMode::DeltasWithoutResponses, turns).into());
        let (mut copied, mut len, mut held) = (0, 0, Vec::new());
        for turn in 0..count {
            let body = session.ask(turn).unwrap().body;
            let is_new = |piece: &&bytes::Bytes| !held.iter().any(|held: &bytes::Bytes| held.as_ptr() == piece.as_ptr());
            copied += body.pieces().iter().filter(is_new).map(bytes::Bytes::len).sum::<usize>();
            len = body.len();
            held = body.pieces().to_vec();
            let most = 5 + (2 * len).ilog2() as usize;
            prop_assert!(held.len() <= most, "{} pieces of {len} bytes", held.len());
        }
        let frames = 200 * count;
        prop_assert!(copied <= frames + len * (2 + len.ilog2() as usize), "{copied} bytes for {len} in {count} turns");
    }
}

/// A turn whose number of images no sum of others gives.
fn pictured(images: usize) -> Turn {
    let contents = vec!["data:image/png;base64,AA".to_owned(); images];
    let image = aiperf_types::Media { contents, ..Default::default() };
    Turn {
        images: vec![image, aiperf_types::Media { contents: vec![String::new()], ..Default::default() }],
        ..Turn::text("t")
    }
}

#[test]
fn a_request_has_the_images_of_the_turns_since_its_context_began() {
    let raw = |images: usize, reset_context| {
        let parts = vec![json!({"type": "image_url", "image_url": {"url": "u"}}); images];
        let raw_messages = Some(vec![json!({"role": "user", "content": parts})]);
        Turn { reset_context, raw_messages, ..Turn::text("t") }
    };
    let reset = Turn { reset_context: true, ..pictured(2) };
    let payload = Turn { raw_payload: Some(Map::new()), ..pictured(4) };
    let turns = vec![pictured(1), reset, payload, raw(8, true), raw(16, false), pictured(32)];
    let images = |api: Arc<Api>, mode| {
        let mut session = Session::new(api, conversation(mode, turns.clone()).into());
        let mut asked = Vec::new();
        for turn in 0..turns.len() {
            session.ask(turn).unwrap();
            asked.push(session.images());
            session.take(reply("x")).unwrap();
        }
        asked
    };
    let chat = images(api(EndpointKind::Chat), ContextMode::DeltasWithoutResponses);
    let wanted = [Some(1), Some(3), None, Some(8), Some(24), Some(56)];
    assert_eq!(
        chat, wanted,
        "only a turn with messages of its own resets the history, and a whole payload is no history"
    );
    let alone = [Some(1), Some(2), None, Some(8), Some(16), Some(32)];
    assert_eq!(images(api(EndpointKind::Chat), ContextMode::MessageArrayWithResponses), alone);
    let template = images(template(r#"{"p": {{ text|tojson }}}"#), ContextMode::DeltasWithoutResponses);
    assert_eq!(template, [Some(1), Some(2), None, None, None, Some(32)], "the last turn alone is sent");
}

#[test]
fn a_hundred_long_turns_are_a_few_pieces_and_what_is_long_is_not_copied_again() {
    let long = "word ".repeat(1000);
    let turns = vec![Turn::text(&long); 100];
    let talk = conversation(ContextMode::DeltasWithoutResponses, turns);
    let mut session = Session::new(api(EndpointKind::Chat), talk.into());
    let (mut held, mut most_copied): (Vec<bytes::Bytes>, _) = (Vec::new(), 0);
    for turn in 0..100 {
        let body = session.ask(turn).unwrap().body;
        let is_new = |piece: &&bytes::Bytes| !held.iter().any(|held| held.as_ptr() == piece.as_ptr());
        most_copied = most_copied.max(body.pieces().iter().filter(is_new).map(bytes::Bytes::len).sum::<usize>());
        held = body.pieces().to_vec();
        session.take(reply(&long)).unwrap();
    }
    let len: usize = held.iter().map(bytes::Bytes::len).sum();
    assert!(len > 990_000, "{len}");
    assert!(held.len() < 24, "{} pieces", held.len());
    assert!(most_copied < 160_000, "{most_copied} bytes in one turn");
}

#[test]
fn what_can_never_be_asked_is_known_before_anything_is() {
    let turns = vec![Turn::text("1"), Turn::text("2"), Turn { raw_payload: Some(Map::new()), ..Turn::default() }];
    let refused = |kind, mode| {
        let session = Session::new(api(kind), conversation(mode, turns.clone()).into());
        (0..3).filter(|turn| session.check_carried(*turn).is_err()).collect::<Vec<_>>()
    };
    assert_eq!(refused(EndpointKind::Completions, ContextMode::DeltasWithoutResponses), [1]);
    assert!(refused(EndpointKind::Completions, ContextMode::MessageArrayWithResponses).is_empty());
    assert!(refused(EndpointKind::Chat, ContextMode::DeltasWithoutResponses).is_empty());
}

#[test]
fn prompts_can_be_counted_by_what_each_request_adds() {
    let raw = vec![json!({"role": "user", "content": "5"})];
    let turns = [
        Turn::text("1"),
        Turn { raw_tools: Some(vec![json!({"name": "f"})]), ..Turn::text("2") },
        Turn { extra_body: Some(Map::from_iter([("tools".to_owned(), json!([]))])), ..Turn::text("3") },
        Turn::text("4"),
        Turn { raw_messages: Some(raw), reset_context: true, ..Turn::default() },
        Turn::text("6"),
    ];
    let added = |turns: &[Turn], mode| {
        let talk = Conversation { system_message: Some("S".into()), ..conversation(mode, turns.to_vec()) };
        let mut session = Session::new(api(EndpointKind::Chat), talk.into());
        let mut prompt = Vec::new();
        let asked = (0..turns.len()).map(|turn| {
            session.ask(turn).unwrap();
            session.take(reply(&format!("a{turn}"))).unwrap();
            let delta = session.take_delta()?;
            if !delta.continues {
                prompt.clear();
            }
            prompt.push(kinds::chat::DIALECT.texts_of_items(&delta.items).unwrap().join("|"));
            Some(prompt.join(" / "))
        });
        asked.collect::<Vec<_>>()
    };
    let of = |text: &str| Some(text.to_owned());
    let plain = [turns[0].clone(), turns[3].clone(), turns[4].clone(), turns[5].clone()];
    let wanted = [of("S|1"), of("S|1 / a0|4"), of("S|5"), of("S|5 / a2|6")];
    assert_eq!(added(&plain, ContextMode::DeltasWithoutResponses), wanted);
    let tools = added(&turns[..4], ContextMode::DeltasWithoutResponses);
    assert_eq!(tools, [of("S|1"), None, None, None], "texts of tools come after all messages");
    assert_eq!(added(&plain, ContextMode::MessageArrayWithResponses), [None, None, None, None]);
}

#[test]
fn turns_that_are_asked_alone_carry_nothing_but_what_all_share() {
    let talk = Conversation {
        system_message: Some("S".into()),
        ..conversation(ContextMode::DeltasWithoutResponses, vec![Turn::text("1"), Turn::text("2")])
    };
    let mut session = Session::of_turns_alone(api(EndpointKind::Chat), talk.into());
    let asked = [0, 1].map(|turn| messages(&session.ask(turn).unwrap()));
    assert_eq!(asked, ["s:S u:1", "s:S u:2"]);
}

fn template(template: &str) -> Arc<Api> {
    let urls = vec![BaseUrl::parse("http://localhost:8000").unwrap()];
    let mut endpoint = EndpointPlan::new(EndpointKind::Template, urls);
    endpoint.template = Some(template.to_owned());
    Arc::new(Api::new(&endpoint, "m").unwrap())
}

#[test]
fn only_what_goes_on_from_responses_wants_them() {
    let wants = |api: Arc<Api>| {
        let talk = conversation(ContextMode::DeltasWithoutResponses, vec![Turn::text("1"), Turn::text("2")]);
        let mut session = Session::new(api, talk.into());
        session.ask(0).unwrap();
        session.wants_reply()
    };
    assert!(wants(api(EndpointKind::Responses)));
    assert!(!wants(api(EndpointKind::Embeddings)));
    assert!(!wants(template(r#"{"p": {{ text|tojson }}}"#)));
    assert!(wants(template(r#"{"n": {{ turns|length }}}"#)));
    assert!(wants(template(r#"{"n": {{ request_info.turns|length }}}"#)));
}

#[test]
fn a_turn_that_cannot_be_carried_is_refused_wherever_it_is() {
    let image = aiperf_types::Media { contents: vec!["data:image/png;base64,AA".into()], ..Default::default() };
    let turns = vec![Turn { images: vec![image], ..Turn::text("1") }, Turn::text("2")];
    let talk = conversation(ContextMode::DeltasWithResponses, turns);
    let asked = Session::new(api(EndpointKind::VideoGeneration), talk.into()).ask(1);
    assert_eq!(asked.unwrap_err().to_string(), "the video_generation endpoint cannot carry images");
}

#[test]
fn tools_are_encoded_once_for_all_turns_that_have_them() {
    let tools = Some(vec![json!({"name": "f", "parameters": {"a": "\u{e9}"}})]);
    for kind in [EndpointKind::Chat, EndpointKind::Messages, EndpointKind::Responses] {
        let own = Map::from_iter([("tools".to_owned(), json!("own"))]);
        let turns = vec![
            Turn { raw_tools: tools.clone(), raw_system: Some(vec![json!({"text": "s"})]), ..Turn::text("1") },
            Turn::text("2"),
            Turn { extra_body: Some(own), ..Turn::text("3") },
        ];
        let talk = Conversation {
            system_message: Some("S".into()),
            ..conversation(ContextMode::DeltasWithoutResponses, turns)
        };
        let mut session = Session::new(api(kind), talk.into());
        let asked: Vec<EncodedRequest> = (0..3).map(|turn| session.ask(turn).unwrap()).collect();
        let encoded = json!(tools).to_string();
        let piece = |request: &EncodedRequest| {
            request.body.pieces().iter().find(|piece| **piece == encoded).map(|piece| piece.as_ptr())
        };
        assert!(piece(&asked[0]).is_some());
        assert_eq!(piece(&asked[0]), piece(&asked[1]));
        assert_eq!((body(&asked[1])["tools"].clone(), body(&asked[2])["tools"].clone()), (json!(tools), json!("own")));
        if kind == EndpointKind::Messages {
            assert_eq!(body(&asked[1])["system"], json!([{"type": "text", "text": "S"}, {"text": "s"}]));
        }
    }
}

#[test]
fn sessions_of_one_endpoint_send_what_each_would_send_alone() {
    let turn = |model: Option<&str>, max_tokens, tools: bool, extra: bool| Turn {
        model: model.map(str::to_owned),
        max_tokens,
        raw_tools: tools.then(|| vec![json!({"name": "f"})]),
        extra_body: extra.then(|| Map::from_iter([("seed".to_owned(), json!(7))])),
        ..Turn::text("1")
    };
    let talks = [
        turn(None, None, false, false),
        turn(None, Some(5), false, false),
        turn(Some("other"), Some(5), false, false),
        turn(Some("other"), Some(5), true, false),
        turn(Some("other"), Some(5), false, true),
        turn(Some("other"), Some(6), false, false),
    ];
    let ask = |api: &Arc<Api>, turn: &Turn| {
        let turns = vec![turn.clone(), Turn { raw_tools: None, ..turn.clone() }];
        let talk = conversation(ContextMode::DeltasWithoutResponses, turns);
        let mut session = Session::new(api.clone(), talk.into());
        [0, 1].map(|turn| session.ask(turn).unwrap().body.joined().to_vec())
    };
    for kind in [EndpointKind::Chat, EndpointKind::Responses, EndpointKind::Messages] {
        let shared = api(kind);
        for one in &talks {
            for other in &talks {
                ask(&shared, one);
                assert_eq!(ask(&shared, other), ask(&api(kind), other), "{kind:?} {other:?} after {one:?}");
            }
        }
    }
}

proptest! {
    #[test]
    fn a_first_text_is_the_same_with_and_without_a_system_message(text in any::<String>()) {
        for kind in [EndpointKind::Chat, EndpointKind::Responses, EndpointKind::Messages] {
            let items = |system: Option<&str>| {
                let talk = Conversation {
                    system_message: system.map(str::to_owned),
                    ..conversation(ContextMode::DeltasWithoutResponses, vec![Turn::text(&text)])
                };
                let body = Session::new(api(kind), talk.into()).ask(0).unwrap().body.joined().to_vec();
                String::from_utf8(body).unwrap()
            };
            // An empty system message adds nothing, but the first item is encoded as a value.
            prop_assert_eq!(items(Some("")), items(None));
        }
    }
}
