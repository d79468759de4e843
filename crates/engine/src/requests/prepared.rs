//! A request that is ready to be sent, with what follows it.

use crate::requests::markers::MarkerSpot;
use crate::requests::prompt_counts::PromptHistory;
use aiperf_dialect::{EncodedRequest, HeadTemplate, Session};
use std::sync::Arc;

/// What is sent for a turn, and what records say of it.
pub struct PreparedRequest {
    pub encoded: EncodedRequest,
    /// Its head by URL, where it has header fields of its own and is kept.
    pub(super) heads: Vec<HeadTemplate>,
    pub session_id: Arc<str>,
    /// Output length asked for.
    pub requested_osl: Option<u32>,
    /// Its model, where the run has several.
    pub model: Option<Arc<str>>,
    /// Images that it carries.
    pub images: u32,
    /// Vectors that it asks for, where its answer holds one for each input.
    pub vectors: Option<u32>,
    /// Length of its audio.
    pub audio_seconds: Option<f64>,
    /// A later turn needs its answer.
    pub wants_reply: bool,
    /// Where its prompt can be counted by what it adds to those before it.
    pub(crate) prompt: Option<Arc<PromptHistory>>,
    /// Where markers are spliced in.
    pub(super) marker_spots: Vec<MarkerSpot>,
    /// Of a first turn, where more follow.
    pub(super) later: Option<LaterTurns>,
}

/// What follows the first turn of a conversation.
pub(super) enum LaterTurns {
    /// Requests that are the same in every session.
    Prepared(Vec<Arc<PreparedRequest>>),
    /// Each goes on from what was said before it: a session that has asked its first turn.
    FromAnswers(Box<Session>),
}

impl PreparedRequest {
    /// What is sent for a later turn, where that was encoded beforehand.
    pub(crate) fn later_turn(&self, turn: u32) -> Option<&Arc<Self>> {
        match self.later.as_ref()? {
            LaterTurns::Prepared(later) => later.get((turn as usize).checked_sub(1)?),
            LaterTurns::FromAnswers(_) => None,
        }
    }

    /// The session that goes on from this first turn, where what follows was not encoded beforehand.
    pub(crate) fn session(&self) -> Option<&Session> {
        match self.later.as_ref()? {
            LaterTurns::FromAnswers(session) => Some(session),
            LaterTurns::Prepared(_) => None,
        }
    }
}
