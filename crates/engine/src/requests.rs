//! What is sent. Bodies are encoded once, before the clock starts, up to a limit of bytes; of a dataset larger than that,
//! the rest is encoded entry by entry as it is needed.

use aiperf_dataset::{Dataset, DatasetError};
use aiperf_dialect::request::Notes;
use aiperf_dialect::{Api, ApiError, DialectError, EncodedRequest, HeadTemplate, Session, inputs};
use aiperf_plan::Plan;
use aiperf_tokenize::Tokenizer;
use aiperf_types::{Body, BodyKind, Conversation, CorrelationId, EndpointKind, Failure, Shapes, Turn};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use thiserror::Error;

/// Bytes of bodies that are encoded beforehand, of what a seed defines: memory for more of it is not asked for.
pub const KEPT_BYTES: usize = 64 << 20;
/// An input count that was not made yet, and one that has no value.
const NOT_COUNTED: u32 = u32::MAX;
const NO_COUNT: u32 = u32::MAX - 1;

/// Why requests cannot be made.
#[derive(Debug, Error)]
pub enum RequestsError {
    #[error(transparent)]
    Api(#[from] ApiError),
    #[error(transparent)]
    Conversation(#[from] Unbuildable),
}

/// A conversation of which no request can be made: which one, and why.
#[derive(Clone, Debug, Error)]
#[error("{place}: {source}")]
pub struct Unbuildable {
    pub place: String,
    pub session_id: Arc<str>,
    kind: EndpointKind,
    pub source: BuildFault,
}

/// Why no request can be made of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BuildFault {
    #[error(transparent)]
    Dialect(#[from] DialectError),
    #[error(
        "a conversation of several turns, which cannot be sent yet\n  try: one turn each: no session_id, or another in \
         every row"
    )]
    SeveralTurns,
    /// Its rows cannot be read any more.
    #[error("{0}")]
    Unread(String),
}

impl From<&Unbuildable> for Failure {
    fn from(error: &Unbuildable) -> Self {
        let is_unsupported = matches!(
            (error.kind, &error.source),
            (_, BuildFault::Dialect(DialectError::Unsupported(..)))
                | (EndpointKind::Raw, BuildFault::Dialect(DialectError::Missing(..)))
        );
        Self::Unbuildable { is_unsupported, message: error.to_string() }
    }
}

/// The requests of a run, by conversation.
pub struct Requests {
    dataset: Arc<Dataset>,
    api: Arc<Api>,
    version: String,
    heads: Vec<HeadTemplate>,
    /// Encoded conversations, from the first; fewer than there are when they did not all fit.
    kept: Vec<Arc<PreparedRequest>>,
    /// Tokens of each conversation's texts, once they were counted.
    input_tokens: Vec<AtomicU32>,
    /// What of them is not sent, or not as it seems.
    notes: Notes,
}

/// What is sent for a conversation, and what records say of it.
#[derive(Debug)]
pub struct PreparedRequest {
    pub encoded: EncodedRequest,
    /// Its head by URL, where it has header fields of its own.
    heads: Vec<HeadTemplate>,
    pub session_id: Arc<str>,
    /// Output length asked for.
    pub requested_osl: Option<u32>,
    /// Images that it carries.
    pub images: u32,
    /// Length of its audio.
    pub audio_seconds: Option<f64>,
    /// A later turn needs its answer.
    pub wants_reply: bool,
}

impl Requests {
    /// Encodes the requests of a plan.
    pub fn new(plan: Arc<Plan>, dataset: Arc<Dataset>, version: &str) -> Result<Self, RequestsError> {
        Self::of_counted(plan, dataset, version, KEPT_BYTES, || ())
    }

