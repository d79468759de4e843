//! What is sent. Bodies that a seed fully defines are encoded once, before the clock starts, and are the only copy
//! kept; a dataset too large for that is encoded entry by entry as it is needed.

use aiperf_dataset::Dataset;
use aiperf_dialect::kinds::Request;
use aiperf_dialect::{Dialect, DialectError, HeadTemplate, dialect, inputs};
use aiperf_plan::Plan;
use aiperf_tokenize::Tokenizer;
use aiperf_types::{Body, EndpointKind};
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
    Dialect { session: String, source: DialectError },
}

/// The requests of a run, by conversation.
pub struct Requests {
    plan: Arc<Plan>,
    dataset: Arc<Dataset>,
    dialect: &'static Dialect,
    heads: Vec<HeadTemplate>,
    /// Encoded conversations, from the first; fewer than there are when they did not all fit.
    kept: Vec<Entry>,
}

/// What is sent for a conversation, and what records say of it.
#[derive(Clone, Debug)]
pub struct EncodedRequest {
    pub body: Body,
    pub session_id: Arc<str>,
    /// Output length asked for.
    pub requested_osl: Option<u32>,
}

struct Entry {
    request: EncodedRequest,
    input_tokens: AtomicU32,
}

impl Requests {
    /// Encodes the requests of a plan.
    pub fn new(plan: Arc<Plan>, dataset: Arc<Dataset>, version: &str) -> Result<Self, RequestsError> {
        Self::of_counted(plan, dataset, version, || ())
    }

    /// The same, telling of each request that was encoded.
    pub fn of_counted(
        plan: Arc<Plan>,
        dataset: Arc<Dataset>,
        version: &str,
        encoded: impl Fn(),
    ) -> Result<Self, RequestsError> {
        let kind = plan.endpoint.kind;
        let dialect = dialect(kind).ok_or(RequestsError::NotSpoken(kind.name()))?;
        let heads = plan.endpoint.urls.iter().map(|url| HeadTemplate::new(&plan.endpoint, url, version)).collect();
        let mut requests = Self { plan, dataset, dialect, heads, kept: Vec::new() };
        let mut bytes = 0;
        while requests.kept.len() < requests.dataset.len() && bytes < KEPT_BYTES {
            let request = requests.make(requests.kept.len())?;
            bytes += request.body.len();
            encoded();
            requests.kept.push(Entry { request, input_tokens: AtomicU32::new(NOT_COUNTED) });
        }
        Ok(requests)
    }

    /// How many conversations there are.
    #[expect(clippy::len_without_is_empty, reason = "it never is")]
    pub fn len(&self) -> usize {
        self.dataset.len()
    }

    /// How many of them are encoded, and the bytes of their bodies.
    pub fn kept(&self) -> (usize, usize) {
        (self.kept.len(), self.kept.iter().map(|entry| entry.request.body.len()).sum())
    }

    /// The conversation of a draw: they come in order, round and round.
    pub fn conversation_of(&self, draw: u64) -> u32 {
        (draw % self.dataset.len() as u64) as u32
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

    /// What is sent for a conversation. One that is not kept is encoded on the spot.
    pub fn request(&self, conversation: u32) -> EncodedRequest {
        match self.kept.get(conversation as usize) {
            Some(entry) => entry.request.clone(),
            // What can be encoded was decided by the first entries, which have the same shape.
            None => self.make(conversation as usize).unwrap_or_else(|_| self.kept[0].request.clone()),
        }
    }

    /// Everything that may be sent, in order.
    pub fn all(&self) -> impl Iterator<Item = EncodedRequest> + '_ {
        (0..self.dataset.len()).map(|index| self.request(index as u32))
    }

    /// Which dialect is spoken.
    pub fn dialect(&self) -> &'static Dialect {
        self.dialect
    }

    /// Tokens of a request's texts; each conversation is counted once.
    pub fn input_tokens(&self, conversation: u32, body: &Body, tokenizer: &Tokenizer) -> Option<u64> {
        let Some(Entry { input_tokens: cell, .. }) = self.kept.get(conversation as usize) else {
            return count_input(self.plan.endpoint.kind, &body.payload(), tokenizer);
        };
        let known = cell.load(Relaxed);
        if known != NOT_COUNTED {
            return (known != NO_COUNT).then_some(u64::from(known));
        }
        let counted = count_input(self.plan.endpoint.kind, &body.payload(), tokenizer);
        let stored = counted.map_or(NO_COUNT, |count| u32::try_from(count).unwrap_or(NO_COUNT));
        cell.store(stored, Relaxed);
        counted
    }

    fn make(&self, index: usize) -> Result<EncodedRequest, RequestsError> {
        let conversation = self.dataset.conversation(index);
        let turn = conversation.turns.len().saturating_sub(1);
        let model = self.plan.models.first().map_or("", String::as_str);
        let request = Request { endpoint: &self.plan.endpoint, model, conversation: &conversation, turn };
        let body = request.encode(self.dialect).map_err(|source| {
            let session = conversation.session_id.clone();
            RequestsError::Dialect { session, source }
        })?;
        let requested_osl = conversation.turns.last().and_then(|turn| turn.max_tokens);
        Ok(EncodedRequest { body: body.into(), session_id: conversation.session_id.as_str().into(), requested_osl })
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
