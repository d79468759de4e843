//! What arrivals send through: it checks what ends a phase, opens sessions, and counts.

use crate::limit::Slot;
use crate::message::{Action, Dispatch, Draw, Identity};
use crate::phase::Phase;
use crate::sessions::{LiveSession, Sessions};
use crate::setup::Setup;
use crate::slots::Slots;
use aiperf_types::MonoNs;

/// A session about to be opened.
pub(crate) struct NewSession {
    pub(crate) draw: Draw,
    pub(crate) conversation: u32,
    pub(crate) turns: u32,
    pub(crate) identity: Identity,
    /// When its first turn should go out.
    pub(crate) planned: MonoNs,
}

/// One phase at one instant.
pub(crate) struct Dispatcher<'a> {
    pub(crate) now: MonoNs,
    pub(crate) phase: &'a mut Phase,
    pub(crate) setup: &'a Setup,
    pub(crate) slots: &'a mut Slots,
    pub(crate) sessions: &'a mut Sessions,
    /// Draws of the dataset so far.
    pub(crate) drawn: &'a mut u64,
    pub(crate) actions: &'a mut Vec<Action>,
}

impl Dispatcher<'_> {
    /// Whether any turn may go out.
    pub(crate) fn may_send(&self) -> bool {
        !self.phase.is_met()
    }

    /// Whether a new session may be opened.
    pub(crate) fn may_start(&self) -> bool {
        self.phase.may_start()
    }

    /// The next conversation of the dataset, and how many turns it has.
    pub(crate) fn draw(&mut self) -> (Draw, u32, u32) {
        let (draw, conversation) = (Draw::sampled(*self.drawn), self.setup.sampler.conversation(*self.drawn));
        *self.drawn += 1;
        (draw, conversation, self.setup.shapes.turns(conversation).max(1))
    }

    /// Opens a session, which is sent nothing yet.
    pub(crate) fn open(&mut self, new: NewSession, slot: Slot) -> u64 {
        let NewSession { draw, conversation, turns, identity, planned } = new;
        let url = (self.sessions.next_number() % u64::from(self.setup.urls.max(1))) as u32;
        let phase = self.phase.index();
        self.phase.count_opened();
        self.sessions.open(LiveSession {
            phase,
            identity,
            draw,
            conversation,
            turn: 0,
            turns,
            url,
            planned,
            is_in_flight: false,
            slot,
            prefill: None,
        })
    }

    /// Draws a conversation and sends its first turn.
    pub(crate) fn start(&mut self, intended: MonoNs, slot: Slot, prefill: Slot) {
        let (draw, conversation, turns) = self.draw();
        let new = NewSession { draw, conversation, turns, identity: Identity::Drawn, planned: intended };
        let session = self.open(new, slot);
        self.send(session, intended, prefill);
    }

    /// Sends the next turn of a session.
    pub(crate) fn send(&mut self, number: u64, intended: MonoNs, prefill: Slot) {
        let Some(session) = self.sessions.get_mut(number) else {
            self.slots.prefills.give_back(prefill);
            return;
        };
        let (turn, turns, conversation) = (session.turn, session.turns, session.conversation);
        let awaits_first_content = prefill.counts();
        session.is_in_flight = true;
        session.prefill = Some(prefill);
        let (within, cancel_after) = self.phase.count_sent(turn, turns);
        let replays = session.identity == Identity::Conversation;
        let recorded = || self.setup.shapes.turn(conversation, turn).timestamp_ms;
        self.actions.push(Action::Send(Dispatch {
            phase: session.phase,
            number: within,
            session: number,
            identity: session.identity,
            draw: session.draw,
            conversation,
            turn,
            turns,
            url: session.url,
            intended,
            cancel_after,
            awaits_first_content,
            scheduled_send_ms: replays.then(recorded).flatten(),
        }));
    }

    /// A slot for a session and one for its first request; neither where one is missing.
    pub(crate) fn take_both(&mut self) -> Option<(Slot, Slot)> {
        if !self.slots.prefills.has_free() {
            return None;
        }
        let slot = self.slots.sessions.take()?;
        self.slots.prefills.take().map(|prefill| (slot, prefill))
    }
}
