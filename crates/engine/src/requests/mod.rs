//! The requests of a run. Bodies are encoded once, before the clock starts and on all cores, up to a limit of bytes. If
//! the dataset is larger, the rest is encoded while the run is on, ahead of its use (see `ahead`). If the requests of a
//! conversation depend on responses, only its first turn is encoded, with the pieces that the other turns add: a
//! session continues from there.

use crate::requests::ahead::{Ahead, BodyBuilder, First};
use crate::requests::markers::Markers;
use crate::requests::prompt_counts::{FirstCounts, InputTokens, PromptHistory};
use aiperf_dataset::{Dataset, DatasetError, TurnModels, in_order};
use aiperf_dialect::request::Notes;
use aiperf_dialect::{Api, ApiError, DialectError, EncodedRequest, HeadTemplate, Session};
use aiperf_plan::{BaseUrl, Plan};
use aiperf_schedule::Dispatch;
use aiperf_tokenize::{TokenizeError, Tokenizer, Tokenizers};
use aiperf_types::{Body, CacheMarker, Conversation, CorrelationId, Exchange, PhaseIndex, RequestTag, Shapes};
use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;
use thiserror::Error;

pub(crate) mod ahead;
pub(crate) mod body_threads;
mod markers;
mod prepared;
pub(crate) mod prompt_counts;

