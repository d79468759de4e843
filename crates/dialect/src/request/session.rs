//! The state of a conversation: turns and responses in, bodies out.

use super::encoded_frame::{EncodedFrame, FrameSettings, SteadyFrame};
use super::items::{EncodedTurn, Items, encode_item};
use super::{DialectError, Frame, HistoryEntry, Request};
use crate::api::Api;
use crate::kinds::shared::content::text_message;
use crate::kinds::{Carries, History};
use aiperf_types::{Body, BodyKind, ContextMode, Conversation, Reply, Turn};
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

/// The items of most bodies are this many pieces.
const FEW_PIECES: usize = 8;

/// What a request adds to the one before it in its session, for counting prompts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptDelta {
    /// It comes after the deltas before it. Otherwise it is the whole prompt.
    pub continues: bool,
    /// Encoded items, each with a comma before it.
    pub items: Vec<Bytes>,
}

/// One execution of a conversation. Earlier turns stay encoded, so that a turn costs what it adds. Cheap to clone
/// while the history is short.
#[derive(Clone)]
pub struct Session {
    api: Arc<Api>,
    conversation: Arc<Conversation>,
    mode: ContextMode,
    /// The history, unless it is among the items.
    history: Vec<HistoryEntry>,
    /// Turns of the conversation that were sent.
    asked: usize,
    /// Turns as items, by their index, where they were encoded beforehand.
    prepared: Arc<[Option<EncodedTurn>]>,
    items: Items,
    /// The frame of an earlier turn, if it serves for others.
    frame: Option<Arc<SteadyFrame>>,
    /// Images of the last request, if that is known without its body.
    images: Option<u32>,
    /// Whether prompts are counted by what each adds. After one that cannot be, none is.
    has_deltas: bool,
    /// What was added since the last request, where that is counted.
    added: Vec<Bytes>,
    /// A request before was counted: the next one continues it.
    continues: bool,
    delta: Option<PromptDelta>,
    /// The tools that hold, encoded.
    tools: Option<Bytes>,
    /// The system blocks likewise.
    system: Option<Bytes>,
    response_id: Option<String>,
}

impl Session {
    pub fn new(api: Arc<Api>, conversation: Arc<Conversation>) -> Self {
        let mode = conversation.context_mode.unwrap_or_default();
        Self::in_mode(mode, api, conversation)
    }

    fn in_mode(mode: ContextMode, api: Arc<Api>, conversation: Arc<Conversation>) -> Self {
        let has_deltas = api.dialect.counts_additions
            && !api.endpoint.server_token_count
            && conversation.turns.len() > 1
            && mode != ContextMode::MessageArrayWithResponses;
        Self {
            api,
            conversation,
            mode,
            history: Vec::new(),
            asked: 0,
            prepared: Arc::default(),
            items: Items::default(),
            frame: None,
            images: None,
            has_deltas,
            added: Vec::new(),
            continues: false,
            delta: None,
            tools: None,
            system: None,
            response_id: None,
        }
    }

    /// The same conversation, with each turn sent as if it were the only one.
    pub fn of_turns_alone(api: Arc<Api>, conversation: Arc<Conversation>) -> Self {
        Self::in_mode(ContextMode::MessageArrayWithResponses, api, conversation)
    }

    /// Fails if a turn can never be sent after those before it, whatever the responses are.
    pub fn check_carried(&self, turn: usize) -> Result<(), DialectError> {
        let dialect = self.api.dialect;
        let is_alone = turn == 0 || self.mode == ContextMode::MessageArrayWithResponses;
        let is_whole = self.conversation.turns.get(turn).is_some_and(|turn| turn.raw_payload.is_some());
        match dialect.carries {
            Carries::OneTurn if !is_alone && !is_whole => Err(DialectError::OneTurnOnly(dialect.kind.name())),
            Carries::History(_) | Carries::LastTurn | Carries::OneTurn => Ok(()),
        }
    }

    pub fn conversation(&self) -> &Arc<Conversation> {
        &self.conversation
    }

    /// Encodes what the turns after the first add, so that sending them only joins pieces. Returns the number of bytes.
    pub fn prepare_turns(&mut self) -> Result<usize, DialectError> {
        let Carries::History(history) = &self.api.dialect.carries else { return Ok(0) };
        let encode = |(index, turn): (usize, &Turn)| {
            let is_added = index > 0 && turn.raw_payload.is_none() && !begins_anew(turn);
            is_added.then(|| self.encode_turn(history, turn)).transpose()
        };
        let prepared: Vec<_> = self.conversation.turns.iter().enumerate().map(encode).collect::<Result<_, _>>()?;
        self.prepared = prepared.into();
        Ok(self.prepared.iter().flatten().map(EncodedTurn::len).sum())
    }

    /// The items of a turn that comes after others.
    fn encode_turn(&self, history: &History, turn: &Turn) -> Result<EncodedTurn, DialectError> {
        match text_message(&self.api, turn) {
            Some((role, text)) => EncodedTurn::of_text(role, text, history.text_end),
            None => {
                let mut items = (history.items)(&self.api, turn)?;
                let images = self.images_of_items(turn, &mut items);
                EncodedTurn::of(&items, images)
            }
        }
    }

