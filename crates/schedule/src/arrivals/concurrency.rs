//! As fast as slots come free: sessions that are under way go on first, then new ones begin.

use super::{Arrivals, Ending, after_delay};
use crate::dispatcher::Dispatcher;
use crate::sessions::LiveSession;
use crate::turns::DelayedTurns;
use aiperf_types::{MonoNs, Shapes};

#[derive(Debug, Default)]
pub(super) struct Concurrency {
    turns: DelayedTurns,
    /// A turn that is due waits for a slot. Whatever goes out next goes out because one came free, not late.
    is_blocked: bool,
}

impl Arrivals for Concurrency {
    fn send_due(&mut self, out: &mut Dispatcher<'_>) {
        let was_blocked = std::mem::take(&mut self.is_blocked);
        while out.may_send() {
            if self.turns.next().is_some_and(|due| due <= out.now) {
                let Some(prefill) = out.slots.prefills.take() else {
                    self.is_blocked = true;
                    return;
                };
                if let Some((due, session)) = self.turns.pop_due(out.now) {
                    out.send(session, if was_blocked { out.now } else { due }, prefill);
                }
            } else if out.may_start()
                && let Some((slot, prefill)) = out.take_both()
            {
                out.start(out.now, slot, prefill);
            } else {
                return;
            }
        }
    }

    fn next_due(&self, now: MonoNs) -> Option<MonoNs> {
        self.turns.next().filter(|due| *due > now)
    }

    /// Nothing is due but what finds a slot.
    fn count_unsent(&mut self, _: MonoNs, _: &mut Ending<'_>) {}

    fn turn_back(&mut self, number: u64, session: &mut LiveSession, shapes: &Shapes, now: MonoNs) {
        self.turns.push(after_delay(session, shapes, now), number);
    }
}
