//! What is sent. Bodies that a seed fully defines are encoded once, before the clock starts, and are the only copy
//! kept; a dataset too large for that is encoded entry by entry as it is needed.

use aiperf_dataset::Dataset;
use aiperf_dialect::{Api, ApiError, DialectError, EncodedRequest, HeadTemplate, Session, inputs};
use aiperf_plan::Plan;
use aiperf_tokenize::Tokenizer;
use aiperf_types::{Body, Conversation};
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
    #[error(transparent)]
    Api(#[from] ApiError),
    /// A turn cannot be put into the dialect.
    #[error("conversation {session}: {source}")]
    Dialect { session: String, source: DialectError },
}

/// The requests of a run, by conversation.
pub struct Requests {
    plan: Arc<Plan>,
    dataset: Arc<Dataset>,
    api: Arc<Api>,
    version: String,
    heads: Vec<HeadTemplate>,
    /// Encoded conversations, from the first; fewer than there are when they did not all fit.
    kept: Vec<Entry>,
}

/// What is sent for a conversation, and what records say of it.
#[derive(Clone, Debug)]
pub struct PreparedRequest {
    pub encoded: EncodedRequest,
    pub session_id: Arc<str>,
    /// Output length asked for.
    pub requested_osl: Option<u32>,
}

struct Entry {
    request: PreparedRequest,
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
        let api = Arc::new(Api::new(&plan.endpoint, plan.models.first().map_or("", String::as_str))?);
        let heads = plan.endpoint.urls.iter().map(|url| HeadTemplate::new(&plan.endpoint, url, version)).collect();
        let mut requests = Self { plan, dataset, api, version: version.to_owned(), heads, kept: Vec::new() };
        let mut bytes = 0;
        while requests.kept.len() < requests.dataset.len() && bytes < KEPT_BYTES {
            let request = requests.make(requests.kept.len())?;
            bytes += request.encoded.body.len();
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
        (self.kept.len(), self.kept.iter().map(|entry| entry.request.encoded.body.len()).sum())
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
    pub fn head(&self, target: usize, request_id: u128, correlation_id: u128, request: &EncodedRequest) -> Vec<u8> {
        let mut head = Vec::with_capacity(640);
        if request.headers.is_empty() {
            self.heads[target].write(&mut head, request_id, correlation_id, request);
        } else {
            let (endpoint, own) = (&self.plan.endpoint, &request.headers);
            HeadTemplate::with_headers(endpoint, &endpoint.urls[target], &self.version, own).write(
                &mut head,
                request_id,
                correlation_id,
                request,
            );
        }
        head
    }

    /// What is sent for a conversation. One that is not kept is encoded on the spot.
    pub fn request(&self, conversation: u32) -> Result<PreparedRequest, RequestsError> {
        match self.kept.get(conversation as usize) {
            Some(entry) => Ok(entry.request.clone()),
            None => self.make(conversation as usize),
        }
    }

    /// Everything that may be sent, in order; without what cannot be.
    pub fn all(&self) -> impl Iterator<Item = PreparedRequest> + '_ {
        (0..self.dataset.len()).filter_map(|index| self.request(index as u32).ok())
    }

    /// The endpoint as it is spoken to.
    pub fn api(&self) -> &Arc<Api> {
        &self.api
    }

    /// Tokens of a request's texts; each conversation is counted once.
    pub fn input_tokens(&self, conversation: u32, body: &Body, tokenizer: &Tokenizer) -> Option<u64> {
        let Some(Entry { input_tokens: cell, .. }) = self.kept.get(conversation as usize) else {
            return count_input(&self.api, &body.payload(), tokenizer);
        };
        let known = cell.load(Relaxed);
        if known != NOT_COUNTED {
            return (known != NO_COUNT).then_some(u64::from(known));
        }
        let counted = count_input(&self.api, &body.payload(), tokenizer);
        let stored = counted.map_or(NO_COUNT, |count| u32::try_from(count).unwrap_or(NO_COUNT));
        cell.store(stored, Relaxed);
        counted
    }

    fn make(&self, index: usize) -> Result<PreparedRequest, RequestsError> {
        let conversation: Arc<Conversation> = Arc::new(self.dataset.conversation(index).into_owned());
        let turn = conversation.turns.len().saturating_sub(1);
        let encoded = Session::new(self.api.clone(), conversation.clone()).ask(turn).map_err(|source| {
            let session = conversation.session_id.clone();
            RequestsError::Dialect { session, source }
        })?;
        let requested_osl = conversation.turns.last().and_then(|turn| turn.max_tokens);
        Ok(PreparedRequest { encoded, session_id: conversation.session_id.as_str().into(), requested_osl })
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
