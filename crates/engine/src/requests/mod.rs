//! The requests of a run. Bodies are encoded once, before the clock starts and on all cores, up to a limit of bytes. If
//! the dataset is larger, the rest is encoded while the run is on, ahead of its use (see `ahead`). If the requests of a
//! conversation depend on responses, only its first turn is encoded, with the pieces that the other turns add: a
//! session continues from there (see `building`).

use crate::requests::ahead::{Ahead, BodyBuilder, First};
use crate::requests::markers::Markers;
use crate::requests::prompt_counts::{FirstCounts, InputTokens, PromptHistory};
use aiperf_dataset::{Dataset, TurnModels, in_order};
use aiperf_dialect::request::Notes;
use aiperf_dialect::{Api, ApiError, EncodedRequest, HeadTemplate};
use aiperf_plan::Plan;
use aiperf_schedule::Dispatch;
use aiperf_tokenize::{IsOver, TokenizeError, Tokenizer, Tokenizers, interruptible};
use aiperf_types::{Body, CacheMarker, CorrelationId, Exchange, PhaseIndex, RequestTag, Shapes};
use std::borrow::Cow;
use std::sync::Arc;
use thiserror::Error;

pub(crate) mod ahead;
pub(crate) mod body_threads;
mod building;
mod markers;
mod prepared;
pub(crate) mod prompt_counts;

pub use prepared::{BuildFault, Prepared, PreparedRequest, Unbuildable};

/// Conversations that are rendered with the chat template before the run: enough to find one that the template refuses.
const CHECKED: usize = 100;

