//! A request that is ready to be sent, with the turns that follow it, or the reason why it cannot be built.

use crate::requests::markers::MarkerSpot;
use crate::requests::prompt_counts::PromptHistory;
use aiperf_dialect::{DialectError, EncodedRequest, HeadTemplate, Session};
use aiperf_types::{EndpointKind, Failure};
use std::sync::Arc;
use thiserror::Error;

/// A request, or why it cannot be built.
pub type Prepared = Result<Arc<PreparedRequest>, Unbuildable>;

/// A conversation whose requests cannot be built: which one, and why.
#[derive(Clone, Debug, Error)]
#[error("{place}: {source}")]
pub struct Unbuildable {
    pub place: String,
    pub session_id: Arc<str>,
    pub(super) kind: EndpointKind,
    pub source: BuildFault,
}

/// Why no request can be built from a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BuildFault {
    #[error(transparent)]
    Dialect(#[from] DialectError),
    /// Its rows can no longer be read.
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

/// The request of a turn, and what its record shows of it.
pub struct PreparedRequest {
    pub encoded: EncodedRequest,
    /// Its head by URL, if it has its own header fields and is kept.
    pub(super) heads: Vec<HeadTemplate>,
    pub session_id: Arc<str>,
    /// The requested output length.
    pub requested_osl: Option<u32>,
    /// Its model, if the run has several.
    pub model: Option<Arc<str>>,
    /// The number of its images.
    pub images: u32,
    /// The number of requested vectors, if the response has one for each input.
    pub vectors: Option<u32>,
    /// Length of its audio.
    pub audio_seconds: Option<f64>,
    /// A later turn needs its response.
    pub wants_reply: bool,
    /// Set if the prompt can be counted by what it adds to the prompts before it.
    pub(crate) prompt: Option<Arc<PromptHistory>>,
    /// Where markers are spliced in.
    pub(super) marker_spots: Vec<MarkerSpot>,
    /// The turns that follow a first turn, if any.
    pub(super) later: Option<LaterTurns>,
}

/// The turns that follow the first turn of a conversation.
pub(super) enum LaterTurns {
    /// Requests that are the same in every session.
    Prepared(Vec<Arc<PreparedRequest>>),
    /// Each turn depends on the responses before it: a session that has sent its first turn.
    FromResponses(Box<Session>),
}

impl PreparedRequest {
    /// The request of a later turn, if it was encoded beforehand.
    pub(crate) fn later_turn(&self, turn: u32) -> Option<&Arc<Self>> {
        match self.later.as_ref()? {
            LaterTurns::Prepared(later) => later.get((turn as usize).checked_sub(1)?),
            LaterTurns::FromResponses(_) => None,
        }
    }

    /// The session that continues from this first turn, if the later turns were not encoded beforehand.
    pub(crate) fn session(&self) -> Option<&Session> {
        match self.later.as_ref()? {
            LaterTurns::FromResponses(session) => Some(session),
            LaterTurns::Prepared(_) => None,
        }
    }
}
