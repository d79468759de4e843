//! A conversation as it goes on: turns and answers in, bodies out.

use super::items::{Items, encode_item};
use super::{DialectError, Frame, Request, Said};
use crate::api::Api;
use crate::kinds::Carries;
use aiperf_types::{Body, BodyKind, ContextMode, Conversation, Reply, Turn};
use bytes::Bytes;
use serde_json::Value;
use std::ops::Range;
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

/// One execution of a conversation. What was said stays encoded, so that a turn costs what it adds.
pub struct Session {
    api: Arc<Api>,
    conversation: Arc<Conversation>,
    mode: ContextMode,
    said: Vec<Said>,
    /// Turns of the conversation that were said.
    asked: usize,
    items: Items,
    /// Where in `said` the turns begin that are among the items.
    context: usize,
    /// What of `said` the last request carries.
    carried: Range<usize>,
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
            context: 0,
            carried: 0..0,
            tools: None,
            system: None,
            response_id: None,
        }
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
        let last = self.said.len() - 1;
        let first = if frame.has_items() && !frame.is_of_last_turn() { self.context } else { last };
        self.carried = first..self.said.len();
        self.encode(frame, asked)
    }

    /// The turns that the last request carries, answers included.
    pub fn carried(&self) -> impl Iterator<Item = &Turn> {
        let carried = &self.said[self.carried.clone()];
        let (history, asked) = carried.split_at(carried.len().saturating_sub(1));
        let turn = |said| Said::turn(said, &self.conversation);
        // A whole payload is nobody's history.
        let history = history.iter().filter_map(turn).filter(|turn| turn.raw_payload.is_none());
        history.chain(asked.iter().filter_map(turn))
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
        (self.context, self.carried) = (0, 0..0);
        (self.tools, self.system) = (None, None);
    }

    fn say(&mut self, said: Said) -> Result<(), DialectError> {
        let turn = said.turn(&self.conversation).ok_or(DialectError::NoTurn)?;
        super::carriable(self.api.dialect.kind, turn)?;
        if let Carries::History(history) = &self.api.dialect.carries
            && turn.raw_payload.is_none()
        {
            let items = (history.items)(&self.api, turn)?;
            if turn.reset_context && turn.raw_messages.is_some() {
                self.items = Items::default();
                self.context = self.said.len();
            }
            self.items.add(items)?;
        }
        if let Some(tools) = &turn.raw_tools {
            self.tools = Some(encoded(tools)?);
        }
        if let Some(blocks) = &turn.raw_system {
            self.system = Some(encoded(blocks)?);
        }
        self.said.push(said);
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

fn encoded(values: &[Value]) -> Result<Bytes, DialectError> {
    let bytes = serde_json::to_vec(values).map_err(|error| DialectError::Encode(error.to_string()))?;
    Ok(bytes.into())
}