/// Why requests cannot be built.
#[derive(Debug, Error)]
pub enum RequestsError {
    #[error(transparent)]
    Api(#[from] ApiError),
    #[error(transparent)]
    Conversation(#[from] Unbuildable),
}

/// The requests of a run, by conversation.
pub struct Requests {
    dataset: Arc<Dataset>,
    api: Arc<Api>,
    version: String,
    heads: Vec<HeadTemplate>,
    /// Encoded conversations, from the first one; fewer than there are if they did not all fit.
    kept: Vec<Arc<PreparedRequest>>,
    /// The others, encoded as they are needed; `None` if there are none.
    ahead: Option<Ahead>,
    /// Threads that may build bodies before the clock starts.
    threads: usize,
    /// The model of each turn, if there are several.
    models: Option<TurnModels>,
    first_counts: FirstCounts,
    /// Warnings about content that is not sent, or that is sent differently.
    notes: Notes,
    markers: Markers,
    /// Prompts are counted as rendered by the chat template.
    chat_template: bool,
}

/// What is encoded before the clock starts.
#[derive(Clone, Copy, Debug)]
pub struct EncodingBudget {
    /// Bytes of bodies that are kept, plus one body at most.
    pub bytes: usize,
    /// Bytes of bodies that are built ahead of their use, if not all are kept.
    pub ahead_bytes: usize,
    /// Threads that encode at the same time.
    pub threads: usize,
}

impl EncodingBudget {
    pub const EVERYTHING: Self = Self { bytes: usize::MAX, ahead_bytes: 0, threads: 1 };
}

/// A conversation as it is shown to the user: the body of each turn as if it were the only turn.
pub struct Payloads {
    pub session_id: Arc<str>,
    pub bodies: Vec<Body>,
}

impl Requests {
    /// Encodes the requests that a plan can reach.
    pub fn new(plan: Arc<Plan>, dataset: Arc<Dataset>, version: &str) -> Result<Self, RequestsError> {
        Self::of_counted(plan, dataset, version, EncodingBudget::EVERYTHING, || ())
    }

    /// As `new`, within a budget; calls `encoded` after each encoded conversation.
    pub fn of_counted(
        plan: Arc<Plan>,
        dataset: Arc<Dataset>,
        version: &str,
        budget: EncodingBudget,
        encoded: impl Fn() + Sync,
    ) -> Result<Self, RequestsError> {
        let api = Arc::new(Api::new(&plan.endpoint, plan.models.first().map_or("", String::as_str))?);
        let heads = plan.endpoint.urls.iter().map(|url| HeadTemplate::new(&plan.endpoint, url, version)).collect();
        let mut notes = Notes::new(plan.endpoint.kind);
        notes.take_extra(&plan.endpoint.extra);
        let first_counts = FirstCounts::new(dataset.len());
        let models = TurnModels::new(&plan.models, plan.model_picker());
        let mut requests = Self {
            dataset,
            api,
            version: version.to_owned(),
            heads,
            kept: Vec::new(),
            ahead: None,
            threads: budget.threads,
            models,
            first_counts,
            notes,
            markers: Markers::of(&plan),
            chat_template: plan.tokenizer.apply_chat_template,
        };
        let wanted = aiperf_schedule::reachable(&plan, requests.shapes()) as usize;
        let keep = |index| {
            let conversation = requests.conversation(index)?;
            let (request, held) = requests.keep(index, &conversation)?;
            encoded();
            Ok::<_, Unbuildable>(((Arc::new(request), requests.notes.of(&conversation)), held))
        };
        let (kept, notes): (Vec<_>, Vec<_>) =
            in_order::up_to(budget.threads, budget.bytes, wanted, keep)?.into_iter().unzip();
        requests.kept = kept;
        notes.into_iter().for_each(|notes| requests.notes.add(notes));
        if requests.kept.len() < wanted {
            let orders = aiperf_schedule::orders(&plan, requests.shapes());
            requests.ahead = Some(Ahead::new(orders, budget.ahead_bytes));
        }
        Ok(requests)
    }

    /// Renders the first conversations with the chat template of their tokenizer. Fails with the reason of the first
    /// one that the template refuses.
    pub fn check_chat_template(&self, tokenizers: &Tokenizers) -> Result<(), TokenizeError> {
        self.kept.iter().take(CHECKED).try_for_each(|request| {
            let tokenizer = tokenizers.of(request.model.as_deref().unwrap_or_default());
            prompt_counts::check_template(self.api.dialect, &request.encoded.body.payload(), tokenizer)
        })
    }

    /// Counts the tokens of forms, if they are to be counted, and drops the JSON that they were made from: it is as
    /// large as they are.
    pub fn drop_payloads(&mut self, tokenizers: Option<&Tokenizers>) {
        let counting = tokenizers.filter(|_| self.api.endpoint.kind.traits().has_tokens());
        let never: IsOver = Arc::new(|| false);
        for index in 0..self.kept.len() {
            let request = &self.kept[index];
            if request.encoded.body.payload_len() == 0 {
                continue;
            }
            if let Some(tokenizers) = counting {
                let tokenizer = tokenizers.of(request.model.as_deref().unwrap_or_default());
                // The count is kept for the records. One that has none is counted again with its record, which reports
                // why.
                let count = || self.input_tokens(index as u32, 0, &request.encoded.body, tokenizer);
                if interruptible(&never, count).is_err() {
                    continue;
                }
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

    /// How many of them are encoded, and the bytes that they hold.
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
        encoded: &EncodedRequest,
    ) -> Vec<u8> {
        let mut head = Vec::with_capacity(640);
        let mut write = |template: &HeadTemplate| {
            template.write(&mut head, request_id, correlation_id, encoded);
        };
        match request.heads.get(target) {
            Some(template) => write(template),
            None if request.encoded.headers.is_empty() => write(&self.heads[target]),
            None => write(&self.head_with(&self.api.endpoint.urls[target], &request.encoded.headers)),
        }
        head
    }

    /// A request as its session sends it in a phase, and its marker.
    pub(crate) fn marked<'r>(
        &self,
        request: &'r PreparedRequest,
        phase: PhaseIndex,
        session: u64,
    ) -> (Cow<'r, EncodedRequest>, Option<CacheMarker>) {
        if request.marker_spots.is_empty() {
            return (Cow::Borrowed(&request.encoded), None);
        }
        let EncodedRequest { body, content_type, headers } = &request.encoded;
        let marker = self.markers.marker(phase, session, &request.session_id);
        let (body, marker) = self.markers.splice(body, &request.marker_spots, marker);
        (Cow::Owned(EncodedRequest { body, content_type: content_type.clone(), headers: headers.clone() }), marker)
    }

    /// Builds the first of the bodies that are not kept, as many as may be ready at a time.
    pub fn fill_ahead(&self) {
        if let Some(ahead) = &self.ahead {
            ahead.fill(self, self.threads);
        }
    }

    /// The bodies that are not kept.
    pub(crate) fn ahead(&self) -> Option<&Ahead> {
        self.ahead.as_ref()
    }

    /// The request of the first turn of a session.
    pub(crate) fn first(&self, dispatch: &Dispatch) -> First {
        let conversation = dispatch.conversation;
        if let Some(request) = self.kept.get(conversation as usize) {
            self.ahead.iter().for_each(|ahead| ahead.pass(dispatch.draw));
            return First::Ready(Ok(request.clone()));
        }
        let ready = self.ahead.as_ref().and_then(|ahead| ahead.take(dispatch.draw));
        let late = || self.ahead.as_ref()?.ask(dispatch.draw, conversation);
        match ready {
            Some(prepared) => First::Ready(prepared),
            None => late().map_or_else(|| First::Ready(self.request(conversation)), First::Late),
        }
    }

    /// The first turn of a session is never sent.
    pub(crate) fn discard(&self, dispatch: &Dispatch) {
        if dispatch.is_first() {
            self.ahead.iter().for_each(|ahead| drop(ahead.take(dispatch.draw)));
        }
    }

    /// The request of a conversation's first turn. If it is not kept, it is encoded here.
    pub fn request(&self, conversation: u32) -> Prepared {
        match self.kept.get(conversation as usize) {
            Some(request) => Ok(request.clone()),
            None => self.build(conversation).0,
        }
    }

    /// The name of a conversation; empty if it can no longer be read.
    pub(crate) fn session_id(&self, conversation: u32) -> Arc<str> {
        match self.kept.get(conversation as usize) {
            Some(request) => request.session_id.clone(),
            None => self.dataset.session_id(conversation as usize).map_or_else(|_| "".into(), |id| id.as_ref().into()),
        }
    }

    /// The conversations as the schedule sees them.
    pub fn shapes(&self) -> &Arc<Shapes> {
        self.dataset.shapes()
    }

    /// Shows every conversation, whether it can be sent or not: `show` makes something of it on any thread, with its
    /// size in bytes, and `take` gets that in order, until it returns `false`. Only a few are in memory at a time.
    pub fn show_all<T: Send>(
        &self,
        show: impl Fn(Payloads) -> (T, usize) + Sync,
        take: impl FnMut(Result<T, Unbuildable>) -> bool,
    ) {
        let shown = |index| match self.payloads_of(index).map(&show) {
            Ok((thing, size)) => (Ok(thing), size),
            Err(error) => (Err(error), 0),
        };
        in_order::hand_over(self.threads, self.dataset.len(), shown, take);
    }

    /// Warnings about the conversations that are kept and how they are sent, one line each.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        self.notes.lines()
    }

    /// The endpoint's API.
    pub fn api(&self) -> &Arc<Api> {
        &self.api
    }

    /// Tokens of a request. Of a later turn, only its additions are counted if possible.
    pub(crate) fn input_tokens_of(
        &self,
        exchange: &Exchange,
        prompt: Option<&Arc<PromptHistory>>,
        tokenizer: &Tokenizer,
    ) -> InputTokens {
        let RequestTag { conversation, turn, phase, session, .. } = exchange.tag;
        // The rendering of several messages is not the sum of their renderings.
        let is_rendered = self.chat_template && tokenizer.has_chat_template();
        let prompt = prompt.filter(|_| turn > 0 && !is_rendered);
        let marker = || self.markers.marker(phase, session, &exchange.tag.session_id);
        match prompt.and_then(|prompt| prompt_counts::count(prompt, self.api.dialect, tokenizer, marker)) {
            Some(tokens) => Ok(Some(tokens)),
            None => self.input_tokens(conversation, turn, &exchange.request_body, tokenizer),
        }
    }

    /// Tokens of a request's texts. A conversation's first turn is the same in every session, so it is counted once.
    pub(crate) fn input_tokens(&self, conversation: u32, turn: u32, body: &Body, tokenizer: &Tokenizer) -> InputTokens {
        // A body that was never built must not set the count of the conversation's other requests.
        if body.is_empty() {
            return Ok(None);
        }
        let count = || prompt_counts::count_whole(self.api.dialect, &body.payload(), tokenizer, self.chat_template);
        if turn > 0 || self.markers.are_used() { count() } else { self.first_counts.get_or_count(conversation, count) }
    }

    fn payloads_of(&self, index: usize) -> Result<Payloads, Unbuildable> {
        match self.kept.get(index) {
            Some(request) if request.later.is_none() => {
                let (session_id, bodies) =
                    (request.session_id.clone(), vec![markers::without(&request.encoded.body, &request.marker_spots)]);
                Ok(Payloads { session_id, bodies })
            }
            kept => match kept.and_then(|request| request.session()) {
                Some(session) => self.payloads(index, session.conversation()),
                None => self.payloads(index, &self.conversation(index)?),
            },
        }
    }
}

#[cfg(test)]
mod tests;
