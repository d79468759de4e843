use super::prepared::LaterTurns;
use super::*;
use crate::testing::plan;
use aiperf_dataset::Making;
use aiperf_dialect::DialectError;
use aiperf_plan::{DatasetPlan, Sampling, StopWhen, SyntheticPlan};
use aiperf_types::{ContextMode, Conversation, EndpointKind, Failure, Media, Nanos, Turn};
use serde_json::json;

impl Requests {
    /// Replaces the conversations of the dataset.
    pub(crate) fn of_conversations(mut self, conversations: Vec<Conversation>) -> Self {
        self.first_counts = FirstCounts::new(conversations.len());
        self.kept.clear();
        for (index, conversation) in conversations.into_iter().enumerate() {
            let (request, _) = self.keep(index, &Arc::new(conversation)).expect("a conversation that can be sent");
            self.kept.push(Arc::new(request));
        }
        self
    }

    /// Keeps nothing and can no longer encode anything.
    pub(crate) fn refusing(mut self) -> Self {
        const REFUSING: aiperf_dialect::Dialect = aiperf_dialect::Dialect {
            frame: |_| Err(DialectError::Missing("chat", "patience")),
            ..aiperf_dialect::kinds::chat::DIALECT
        };
        self.kept.clear();
        self.with_dialect(&REFUSING)
    }

    /// Encodes and reads by another dialect.
    pub(crate) fn with_dialect(mut self, dialect: &'static aiperf_dialect::Dialect) -> Self {
        let mut api = Api::new(&self.api.endpoint, "m").expect("it was built before");
        api.dialect = dialect;
        self.api = Arc::new(api);
        self
    }
}

fn requests(kind: EndpointKind) -> Result<Requests, RequestsError> {
    let mut plan = plan("http://127.0.0.1:1");
    (plan.endpoint.kind, plan.endpoint.body) = (kind, kind.traits().body);
    of(plan)
}

fn of(plan: Plan) -> Result<Requests, RequestsError> {
    let dataset = Dataset::of(&plan.dataset, Making::new(&plan.draws(), &Tokenizer::builtin())).unwrap();
    Requests::new(Arc::new(plan), Arc::new(dataset), "1")
}

#[test]
fn a_conversation_that_cannot_be_built_is_named_before_anything_is_sent() {
    let Err(RequestsError::Conversation(error)) = requests(EndpointKind::ImageEdit) else { panic!("it needs images") };
    assert!(error.to_string().starts_with("conversation session_000000: "), "{error}");
    assert_eq!(&*error.session_id, "session_000000");
}

#[test]
fn conversations_are_shown_in_order_on_any_number_of_threads() {
    let mut plan = plan("http://127.0.0.1:1");
    plan.dataset = DatasetPlan::Synthetic(SyntheticPlan::new(300));
    let dataset = Dataset::of(&plan.dataset, Making::new(&plan.draws(), &Tokenizer::builtin())).unwrap();
    let (plan, dataset) = (Arc::new(plan), Arc::new(dataset));
    let shown = |threads| {
        let budget = EncodingBudget { bytes: 1, ahead_bytes: 0, threads };
        let requests = Requests::of_counted(plan.clone(), dataset.clone(), "1", budget, || ()).unwrap();
        let mut all = Vec::new();
        let show = |payloads: Payloads| (payloads.bodies[0].joined().into_owned(), 1);
        requests.show_all(show, |body| {
            all.push(body.unwrap());
            true
        });
        all
    };
    let alone = shown(1);
    assert_eq!(alone.len(), 300);
    assert!(shown(4) == alone);
}

#[test]
fn only_conversations_that_a_run_can_reach_are_encoded_before_it() {
    let mut plan = plan("http://127.0.0.1:1");
    plan.dataset = DatasetPlan::Synthetic(SyntheticPlan::new(10));
    let kept = |stop, sampling| {
        let mut plan = Plan { sampling, ..plan.clone() };
        plan.phases.iter_mut().for_each(|phase| phase.stop = vec![stop]);
        of(plan).unwrap().kept().0
    };
    assert_eq!(kept(StopWhen::Requests(2), Sampling::Sequential), 2);
    assert_eq!(kept(StopWhen::Sessions(30), Sampling::Sequential), 10);
    assert_eq!(kept(StopWhen::Requests(2), Sampling::Shuffle), 10);
    assert_eq!(kept(StopWhen::Elapsed(Nanos::from_millis(1)), Sampling::Sequential), 10);
}

