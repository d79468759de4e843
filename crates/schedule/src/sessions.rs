//! The sessions that are live: what they say, how far they are, and which slots are theirs.

use crate::limit::Slot;
use crate::message::Identity;
use aiperf_types::{MonoNs, PhaseIndex};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) phase: PhaseIndex,
    pub(crate) identity: Identity,
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

impl Session {
    pub(crate) fn is_at_last_turn(&self) -> bool {
        self.turn + 1 >= self.turns
    }
}

/// Live sessions by number.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    live: HashMap<u64, Session, BuildHasherDefault<NumberHasher>>,
    opened: u64,
}

impl Sessions {
    /// The number that the next one gets.
    pub(crate) fn next_number(&self) -> u64 {
        self.opened
    }

    pub(crate) fn open(&mut self, session: Session) -> u64 {
        let number = self.opened;
        self.opened += 1;
        self.live.insert(number, session);
        number
    }

    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut Session> {
        self.live.get_mut(&number)
    }

    /// The session that has this turn in flight.
    pub(crate) fn in_flight(&mut self, number: u64, turn: u32) -> Option<&mut Session> {
        self.live.get_mut(&number).filter(|session| session.is_in_flight && session.turn == turn)
    }

    pub(crate) fn close(&mut self, number: u64) -> Option<Session> {
        self.live.remove(&number)
    }

    /// Closes all sessions of a phase.
    pub(crate) fn close_phase(&mut self, phase: PhaseIndex, mut closed: impl FnMut(Session)) {
        self.live.extract_if(|_, session| session.phase == phase).for_each(|(_, session)| closed(session));
    }
}

/// Numbers that count up need no more than to be spread: nobody chooses them to collide.
#[derive(Debug, Default)]
struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(self.0 ^ u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        // An odd constant near 2^64 over the golden ratio; the halves are folded, as both ends of a hash are used.
        let wide = u128::from(number) * 0x9E37_79B9_7F4A_7C15;
        self.0 = (wide >> 64) as u64 ^ wide as u64;
    }
}
