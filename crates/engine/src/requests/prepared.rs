//! A request that is ready to be sent, with what follows it; or why there is none.

use crate::requests::markers::MarkerSpot;
use crate::requests::prompt_counts::PromptHistory;
use aiperf_dialect::{DialectError, EncodedRequest, HeadTemplate, Session};
use aiperf_types::{EndpointKind, Failure};
use std::sync::Arc;
use thiserror::Error;

/// A request, or why none can be made.
pub type Prepared = Result<Arc<PreparedRequest>, Unbuildable>;

/// A conversation of which no request can be made: which one, and why.
#[derive(Clone, Debug, Error)]
#[error("{place}: {source}")]
pub struct Unbuildable {
    pub place: String,
    pub session_id: Arc<str>,
    pub(super) kind: EndpointKind,
    pub source: BuildFault,
}

/// Why no request can be made of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BuildFault {
    #[error(transparent)]
    Dialect(#[from] DialectError),
    /// Its rows cannot be read any more.
    #[error("{0}")]
    Unread(String),
}

impl From<&Unbuildable> for Failure {
    fn from(error: &Unbuildable) -> Self {
        let is_unsupported = matches!(
            (error.kind, &error.source),
            (_, BuildFault::Dialect(DialectError::Unsupported(..)))
                | (EndpointKind::Raw, BuildFault::Dialect(DialectError::Missing(..)))
        );
        Self::Unbuildable { is_unsupported, message: error.to_string() }
    }
}

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
