//! The live sessions: what they send, how far they are, and which slots they hold.

use crate::limit::Slot;
use crate::message::{Draw, Identity};
use aiperf_types::{MonoNs, NumberMap, PhaseIndex};

#[derive(Debug)]
pub(crate) struct LiveSession {
    pub(crate) phase: PhaseIndex,
    pub(crate) identity: Identity,
    pub(crate) draw: Draw,
    pub(crate) conversation: u32,
    /// The turn in flight, or else the next.
    pub(crate) turn: u32,
    pub(crate) turns: u32,
    pub(crate) url: u32,
    /// When its latest turn should have gone out.
    pub(crate) planned: MonoNs,
    pub(crate) is_in_flight: bool,
    /// Its own until its last turn is back.
    pub(crate) slot: Slot,
    /// That of the turn in flight, until its first content.
    pub(crate) prefill: Option<Slot>,
}

impl LiveSession {
    pub(crate) fn is_at_last_turn(&self) -> bool {
        self.turn + 1 >= self.turns
    }
}

/// Live sessions by number.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    live: NumberMap<LiveSession>,
    opened: u64,
}

impl Sessions {
    /// The number that the next one gets.
    pub(crate) fn next_number(&self) -> u64 {
        self.opened
    }

    pub(crate) fn open(&mut self, session: LiveSession) -> u64 {
        let number = self.opened;
        self.opened += 1;
        self.live.insert(number, session);
        number
    }

    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut LiveSession> {
        self.live.get_mut(&number)
    }

    /// The session that has this turn in flight.
    pub(crate) fn in_flight(&mut self, number: u64, turn: u32) -> Option<&mut LiveSession> {
        self.live.get_mut(&number).filter(|session| session.is_in_flight && session.turn == turn)
    }

    pub(crate) fn close(&mut self, number: u64) -> Option<LiveSession> {
        self.live.remove(&number)
    }

    /// Closes all sessions of a phase.
    pub(crate) fn close_phase(&mut self, phase: PhaseIndex, mut closed: impl FnMut(LiveSession)) {
        self.live.extract_if(|_, session| session.phase == phase).for_each(|(_, session)| closed(session));
    }
}