    /// The same up to so many bytes of bodies, telling of each request that was encoded.
    pub fn of_counted(
        plan: Arc<Plan>,
        dataset: Arc<Dataset>,
        version: &str,
        kept_bytes: usize,
        encoded: impl Fn(),
    ) -> Result<Self, RequestsError> {
        let api = Arc::new(Api::new(&plan.endpoint, plan.models.first().map_or("", String::as_str))?);
        let heads = plan.endpoint.urls.iter().map(|url| HeadTemplate::new(&plan.endpoint, url, version)).collect();
        let mut notes = Notes::new(plan.endpoint.kind);
        notes.take_extra(&plan.endpoint.extra);
        let input_tokens = (0..dataset.len()).map(|_| AtomicU32::new(NOT_COUNTED)).collect();
        let (version, kept) = (version.to_owned(), Vec::new());
        let mut requests = Self { dataset, api, version, heads, kept, input_tokens, notes };
        let mut bytes = 0;
        while requests.kept.len() < requests.dataset.len() && bytes < kept_bytes {
            let conversation = requests.conversation(requests.kept.len())?;
            let request = requests.build(requests.kept.len(), &conversation)?;
            requests.notes.take(&conversation);
            bytes += request.encoded.body.held();
            encoded();
            requests.kept.push(Arc::new(request));
        }
        Ok(requests)
    }

    /// Counts what forms say, where that is to be counted, and lets go of the JSON that they were made from: it is as
    /// large as they are.
    pub fn drop_payloads(&mut self, tokenizer: Option<&Tokenizer>) {
        let counting = tokenizer.filter(|_| self.api.endpoint.kind.traits().has_tokens());
        for index in 0..self.kept.len() {
            let request = &self.kept[index];
            if request.encoded.body.payload_len() == 0 {
                continue;
            }
            if let Some(tokenizer) = counting {
                self.input_tokens(index as u32, &request.encoded.body, tokenizer);
            }
            if let Some(request) = Arc::get_mut(&mut self.kept[index]) {
                request.encoded.body = request.encoded.body.without_payload();
            }
        }
    }

    /// How many conversations there are.
    #[expect(clippy::len_without_is_empty, reason = "it never is")]
    pub fn len(&self) -> usize {
        self.dataset.len()
    }

    /// How many of them are encoded, and the bytes that these hold.
    pub fn kept(&self) -> (usize, usize) {
        (self.kept.len(), self.kept.iter().map(|request| request.encoded.body.held()).sum())
    }

    /// The head of a request.
    pub fn head(
        &self,
        target: usize,
        request_id: u128,
        correlation_id: &CorrelationId,
        request: &PreparedRequest,
    ) -> Vec<u8> {
        let mut head = Vec::with_capacity(640);
        let template = request.heads.get(target).unwrap_or(&self.heads[target]);
        template.write(&mut head, request_id, correlation_id, &request.encoded);
        head
    }

    /// What is sent for a conversation. One that is not kept is encoded on the spot.
    pub fn request(&self, conversation: u32) -> Result<Arc<PreparedRequest>, Unbuildable> {
        match self.kept.get(conversation as usize) {
            Some(request) => Ok(request.clone()),
            None => self.make(conversation as usize).map(Arc::new),
        }
    }

    /// The conversations as a schedule sees them.
    pub fn shapes(&self) -> &Arc<Shapes> {
        self.dataset.shapes()
    }

