//! A conversation as it goes on: turns and answers in, bodies out.

use super::items::{Items, encode_item};
use super::{DialectError, Frame, Request, Said, inputs};
use crate::api::Api;
use crate::kinds::Carries;
use aiperf_types::{Body, BodyKind, ContextMode, Conversation, EndpointKind, Reply, SaidSoFar, Turn};
use bytes::Bytes;
use serde_json::Value;
use std::sync::Arc;

/// A request ready to be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EncodedRequest {
    pub body: Body,
    /// Its type, where that is not the same for every request.
    pub content_type: Option<Arc<str>>,
    /// Header fields of this request alone.
    pub headers: Vec<(String, String)>,
}

/// One execution of a conversation. What was said stays encoded, so that a turn costs what it adds. Cheap to clone while
/// little was said.
#[derive(Clone)]
pub struct Session {
    api: Arc<Api>,
    conversation: Arc<Conversation>,
    mode: ContextMode,
    /// What was said, unless it is among the items.
    said: Vec<Said>,
    /// Turns of the conversation that were said.
    asked: usize,
    items: Items,
    /// Images that the last request carries, where that is known without looking into its body.
    images: Option<u32>,
    /// What was said up to the last request that can be counted by what each adds, and whether that is the last of all.
    said_so_far: Option<Arc<SaidSoFar>>,
    is_said_so_far: bool,
    /// The tools that hold, encoded.
    tools: Option<Bytes>,
    /// The system blocks likewise.
    system: Option<Bytes>,
    response_id: Option<String>,
}

impl Session {
    pub fn new(api: Arc<Api>, conversation: Arc<Conversation>) -> Self {
        let mode = conversation.context_mode.unwrap_or_default();
        Self {
            api,
            conversation,
            mode,
            said: Vec::new(),
            asked: 0,
            items: Items::default(),
            images: None,
            said_so_far: None,
            is_said_so_far: false,
            tools: None,
            system: None,
            response_id: None,
        }
    }

    /// The same conversation, each turn of which is asked as if it were the only one.
    pub fn of_turns_alone(api: Arc<Api>, conversation: Arc<Conversation>) -> Self {
        Self { mode: ContextMode::MessageArrayWithResponses, ..Self::new(api, conversation) }
    }

    /// Fails where a turn can never be asked after those before it, whatever the answers are.
    pub fn check_carried(&self, turn: usize) -> Result<(), DialectError> {
        let dialect = self.api.dialect;
        let is_alone = turn == 0 || self.mode == ContextMode::MessageArrayWithResponses;
        let is_whole = self.conversation.turns.get(turn).is_some_and(|turn| turn.raw_payload.is_some());
        match dialect.carries {
            Carries::OneTurn if !is_alone && !is_whole => Err(DialectError::OneTurnOnly(dialect.kind.name())),
            Carries::History(_) | Carries::LastTurn | Carries::OneTurn => Ok(()),
        }
    }

    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// The request of one turn. Turns before it that were never asked count as said.
    pub fn ask(&mut self, turn: usize) -> Result<EncodedRequest, DialectError> {
        let conversation = self.conversation.clone();
        let asked = conversation.turns.get(turn).ok_or(DialectError::NoTurn)?;
        if self.mode == ContextMode::MessageArrayWithResponses {
            self.forget();
            self.asked = turn;
        }
        while self.asked <= turn {
            self.say(Said::Asked(self.asked))?;
            self.asked += 1;
        }
        if asked.reset_context {
            self.response_id = None;
        }
        let frame = match &asked.raw_payload {
            Some(payload) => {
                let mut frame = Frame::default();
                frame.extend(payload);
                frame
            }
            None => (self.api.dialect.frame)(&self.request(asked)?)?,
        };
        self.images = self.images_of(&frame, asked);
        // The texts of all messages one after the other, and no others.
        let is_in_items = frame.has_items() && frame.get("tools").is_none() && frame.get("input").is_none();
        let encoded = self.encode(frame, asked)?;
        self.is_said_so_far = is_in_items && self.is_counted_by_turn() && !self.items.replaces_first();
        if self.is_said_so_far {
            let items = self.items.take_added(self.said_so_far.is_none());
            self.said_so_far = Some(Arc::new(SaidSoFar::new(self.said_so_far.take(), items)));
        }
        Ok(encoded)
    }

    /// What the last request says, by what it adds to those before it, where it can be counted so.
    pub fn said_so_far(&self) -> Option<&Arc<SaidSoFar>> {
        self.said_so_far.as_ref().filter(|_| self.is_said_so_far)
    }

    /// Whether a request says what the one before it did, then what it adds, and that is counted here.
    fn is_counted_by_turn(&self) -> bool {
        self.api.dialect.kind == EndpointKind::Chat
            && !self.api.endpoint.server_token_count
            && self.conversation.turns.len() > 1
            && self.mode != ContextMode::MessageArrayWithResponses
    }

    /// Images that the last request carries; `None` where its body alone says, because somebody else wrote it or it is a
    /// form.
    pub fn images(&self) -> Option<u32> {
        self.images
    }

