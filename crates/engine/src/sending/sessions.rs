//! The open sessions of a worker that have several turns: their messages so far, for the turns that follow.

use crate::requests::prompt_counts::PromptHistory;
use crate::requests::{Prepared, PreparedRequest, Requests, Unbuildable};
use aiperf_dialect::{DialectError, Session};
use aiperf_schedule::Dispatch;
use aiperf_types::{CorrelationId, NumberMap, PhaseIndex, Reply};
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// Open sessions, by their number within the run.
#[derive(Default)]
pub(crate) struct Sessions {
    open: NumberMap<OpenSession>,
}

struct OpenSession {
    phase: PhaseIndex,
    session_id: Arc<str>,
    /// Its first turn, which may hold the others; `None` if it could not be built.
    first: Option<Arc<PreparedRequest>>,
    /// The messages so far; `None` as long as the requests do not depend on them.
    session: Option<Box<Session>>,
    /// Made at the first turn, kept for the turns after it.
    correlation_id: Option<CorrelationId>,
    /// Holds the counts of its prompts so far.
    prompt: Option<Arc<PromptHistory>>,
    /// A response could not be carried into the next turn: no turn can follow.
    fault: Option<DialectError>,
}

impl OpenSession {
    fn new(phase: PhaseIndex, session_id: Arc<str>) -> Self {
        Self { phase, session_id, first: None, session: None, correlation_id: None, prompt: None, fault: None }
    }
}

impl Sessions {
    /// The request of a turn; for a first turn, the caller passes it in. A session is open from its first turn until it
    /// is closed.
    pub(crate) fn ask(&mut self, requests: &Requests, dispatch: &Dispatch, first: Option<Prepared>) -> Prepared {
        if let Some(first) = first {
            let first = first?;
            if !dispatch.is_last() {
                let session = first.session().map(|session| Box::new(session.clone()));
                let (phase, session_id, prompt) = (dispatch.phase, first.session_id.clone(), first.prompt.clone());
                let open =
                    OpenSession { first: Some(first.clone()), prompt, session, ..OpenSession::new(phase, session_id) };
                self.open.insert(dispatch.session, open);
            }
            return Ok(first);
        }
        let open = self.open.get(&dispatch.session).and_then(|open| open.first.as_ref());
        match open.and_then(|first| first.later_turn(dispatch.turn)) {
            Some(prepared) => Ok(prepared.clone()),
            None => self.go_on(requests, dispatch).map(Arc::new),
        }
    }

    /// The id of a session whose turn is being sent: made at its first turn, and kept for those after it.
    pub(crate) fn correlation_id(&mut self, session: u64, make: impl FnOnce() -> CorrelationId) -> CorrelationId {
        match self.open.get_mut(&session) {
            Some(open) => open.correlation_id.get_or_insert_with(make).clone(),
            None => make(),
        }
    }

    /// No more turns of this session follow.
    pub(crate) fn close(&mut self, session: u64) {
        self.open.remove(&session);
    }

    /// The request of a turn that depends on earlier messages. If its first turn could not be built, the session opens
    /// here.
    fn go_on(&mut self, requests: &Requests, dispatch: &Dispatch) -> Result<PreparedRequest, Unbuildable> {
        let at = (dispatch.conversation, dispatch.turn);
        let begin = || requests.session(dispatch.conversation).map(Box::new);
        let open = match self.open.entry(dispatch.session) {
            Entry::Occupied(open) => open.into_mut(),
            Entry::Vacant(place) => {
                let session = begin()?;
                let (phase, session_id) = (dispatch.phase, session.conversation().session_id.as_str().into());
                place.insert(OpenSession { session: Some(session), ..OpenSession::new(phase, session_id) })
            }
        };
        let session_id = open.session_id.clone();
        if let Some(fault) = &open.fault {
            return Err(requests.refused(at, session_id, fault.clone()));
        }
        let session = match &mut open.session {
            Some(session) => session,
            empty => empty.insert(begin()?),
        };
        let request = requests.ask(session, open.prompt.as_ref(), at, session_id)?;
        open.prompt = request.prompt.clone().or(open.prompt.take());
        Ok(request)
    }

    /// Takes the response to the last turn. A response that arrives after its session was forgotten is discarded.
    pub(crate) fn take(&mut self, session: u64, reply: Reply) {
        let Some(open) = self.open.get_mut(&session) else { return };
        open.fault = open.session.as_mut().and_then(|session| session.take(reply).err());
    }

    /// Forgets the sessions of a phase, which may have been cut off, and returns their numbers.
    pub(crate) fn forget(&mut self, phase: PhaseIndex) -> Vec<u64> {
        self.open.extract_if(|_, open| open.phase == phase).map(|(session, _)| session).collect()
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }
}
