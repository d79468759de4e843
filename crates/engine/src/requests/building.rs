//! How requests are made of conversations: the turns that can be encoded beforehand, and those that need a response.

use super::prepared::{BuildFault, LaterTurns, Prepared, PreparedRequest, Unbuildable};
use super::{Payloads, Requests, markers};
use crate::requests::ahead::BodyBuilder;
use crate::requests::prompt_counts::PromptHistory;
use aiperf_dataset::DatasetError;
use aiperf_dialect::{DialectError, HeadTemplate, Session};
use aiperf_plan::BaseUrl;
use aiperf_types::{Body, Conversation};
use std::sync::Arc;

impl Requests {
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

    pub(super) fn conversation(&self, index: usize) -> Result<Arc<Conversation>, Unbuildable> {
        let unread = |error: DatasetError| self.unbuildable(index, 0, "".into(), BuildFault::Unread(error.fault()));
        let mut conversation = self.dataset.conversation(index).map_err(unread)?.into_owned();
        if let Some(models) = &self.models {
            models.assign(index, &mut conversation, self.dataset.shapes());
        }
        Ok(Arc::new(conversation))
    }

    /// The first turn of a conversation, and the session that continues from it.
    pub(super) fn first_turn(
        &self,
        index: usize,
        conversation: &Arc<Conversation>,
    ) -> Result<PreparedRequest, Unbuildable> {
        let mut session = Session::new(self.api.clone(), conversation.clone());
        let session_id = conversation.session_id.as_str().into();
        let mut first = self.ask(&mut session, None, (index as u32, 0), session_id)?;
        if conversation.turns.len() > 1 {
            first.later = Some(LaterTurns::FromResponses(Box::new(session)));
        }
        // With several models, each may have a tokenizer of its own. A chat template adds text.
        let made = conversation.turns.first().and_then(|turn| turn.text_tokens);
        if let Some(tokens) = made.filter(|_| self.models.is_none() && !self.chat_template) {
            self.first_counts.note_length(index, tokens);
        }
        Ok(first)
    }

    /// As `first_turn`, with the later turns as far as they can be encoded beforehand: turns that are the same in every
    /// session, or else the pieces that they add. Also returns the size in bytes.
    fn prepare(&self, index: usize, conversation: &Arc<Conversation>) -> Result<(PreparedRequest, usize), Unbuildable> {
        let mut first = self.first_turn(index, conversation)?;
        let mut bytes = first.encoded.body.held();
        match first.later.as_mut() {
            Some(LaterTurns::FromResponses(session)) if first.wants_reply => {
                let pieces = session.prepare_turns();
                // The texts of its turns are kept too.
                bytes +=
                    2 * pieces.map_err(|error| self.refused((index as u32, 1), first.session_id.clone(), error))?;
            }
            Some(LaterTurns::FromResponses(session)) => {
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
    pub(super) fn keep(
        &self,
        index: usize,
        conversation: &Arc<Conversation>,
    ) -> Result<(PreparedRequest, usize), Unbuildable> {
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
    pub(super) fn hold(&self, request: &mut PreparedRequest) {
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
    pub(super) fn payloads(&self, index: usize, conversation: &Arc<Conversation>) -> Result<Payloads, Unbuildable> {
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
    pub(super) fn head_with(&self, url: &BaseUrl, own: &[(String, String)]) -> HeadTemplate {
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