use prepared::LaterTurns;
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
        for index in 0..self.kept.len() {
            let request = &self.kept[index];
            if request.encoded.body.payload_len() == 0 {
                continue;
            }
            if let Some(tokenizers) = counting {
                let tokenizer = tokenizers.of(request.model.as_deref().unwrap_or_default());
                // The count is kept for the records.
                let _counted = self.input_tokens(index as u32, 0, &request.encoded.body, tokenizer);
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

    /// A session of a conversation before its first turn.
    pub(crate) fn session(&self, conversation: u32) -> Result<Session, Unbuildable> {
        Ok(Session::new(self.api.clone(), self.conversation(conversation as usize)?))
    }

    /// The request of a session for a turn of its conversation, both by number; `before` holds the counts of its
    /// prompts so far.
    pub(crate) fn ask(
        &self,
        session: &mut Session,
        before: Option<&Arc<PromptHistory>>,
        at: (u32, u32),
        session_id: Arc<str>,
    ) -> Result<PreparedRequest, Unbuildable> {
        let turn = at.1 as usize;
        let encoded = session.ask(turn).map_err(|error| self.refused(at, session_id.clone(), error))?;
        let turn = session.conversation().turns.get(turn);
        Ok(PreparedRequest {
            heads: Vec::new(),
            requested_osl: turn.and_then(|turn| turn.max_tokens),
            model: turn.and_then(|turn| self.models.as_ref()?.of_turn(turn)),
            images: session.images().unwrap_or_else(|| self.images_in(&encoded.body)),
            vectors: self.api.dialect.vectors_asked(&encoded.body),
            audio_seconds: turn.and_then(|turn| turn.audio_duration_seconds),
            wants_reply: session.wants_reply(),
            // Models may have their own tokenizers. Then counts cannot be added up.
            prompt: session
                .take_delta()
                .filter(|_| self.models.is_none())
                .map(|delta| Arc::new(PromptHistory::new(before, delta))),
            session_id,
            marker_spots: self.markers.find(&encoded.body),
            encoded,
            later: None,
        })
    }

    /// Why the dialect cannot encode a turn.
    pub(crate) fn refused(&self, at: (u32, u32), session_id: Arc<str>, error: DialectError) -> Unbuildable {
        self.unbuildable(at.0 as usize, at.1 as usize, session_id, error.into())
    }

    /// The conversations as the schedule sees them.
    pub fn shapes(&self) -> &Arc<Shapes> {
        self.dataset.shapes()
    }

    /// Every conversation in order, whether it can be sent or not. Only a few are in memory at a time.
    pub fn all(&self) -> impl Iterator<Item = Result<Payloads, Unbuildable>> + '_ {
        let (all, block) = (self.dataset.len(), 4 * self.threads.max(1));
        (0..all).step_by(block).flat_map(move |from| {
            let until = (from + block).min(all);
            // Conversations that have to be encoded are, a few on each thread.
            let threads = if until <= self.kept.len() { 1 } else { self.threads };
            let payloads = |at| Ok::<_, Infallible>(self.payloads_of(from + at));
            let Ok(payloads) = in_order::in_order(threads, until - from, payloads);
            payloads
        })
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

    fn conversation(&self, index: usize) -> Result<Arc<Conversation>, Unbuildable> {
        let unread = |error: DatasetError| self.unbuildable(index, 0, "".into(), BuildFault::Unread(error.fault()));
        let mut conversation = self.dataset.conversation(index).map_err(unread)?.into_owned();
        if let Some(models) = &self.models {
            models.assign(index, &mut conversation, self.dataset.shapes());
        }
        Ok(Arc::new(conversation))
    }

    /// The first turn of a conversation, and the session that continues from it.
    fn first_turn(&self, index: usize, conversation: &Arc<Conversation>) -> Result<PreparedRequest, Unbuildable> {
        let mut session = Session::new(self.api.clone(), conversation.clone());
        let session_id = conversation.session_id.as_str().into();
        let mut first = self.ask(&mut session, None, (index as u32, 0), session_id)?;
        if conversation.turns.len() > 1 {
            first.later = Some(LaterTurns::FromAnswers(Box::new(session)));
        }
        Ok(first)
    }

    /// As `first_turn`, with the later turns as far as they can be encoded beforehand: turns that are the same in every
    /// session, or else the pieces that they add. Also returns the size in bytes.
    fn prepare(&self, index: usize, conversation: &Arc<Conversation>) -> Result<(PreparedRequest, usize), Unbuildable> {
        let mut first = self.first_turn(index, conversation)?;
        let mut bytes = first.encoded.body.held();
        match first.later.as_mut() {
            Some(LaterTurns::FromAnswers(session)) if first.wants_reply => {
                let pieces = session.prepare_turns();
                // The texts of its turns are kept too.
                bytes +=
                    2 * pieces.map_err(|error| self.refused((index as u32, 1), first.session_id.clone(), error))?;
            }
            Some(LaterTurns::FromAnswers(session)) => {
                let (mut turns, mut before) = (Vec::new(), first.prompt.clone());
                for turn in 1..conversation.turns.len() {
                    let at = (index as u32, turn as u32);
                    let mut request = self.ask(session, before.as_ref(), at, first.session_id.clone())?;
                    before = request.prompt.clone().or(before);
                    self.hold_heads(&mut request);
                    bytes += request.encoded.body.held();
                    turns.push(Arc::new(request));
                }
                first.later = Some(LaterTurns::Prepared(turns));
            }
            Some(LaterTurns::Prepared(_)) | None => {}
        }
        Ok((first, bytes))
    }

    /// As `prepare`, for the whole run. Fails if any turn can never be sent.
    fn keep(&self, index: usize, conversation: &Arc<Conversation>) -> Result<(PreparedRequest, usize), Unbuildable> {
        if conversation.turns.len() > 1 {
            self.payloads(index, conversation)?;
        }
        let (mut first, bytes) = self.prepare(index, conversation)?;
        self.hold(&mut first);
        if let Some(LaterTurns::Prepared(turns)) = first.later.as_mut() {
            turns.iter_mut().filter_map(Arc::get_mut).for_each(|request| self.hold(request));
        }
        Ok((first, bytes))
    }

    /// Makes a request one that is kept for the whole run.
    fn hold(&self, request: &mut PreparedRequest) {
        request.encoded.body = request.encoded.body.kept();
        self.hold_heads(request);
    }

    fn hold_heads(&self, request: &mut PreparedRequest) {
        let headers = &request.encoded.headers;
        if !headers.is_empty() {
            request.heads = self.api.endpoint.urls.iter().map(|url| self.head_with(url, headers)).collect();
        }
    }

    /// The bodies of all turns. Fails if a turn can never be sent.
    fn payloads(&self, index: usize, conversation: &Arc<Conversation>) -> Result<Payloads, Unbuildable> {
        let session_id: Arc<str> = conversation.session_id.as_str().into();
        let carrying = Session::new(self.api.clone(), conversation.clone());
        let mut alone = Session::of_turns_alone(self.api.clone(), conversation.clone());
        // A conversation without turns fails at its first turn.
        let turns = 0..conversation.turns.len().max(1);
        let bodies = turns.map(|turn| {
            let body = carrying.check_carried(turn).and_then(|()| Ok(alone.ask(turn)?.body));
            let body = body.map(|body| markers::without(&body, &self.markers.find(&body)));
            body.map_err(|error| self.unbuildable(index, turn, session_id.clone(), error.into()))
        });
        let bodies = bodies.collect::<Result<_, _>>()?;
        Ok(Payloads { session_id, bodies })
    }

    /// Why no request can be built from a turn. The turn is named by its line, or by the id of its conversation if that
    /// was generated.
    fn unbuildable(&self, index: usize, turn: usize, session_id: Arc<str>, source: BuildFault) -> Unbuildable {
        let place = self.dataset.place_of_turn(index, turn).unwrap_or_else(|| format!("conversation {session_id}"));
        Unbuildable { place, session_id, kind: self.api.endpoint.kind, source }
    }

    /// The head of a request with its own header fields.
    fn head_with(&self, url: &BaseUrl, own: &[(String, String)]) -> HeadTemplate {
        HeadTemplate::with_headers(&self.api.endpoint, url, &self.version, own)
    }

    /// The number of images in a body.
    fn images_in(&self, body: &Body) -> u32 {
        self.api.dialect.inputs_of(&body.payload()).map_or(0, |inputs| inputs.images)
    }
}

impl BodyBuilder for Requests {
    fn is_kept(&self, conversation: u32) -> bool {
        (conversation as usize) < self.kept.len()
    }

    fn build(&self, conversation: u32) -> (Prepared, usize) {
        let index = conversation as usize;
        let made = self.conversation(index).and_then(|conversation| self.prepare(index, &conversation));
        match made {
            Ok((mut request, bytes)) => {
                self.hold_heads(&mut request);
                (Ok(Arc::new(request)), bytes)
            }
            Err(error) => (Err(error), 0),
        }
    }
}

#[cfg(test)]
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
        let mut api = Api::new(&self.api.endpoint, "m").expect("it was built before");
        api.dialect = &REFUSING;
        self.api = Arc::new(api);
        self
    }
}

#[cfg(test)]
mod tests;