    fn images_of_items(&self, turn: &Turn, items: &mut Vec<Value>) -> u32 {
        match turn.raw_messages {
            Some(_) => self.api.dialect.images_of_items(items),
            None => images(turn),
        }
    }

    /// The request of one turn. Turns before it that were never sent count as sent.
    pub fn ask(&mut self, turn: usize) -> Result<EncodedRequest, DialectError> {
        let conversation = self.conversation.clone();
        let asked = conversation.turns.get(turn).ok_or(DialectError::NoTurn)?;
        if self.mode == ContextMode::MessageArrayWithResponses {
            self.forget();
            self.asked = turn;
        }
        while self.asked <= turn {
            self.remember(HistoryEntry::Asked(self.asked))?;
            self.asked += 1;
        }
        if asked.reset_context {
            self.response_id = None;
        }
        let framed = self.frame_of(asked)?;
        let frame = &framed.frame;
        self.images = self.images_of(frame, asked);
        // The texts of all messages one after the other, and no others.
        let is_in_items = frame.has_items() && frame.get("tools").is_none() && frame.get("input").is_none();
        let encoded = self.encode(framed, asked)?;
        self.has_deltas &= is_in_items && !self.items.replaces_first();
        self.delta = self.make_delta();
        Ok(encoded)
    }

    fn frame_of(&mut self, turn: &Turn) -> Result<Arc<EncodedFrame>, DialectError> {
        if let Some(payload) = &turn.raw_payload {
            let mut frame = Frame::default();
            frame.extend(payload);
            return EncodedFrame::new(frame).map(Arc::new);
        }
        let is_steady = self.api.dialect.has_steady_frame && turn.extra_body.is_none();
        if !is_steady {
            return self.new_frame(turn);
        }
        let settings =
            FrameSettings { model: turn.model.as_deref(), max_tokens: turn.max_tokens, tools: self.tools.as_ref() };
        if let Some(own) = self.frame.as_ref().filter(|own| own.has(settings)) {
            return Ok(own.frame().clone());
        }
        let steady = match self.api.last_frame.of(settings) {
            Some(steady) => steady,
            None => {
                let steady = Arc::new(SteadyFrame::new(settings, self.new_frame(turn)?));
                self.api.last_frame.set(steady.clone());
                steady
            }
        };
        let frame = steady.frame().clone();
        self.frame = Some(steady);
        Ok(frame)
    }

    fn new_frame(&self, turn: &Turn) -> Result<Arc<EncodedFrame>, DialectError> {
        EncodedFrame::new((self.api.dialect.frame)(&self.request(turn)?)?).map(Arc::new)
    }

    /// What the last request adds to those before it, if prompts can be counted so.
    pub fn take_delta(&mut self) -> Option<PromptDelta> {
        self.delta.take()
    }

    fn make_delta(&mut self) -> Option<PromptDelta> {
        let added = std::mem::take(&mut self.added);
        if !self.has_deltas {
            return None;
        }
        let continues = std::mem::replace(&mut self.continues, true);
        let opening = if continues { &[] } else { self.items.opening() };
        Some(PromptDelta { continues, items: opening.iter().cloned().chain(added).collect() })
    }

    /// Images of the last request; `None` if only its body shows it, because the user wrote it or it is a form.
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

    /// Whether later turns need the response.
    pub fn wants_reply(&self) -> bool {
        self.mode == ContextMode::DeltasWithoutResponses
            && self.asked < self.conversation.turns.len()
            && self.api.looks_back()
    }

    /// The server knows its response to the turn before by this id.
    pub fn continue_from(&mut self, response_id: Option<String>) {
        self.response_id = response_id.filter(|id| !id.is_empty());
    }

    /// Takes the response to the last turn sent.
    pub fn take(&mut self, reply: Reply) -> Result<(), DialectError> {
        if self.mode != ContextMode::DeltasWithoutResponses {
            return Ok(());
        }
        self.continue_from(reply.response_id);
        match reply.turn {
            Some(turn) => self.remember(HistoryEntry::Answered(Box::new(turn))),
            None => Ok(()),
        }
    }

    fn forget(&mut self) {
        self.history.clear();
        self.items = Items::default();
        (self.tools, self.system) = (None, None);
    }