    /// Everything that may be sent, in order, whether it can be or not.
    pub fn all(&self) -> impl Iterator<Item = Result<Arc<PreparedRequest>, Unbuildable>> + '_ {
        (0..self.dataset.len()).map(|index| self.request(index as u32))
    }

    /// What a user should know of how the conversations that are kept go out, a line each.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        self.notes.lines()
    }

    /// The endpoint as it is spoken to.
    pub fn api(&self) -> &Arc<Api> {
        &self.api
    }

    /// Tokens of a request's texts; each conversation, which is one request, is counted once.
    pub fn input_tokens(&self, conversation: u32, body: &Body, tokenizer: &Tokenizer) -> Option<u64> {
        // What was never built says nothing of the conversation's other requests.
        if body.is_empty() {
            return None;
        }
        let cell = &self.input_tokens[conversation as usize];
        let known = cell.load(Relaxed);
        if known != NOT_COUNTED {
            return (known != NO_COUNT).then_some(u64::from(known));
        }
        let counted = count_input(&self.api, &body.payload(), tokenizer);
        let stored = counted.map_or(NO_COUNT, |count| u32::try_from(count).unwrap_or(NO_COUNT));
        cell.store(stored, Relaxed);
        counted
    }

    fn make(&self, index: usize) -> Result<PreparedRequest, Unbuildable> {
        self.build(index, &self.conversation(index)?)
    }

    fn conversation(&self, index: usize) -> Result<Arc<Conversation>, Unbuildable> {
        let unread = |error: DatasetError| self.unbuildable(index, "".into(), BuildFault::Unread(error.fault()));
        let conversation = self.dataset.conversation(index).map_err(unread)?;
        Ok(Arc::new(conversation.into_owned()))
    }

    fn build(&self, index: usize, conversation: &Arc<Conversation>) -> Result<PreparedRequest, Unbuildable> {
        let session_id: Arc<str> = conversation.session_id.as_str().into();
        let asked = conversation.turns.len().saturating_sub(1);
        let mut session = Session::new(self.api.clone(), conversation.clone());
        let encoded = match asked {
            0 => session.ask(asked).map_err(BuildFault::from),
            _ => Err(BuildFault::SeveralTurns),
        };
        let encoded = encoded.map_err(|source| self.unbuildable(index, session_id.clone(), source))?;
        let turn = conversation.turns.get(asked);
        Ok(PreparedRequest {
            heads: self.heads_with(&encoded.headers),
            session_id,
            requested_osl: turn.and_then(|turn| turn.max_tokens),
            images: self.images(&session.carried().collect::<Vec<_>>(), &encoded.body),
            audio_seconds: turn.and_then(|turn| turn.audio_duration_seconds),
            wants_reply: session.wants_reply(),
            encoded,
        })
    }

    /// Why no request can be made of a conversation, which is named by its line, or by its id where it was made.
    fn unbuildable(&self, index: usize, session_id: Arc<str>, source: BuildFault) -> Unbuildable {
        let place = self.dataset.place(index).unwrap_or_else(|| format!("conversation {session_id}"));
        Unbuildable { place, session_id, kind: self.api.endpoint.kind, source }
    }

    /// The heads of a request with header fields of its own.
    fn heads_with(&self, own: &[(String, String)]) -> Vec<HeadTemplate> {
        if own.is_empty() {
            return Vec::new();
        }
        let endpoint = &self.api.endpoint;
        let head = |url| HeadTemplate::with_headers(endpoint, url, &self.version, own);
        endpoint.urls.iter().map(head).collect()
    }

    /// Images of a request: those of the turns that it carries, or, where somebody else wrote it or it is a form, which
    /// has one at most, those that are found in it.
    fn images(&self, carried: &[&Turn], body: &Body) -> u32 {
        let is_verbatim = |turn: &&Turn| turn.raw_payload.is_some() || turn.raw_messages.is_some();
        let is_form = self.api.endpoint.body == BodyKind::Multipart;
        if is_form || carried.iter().any(is_verbatim) {
            return inputs::extract(self.api.dialect, &body.payload()).map_or(0, |inputs| inputs.images);
        }
        let contents = carried.iter().flat_map(|turn| &turn.images).flat_map(|image| &image.contents);
        contents.filter(|content| !content.is_empty()).count() as u32
    }
}

fn count_input(api: &Api, body: &[u8], tokenizer: &Tokenizer) -> Option<u64> {
    let inputs = inputs::extract(api.dialect, body)?;
    match inputs.texts.as_slice() {
        [] => (inputs.pretokenised > 0).then_some(inputs.pretokenised),
        [only] => Some(tokenizer.count(only) as u64 + inputs.pretokenised),
        texts => Some(tokenizer.count(&texts.join(" ")) as u64 + inputs.pretokenised),
    }
}

#[cfg(test)]
impl Requests {
    /// Has every answer read where it comes in.
    pub(crate) fn wanting_replies(mut self) -> Self {
        for request in &mut self.kept {
            Arc::get_mut(request).expect("nobody else has it yet").wants_reply = true;
        }
        self
    }