    fn images_of(&self, frame: &Frame, asked: &Turn) -> Option<u32> {
        if frame.has_items() {
            let items = &self.items;
            return Some(if frame.is_of_last_turn() { items.images_of_last_turn() } else { items.images() });
        }
        let is_verbatim = asked.raw_payload.is_some() || asked.raw_messages.is_some();
        (!is_verbatim && self.api.endpoint.body != BodyKind::Multipart).then(|| images(asked))
    }

    /// Whether an answer is needed for what comes after it.
    pub fn wants_reply(&self) -> bool {
        self.mode == ContextMode::DeltasWithoutResponses
            && self.asked < self.conversation.turns.len()
            && self.api.looks_back()
    }

    /// The server knows its answer to the turn before by this id.
    pub fn continue_from(&mut self, response_id: Option<String>) {
        self.response_id = response_id.filter(|id| !id.is_empty());
    }

    /// Takes the answer to the last turn asked.
    pub fn take(&mut self, reply: Reply) -> Result<(), DialectError> {
        if self.mode != ContextMode::DeltasWithoutResponses {
            return Ok(());
        }
        self.continue_from(reply.response_id);
        match reply.turn {
            Some(turn) => self.say(Said::Answered(Box::new(turn))),
            None => Ok(()),
        }
    }

    fn forget(&mut self) {
        self.said.clear();
        self.items = Items::default();
        (self.tools, self.system) = (None, None);
    }

    fn say(&mut self, said: Said) -> Result<(), DialectError> {
        let turn = said.turn(&self.conversation).ok_or(DialectError::NoTurn)?;
        super::carriable(self.api.dialect.kind, turn)?;
        let history = match &self.api.dialect.carries {
            Carries::History(history) => Some(history),
            Carries::LastTurn | Carries::OneTurn => None,
        };
        if let Some(history) = history.filter(|_| turn.raw_payload.is_none()) {
            let mut items = (history.items)(&self.api, turn)?;
            let images = match turn.raw_messages {
                Some(_) => inputs::images_of_items(self.api.dialect, &mut items),
                None => images(turn),
            };
            if turn.reset_context && turn.raw_messages.is_some() {
                self.items = Items::default();
                self.said_so_far = None;
            }
            self.items.add(items, images)?;
        }
        if let Some(tools) = &turn.raw_tools {
            self.tools = Some(encoded(tools)?);
        }
        if let Some(blocks) = &turn.raw_system {
            self.system = Some(encoded(blocks)?);
        }
        // What the items hold is not kept twice.
        if history.is_none() {
            self.said.push(said);
        }
        Ok(())
    }

    fn request<'a>(&'a self, turn: &'a Turn) -> Result<Request<'a>, DialectError> {
        let dialect = self.api.dialect;
        if matches!(dialect.carries, Carries::OneTurn) && self.said.len() > 1 {
            return Err(DialectError::OneTurnOnly(dialect.kind.name()));
        }
        Ok(Request {
            api: &self.api,
            conversation: &self.conversation,
            turn,
            said: &self.said,
            tools: self.tools.as_ref(),
            system: self.system.as_ref(),
            previous_response_id: self.response_id.as_deref(),
        })
    }

    fn encode(&mut self, frame: Frame, turn: &Turn) -> Result<EncodedRequest, DialectError> {
        let headers = turn.extra_headers.clone();
        if self.api.endpoint.body == BodyKind::Multipart {
            let payload = frame.encode()?.0.concat().into();
            let form = crate::request::multipart::encode(&frame.into_members()?)?;
            let body = Body::with_payload(form.pieces, payload);
            return Ok(EncodedRequest { body, content_type: Some(form.content_type.into()), headers });
        }
        let (mut pieces, after) = frame.encode()?;
        if frame.has_items() {
            self.open(turn)?;
            let first = pieces.len();
            if frame.is_of_last_turn() {
                pieces.extend_from_slice(self.items.of_last_turn());
            } else {
                pieces.extend(self.items.all().cloned());
            }
            // Without the comma before it.
            if let Some(first) = pieces.get_mut(first) {
                *first = first.slice(1..);
            }
        }
        pieces.extend(after);
        // Nobody shares the pieces of a conversation that has no more turns.
        let is_shared = self.conversation.turns.len() > 1;
        let body = if is_shared { Body::new(pieces) } else { pieces.concat().into() };
        Ok(EncodedRequest { body, content_type: None, headers })
    }

    /// Makes what comes before the items, once for each first of them.
    fn open(&mut self, turn: &Turn) -> Result<(), DialectError> {
        let Carries::History(history) = &self.api.dialect.carries else { return Ok(()) };
        if self.items.opening.is_none() {
            let opening = (history.opening)(&self.request(turn)?, self.items.first.as_ref());
            let encoded = opening.items.iter().map(encode_item).collect::<Result<_, _>>()?;
            self.items.opening = Some((encoded, opening.replaces_first));
            self.items.first = None;
        }
        Ok(())
    }
}

/// Images that a turn is made of.
fn images(turn: &Turn) -> u32 {
    let contents = turn.images.iter().flat_map(|image| &image.contents);
    contents.filter(|content| !content.is_empty()).count() as u32
}

fn encoded(values: &[Value]) -> Result<Bytes, DialectError> {
    let bytes = serde_json::to_vec(values).map_err(|error| DialectError::Encode(error.to_string()))?;
    Ok(bytes.into())
}