    fn remember(&mut self, entry: HistoryEntry) -> Result<(), DialectError> {
        let conversation = self.conversation.clone();
        let turn = entry.turn(&conversation).ok_or(DialectError::NoTurn)?;
        super::carriable(self.api.dialect.kind, turn)?;
        let history = match &self.api.dialect.carries {
            Carries::History(history) => Some(history),
            Carries::LastTurn | Carries::OneTurn => None,
        };
        if let Some(history) = history.filter(|_| turn.raw_payload.is_none()) {
            let prepared = match entry {
                HistoryEntry::Asked(at) => self.prepared.get(at).and_then(Option::clone),
                HistoryEntry::Answered(_) => None,
            };
            // Only a system message may take the place of the first item.
            let stays = !self.items.is_empty() || conversation.system_message.is_none();
            match (prepared, text_message(&self.api, turn)) {
                (Some(prepared), _) if stays => self.items.add_encoded(prepared),
                (_, Some((role, text))) if stays => {
                    self.items.add_encoded(EncodedTurn::of_text(role, text, history.text_end)?);
                }
                _ => self.add_items(history, turn)?,
            }
            if self.has_deltas {
                self.added.extend_from_slice(self.items.of_last_turn());
            }
        }
        if let Some(tools) = &turn.raw_tools {
            self.tools = Some(encoded(tools)?);
        }
        if let Some(blocks) = &turn.raw_system {
            self.system = Some(encoded(blocks)?);
        }
        // The content of items is not stored twice.
        if history.is_none() {
            self.history.push(entry);
        }
        Ok(())
    }

    fn add_items(&mut self, history: &History, turn: &Turn) -> Result<(), DialectError> {
        let mut items = (history.items)(&self.api, turn)?;
        let images = self.images_of_items(turn, &mut items);
        if begins_anew(turn) {
            self.items = Items::default();
            self.added.clear();
            self.continues = false;
        }
        self.items.add(items, images)
    }

    fn request<'a>(&'a self, turn: &'a Turn) -> Result<Request<'a>, DialectError> {
        let dialect = self.api.dialect;
        if matches!(dialect.carries, Carries::OneTurn) && self.history.len() > 1 {
            return Err(DialectError::OneTurnOnly(dialect.kind.name()));
        }
        Ok(Request {
            api: &self.api,
            conversation: &self.conversation,
            turn,
            history: &self.history,
            tools: self.tools.as_ref(),
            system: self.system.as_ref(),
            previous_response_id: self.response_id.as_deref(),
        })
    }

    fn encode(&mut self, framed: Arc<EncodedFrame>, turn: &Turn) -> Result<EncodedRequest, DialectError> {
        let headers = turn.extra_headers.clone();
        if self.api.endpoint.body == BodyKind::Multipart {
            let payload = framed.before.concat().into();
            let frame = Arc::try_unwrap(framed).map_or_else(|shared| shared.frame.clone(), |own| own.frame);
            let form = crate::request::multipart::encode(&frame.into_members()?)?;
            let body = Body::with_payload(form.pieces, payload);
            return Ok(EncodedRequest { body, content_type: Some(form.content_type.into()), headers });
        }
        let EncodedFrame { frame, before, after } = &*framed;
        let mut pieces = Vec::with_capacity(before.len() + after.len() + FEW_PIECES);
        pieces.extend_from_slice(before);
        let mut shared = 0;
        if frame.has_items() {
            self.open(turn)?;
            let first = pieces.len();
            if frame.is_of_last_turn() {
                pieces.extend_from_slice(self.items.of_last_turn());
            } else {
                shared = self.items.take_shared();
                pieces.extend(self.items.all().cloned());
            }
            // Without the comma before it.
            if let Some(first) = pieces.get_mut(first) {
                *first = first.slice(1..);
            }
        }
        pieces.extend_from_slice(after);
        // No later turn shares the pieces of a conversation that has no more turns.
        let is_shared = self.conversation.turns.len() > 1;
        let body = if is_shared { Body::sharing(pieces, shared) } else { pieces.concat().into() };
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

/// Whether a turn replaces the whole history.
fn begins_anew(turn: &Turn) -> bool {
    turn.reset_context && turn.raw_messages.is_some()
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

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_plan::{BaseUrl, EndpointPlan};
    use aiperf_types::EndpointKind;

    #[test]
    fn what_turns_add_is_kept_for_counting_only_where_it_is_counted() {
        let kept = |kind, server_token_count, tools: Option<Vec<Value>>| {
            let url = BaseUrl::parse("http://localhost:8000").unwrap();
            let endpoint = EndpointPlan { server_token_count, ..EndpointPlan::new(kind, vec![url]) };
            let first = Turn { raw_tools: tools, ..Turn::text("1") };
            let turns = vec![first, Turn::text("2"), Turn::text("3")];
            let conversation = Conversation { turns, ..Conversation::default() };
            let mut session = Session::new(Arc::new(Api::new(&endpoint, "m").unwrap()), conversation.into());
            for turn in 0..2 {
                session.ask(turn).unwrap();
                let reply = Turn { role: Some("assistant".into()), ..Turn::text("a") };
                session.take(Reply { turn: Some(reply), response_id: None }).unwrap();
            }
            session.added.len()
        };
        let tools = Some(vec![serde_json::json!({"name": "f"})]);
        assert_eq!(kept(EndpointKind::Chat, false, None), 1, "the last answer");
        assert_eq!(kept(EndpointKind::Chat, true, None), 0);
        assert_eq!(kept(EndpointKind::Chat, false, tools), 0);
        assert_eq!(kept(EndpointKind::Responses, false, None), 0);
        assert_eq!(kept(EndpointKind::Messages, false, None), 0);
    }
}