#[test]
fn content_that_an_api_does_not_support_differs_from_wrong_content() {
    let is_unsupported = |kind, source| {
        let (place, session_id) = ("line 3".to_owned(), "s".into());
        let source: DialectError = source;
        let failure = Failure::from(&Unbuildable { place, session_id, kind, source: source.into() });
        assert!(failure.to_string().starts_with("line 3: "), "{failure}");
        matches!(failure, Failure::Unbuildable { is_unsupported: true, .. })
    };
    assert!(is_unsupported(EndpointKind::Messages, DialectError::Unsupported("messages", "audio")));
    assert!(is_unsupported(EndpointKind::Raw, DialectError::Missing("raw", "a payload")));
    assert!(!is_unsupported(EndpointKind::ImageEdit, DialectError::Missing("image_edit", "an image")));
    assert!(!is_unsupported(EndpointKind::Chat, DialectError::NoTurn));
}

fn talk(mode: ContextMode, turns: Vec<Turn>) -> Arc<Conversation> {
    let (session_id, context_mode) = ("s".to_owned(), Some(mode));
    Arc::new(Conversation { session_id, context_mode, turns, ..Conversation::default() })
}

fn bodies(requests: &[&PreparedRequest]) -> Vec<String> {
    requests.iter().map(|request| String::from_utf8_lossy(&request.encoded.body.joined()).into_owned()).collect()
}

#[test]
fn images_are_counted_in_all_carried_turns_or_found_in_a_payload() {
    let requests = requests(EndpointKind::Chat).unwrap();
    let image = |contents: &[&str]| Media {
        contents: contents.iter().map(|&content| content.to_owned()).collect(),
        ..Media::default()
    };
    let first = Turn { images: vec![image(&["a", "b"]), image(&[""])], ..Turn::default() };
    let second = Turn { images: vec![image(&["c"])], ..Turn::default() };
    let payload = json!({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]});
    let raw_payload = payload.as_object().cloned();
    let verbatim = Turn { raw_payload, ..first.clone() };
    let talk = talk(ContextMode::DeltasWithResponses, vec![first, second, verbatim]);
    let (first, _) = requests.keep(0, &talk).unwrap();
    let Some(LaterTurns::Prepared(later)) = first.later.as_ref() else { panic!("they depend on no response") };
    assert_eq!((first.images, later[0].images, later[1].images), (2, 3, 1));
}

