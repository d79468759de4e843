//! Writes events: one event, one write, one stamp.

use crate::reply::{Outlet, Reply};
use crate::truth::{Payload, TruthRecord};

/// The destination of the events of one response.
pub(crate) struct Pen<'a, 'o> {
    frame: fn(&mut Vec<u8>, &[&[u8]]),
    to: To<'a, 'o>,
}

enum To<'a, 'o> {
    Client { reply: &'a mut Reply, outlet: &'a mut Outlet<'o>, record: Option<&'a mut TruthRecord> },
    Buffer(&'a mut Vec<u8>),
}

impl<'a, 'o> Pen<'a, 'o> {
    pub(crate) fn new(reply: &'a mut Reply, outlet: &'a mut Outlet<'o>, record: Option<&'a mut TruthRecord>) -> Self {
        Pen { frame: reply.framing(), to: To::Client { reply, outlet, record } }
    }

    /// Collects events with this framing, to send them later.
    pub(crate) fn into_buffer(buffer: &'a mut Vec<u8>, frame: fn(&mut Vec<u8>, &[&[u8]])) -> Self {
        Pen { frame, to: To::Buffer(buffer) }
    }

    /// Sends an event made of these parts.
    pub(crate) fn event(&mut self, parts: &[&[u8]], payload: Payload) {
        match &mut self.to {
            To::Client { reply, outlet, record } => {
                outlet.scratch.clear();
                (self.frame)(outlet.scratch, parts);
                reply.event(outlet, record.as_deref_mut(), payload);
            }
            To::Buffer(buffer) => (self.frame)(buffer, parts),
        }
    }

    /// Sends an event and the end of the body, with one write.
    pub(crate) fn last_event(&mut self, parts: &[&[u8]], payload: Payload) {
        match &mut self.to {
            To::Client { reply, outlet, record } => {
                outlet.scratch.clear();
                (self.frame)(outlet.scratch, parts);
                reply.last_event(outlet, record.as_deref_mut(), payload);
            }
            To::Buffer(buffer) => (self.frame)(buffer, parts),
        }
    }
}
