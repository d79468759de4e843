//! What is sent. Bodies that a seed fully defines are encoded once, before the clock starts, and are the only copy
//! kept; a dataset too large for that is encoded entry by entry as it is needed.

use aiperf_dataset::Dataset;
use aiperf_dialect::kinds::Request;
use aiperf_dialect::{Dialect, DialectError, HeadTemplate, dialect, inputs};
use aiperf_plan::Plan;
use aiperf_tokenize::Tokenizer;
use aiperf_types::EndpointKind;
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use thiserror::Error;

/// Bytes of bodies kept.
const KEPT_BYTES: usize = 64 << 20;
/// An input count that was not made yet, and one that has no value.
const NOT_COUNTED: u32 = u32::MAX;
const NO_COUNT: u32 = u32::MAX - 1;

/// Why requests cannot be made.
#[derive(Debug, Error)]
pub enum RequestsError {
    /// The endpoint type cannot be spoken yet.
    #[error("--endpoint-type {0} is not there yet\n  try: --endpoint-type chat or completions")]
    NotSpoken(&'static str),
    /// A turn cannot be put into the dialect.
    #[error("conversation {session}: {source}")]
    Dialect {
        /// Dataset session id.
        session: String,
        /// Why.
        source: DialectError,
    },
}

/// The requests of a run, by conversation.
pub struct Requests {
    plan: Arc<Plan>,
    dataset: Arc<Dataset>,
    dialect: &'static Dialect,
    heads: Vec<HeadTemplate>,
    /// Encoded bodies; fewer than conversations when they did not all fit.
    bodies: Vec<Bytes>,
    entries: Vec<Entry>,
}

/// What records say of a conversation.
struct Entry {
    session_id: Arc<str>,
    requested_osl: Option<u32>,
    input_tokens: AtomicU32,
}

impl Requests {
    /// Encodes the requests of a plan.
    pub fn new(plan: Arc<Plan>, dataset: Arc<Dataset>, version: &str) -> Result<Self, RequestsError> {
        let kind = plan.endpoint.kind;
        let dialect = dialect(kind).ok_or(RequestsError::NotSpoken(kind.name()))?;
        let heads = plan.endpoint.urls.iter().map(|url| HeadTemplate::new(&plan.endpoint, url, version)).collect();
        let mut requests = Self { plan, dataset, dialect, heads, bodies: Vec::new(), entries: Vec::new() };
        let mut kept = 0;
        for index in 0..requests.dataset.len() {
            let conversation = requests.dataset.conversation(index);
            let session_id: Arc<str> = conversation.session_id.as_str().into();
            let requested_osl = conversation.turns.first().and_then(|turn| turn.max_tokens);
            if kept < KEPT_BYTES && index == requests.bodies.len() {
                let body = requests.encode(&conversation).map_err(|source| {
                    let session = conversation.session_id.clone();
                    RequestsError::Dialect { session, source }
                })?;
                kept += body.len();
                drop(conversation);
                requests.bodies.push(body);
            }
            requests.entries.push(Entry { session_id, requested_osl, input_tokens: AtomicU32::new(NOT_COUNTED) });
        }
        Ok(requests)
    }

    /// How many conversations there are.
    #[allow(clippy::len_without_is_empty, reason = "a dataset is never empty")]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The conversation of a draw: they come in order, round and round.
    pub fn conversation_of(&self, draw: u64) -> u32 {
        (draw % self.entries.len() as u64) as u32
    }

    /// The URL a session goes to.
    pub fn target_of(&self, session: u64) -> usize {
        (session % self.heads.len() as u64) as usize
    }

    /// The head of a request.
    pub fn head(&self, target: usize, request_id: u128, correlation_id: u128, body_len: usize) -> Vec<u8> {
        let mut head = Vec::with_capacity(640);
        self.heads[target].write(&mut head, request_id, correlation_id, body_len);
        head
    }

    /// The body of a conversation's request.
    pub fn body(&self, conversation: u32) -> Bytes {
        let index = conversation as usize;
        match self.bodies.get(index) {
            Some(body) => body.clone(),
            None => self.encode(&self.dataset.conversation(index)).unwrap_or_default(),
        }
    }

    /// Every conversation's session id and body, in order.
    pub fn inputs(&self) -> impl Iterator<Item = (Arc<str>, [Bytes; 1])> + '_ {
        self.entries.iter().enumerate().map(|(i, entry)| (entry.session_id.clone(), [self.body(i as u32)]))
    }

    /// Dataset session id of a conversation.
    pub fn session_id(&self, conversation: u32) -> Arc<str> {
        self.entries[conversation as usize].session_id.clone()
    }

    /// Output length a conversation asks for.
    pub fn requested_osl(&self, conversation: u32) -> Option<u32> {
        self.entries[conversation as usize].requested_osl
    }

    /// Which dialect is spoken.
    pub fn dialect(&self) -> &'static Dialect {
        self.dialect
    }

    /// Tokens of a request's texts; each conversation is counted once.
    pub fn input_tokens(&self, conversation: u32, body: &[u8], tokenizer: &Tokenizer) -> Option<u64> {
        let cell = &self.entries[conversation as usize].input_tokens;
        let known = cell.load(Relaxed);
        if known != NOT_COUNTED {
            return (known != NO_COUNT).then_some(u64::from(known));
        }
        let counted = count_input(self.plan.endpoint.kind, body, tokenizer);
        let stored = counted.map_or(NO_COUNT, |count| u32::try_from(count).unwrap_or(NO_COUNT));
        cell.store(stored, Relaxed);
        counted
    }

    fn encode(&self, conversation: &aiperf_types::Conversation) -> Result<Bytes, DialectError> {
        let turn = conversation.turns.len().saturating_sub(1);
        let model = self.plan.models.first().map_or("", String::as_str);
        let request = Request { endpoint: &self.plan.endpoint, model, conversation, turn };
        Ok(Bytes::from(request.encode(self.dialect)?))
    }
}

fn count_input(kind: EndpointKind, body: &[u8], tokenizer: &Tokenizer) -> Option<u64> {
    let inputs = inputs::extract(kind, body)?;
    match inputs.texts.as_slice() {
        [] => (inputs.pretokenised > 0).then_some(inputs.pretokenised),
        [only] => Some(tokenizer.count(only) as u64 + inputs.pretokenised),
        texts => Some(tokenizer.count(&texts.join(" ")) as u64 + inputs.pretokenised),
    }
}