#[test]
fn later_turns_are_encoded_beforehand_if_they_depend_on_no_response() {
    let requests = requests(EndpointKind::Chat).unwrap();
    let turns = vec![Turn::text("one"), Turn { max_tokens: Some(7), ..Turn::text("two") }];
    let (first, held) = requests.keep(0, &talk(ContextMode::DeltasWithResponses, turns.clone())).unwrap();
    let Some(LaterTurns::Prepared(later)) = first.later.as_ref() else { panic!("they depend on no response") };
    let sent = bodies(&[&first, &later[0]]);
    assert_eq!(held, sent.iter().map(String::len).sum::<usize>());
    assert!(sent[1].contains(r#"{"role":"user","content":"one"},{"role":"user","content":"two"}"#), "{sent:?}");
    assert_eq!((later[0].requested_osl, first.requested_osl, later[0].wants_reply), (Some(7), None, false));
    assert_eq!((first.encoded.body.owned(), later[0].encoded.body.owned()), (0, 0));
    let (first, held) = requests.keep(0, &talk(ContextMode::DeltasWithoutResponses, turns)).unwrap();
    assert!(first.wants_reply && first.session().is_some());
    assert!(held > sent[0].len(), "the additions of later turns are kept too");
}

#[test]
fn a_conversation_of_more_turns_than_a_type_sends_is_refused_before_anything_is_sent() {
    let requests = requests(EndpointKind::Completions).unwrap();
    let turns = vec![Turn::text("one"), Turn::text("two")];
    let error = requests.keep(0, &talk(ContextMode::DeltasWithoutResponses, turns.clone())).err().unwrap();
    assert!(error.to_string().starts_with("conversation s: the completions endpoint sends one turn"), "{error}");
    assert!(requests.keep(0, &talk(ContextMode::MessageArrayWithResponses, turns)).is_ok());
    let image = Media { contents: vec!["data:image/png;base64,AA".into()], ..Media::default() };
    let turns = vec![Turn::text("one"), Turn { images: vec![image], ..Turn::text("two") }];
    let error = requests.keep(0, &talk(ContextMode::MessageArrayWithResponses, turns)).err().unwrap();
    assert!(error.to_string().ends_with("cannot carry images"), "{error}");
}

#[test]
fn each_turn_is_shown_on_its_own() {
    let requests = requests(EndpointKind::Chat).unwrap();
    let talk = talk(ContextMode::DeltasWithoutResponses, vec![Turn::text("one"), Turn::text("two")]);
    let shown = requests.payloads(0, &talk).unwrap();
    assert_eq!((&*shown.session_id, shown.bodies.len()), ("s", 2));
    let messages =
        |body: &Body| serde_json::from_slice::<serde_json::Value>(&body.joined()).unwrap()["messages"].clone();
    assert_eq!(messages(&shown.bodies[0]), json!([{"role": "user", "content": "one"}]));
    assert_eq!(messages(&shown.bodies[1]), json!([{"role": "user", "content": "two"}]));
    assert_eq!(shown.bodies[0], requests.keep(0, &talk).unwrap().0.encoded.body, "as it is sent");
}

#[test]
fn a_later_turn_is_counted_by_what_it_sends() {
    let (requests, tokenizer) = (requests(EndpointKind::Chat).unwrap(), Tokenizer::builtin());
    let body = |texts: &[&str]| -> Body {
        let messages: Vec<_> = texts.iter().map(|text| json!({"role": "user", "content": text})).collect();
        json!({ "messages": messages }).to_string().into()
    };
    let count = |turn, texts: &[&str]| requests.input_tokens(0, turn, &body(texts), &tokenizer).unwrap();
    assert_eq!(count(0, &["one"]), Some(1));
    assert_eq!((count(1, &["one", "two"]), count(2, &["one", "two", "three"])), (Some(2), Some(3)));
    assert_eq!(count(1, &["one", "two", "four", "five"]), Some(4), "another session has other messages");
}

#[test]
fn bodies_that_fit_are_encoded_beforehand_and_every_body_is_counted_once() {
    let plan = Arc::new(plan("http://127.0.0.1:1"));
    let tokenizer = Tokenizer::builtin();
    let dataset = Arc::new(Dataset::of(&plan.dataset, Making::new(&plan.draws(), &tokenizer)).unwrap());
    let kept = |bytes| {
        let budget = EncodingBudget { bytes, ahead_bytes: 1 << 20, threads: 2 };
        Requests::of_counted(plan.clone(), dataset.clone(), "1", budget, || ()).unwrap()
    };
    assert_eq!(kept(usize::MAX).kept().0, dataset.len());
    assert_eq!((kept(1).kept().0, kept(0).kept().0), (1, 0));
    let requests = kept(0);
    let body = requests.request(0).unwrap().encoded.body.clone();
    let counted = requests.input_tokens(0, 0, &body, &tokenizer);
    assert!(counted.as_ref().unwrap() > &Some(0));
    assert_eq!(requests.input_tokens(0, 0, &"{}".into(), &tokenizer), counted, "it is not counted again");
}

#[test]
fn a_form_is_counted_before_its_payload_is_dropped() {
    let tokenizer = Tokenizer::builtin();
    let (mut dropped, whole) =
        (requests(EndpointKind::VideoGeneration).unwrap(), requests(EndpointKind::VideoGeneration).unwrap());
    dropped.drop_payloads(Some(&tokenizer.clone().into()));
    assert!(dropped.kept().1 < whole.kept().1);
    let (one, other) = (dropped.request(0).unwrap(), whole.request(0).unwrap());
    assert_eq!(one.encoded.body, other.encoded.body);
    let wanted = whole.input_tokens(0, 0, &other.encoded.body, &tokenizer);
    assert!(wanted.as_ref().unwrap() > &Some(0));
    assert_eq!(dropped.input_tokens(0, 0, &one.encoded.body, &tokenizer), wanted);
}

#[test]
fn header_fields_of_a_request_are_only_in_its_own_head() {
    let requests = requests(EndpointKind::Chat).unwrap();
    let mut request = requests.first_turn(0, &requests.conversation(0).unwrap()).unwrap();
    let plain = String::from_utf8(requests.head(0, 1, &CorrelationId::Uuid(2), &request, &request.encoded)).unwrap();
    request.encoded.headers = vec![("X-Own".to_owned(), "1".to_owned())];
    let own = String::from_utf8(requests.head(0, 1, &CorrelationId::Uuid(2), &request, &request.encoded)).unwrap();
    requests.hold(&mut request);
    assert_eq!(own.as_bytes(), requests.head(0, 1, &CorrelationId::Uuid(2), &request, &request.encoded), "kept or not");
    assert!(!plain.contains("X-Own") && own.contains("X-Own: 1\r\n"), "{own}");
    assert_eq!(own.replace("X-Own: 1\r\n", ""), plain);
}