    /// Keeps nothing, and can make nothing any more.
    pub(crate) fn refusing(mut self) -> Self {
        const REFUSING: aiperf_dialect::Dialect = aiperf_dialect::Dialect {
            frame: |_| Err(DialectError::Missing("chat", "patience")),
            ..aiperf_dialect::kinds::chat::DIALECT
        };
        self.kept.clear();
        let mut api = Api::new(&self.api.endpoint, "m").expect("it was spoken to before");
        api.dialect = &REFUSING;
        self.api = Arc::new(api);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan;
    use aiperf_types::Media;
    use serde_json::json;

    fn requests(kind: EndpointKind) -> Result<Requests, RequestsError> {
        let mut plan = plan("http://127.0.0.1:1");
        (plan.endpoint.kind, plan.endpoint.body) = (kind, kind.traits().body);
        let dataset = Dataset::of(&plan.dataset, &plan.draws(), &Tokenizer::builtin()).unwrap();
        Requests::new(Arc::new(plan), Arc::new(dataset), "1")
    }

    #[test]
    fn what_cannot_be_built_is_found_before_anything_is_sent_and_named() {
        let Err(RequestsError::Conversation(error)) = requests(EndpointKind::ImageEdit) else {
            panic!("it needs images")
        };
        assert!(error.to_string().starts_with("conversation session_000000: "), "{error}");
        assert_eq!(&*error.session_id, "session_000000");
    }

    #[test]
    fn what_an_api_has_no_place_for_is_told_apart_from_what_is_wrong() {
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

    #[test]
    fn images_are_those_of_the_turns_that_are_carried_or_those_found_in_a_payload() {
        let requests = requests(EndpointKind::Chat).unwrap();
        let image = |contents: &[&str]| Media {
            contents: contents.iter().map(|&content| content.to_owned()).collect(),
            ..Media::default()
        };
        let first = Turn { images: vec![image(&["a", "b"]), image(&[""])], ..Turn::default() };
        let second = Turn { images: vec![image(&["c"])], ..Turn::default() };
        let body = json!({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}).to_string();
        assert_eq!(requests.images(&[&first, &second], &body.clone().into()), 3);
        let verbatim = Turn { raw_messages: Some(Vec::new()), ..Turn::default() };
        assert_eq!(requests.images(&[&first, &verbatim], &body.into()), 1);
    }

    #[test]
    fn what_fits_is_encoded_beforehand_and_everything_is_counted_once() {
        let plan = Arc::new(plan("http://127.0.0.1:1"));
        let tokenizer = Tokenizer::builtin();
        let dataset = Arc::new(Dataset::of(&plan.dataset, &plan.draws(), &tokenizer).unwrap());
        let kept = |bytes| Requests::of_counted(plan.clone(), dataset.clone(), "1", bytes, || ()).unwrap();
        assert_eq!(kept(usize::MAX).kept().0, dataset.len());
        assert_eq!((kept(1).kept().0, kept(0).kept().0), (1, 0));
        let requests = kept(0);
        let body = requests.request(0).unwrap().encoded.body.clone();
        let counted = requests.input_tokens(0, &body, &tokenizer);
        assert!(counted > Some(0));
        assert_eq!(requests.input_tokens(0, &"{}".into(), &tokenizer), counted, "it is not looked at again");
    }

    #[test]
    fn a_form_is_counted_before_what_it_was_made_from_goes() {
        let tokenizer = Tokenizer::builtin();
        let (mut dropped, whole) =
            (requests(EndpointKind::VideoGeneration).unwrap(), requests(EndpointKind::VideoGeneration).unwrap());
        dropped.drop_payloads(Some(&tokenizer));
        assert!(dropped.kept().1 < whole.kept().1);
        let (one, other) = (dropped.request(0).unwrap(), whole.request(0).unwrap());
        assert_eq!(one.encoded.body, other.encoded.body);
        let wanted = whole.input_tokens(0, &other.encoded.body, &tokenizer);
        assert!(wanted > Some(0));
        assert_eq!(dropped.input_tokens(0, &one.encoded.body, &tokenizer), wanted);
    }

    #[test]
    fn header_fields_of_a_request_are_in_its_head_alone() {
        let requests = requests(EndpointKind::Chat).unwrap();
        let mut request = requests.make(0).unwrap();
        let plain = String::from_utf8(requests.head(0, 1, &CorrelationId::Uuid(2), &request)).unwrap();
        request.heads = requests.heads_with(&[("X-Own".to_owned(), "1".to_owned())]);
        let own = String::from_utf8(requests.head(0, 1, &CorrelationId::Uuid(2), &request)).unwrap();
        assert!(!plain.contains("X-Own") && own.contains("X-Own: 1\r\n"), "{own}");
        assert_eq!(own.replace("X-Own: 1\r\n", ""), plain);
    }
}
